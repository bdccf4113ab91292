"""The context of a piece: title, headings, lead-ins and labels, cut to a length that leaves room for the statement.

A heading is in the context of hundreds of paragraphs and may have any length, so each text is cut only once.
"""

from collections.abc import Mapping, Sequence

from streams.pages.document.model import Document
from streams.pages.text.normal_forms import nfkc
from streams.statements.outline import Piece
from streams.statements.sentences.lengths import Span, word_count
from streams.statements.sentences.open_texts import OMISSION, ends_open, goes_on, mark_open

MAX_CONTEXT_WORDS = 64
"""Maximum words of a context. More would outweigh the statement itself."""
MAX_LABEL_WORDS = 24
"""Maximum words of a heading, term or caption in a context. A longer text is cut, and is a statement as well."""
MAX_LEAD_WORDS = 40
"""Maximum words of a lead-in as context."""


class Contexts:
    """The contexts of one document's pieces."""

    def __init__(self, document: Document, spans: Mapping[int, Sequence[Span]]) -> None:
        self._document = document
        self._spans = spans
        self._title = _Part(cut_after_words(document.title, MAX_LABEL_WORDS))
        self._labels: dict[int, _Part] = {}
        self._leads: dict[int, tuple[_Part, _Part]] = {}

    def context(self, piece: Piece) -> tuple[str, ...]:
        """Return the piece's context, without repetition. If it is too long, its widest parts are dropped first."""
        own = self._document.blocks[piece.block].text
        parts = [self._title, *map(self._label, piece.headings)]
        parts += [self._lead(block, own) for block in piece.leads]
        parts += map(self._label, piece.labels)
        # A title has no superscript digits, and its heading may have them (CO2, CO₂): the later spelling stays.
        spelled = {part.folded: part for part in parts}
        distinct = [part for part in spelled.values() if part.text and part.text != own]
        words = sum(part.words for part in distinct)
        while len(distinct) > 1 and words > MAX_CONTEXT_WORDS:
            # The title names the page's topic, the last parts the statement's. The parts between are dropped first.
            dropped = 1 if len(distinct) > 2 else 0
            words -= distinct[dropped].words
            del distinct[dropped]
        return tuple(part.text for part in distinct)

    def label(self, block: int) -> str:
        """Return a block's text as a label: cut, or with its own white space if it is short enough."""
        return self._label(block).cut

    def is_whole(self, block: int) -> bool:
        """Return whether a block's label has its whole text."""
        return self.label(block) == self._document.blocks[block].text

    def _label(self, block: int) -> "_Part":
        if block not in self._labels:
            self._labels[block] = _Part(cut_after_words(self._document.blocks[block].text, MAX_LABEL_WORDS))
        return self._labels[block]

    def _lead(self, block: int, led: str) -> "_Part":
        """Return the lead-in of a text. It is marked if it stops within a sentence, which the text goes on with."""
        if block not in self._leads:
            text = cut_before_words(self._last_sentence(block), MAX_LEAD_WORDS)
            self._leads[block] = _Part(text), _Part(mark_open(text))
        plain, marked = self._leads[block]
        before = self._document.blocks[block].text
        return marked if ends_open(before) or goes_on(before, led) else plain

    def _last_sentence(self, block: int) -> str:
        text = self._document.blocks[block].text
        found = self._spans.get(block)
        return text[slice(*found[-1])] if found else text


class _Part:
    """One text of a context in the forms that are compared."""

    __slots__ = ("cut", "folded", "text", "words")

    def __init__(self, text: str) -> None:
        self.cut = text
        self.text = collapse_spaces(text)
        self.folded = nfkc(self.text)
        self.words = word_count(self.text)


def collapse_spaces(text: str) -> str:
    """Replace each run of white space by one space."""
    return " ".join(text.split())


def cut_after_words(text: str, words: int) -> str:
    """Return a text's first words, at most `words` of them; the text itself if it is short enough."""
    if word_count(text) <= words:
        return text
    kept = " ".join(text.split(maxsplit=words)[:words])
    while word_count(kept) > words:
        kept = kept[: len(kept) // 2 + len(kept) // 4]
    return kept


def cut_before_words(text: str, words: int) -> str:
    """Return a text's last words, at most `words` of them, behind an ellipsis; the text itself if it is short enough.

    The end of a lead-in is what its list goes on with.
    """
    if word_count(text) <= words:
        return text
    kept = " ".join(text.split()[1 - words :])
    while word_count(kept) >= words:
        kept = kept[-(len(kept) // 2 + len(kept) // 4) :]
    return f"{OMISSION} {kept}"
