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

    __slots__ = ("_parts", "_placed", "_preformatted", "_raw", "element", "images", "link_chars", "links", "text")

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


@dataclass(slots=True)
class Walk:
    """A page as lists. An element's parent has a smaller index; element 0 is the body."""

    tags: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    attributes: list[Attributes] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    links: list[RawLink] = field(default_factory=list)

    def elements(self) -> list[int]:
        """Return the block element of each segment."""
        return [segment.element for segment in self.segments]

    def attribute(self, element: int, name: str) -> str:
        """Return one attribute of one element; empty if the element lacks it."""
        return self.attributes[element].get(name) or ""

    def named(self, attribute: str) -> dict[int, str]:
        """Return the value of an attribute by element, for the elements that have it."""
        found = ((element, values.get(attribute)) for element, values in enumerate(self.attributes) if values)
        return {element: value for element, value in found if value}


def place_collapsed(parts: list[str], spans: Sequence[RawSpan]) -> tuple[str, list[RawSpan]]:
    """Return the text with single spaces, and the spans as positions in it. Spans without text are dropped."""
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
    pending = False
    for part in parts:
        words = part.split()
        if not words:
            pending = pending or bool(part)
            starts.append(-1)
            ends.append(length)
            continue
        if length and (pending or part[0].isspace()):
            out.append(" ")
            length += 1
        text = " ".join(words)
        out.append(text)
        starts.append(length)
        length += len(text)
        ends.append(length)
        pending = part[-1].isspace()
    return "".join(out), starts, ends


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
