"""The templates of an article that Riffle can't show, and the sentences that lost a value with them. Pure.

While an article is read, a mark takes the place of each such template. Most of them show nothing in a sentence: boxes,
notes, sources. One that stands where a word should be leaves a hole ("It has a height of and ..."): then the whole
sentence is left out, or the whole bracket.
"""

import re
from collections.abc import Iterator, Sequence

from streams.language.marks import CLOSERS, MARKS, OPENERS, is_closed
from streams.plain_text import clean_line

MAX_MARKS = 1_000
"""Maximum templates of an article that are marked: further ones leave nothing."""
MAX_TEMPLATE_CHARS = 60
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Characters of the private use area around the number of a mark."""
_MARK = re.compile(f"{_OPEN}([0-9]{{1,3}}){_CLOSE}")
_MARKS = re.compile(f"{_OPEN}[0-9]{{1,3}}{_CLOSE}(?: ?{_OPEN}[0-9]{{1,3}}{_CLOSE}){{0,200}}")
_NEAR = 40
"""Characters around a mark that are looked at."""
_BRACKET = re.compile(r"\([^()\n]{0,400}\)")
_BRACKET_PARTS = re.compile("[,;]")
_OPENS_WORD = "$€£¥₹~≈<>±×/–—-"
"""Signs before a value that was lost: `£{{inflation|...}}`. Behind another character a mark is a note."""
_SENTENCE_END = re.compile(rf"(?<=[{MARKS}])[{CLOSERS}]? (?=[{OPENERS}]?[A-ZÀ-ÞА-Я0-9])")
_ABBREVIATION = re.compile(
    r"(?:\b[A-Z]|\b(?:[Ss]t|[Dd]r|[Mm]rs?|[Jj]r|[Nn]o|[Vv]ol|[Cc]a?|[Bb]|[Dd]|[Ff]l|[Ll]it|e\.g|i\.e|approx))\.$"
)
"""The end of a text that is no end of a sentence."""


_SILENT = frozenset({
    "anchor", "audio", "by whom", "citation needed", "clarify", "clear", "cn", "coord", "disputed inline", "dubious",
    "efn", "fact", "flag icon", "flagdeco", "flagicon", "listen", "main", "notetag", "pb", "portal", "r", "ref",
    "refn", "rp", "sfn", "sfnp", "toc limit", "update inline", "when", "which", "who", "visible anchor",
})  # fmt: skip
"""Templates that show no word in a sentence, wherever they stand."""


def sentence_ends(text: str, max_chars: int) -> Iterator[re.Match[str]]:
    """Yield the ends of sentences in the first characters of a text: a closing mark, if any, and a space."""
    for end in _SENTENCE_END.finditer(text, 0, max_chars):
        if not _ABBREVIATION.search(text, max(0, end.start() - 12), end.start()):
            yield end


def drop_marks(text: str) -> str:
    return without_mark_signs(_MARKS.sub("", text))


def without_mark_signs(text: str) -> str:
    """Return a text of somebody else, in which nothing may look like a mark."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


class Marks:
    """The marks of one article."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def put(self, name: str) -> str:
        """Return a mark for a template."""
        if len(self._names) >= MAX_MARKS or name in _SILENT:
            return ""
        self._names.append(clean_line(name.partition(":")[0])[:MAX_TEMPLATE_CHARS])
        return f"{_OPEN}{len(self._names) - 1}{_CLOSE}"

    def drop_holes(self, text: str) -> tuple[str, set[str]]:
        """Return a text without its marks and without the sentences with a hole, and the names of what made holes."""
        lost: set[str] = set()
        lines = [self._line(line, lost) if _OPEN in line else line for line in text.split("\n")]
        return "\n".join(lines), lost

    def _line(self, line: str, lost: set[str]) -> str:
        if not _MARKS.sub("", line).strip():
            return ""
        line = _BRACKET.sub(lambda found: self._bracket(found[0], lost), line)
        line = _MARKS.sub(lambda found: found[0] if _is_hole(line, found) else "", line)
        if _OPEN not in line:
            return line
        kept = []
        for sentence in _sentences(line):
            names = self._names_in(sentence)
            lost |= names
            if not names:
                kept.append(sentence)
        return "".join(kept).strip()

    def _bracket(self, bracket: str, lost: set[str]) -> str:
        """Return a bracket without the parts that were only templates; nothing if a part of it has a hole."""
        if _OPEN not in bracket:
            return bracket
        for part in _BRACKET_PARTS.split(bracket[1:-1]):
            if any(_is_hole(part, found) for found in _MARKS.finditer(part)) and _MARKS.sub("", part).strip():
                lost |= self._names_in(part)
                return ""
        return _MARKS.sub("", bracket)

    def _names_in(self, text: str) -> set[str]:
        return {self._names[number] for number in map(int, _MARK.findall(text)) if number < len(self._names)}


def _is_hole(line: str, mark: re.Match[str]) -> bool:
    """Return whether a mark stands where a word should be.

    A mark directly behind a word or a sign is a note. Behind the end of a sentence, or at the beginning of a line, it
    is a box or a note, unless the sentence goes on in small letters.
    """
    before = line[max(0, mark.start() - _NEAR) : mark.start()]
    after = line[mark.end() : mark.end() + _NEAR].lstrip()
    if before and not before[-1].isspace():
        return before[-1] in _OPENS_WORD
    if not before.strip() or is_closed(before) or before.rstrip().endswith(";"):
        return after[:1].islower()
    return True


def _sentences(line: str) -> Sequence[str]:
    """Return the sentences of a line, each with the space behind it."""
    found, start = [], 0
    for end in sentence_ends(line, len(line)):
        found.append(line[start : end.end()])
        start = end.end()
    return [*found, line[start:]]
