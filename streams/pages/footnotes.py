"""Footnotes: a mark in the text and its note at the end become one span at the mark.

Only what is surely a footnote: a link of a few signs to an element further down that a link leads back from, or whose
name says so. Everything else stays as it stands.
"""

import re

from streams.pages.tags import HEADINGS
from streams.pages.walk import RawSpan, Segment, Walk

_MARK = re.compile(r"[\[(]?(?:[\d⁰¹²³⁴-⁹]{1,3}|[a-z]|[ivx]{1,4}|[*†‡§¶]{1,3}|note \d{1,3})[\])]?", re.IGNORECASE)
_NOTE_NAME = re.compile(
    r"(?:fn|footnote|note|endnote|ftn|_ftn|cite_note|ref-?\d|user-content-fn|sdfootnote|_edn)", re.IGNORECASE
)
_BACK = re.compile(r"^[\s\[(]*(?:[\d*†‡§]{1,3}|[a-z])?[\])]?[.:]?\s+|\s*+[↩↑⤴^︎\ufe0e]++\s*+$")
_TITLE = re.compile(r"(?:(?:foot|end)?notes|anmerkungen|fu(?:ß|ss)noten|notas|note)\s*:?", re.IGNORECASE)
"""Of a list of notes: nothing is below it once these are gone."""
MAX_NOTE_CHARS = 2_000
MAX_NOTES = 500
BACK_CHARS = 100
"""What the ways back may take beside a note."""


def attach(page: Walk, kept: list[int], url: str = "") -> list[int]:
    """Move notes to their marks in the segments of `kept`; gives back those that stay. The notes themselves may be
    among the others: a list of short texts below the content looks like chrome."""
    own_url = url.partition("#")[0]
    if not any(_note_name(link[0], own_url) for link in page.links if "#" in link[0]):
        return kept
    marks = [
        (index, raw, name)
        for index in kept
        for raw in page.segments[index].spans
        if raw[2] == "link" and (name := _note_name(raw[3], own_url))
    ]
    if not marks:
        return kept
    named = {name: element for element, name in page.named("id").items()}
    own: dict[int, list[int]] = {}
    for index, element in enumerate(page.elements()):
        own.setdefault(element, []).append(index)
    gone: set[int] = set()
    notes: dict[int, list[tuple[RawSpan, str]]] = {}
    known: dict[int, tuple[list[int], str]] = {}
    for index, raw, name in marks[:MAX_NOTES]:
        start, end, _, _, _ = raw
        element = named.get(name, -1)
        if element < 0 or not _MARK.fullmatch(page.segments[index].text[start:end]):
            continue
        if element not in known:
            known[element] = _note_in(page, element, own)
        held, note = known[element]
        if held and note and min(held) > index:
            gone.update(held)
            notes.setdefault(index, []).append((raw, note))
    for index, found in notes.items():
        page.segments[index] = _with_notes(page.segments[index], found)
    left = [index for index in kept if index not in gone and page.segments[index].text]
    title = max((index for index in left if index < min(gone)), default=-1) if gone else -1
    if title >= 0 and title not in notes and _TITLE.fullmatch(page.segments[title].text):
        behind = next((index for index in left if index > title), -1)
        if behind < 0 or page.tags[page.segments[behind].element] in HEADINGS:
            left.remove(title)
    return left


def _note_in(page: Walk, element: int, own: dict[int, list[int]]) -> tuple[list[int], str]:
    """The segments below an element, and their text without marks and ways back; none where that is too long."""
    held: list[int] = []
    chars = 0
    for inner in _below(page, element):
        for at in own.get(inner, ()):
            held.append(at)
            chars += len(page.segments[at].text) + 1
            if chars > MAX_NOTE_CHARS + BACK_CHARS:
                return [], ""
    note = _BACK.sub("", " ".join(" ".join(page.segments[at].text for at in held).split())).strip()
    return held, note if len(note) <= MAX_NOTE_CHARS else ""


def _note_name(href: str, url: str) -> str:
    """What a link to a note on the same page calls it; empty for any other link."""
    before, _, name = href.partition("#")
    return name if before in ("", url) and _NOTE_NAME.match(name) else ""


def _below(page: Walk, element: int) -> range:
    """The element and all below it: they are numbered in document order."""
    end = element + 1
    while end < len(page.parents) and page.parents[end] >= element:
        end += 1
    return range(element, end)


def _with_notes(segment: Segment, notes: list[tuple[RawSpan, str]]) -> Segment:
    """The segment without its marks, with a span where each was."""
    text, spans = segment.text, [raw for raw in segment.spans if all(raw != mark for mark, _ in notes)]
    for (start, end, _, _, _), note in sorted(notes, key=lambda entry: -entry[0][0]):
        cut = start
        if cut and text[cut - 1] == " ":
            cut -= 1
        removed = end - cut
        text = text[:cut] + text[end:]

        def moved(at: int, cut: int = cut, end: int = end, removed: int = removed) -> int:
            return at if at <= cut else (cut if at <= end else at - removed)

        spans = [(moved(a), moved(b), kind, target, label) for a, b, kind, target, label in spans]
        spans = [raw for raw in spans if raw[0] < raw[1] or raw[2] in ("image", "footnote")]
        spans.append((cut, cut, "footnote", note, ""))
    shift = len(text) - len(text.lstrip())
    text = text.strip()
    size = len(text)
    placed = [
        (min(max(a - shift, 0), size), min(max(b - shift, 0), size), kind, target, label)
        for a, b, kind, target, label in spans
    ]
    return Segment.placed(segment, text, [raw for raw in placed if raw[0] < raw[1] or raw[2] in ("image", "footnote")])
