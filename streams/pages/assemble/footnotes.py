"""Footnotes: a mark in the text and its note at the end become one span at the mark.

A mark is a link of a few characters to an element further down that is surely a note: by its name, by its role or type
(DPUB-ARIA 1.1, EPUB 3 Structural Semantics), or because the note links back to exactly this mark (docutils). A table of
contents is no list of notes, though its sections link back to it. Nor is a list of questions: its links begin their
text, or are words, or lead to a heading or code. All other links stay unchanged.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Set

from selectolax.lexbor import LexborHTMLParser

from streams.pages.assemble.footnote_backlinks import (
    MARK,
    MAX_MARK_CHARS,
    MarkLinks,
    fragment_of,
    may_be_mark,
    read_mark_links,
)
from streams.pages.parse.elements import HEADINGS
from streams.pages.parse.segments import RawSpan, Segment, Walk

_PLAIN_MARK = re.compile(r"[\[(]?(?:[\d⁰¹²³⁴-⁹]{1,3}|[*†‡§¶]{1,3})[\])]?")
"""Mark of a note without a name for notes. A letter is no mark: it may be a choice, or a part of a glossary."""
MIN_CHARS_BEFORE = 16
"""Minimum length (characters) of the text before a mark that is a number without brackets: `Question 1` has no note."""
_NOTE_NAME = re.compile(
    r"cite_note[-_:.\d]|ref-?\d|fn[a-z]$|(?:(?:user-content-)?fn|(?:sd)?footnote|endnote|note|_?ftn|_edn)"
    r"(?:[-_:.]?[a-z]{0,3}[-_:.]?\d|[-_:.][a-z]$|[-_:.]?[*†‡§])",
    re.IGNORECASE,
)
"""Names of one note. They have a number, since `notes` and `notebooks` are chapters."""
_WORDED_NAME = re.compile(r"(?:(?:user-content-)?fn|footnote|endnote|ftn)[-_:.][^\W_]", re.IGNORECASE)
"""Names of one note without a number (Markdown's `fn:name`), if it looks like a note: `endnote-x` may be a chapter."""
_LETTER = re.compile(r"[^\W_]")
_NOTE_ROLES = frozenset({"doc-footnote", "doc-endnote"})
_BACK = re.compile(r"^[\s\[(]*(?:[\d*†‡§]{1,3}|[a-z])?[\])]?[.:]?\s+|\s*+[↩↑⤴^︎\ufe0e]++\s*+$")
_WORD = re.compile(r"[^\W\d_]{2}")
_BEHIND_A_MARK = " )].,:^"
_TITLE = re.compile(r"(?:(?:foot|end)?notes|anmerkungen|fu(?:ß|ss)noten|notas|note)\s*:?", re.IGNORECASE)
"""Heading of a list of notes. It is dropped if no text is left below it."""
MAX_NOTE_CHARS = 2_000
MAX_NOTES = 500
BACK_CHARS = 100
"""Maximum length (characters) of the links back beside a note."""
MAX_ELEMENTS = 50
"""Maximum elements of a note without a name for notes."""
MAX_NAMED_ELEMENTS = 2_000
"""Maximum elements of a note by name or role. Counting more would take long if hundreds of notes are nested."""
_NO_NOTE = frozenset({*HEADINGS, "pre", "th", "caption", "figure"})
"""Tags inside an element that is no note, but a chapter, a listing, a table or a picture."""


def attach_notes(page: Walk, kept: list[int], tree: LexborHTMLParser, url: str = "") -> list[int]:
    """Move notes to their marks in the kept segments. Returns the segments that are still kept.

    The notes themselves may be among the dropped segments: a list of short texts below the content looks like
    boilerplate.
    """
    own_url = url.partition("#")[0]
    if not any(may_be_mark(link[1]) and fragment_of(link[0], own_url) for link in page.links if "#" in link[0]):
        return kept
    marks = [
        (index, raw, name)
        for index in kept
        for raw in page.segments[index].spans
        if raw[2] == "link"
        and (name := fragment_of(raw[3], own_url))
        and MARK.fullmatch(page.segments[index].text, raw[0], raw[1])
    ]
    if not marks:
        return kept
    found = _Notes(page, tree, own_url, _find_rows(page, marks))
    gone: set[int] = set()
    notes: dict[int, list[tuple[RawSpan, str]]] = {}
    for index, raw, name in marks[:MAX_NOTES]:
        if index in gone:  # a mark within a note: its span would vanish with the note
            continue
        held, note = found.of(index, raw, name)
        if held and note and min(held) > index:
            gone.update(held)
            notes.setdefault(index, []).append((raw, note))
    for index, own in notes.items():
        page.segments[index] = _replace_marks(page.segments[index], own)
    left = [index for index in kept if index not in gone and page.segments[index].text]
    title = max((index for index in left if index < min(gone)), default=-1) if gone else -1
    if title >= 0 and title not in notes and _TITLE.fullmatch(page.segments[title].text):
        behind = next((index for index in left if index > title), -1)
        if behind < 0 or page.tags[page.segments[behind].element] in HEADINGS:
            left.remove(title)
    return left


_Note = tuple[list[int], str]
"""The segments of a note, and its text without marks and links back. Both are empty if it is no note, or too long."""


class _Notes:
    """Reads the notes of one page. Each note is read once, and the tree only if a name is not enough."""

    def __init__(self, page: Walk, tree: LexborHTMLParser, url: str, in_rows: Set[tuple[int, RawSpan]]) -> None:
        self._page = page
        self._in_rows = in_rows
        self._tree = tree
        self._url = url
        self._named = {name: element for element, name in page.named("id").items()}
        self._roles = page.named("role")
        self._own: dict[int, list[int]] = {}
        for index, element in enumerate(page.elements()):
            self._own.setdefault(element, []).append(index)
        self._known: dict[tuple[str, bool], _Note] = {}
        self._mark_links: MarkLinks | None = None
        self._begun: dict[str, list[int]] | None = None

    def of(self, index: int, raw: RawSpan, name: str) -> _Note:
        segment = self._page.segments[index]
        is_plain = self._page.tags[segment.element] != "pre" and _is_plain_mark(segment.text, raw)
        if is_plain and (index, raw) in self._in_rows:
            is_plain = name in self._links().styled
        if (name, is_plain) not in self._known:
            self._known[name, is_plain] = self._read(name, index, is_plain=is_plain)
        return self._known[name, is_plain]

    def _read(self, name: str, index: int, *, is_plain: bool) -> _Note:
        element = self._named.get(name, -1)
        if element < 0:
            return self._inline(name, index) if is_plain else ([], "")
        if _NOTE_NAME.match(name):
            return self._note_in(self._below(element, MAX_NAMED_ELEMENTS), frozenset())
        back = self._links().back.get(name) or set()
        if self._is_declared_note(name, element):
            return self._note_in(self._below(element, MAX_NAMED_ELEMENTS), back)
        if _WORDED_NAME.match(name):
            return self._note_in(self._below_note(element), frozenset())
        below = self._below_note(element) if is_plain else range(0)
        return self._note_in(below, back) if self._leads_back(below, back) else ([], "")

    def _inline(self, name: str, index: int) -> _Note:
        """Return a note that begins with an inline element: the mark links to it, and it links back to the mark."""
        back = self._links().back
        pairs = {way for way in back.get(name, ()) if name in back.get(way, ())}
        if self._begun is None:
            self._begun = {}
            for at, segment in enumerate(self._page.segments):
                for way in _targets_at_edge(segment, self._url, first=True):
                    self._begun.setdefault(way, []).append(at)
        at = min((at for way in pairs for at in self._begun.get(way, ()) if at > index), default=-1)
        return self._join([at], pairs) if at >= 0 else ([], "")

    def _is_declared_note(self, name: str, element: int) -> bool:
        if self._roles.get(element) in _NOTE_ROLES or name in self._links().notes:
            return True
        above = self._page.parents[element]
        while above >= 0 and self._roles.get(above) != "doc-endnotes":
            above = self._page.parents[above]
        return above >= 0

    def _links(self) -> MarkLinks:
        if self._mark_links is None:
            self._mark_links = read_mark_links(self._tree, self._url)
        return self._mark_links

    def _leads_back(self, below: range, back: Set[str]) -> bool:
        owning = [self._own[inner] for inner in below if inner in self._own]
        if not owning or not back:
            return False
        first = self._page.segments[min(held[0] for held in owning)]
        last = self._page.segments[max(held[-1] for held in owning)]
        return not back.isdisjoint(
            (*_targets_at_edge(first, self._url, first=True), *_targets_at_edge(last, self._url, first=False))
        )

    def _note_in(self, below: range, back: Set[str]) -> _Note:
        held: list[int] = []
        chars = 0
        for inner in below:
            for at in self._own.get(inner, ()):
                held.append(at)
                chars += len(self._page.segments[at].text) + 1
                if chars > MAX_NOTE_CHARS + BACK_CHARS:
                    return [], ""
        return self._join(sorted(held), back)

    def _join(self, held: list[int], back: Set[str]) -> _Note:
        text = " ".join(" ".join(self._remove_links_back(at, back) for at in held).split())
        note = _BACK.sub("", text.lstrip(_BEHIND_A_MARK) if back else text).strip()
        return held, note if len(note) <= MAX_NOTE_CHARS else ""

    def _remove_links_back(self, at: int, back: Set[str]) -> str:
        segment = self._page.segments[at]
        text = segment.text
        start, end = 0, len(text)
        for raw in segment.spans if back else ():
            if raw[2] == "link" and fragment_of(raw[3], self._url) in back:
                if _is_first(text, raw):
                    start = max(start, raw[1])
                elif _is_last(text, raw):
                    end = min(end, raw[0])
        return text[start:end] if end == len(text) else text[start:end].rstrip("([ ")

    def _below_note(self, element: int) -> range:
        """Return the element and all below it; empty if it does not look like a note."""
        below = self._below(element, MAX_ELEMENTS)
        return range(0) if any(self._page.tags[inner] in _NO_NOTE for inner in below) else below

    def _below(self, element: int, most: int) -> range:
        """Return the element and all below it, in document order; of a term also its definitions.

        Empty if over `most`.
        """
        tags, parents = self._page.tags, self._page.parents
        last = min(element + most + 1, len(tags))

        def end_of(inner: int) -> int:
            end = inner + 1
            while end < last and parents[end] >= inner:
                end += 1
            return end

        end = end_of(element)
        while tags[element] == "dt" and end < last and tags[end] == "dd" and parents[end] == parents[element]:
            end = end_of(end)
        return range(element, end) if end - element <= most else range(0)


def _find_rows(page: Walk, marks: list[tuple[int, RawSpan, str]]) -> set[tuple[int, RawSpan]]:
    """Return numbers in a row with no words between them, as in a list of questions: `1 | 2 | 3`.

    Numbers in brackets and raised numbers are no such row.
    """
    found: set[tuple[int, RawSpan]] = set()
    row: list[tuple[int, RawSpan]] = []
    before, behind = -1, 0
    for index, raw, _ in marks:
        text = page.segments[index].text
        if index != before or _LETTER.search(text, behind, raw[0]):
            found.update(row if len(row) > 1 else ())
            row = []
        before, behind = index, raw[1]
        if _PLAIN_MARK.fullmatch(text, raw[0], raw[1]):
            row.append((index, raw))
    found.update(row if len(row) > 1 else ())
    return {(index, raw) for index, raw in found if _is_bare(page.segments[index].text, raw)}


def _is_bare(text: str, raw: RawSpan) -> bool:
    """Return whether a mark looks like any other number: not raised, and without brackets.

    `*` and `†` are never numbers, and `§` and `¶` are marks of parts of a text.
    """
    start, _ = _include_brackets(text, raw[0], raw[1])
    return text[start].isdecimal() or text[start] in "§¶"


def _is_plain_mark(text: str, raw: RawSpan) -> bool:
    """Return whether a link may be the mark of a note only by its text."""
    start, end = _include_brackets(text, raw[0], raw[1])
    if _PLAIN_MARK.fullmatch(text, start, end) is None or not any(map(str.isalnum, text[:start])):
        return False
    return start >= MIN_CHARS_BEFORE or not text[start].isdecimal()


def _include_brackets(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the position of a mark with the brackets around its link."""
    around = text[start - 1 : start] + text[end : end + 1]
    return (start - 1, end + 1) if around in ("[]", "()") else (start, end)


def _targets_at_edge(segment: Segment, url: str, *, first: bool) -> Iterable[str]:
    """Return the targets (on this page) of the links at the beginning of a text, or at its end."""
    stands = _is_first if first else _is_last
    return [fragment_of(raw[3], url) for raw in segment.spans if raw[2] == "link" and stands(segment.text, raw)]


def _is_first(text: str, raw: RawSpan) -> bool:
    return raw[0] <= MAX_MARK_CHARS and _WORD.search(text, 0, raw[0]) is None


def _is_last(text: str, raw: RawSpan) -> bool:
    return len(text) - raw[1] <= MAX_MARK_CHARS and _WORD.search(text, raw[1]) is None


def _replace_marks(segment: Segment, notes: list[tuple[RawSpan, str]]) -> Segment:
    """Replace the marks of a segment by spans.

    All marks are replaced in one pass, since a segment may have hundreds of marks and tens of thousands of spans.
    """
    marks = {mark for mark, _ in notes}
    points: list[RawSpan] = []
    cuts: list[tuple[int, int]] = []  # apart from each other, the last first
    for (start, end, _, _, _), note in sorted(notes, key=lambda entry: -entry[0][0]):
        cut, end = _cut_of(segment.text, start, end, cuts)
        points.append((cut, cut, "footnote", note, ""))
        while cuts and cuts[-1][0] <= end:
            end = max(end, cuts.pop()[1])
        cuts.append((cut, end))
    cuts.reverse()
    pieces: list[str] = []
    ends: list[int] = []
    kept_before: list[int] = []  # of each cut: how much of the text before it stays
    at = kept = 0
    for cut, end in cuts:
        pieces.append(segment.text[at:cut])
        kept += cut - at
        kept_before.append(kept)
        ends.append(end)
        at = end
    pieces.append(segment.text[at:])
    text = "".join(pieces)
    shift = len(text) - len(text.lstrip())
    text = text.strip()
    size = len(text)

    def moved(at: int) -> int:
        behind = bisect_left(ends, at)  # the cuts that end before it
        to = at if not behind else kept_before[behind - 1] + at - ends[behind - 1]
        if behind < len(ends):
            to = min(to, kept_before[behind])  # within a cut
        return min(max(to - shift, 0), size)

    spans = (raw for raw in segment.spans if raw not in marks)
    placed = [(moved(a), moved(b), kind, target, label) for a, b, kind, target, label in (*spans, *points)]
    return Segment.with_text(
        segment, text, [raw for raw in placed if raw[0] < raw[1] or raw[2] in ("image", "footnote")]
    )


def _cut_of(text: str, start: int, end: int, cuts: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the place of the text to cut for a mark: with the brackets around it, and a space before it.

    Other cut marks may be inside the brackets. `cuts` are the cuts after the mark, the nearest last.
    """
    behind = cuts[-1][1] if cuts and cuts[-1][0] == end else end
    if text[start - 1 : start] + text[behind : behind + 1] in ("[]", "()"):
        start, end = start - 1, behind + 1
    return (start - 1 if start and text[start - 1].isspace() else start), end
