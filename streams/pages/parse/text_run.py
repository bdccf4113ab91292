"""The text since the last block boundary, while the walk collects it."""

from streams.pages.parse.segments import POINT_KINDS, RawSpan, Segment, place_preformatted
from streams.pages.text.scripts import weight_of


class TextRun:
    """The parts of a text that is not complete yet, the spans over them, and the counts of its links and images.

    A span that is still open when the run ends continues in the next run.
    """

    __slots__ = (
        "_has_text",
        "_link_end",
        "_link_has_text",
        "_open",
        "images",
        "link_chars",
        "link_parts",
        "links",
        "parts",
        "spans",
    )

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.spans: list[RawSpan] = []
        self.link_parts: list[str] | None = None
        """The parts of the open link, which may have begun in an earlier run; None outside of a link."""
        self.link_chars = self.links = self.images = 0
        self._open: list[tuple[int, str, str]] = []
        self._link_end = 0
        self._has_text = self._link_has_text = False

    def add(self, text: str) -> None:
        """Append a piece of text. It belongs to the open link, too."""
        self.parts.append(text)
        if self.link_parts is not None:
            self.link_parts.append(text)
            shown = text.strip()
            self.link_chars += len(shown) + weight_of(shown).chars

    def add_point(self, kind: str, target: str, label: str = "") -> None:
        """Append an image or footnote. It has no text."""
        at = len(self.parts)
        self.spans.append((at, at, kind, target, label))

    def add_formula(self, tex: str) -> None:
        """Append a formula's TeX. It does not count as text of a link."""
        self.parts.append(tex)
        self.spans.append((len(self.parts) - 1, len(self.parts), "math", "", ""))

    def open_span(self, kind: str, target: str = "") -> None:
        """Begin a span at the end of the run."""
        self._open.append((len(self.parts), kind, target))

    def close_span(self) -> bool:
        """End the last opened span. Returns False, and drops the span, if it has no part in this run."""
        start, kind, target = self._open.pop()
        end = len(self.parts)
        if start < end:
            self.spans.append((start, end, kind, target, ""))
        return start < end

    def open_link(self, href: str) -> None:
        """Begin a link. Links side by side get a space between them, because styles keep them apart."""
        if self.parts and self._link_end == len(self.parts):
            self.parts.append(" ")
        self.links += 1
        self.link_parts = []
        self._link_has_text = False
        self.open_span("link", href)

    def close_link(self) -> str:
        """End the open link and return its text."""
        if self.close_span():
            self._link_end = len(self.parts)
        text = " ".join("".join(self.link_parts or ()).split())
        self.link_parts = None
        return text

    def has_text(self) -> bool:
        """Return whether the open link, or else the run, has any text other than spaces."""
        # Text stays text, so the parts before it are not read again for each superscript.
        if self.link_parts is not None:
            self._link_has_text = self._link_has_text or not all(map(str.isspace, self.link_parts))
            return self._link_has_text
        self._has_text = self._has_text or not all(map(str.isspace, self.parts))
        return self._has_text

    def end(self, element: int, preformatted: bool) -> Segment | None:
        """Start the next run. Returns the text of the former run as a segment, or None if it has no text."""
        if self._open:
            self._split_open_spans()
        text = place_preformatted(self.parts, ())[0] if preformatted else " ".join("".join(self.parts).split())
        segment = None
        if text:
            counts = self.link_chars, self.links, self.images
            segment = Segment(element, text, self.parts, self.spans, preformatted, *counts)
            self.spans = []
            self.link_chars = self.links = self.images = 0
        elif self.spans:  # images and footnotes wait for the next text
            self.spans = [(0, 0, *span[2:]) for span in self.spans if span[2] in POINT_KINDS]
        self.parts = []
        self._link_end = 0
        self._has_text = False
        return segment

    def _split_open_spans(self) -> None:
        end = len(self.parts)
        self.spans += [(start, end, kind, target, "") for start, kind, target in self._open]
        self._open = [(0, kind, target) for _, kind, target in self._open]
