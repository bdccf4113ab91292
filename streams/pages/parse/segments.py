"""The one pass over a parsed page: block elements, and the runs of text between their boundaries.

Everything later (facts aside) works on these two lists, so that the tree is visited once. Python's cost is per node,
and a page has some two thousand; this loop is the hot spot of the whole stage, hence one long function, local names
and parallel lists instead of objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from selectolax.lexbor import LexborNode

from streams.pages.parse.elements import (
    BLOCK,
    BREAK,
    COMMENT,
    HEADING,
    IMAGE,
    INLINE,
    KINDS,
    LINK,
    LOWERED,
    MATH,
    PRE,
    RAISED,
    SMALL,
    SPAN,
    SPAN_KINDS,
    TEXT,
)
from streams.pages.parse.link_resolver import form_of
from streams.pages.parse.math_tex import source_of
from streams.pages.parse.superscripts import is_joined, raised
from streams.pages.text.script_weights import weight_of

Attributes = dict[str, Any]
PERMALINK_MARKS = frozenset("¶#§🔗⚓")
"""What a link to the heading that it stands in shows: a handle for people, no text of the page."""
LATE_SOURCES = ("data-src", "data-lazy-src", "data-original", "data-srcset", "srcset")
"""Attributes of images that name them, or several sizes of them, the first first."""
_POINTS = frozenset({"image", "footnote"})
"""Kinds of spans that take no room."""
RawSpan = tuple[int, int, str, str, str]
"""First part, end part, kind, target, label."""
RawLink = tuple[str, str, str, int, int]
"""href, text, rel, index of the segment that it ends in (or of the next one, when it has no text), form
(`links.form_of`)."""
NO_SEGMENT = -1
"""That of links in what is taken out of the page before the walk."""


class Segment:
    """A run of text that no boundary divides, in the block element `element`."""

    __slots__ = ("_parts", "_placed", "_raw", "_solid", "element", "images", "link_chars", "links", "text")

    def __init__(
        self,
        element: int,
        text: str,
        parts: list[str],
        raw: list[RawSpan],
        solid: bool,
        link_chars: int,
        links: int,
        images: int,
    ) -> None:
        self.element = element
        self.text = text
        self.link_chars = link_chars
        self.links = links
        self.images = images
        self._parts = parts
        self._raw = raw
        self._solid = solid
        self._placed = False

    @classmethod
    def placed(cls, segment: "Segment", text: str, spans: list[RawSpan]) -> "Segment":
        """The segment with another text, whose spans are known already."""
        return cls.read(segment.element, text, spans, segment.link_chars, segment.links, segment.images)

    @classmethod
    def read(cls, element: int, text: str, spans: list[RawSpan], link_chars: int, links: int, images: int) -> "Segment":
        """A segment whose spans are placed."""
        made = cls.__new__(cls)  # a page has hundreds: half the time of a call
        made.element, made.text = element, text
        made.link_chars, made.links, made.images = link_chars, links, images
        made._parts, made._raw, made._solid, made._placed = [], spans, False, True
        return made

    def append(self, points: list[RawSpan]) -> None:
        """Put points, whose places count no more, behind the text."""
        end = len(self._parts)
        self._raw = [*self._raw, *((end, end, kind, target, label) for _, _, kind, target, label in points)]

    @property
    def marked(self) -> bool:
        """Whether it has spans at all."""
        return bool(self._raw)

    @property
    def spans(self) -> list[RawSpan]:
        """start, end, kind, target, label: positions in `text`. Targets are as written in the page.

        Placed when asked for: most segments are chrome, of which nobody asks.
        """
        if self._placed or not self._raw:
            return self._raw
        self._raw = (_preformatted if self._solid else _collapsed)(self._parts, self._raw)[1]
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
        """The block element of each segment."""
        return [segment.element for segment in self.segments]

    def attribute(self, element: int, name: str) -> str:
        """One attribute of one element; empty where it has none."""
        return self.attributes[element].get(name) or ""

    def named(self, attribute: str) -> dict[int, str]:
        """The elements that have the attribute, with its value."""
        found = ((element, values.get(attribute)) for element, values in enumerate(self.attributes))
        return {element: value for element, value in found if value}


def walk(body: LexborNode) -> Walk:
    """Visit each node below `body` once, in document order."""
    attributes: list[Attributes] = []
    segments: list[Segment] = []
    result = Walk(attributes=attributes, segments=segments)
    tags, parents = result.tags, result.parents
    kinds = KINDS
    stack: list[int] = [-1]
    closers: list[int] = [INLINE]
    skipped: set[int] = set()
    parts: list[str] = []
    spans: list[RawSpan] = []
    open_spans: list[tuple[int, str, str]] = []
    link_parts: list[str] | None = None
    link: tuple[str, str] = ("", "")
    link_chars = links = images = 0
    link_end = 0  # of the link that was closed last in this run, in parts
    solid = 0  # HEADING or PRE while inside one
    element = 0
    top = body.mem_id

    def flush() -> None:
        nonlocal parts, spans, open_spans, link_chars, links, images, link_end
        if open_spans:
            end = len(parts)
            spans += [(start, end, kind, target, "") for start, kind, target in open_spans]
            open_spans = [(0, kind, target) for _, kind, target in open_spans]
        text = _preformatted(parts, ())[0] if solid == PRE else " ".join("".join(parts).split())
        if text:
            segments.append(Segment(element, text, parts, spans, solid == PRE, link_chars, links, images))
            spans = []
            link_chars = links = images = 0
        else:  # images and footnotes wait for the next text
            spans = [(0, 0, kind, target, label) for _, _, kind, target, label in spans if kind in _POINTS]
        parts = []
        link_end = 0

    def attach_back() -> None:
        """Images behind the last text of an element belong to that text, not to what comes behind the element."""
        nonlocal spans
        if spans and not parts and segments and segments[-1].element >= element:
            segments[-1].append(spans)
            spans = []

    def divide() -> None:
        """The start or end of a block in what nothing divides: a new line, if it is not one already."""
        if solid != PRE or (parts and parts[-1][-1:] not in ("\n", "\r")):
            parts.append("\n")

    def put(text: str) -> None:
        """One piece of the run."""
        nonlocal link_chars
        parts.append(text)
        if link_parts is not None:
            link_parts.append(text)
            shown = text.strip()
            link_chars += len(shown) + weight_of(shown).chars

    def is_begun() -> bool:
        """Whether text stands before this in the link, or else in the run."""
        if solid == PRE and link_parts is None:
            return bool(parts)
        return not all(map(str.isspace, parts if link_parts is None else link_parts))

    def close() -> None:
        """Leave the element that was entered last."""
        nonlocal top, element, link_parts, solid, link_end
        closing = closers.pop()
        stack.pop()
        top = stack[-1]
        if closing == INLINE:
            return
        if closing == BLOCK:
            if parts or spans:
                flush()
            attach_back()
            element = parents[element]
        elif closing == LINK:
            start, _, href = open_spans.pop()
            if start < len(parts):
                spans.append((start, len(parts), "link", href, ""))
                link_end = len(parts)
            named = " ".join("".join(link_parts or ()).split())
            result.links.append((href, named, link[1], len(segments), form_of(href)))
            link_parts = None
        elif closing == SPAN:
            start, name, _ = open_spans.pop()
            if start < len(parts):
                spans.append((start, len(parts), name, "", ""))
        elif closing == BREAK:  # a block inside a heading or preformatted text
            divide()
        else:
            flush()
            solid = 0
            element = parents[element]

    nodes = body.traverse(include_text=True)
    next(nodes)  # the body itself
    tags.append("body")
    parents.append(-1)
    attributes.append(body.attributes)
    stack.append(top)
    closers.append(INLINE)
    for node in nodes:
        kind = kinds.get(node.tag_id, INLINE)
        above = node.parent.mem_id  # type: ignore[union-attr]  # below the body each has one
        if above != top:
            if above in skipped:
                skipped.add(node.mem_id)
                continue
            while top != above:
                close()
        if kind == TEXT:
            text = node.text_content or ""
            if parts or solid == PRE or not text.isspace():
                put(text)
        elif kind == BLOCK:
            if solid:
                divide()
                closers.append(BREAK)
            else:
                if parts:
                    flush()
                parents.append(element)
                element = len(tags)
                tags.append(node.tag or "")
                attributes.append(node.attributes)
                closers.append(BLOCK)
            top = node.mem_id
            stack.append(top)
        elif kind == INLINE:
            top = node.mem_id
            stack.append(top)
            closers.append(INLINE)
        elif kind == SMALL:
            if node.attributes.get("role") == "doc-footnote":
                note = " ".join(node.text().split())
                if note:
                    spans.append((len(parts), len(parts), "footnote", note, ""))
                skipped.add(node.mem_id)
            else:
                top = node.mem_id
                stack.append(top)
                closers.append(INLINE)
        elif kind in (RAISED, LOWERED):
            written = raised(node, kind)
            if written and (is_begun() or is_joined(node)):
                put(written)
                skipped.add(node.mem_id)
            else:
                top = node.mem_id
                stack.append(top)
                closers.append(INLINE)
        elif kind == LINK:
            attrs = node.attributes
            link_target = attrs.get("href")
            if link_target and link_target[0] == "#" and node.text().strip() in PERMALINK_MARKS:
                skipped.add(node.mem_id)
                continue
            top = node.mem_id
            stack.append(top)
            if not link_target or link_parts is not None:
                closers.append(INLINE)
            else:
                if parts and link_end == len(parts):
                    parts.append(" ")  # links side by side: styles keep them apart
                links += 1
                link = (link_target, attrs.get("rel") or "")
                link_parts = []
                open_spans.append((len(parts), "link", link_target))
                closers.append(LINK)
        elif kind == SPAN:
            top = node.mem_id
            stack.append(top)
            if solid == PRE:
                closers.append(INLINE)
                if named := node.attributes.get("class"):  # <pre><code class="language-python">
                    outer = attributes[element]
                    outer["class"] = f"{outer.get('class') or ''} {named}"
            else:
                open_spans.append((len(parts), SPAN_KINDS[node.tag or ""], ""))
                closers.append(SPAN)
        elif kind == BREAK:
            if solid == PRE:
                parts.append("\n")
            elif parts:
                if parts[-1] == "\n":
                    flush()
                else:
                    parts.append("\n")
        elif kind == IMAGE:
            attrs = node.attributes
            images += 1
            source = source_of_image(attrs)
            if source:
                label = " ".join((attrs.get("alt") or "").split())
                spans.append((len(parts), len(parts), "image", source, label))
        elif kind in (HEADING, PRE):
            if solid:
                divide()
                closers.append(BREAK)
            else:
                if parts:
                    flush()
                parents.append(element)
                element = len(tags)
                tags.append(node.tag or "")
                attributes.append(node.attributes)
                closers.append(kind)
                solid = kind
            top = node.mem_id
            stack.append(top)
        elif kind == MATH:
            source = source_of(node)
            if source:
                parts.append(source)
                spans.append((len(parts) - 1, len(parts), "math", "", ""))
            skipped.add(node.mem_id)
        elif kind != COMMENT:
            skipped.add(node.mem_id)
    while len(stack) > 2:
        close()
    if parts or spans:
        flush()
    attach_back()
    return result


def source_of_image(attributes: Attributes) -> str:
    """Where an image is: pages that load images late have it in another attribute, and something small in `src`."""
    source: str = attributes.get("src") or ""
    if not source or source.startswith("data:"):
        late = (attributes.get(name) or "" for name in LATE_SOURCES)
        source = next((found for value in late if (found := (value.split(None, 1) or [""])[0].rstrip(","))), "")
    return "" if source.startswith("data:") else source


def _collapsed(parts: list[str], spans: Sequence[RawSpan]) -> tuple[str, list[RawSpan]]:
    """The text with single spaces, and the spans as positions in it; spans without text are dropped."""
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
    placed = []
    for first, end, kind, target, label in spans:
        if kind in _POINTS:
            at = ends[first - 1] if first else 0
            placed.append((at, at, kind, target, label))
            continue
        start = next((starts[index] for index in range(first, end) if starts[index] >= 0), -1)
        if start >= 0 and end:
            placed.append((start, ends[end - 1], kind, target, label))
    return "".join(out), placed


def _preformatted(parts: list[str], spans: Sequence[RawSpan]) -> tuple[str, list[RawSpan]]:
    """The text with its lines, without blank lines around it."""
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
        if start < stop or kind in _POINTS:
            placed.append((start, stop, kind, target, label))
    return text, placed
