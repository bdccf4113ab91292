"""The context of a piece: title, headings, lead-ins and labels, cut to a length that leaves room for the statement.

A heading is context of hundreds of paragraphs and may be as long as a stranger wants, so each text is cut once.
"""

from collections.abc import Mapping, Sequence

from streams.pages.document.model import Document
from streams.pages.text.normal_forms import nfkc
from streams.statements.boundaries import Span
from streams.statements.lengths import word_count
from streams.statements.outline import Piece

MAX_CONTEXT_WORDS = 64
"""Maximum words of a context. More would outweigh the statement itself."""
MAX_LABEL_WORDS = 24
"""Maximum words of a heading, term or caption as context. A longer one is cut here, and is a statement as well."""
MAX_LEAD_WORDS = 40
"""Maximum words of a lead-in as context."""


class Contexts:
    """The contexts of one document's pieces."""

    def __init__(self, document: Document, spans: Mapping[int, Sequence[Span]]) -> None:
        self._document = document
        self._spans = spans
        self._title = _Part(cut(document.title, MAX_LABEL_WORDS))
        self._labels: dict[int, _Part] = {}
        self._leads: dict[int, _Part] = {}

    def context(self, piece: Piece) -> tuple[str, ...]:
        """The piece's context, without repetition; the widest parts are dropped first when there is too much."""
        own = self._document.blocks[piece.block].text
        parts = [self._title, *map(self._label, piece.headings)]
        parts += [*map(self._lead, piece.leads), *map(self._label, piece.labels)]
        # A title has no superscript digits as its heading has (CO2, CO₂): the later spelling stays, as the text has it.
        spelled = {part.folded: part for part in parts}
        distinct = [part for part in spelled.values() if part.text and part.text != own]
        words = sum(part.words for part in distinct)
        while len(distinct) > 1 and words > MAX_CONTEXT_WORDS:
            # The title names the page's topic and the last parts the statement's: those between are dropped first.
            dropped = 1 if len(distinct) > 2 else 0
            words -= distinct[dropped].words
            del distinct[dropped]
        return tuple(part.text for part in distinct)

    def label(self, block: int) -> str:
        """A block's text as label: cut, with its own white space where it is short enough."""
        return self._label(block).cut

    def is_whole(self, block: int) -> bool:
        """True if the label has the whole text of its block."""
        return self.label(block) == self._document.blocks[block].text

    def _label(self, block: int) -> "_Part":
        if block not in self._labels:
            self._labels[block] = _Part(cut(self._document.blocks[block].text, MAX_LABEL_WORDS))
        return self._labels[block]

    def _lead(self, block: int) -> "_Part":
        if block not in self._leads:
            self._leads[block] = _Part(cut(self._last_sentence(block), MAX_LEAD_WORDS))
        return self._leads[block]

    def _last_sentence(self, block: int) -> str:
        text = self._document.blocks[block].text
        found = self._spans.get(block)
        return text[slice(*found[-1])] if found else text


class _Part:
    """One text of a context in the forms that are compared."""

    __slots__ = ("cut", "folded", "text", "words")

    def __init__(self, text: str) -> None:
        self.cut = text
        self.text = plain(text)
        self.folded = nfkc(self.text)
        self.words = word_count(self.text)


def plain(text: str) -> str:
    """A text with single spaces for its white space."""
    return " ".join(text.split())


def cut(text: str, words: int) -> str:
    """The beginning of a text that has no more words than this; the text itself where it is short enough."""
    if word_count(text) <= words:
        return text
    kept = " ".join(text.split(maxsplit=words)[:words])
    while word_count(kept) > words:
        kept = kept[: len(kept) // 2 + len(kept) // 4]
    return kept
