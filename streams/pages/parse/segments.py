"""A page as a list of segments: runs of text between block boundaries, each with its block element.

All later steps work on these lists, so the tree of the page is visited once (`walk`). A text that is not in the
document has the reason with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["quirk", "hidden", "element", "role", "name", "model", "unread"]
"""The rule that removed a text: see `KINDS` of `streams.pages.sandbox.explanation`."""
Attributes = dict[str, Any]
NO_ATTRIBUTES: Attributes = {}
"""The attributes of all elements without any: a large table has a hundred thousand such cells. Never changed."""
POINT_KINDS = frozenset({"image", "footnote"})
"""Kinds of spans without text: they mark one position."""
RawSpan = tuple[int, int, str, str, str]
"""First part, end part, kind, target, label. After placing, the first two are positions in the segment's text."""
RawLink = tuple[str, str, str, int, int]
"""href, text, rel, segment, form (`link_resolver.form_of`). The segment is the index of the segment with its end,
or of the next segment for a link without text."""
NO_PARTS: list[str] = []
NO_SPANS: list[RawSpan] = []
"""The parts and the spans of all segments without spans. Never changed."""
BREAK = "\u2028"
"""The part of a `<br>`: Unicode's line separator, since a line feed in a page's source is only a space."""
NO_SEGMENT = -1
"""The segment of a link in a menu or footer that is removed before the walk."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The rule that removed a text, with its detail."""

    kind: Kind
    detail: str = ""
    """The element, role, class or id, selector, or way of hiding."""
    site: str = ""
    """The host of the quirk. Empty if the rule is no quirk of one host."""
    probability: float | None = None
    """Probability of being main content, if the content model judged the text."""


RemovedTexts = list[tuple[str, Removal]]
"""Texts in the order of the page, each with its reason."""


class Segment:
    """A run of text without a block boundary in it, in the block element `element`."""

    __slots__ = (
        "_parts", "_placed", "_preformatted", "_raw", "_words", "element", "images", "link_chars", "links", "text",
    )  # fmt: skip

    def __init__(
        self,
        element: int,
        text: str,
        parts: list[str],
        raw: list[RawSpan],
        preformatted: bool,
        link_chars: int,
        links: int,
        images: int,
        words: int = -1,
    ) -> None:
        self.element = element
        self.text = text
        self.link_chars = link_chars
        self.links = links
        self.images = images
        # Only spans need the parts again: without spans, they would take as much memory as the text.
        self._parts = parts if raw else NO_PARTS
        self._raw = raw or NO_SPANS
        self._preformatted = preformatted
        self._placed = False
        self._words = words

    @classmethod
    def with_text(cls, segment: "Segment", text: str, spans: list[RawSpan]) -> "Segment":
        """Copy a segment with another text and the spans of that text."""
        return cls.read(segment.element, text, spans, segment.link_chars, segment.links, segment.images)

    @classmethod
    def read(cls, element: int, text: str, spans: list[RawSpan], link_chars: int, links: int, images: int) -> "Segment":
        """Make a segment with spans that are positions in the text already."""
        made = cls(element, text, [], spans, False, link_chars, links, images)
        made._placed = True
        return made

    def append(self, points: list[RawSpan]) -> None:
        """Add images and footnotes at the end of the text."""
        self._placed = self._placed or not self._raw
        end = len(self.text) if self._placed else len(self._parts)
        self._raw = [*self._raw, *((end, end, kind, target, label) for _, _, kind, target, label in points)]

    @property
    def words(self) -> int:
        """The number of words between spaces. They are counted at the first access, if the walk has not done so."""
        if self._words < 0:
            self._words = len(self.text.split())
        return self._words

    @property
    def marked(self) -> bool:
        """True if the segment has any spans."""
        return bool(self._raw)

    @property
    def spans(self) -> list[RawSpan]:
        """The spans: start, end, kind, target, label. Start and end are positions in `text`; targets are as written.

        They are computed at the first access: most segments are boilerplate, and nobody reads their spans.
        """
        if not self._placed and self._raw:
            place = place_preformatted if self._preformatted else place_collapsed
            self._raw = place(self._parts, self._raw)[1]
            self._placed = True
        return self._raw


@dataclass(frozen=True, slots=True)
class Part:
    """The place of a name or description that the page writes without a `dl`: `parse.pairs`."""

    tag: str
    """dt or dd."""
    group: int
    """The first element of its group."""
    above: int
    """The element around its group."""


@dataclass(slots=True)
class Walk:
    """A page as lists. An element's parent has a smaller index; element 0 is the body."""

    tags: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    attributes: list[Attributes] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    links: list[RawLink] = field(default_factory=list)
    anchors: dict[int, str] = field(default_factory=dict)
    """The anchor of each heading and term that has one, by element."""
    places: frozenset[str] = frozenset()
    """The addresses of its links to a place on the page that is there, as they are written: `#name`."""
    parts: dict[int, Part] | None = None
    """The names and descriptions by their elements; None before `parse.pairs` has found them."""
    _ranges: tuple[list[int], list[int]] | None = None
    _ends: list[int] | None = None

    def elements(self) -> list[int]:
        """Return the block element of each segment."""
        return [segment.element for segment in self.segments]

    def ends(self) -> list[int]:
        """Return the first element behind each element and all elements in it. Computed once."""
        if self._ends is None:
            self._ends = subtree_ends(self.parents)
        return self._ends

    def ranges(self) -> tuple[list[int], list[int]]:
        """Return the first segment of each element, with all elements in it, and the end of its segments.

        All segments between are its own. An element without text has the number of all segments, and 0. Computed once.
        """
        if self._ranges is None:
            first, end = [len(self.segments)] * len(self.tags), [0] * len(self.tags)
            for index, segment in enumerate(self.segments):
                if end[segment.element] == 0:
                    first[segment.element] = index
                end[segment.element] = index + 1
            parents = self.parents
            for element in range(len(end) - 1, 0, -1):
                if end[element]:
                    above = parents[element]
                    if first[element] < first[above]:
                        first[above] = first[element]
                    if end[element] > end[above]:
                        end[above] = end[element]
            self._ranges = first, end
        return self._ranges

    def attribute(self, element: int, name: str) -> str:
        """Return one attribute of one element; empty if the element lacks it."""
        return self.attributes[element].get(name) or ""

    def named(self, attribute: str) -> dict[int, str]:
        """Return the value of an attribute by element, for the elements that have it."""
        return {
            element: value
            for element, values in enumerate(self.attributes)
            if values and (value := values.get(attribute))
        }


def subtree_ends(parents: Sequence[int]) -> list[int]:
    """Return the first element behind each element and all elements below it.

    Elements are numbered in document order, so an element is below another one if its number is larger, and smaller
    than the other's end.
    """
    ends = list(range(1, len(parents) + 1))
    for element in range(len(ends) - 1, 0, -1):
        above = parents[element]
        if ends[above] < ends[element]:
            ends[above] = ends[element]
    return ends


def place_collapsed(parts: list[str], spans: Sequence[RawSpan]) -> tuple[str, list[RawSpan]]:
    """Return the text with single spaces and its lines, and the spans as positions in it. Spans without text go."""
    text, starts, ends = _collapse_spaces(parts)
    placed = []
    for first, end, kind, target, label in spans:
        if kind in POINT_KINDS:
            at = ends[first - 1] if first else 0
            placed.append((at, at, kind, target, label))
            continue
        start = next((starts[index] for index in range(first, end) if starts[index] >= 0), -1)
        if start >= 0 and end:
            placed.append((start, ends[end - 1], kind, target, label))
    return text, placed


def _collapse_spaces(parts: list[str]) -> tuple[str, list[int], list[int]]:
    """Return the text with single spaces, and where each part starts and ends in it (start -1: it has no words)."""
    starts, ends, out = [], [], []
    length = 0
    pending = ""
    for part in parts:
        words = part.split()
        if not words:
            pending = "\n" if part == BREAK else pending or (" " if part else "")
            starts.append(-1)
            ends.append(length)
            continue
        if length and (pending or part[0].isspace()):
            out.append(pending or " ")
            length += 1
        text = " ".join(words)
        out.append(text)
        starts.append(length)
        length += len(text)
        ends.append(length)
        pending = " " if part[-1].isspace() else ""
    return "".join(out), starts, ends


def collapse_lines(parts: list[str]) -> str:
    """Return the text with single spaces, and one line break for its breaks between two words."""
    lines = (" ".join(line.split()) for line in "".join(parts).split(BREAK))
    return "\n".join(line for line in lines if line)


def place_preformatted(parts: list[str], spans: Sequence[RawSpan]) -> tuple[str, list[RawSpan]]:
    """Return the text with its lines but no blank lines around it, and the spans as positions in it."""
    bounds = [0]
    cleaned = [part.replace("\r\n", "\n").replace("\r", "\n") for part in parts]
    for part in cleaned:
        bounds.append(bounds[-1] + len(part))
    raw = "".join(cleaned)
    text = raw.rstrip()
    stripped = text.lstrip()
    lead = text.rfind("\n", 0, len(text) - len(stripped)) + 1
    text = text[lead:]
    placed = []
    for first, end, kind, target, label in spans:
        start, stop = (min(max(bounds[index] - lead, 0), len(text)) for index in (first, end))
        if start < stop or kind in POINT_KINDS:
            placed.append((start, stop, kind, target, label))
    return text, placed
