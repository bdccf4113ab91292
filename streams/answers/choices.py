"""The choices of a language model: statements by their numbers, each whole or a span of it. Pure, and exact.

A model's line is `2`, or `2 "the words that it wants"`. What is shown is always cut from the statement itself, so
nothing that a model writes is on a page. Small models copy in place of a number: a line with most of its words in a
statement chooses it, too. Whatever is not understood chooses nothing.

A span keeps what it needs to say the same: it begins with a sentence or behind a semicolon, and ends at a mark. What
it leaves out has no word that binds (`streams/language/binding_words.py`), no colon, question or exclamation; otherwise
the span grows over it. A statement with a quotation, or in a language without a table, is always whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from streams.answers.evidence import Evidence
from streams.answers.model_text import MAX_LINE_CHARS, NONE
from streams.language.binding_words import binds
from streams.language.marks import EXCLAMATION_MARKS, QUESTION_MARKS, SPACED_MARKS, WIDE_COLONS, WIDE_MARKS
from streams.pages.text.tokens import index_words
from streams.plain_text import clean_line
from streams.vectors.bm25 import document_vector, query_vector

MAX_LINES = 6
"""Maximum lines that are read: a small model may not stop."""
MIN_COPIED = 3
"""Minimum words of a line that choose a statement by themselves."""
MIN_SHARE = 0.6
"""Minimum share of a line's words that a statement has, with the headings around it, for the line to choose it."""
MIN_SPAN_WORDS = 4
MIN_LEFT_OUT = 4
"""Minimum words of the part behind a comma that a span leaves out: shorter ones are parts of a list."""
_NUMBERS = re.compile(r"^[\s\-*•#>(\[{\"']{0,8}(\d{1,3})(?=[\s\])}.,:;*\"'“„«]|$)|\[\s{0,2}(\d{1,2})\s{0,2}\]")
"""A number at the beginning of a line, or numbers in brackets anywhere."""
_SEVERAL = re.compile(r"^[\s\[(]{0,4}\d{1,2}[\])]?(?:[\s,;&\[(]{1,4}\d{1,2}[\])]?){1,9}[\s.]{0,4}$")
"""A line with only numbers: `2, 5`."""
_DIGITS = re.compile(r"\d{1,2}")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{3,1000})[\"”“»]")
_AROUND = " .…:–-*\"'()[]{}"
"""Marks around the words that a line has."""
_SENTENCE = re.compile(rf"(?<=[{WIDE_MARKS}])\s{{0,4}}|(?<=[{SPACED_MARKS}])\s{{1,4}}|(?<=[;；])\s{{0,4}}")
_MARK = re.compile(r",(?=\s)|[，]|\s[-–—]\s|—|\s(?=\()|(?=（)")
"""The marks within a sentence at which a span may end."""
_FRAMES = re.compile(rf"[:{WIDE_COLONS}{''.join((*QUESTION_MARKS, *EXCLAMATION_MARKS))}]")
"""Marks of a label, a question or an exclamation: what has one is never left out."""
_QUOTATION = re.compile('["“”„«»「」『』]')
_PAIRS = (("(", ")"), ("[", "]"), ("（", "）"), ("{", "}"))

Form = Literal["statement", "span", "prose"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A statement that a model chose, as it is shown."""

    text: str
    """The statement or a span of it, word for word; for `prose`, the words of the model."""
    evidence: Evidence
    form: Form = "statement"


class ChoiceReader:
    """Collects the pieces of a stream, and yields the choices as soon as their line has ended."""

    def __init__(self, statements: Sequence[Evidence]) -> None:
        self._statements, self._rest, self._lines = statements, "", 0
        self.has_ended = False
        """True: nothing else is chosen."""

    def read(self, piece: str) -> Iterator[Chosen]:
        *lines, rest = (self._rest + piece).split("\n")
        self._rest = rest[:MAX_LINE_CHARS]
        for line in lines:
            yield from self._choices(line)

    def end(self, *, is_cut: bool = False) -> Iterator[Chosen]:
        """Yield the choices of the last line. `is_cut`: a number at its end may be the beginning of another one."""
        rest, self._rest = self._rest, ""
        if not (is_cut and rest[-1:].isdigit()):
            yield from self._choices(rest)

    def _choices(self, line: str) -> Iterator[Chosen]:
        if self.has_ended or not line.strip():
            return
        self._lines += 1
        for number, wanted in named_in(line, [(each.text, " ".join(each.context)) for each in self._statements]):
            yield choose(self._statements[number], wanted)
        self.has_ended = bool(NONE.match(line)) or self._lines >= MAX_LINES


def named_in(line: str, texts: Sequence[tuple[str, str]]) -> list[tuple[int, str]]:
    """Return the texts that a line chooses, as their places from 0, each with the words that it wants of it.

    `texts`: each with what stands around it. Words choose before numbers: a list of a model has numbers of its own.
    """
    line = line[:MAX_LINE_CHARS]
    if NONE.match(line):
        return []
    if _SEVERAL.match(line):
        places = dict.fromkeys(int(number) - 1 for number in _DIGITS.findall(line))
        return [(place, "") for place in places if 0 <= place < len(texts)]
    numbers = [int(found[1] or found[2]) - 1 for found in _NUMBERS.finditer(line)]
    named = [place for place in dict.fromkeys(numbers) if 0 <= place < len(texts)]
    quoted = _QUOTED.search(line)
    wanted = clean_line(quoted[1] if quoted else _NUMBERS.sub(" ", line)).strip(_AROUND)
    exact = [place for place in [*named, *range(len(texts))] if _place_of(wanted, texts[place][0])]
    if exact:
        return [(exact[0], wanted)]
    copied = _copied(wanted, texts)
    return [(copied, "")] if copied is not None else [(place, "") for place in named]


def _copied(wanted: str, texts: Sequence[tuple[str, str]]) -> int | None:
    """Return the text with the largest share of these words; None if too few are of any."""
    words = set(index_words(wanted))
    if len(words) < MIN_COPIED:
        return None
    shares = []
    for place, (text, around) in enumerate(texts):
        own = words.intersection(index_words(text))
        both = own.union(words.intersection(index_words(around)))
        shares.append((len(both) / len(words) if len(own) >= MIN_COPIED else 0.0, len(own), -place))
    share, _, place = max(shares, default=(0.0, 0, 0))
    return -place if share >= MIN_SHARE else None


def choose(evidence: Evidence, wanted: str = "") -> Chosen:
    """Return a statement with the span around the wanted words; the whole one if they are not in it."""
    text = evidence.text.strip()
    place = _place_of(wanted, text)
    start, end = _trimmed(text, *span_around(text, *place, evidence.language)) if place else (0, len(text))
    is_whole = end - start >= len(text.rstrip(" ,;")) or len(index_words(text[start:end])) < MIN_SPAN_WORDS
    return Chosen(text, evidence) if is_whole else Chosen(text[start:end], evidence, "span")


def span_around(text: str, first: int, last: int, language: str) -> tuple[int, int]:
    """Return the shortest span with the characters from `first` to `last` that says the same within its statement."""
    if _QUOTATION.search(text):  # whose words they are may stand anywhere
        return 0, len(text)
    starts = [0, *(found.end() for found in _SENTENCE.finditer(text))]
    marks = [found.start() for found in _MARK.finditer(text)]
    ends = sorted({*marks, *starts[1:], len(text)})
    start = max(place for place in starts if place <= first)
    if _may_not_miss(text[:start], language) or not _is_closed(text[start:]):
        start = 0
    for number, end in enumerate(ends):
        behind = text[end : ends[number + 1]] if number + 1 < len(ends) else ""
        is_of_list = end in marks and len(index_words(behind)) < MIN_LEFT_OUT
        if end < last or is_of_list or not _is_closed(text[start:end]):
            continue
        if not _may_not_miss(text[end:], language):
            return start, end
    return start, len(text)


def _may_not_miss(part: str, language: str) -> bool:
    return bool(part.strip()) and (bool(_FRAMES.search(part)) or binds(part, language))


def _is_closed(part: str) -> bool:
    """Return whether each bracket of a part has its other half."""
    return all(part.count(opening) == part.count(closing) for opening, closing in _PAIRS)


def _place_of(wanted: str, text: str) -> tuple[int, int] | None:
    """Return where a text has the wanted words, whatever the case and the spaces between them; None if it has not."""
    words = wanted.split()
    if len("".join(words)) < MIN_COPIED:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
    return found.span() if found else None


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without spaces at its ends, and without a comma or dash behind it."""
    while end > start and (text[end - 1].isspace() or text[end - 1] in ",;，；–—"):
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


def is_about(chosen: Chosen, question: str) -> bool:
    """Return True if the statement, its context or its title has a word that the question looks for."""
    terms = frozenset(query_vector(question).indices)
    found = chosen.evidence
    terms_of = document_vector(found.text, (*found.context, found.title), found.language)
    return not terms or not terms.isdisjoint(terms_of.indices)
