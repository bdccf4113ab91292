"""The text since the last block boundary, while the walk collects it; superscripts are Unicode characters in it.

`10<sup>6</sup>` is 10⁶, not 106, and `H<sub>2</sub>O` is H₂O. A document's text has no smaller text above or below its
line, and numbers would be wrong without it. Unicode has such digits and signs (and n and i), which covers formulas in
running text. A superscript that these characters cannot write completely (`1<sup>st</sup>`, `x<sub>max</sub>`) stays
plain text.

A superscript needs text before it in the same run (inside a link: in the link) or directly behind it. At the start of a
text with a space behind it, it is the mark of a note, and also if it is all of a link's text. An element with a link,
an image or a block in it is no superscript.

The tokenizer reads these characters as plain digits and letters again (NFKC, in `tokens`).
"""

from selectolax.lexbor import LexborNode

from streams.pages.parse.elements import COMMENT, INLINE, KINDS, SMALL, SPAN, SUPERSCRIPT, TEXT
from streams.pages.parse.segments import BREAK, POINT_KINDS, RawSpan, Segment, collapse_lines, place_preformatted
from streams.pages.text.scripts import weight_of
from streams.pages.text.wrapped_lines import Reading, read_lines

MAX_CHARS = 12
"""Maximum length of a superscript or subscript (characters, without spaces). A longer text is small running text."""
_PLAIN = "0123456789+-()=ni\u2212\u2010\u2011\u2013"
"""The characters with small forms. The last four are the minus sign, two hyphens, and a dash that many type for it."""
_SUPERSCRIPTS = dict(zip(_PLAIN, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾⁼ⁿⁱ⁻⁻⁻⁻", strict=True))
_SUBSCRIPTS = dict(zip(_PLAIN, "₀₁₂₃₄₅₆₇₈₉₊₋₍₎₌ₙᵢ₋₋₋₋", strict=True))
_ALLOWED = frozenset({TEXT, INLINE, SPAN, SMALL, COMMENT})


def unicode_form(node: LexborNode, kind: int) -> str:
    """Return the text of a SUPERSCRIPT or SUBSCRIPT in Unicode's small characters; empty if they cannot write it.

    Spaces are removed, except for one at the end.
    """
    text = _text_of(node)
    plain = "".join(text.split())
    characters = _SUPERSCRIPTS if kind == SUPERSCRIPT else _SUBSCRIPTS
    if not plain or len(plain) > MAX_CHARS or any(char not in characters for char in plain):
        return ""
    return "".join(characters[char] for char in plain) + " " * text[-1].isspace()


def _text_of(node: LexborNode) -> str:
    """Return the text of an element; empty if it has a link, an image, a block or the like in it."""
    texts = []
    for inner in node.traverse(include_text=True):
        if inner.mem_id == node.mem_id:
            continue
        kind = KINDS.get(inner.tag_id, INLINE)
        if kind not in _ALLOWED:
            return ""
        if kind == TEXT:
            texts.append(inner.text_content or "")
    return "".join(texts)


def is_directly_followed(node: LexborNode) -> bool:
    """Return whether text is directly behind an element, without a space."""
    behind = node.next
    return behind is not None and KINDS.get(behind.tag_id) == TEXT and not (behind.text_content or " ")[0].isspace()


class TextRun:
    """The parts of a text that is not complete yet, the spans over them, and the counts of its links and images.

    A span that is still open when the run ends continues in the next run.
    """

    __slots__ = (
        "_has_text", "_last_break", "_link_end", "_link_has_text", "_open", "images", "link_chars", "link_parts",
        "links", "parts", "spans",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.spans: list[RawSpan] = []
        self.link_parts: list[str] | None = None
        """The parts of the open link, which may have begun in an earlier run; None outside of a link."""
        self.link_chars = self.links = self.images = 0
        self._open: list[tuple[int, str, str]] = []
        self._link_end = 0
        self._last_break = 0
        """The number of parts with the last line break; 0 without one."""
        self._has_text = self._link_has_text = False

    def add(self, text: str) -> None:
        """Append a piece of text. It belongs to the open link, too."""
        self.parts.append(text)
        if self.link_parts is not None:
            self.link_parts.append(text)
            shown = text.strip()
            self.link_chars += len(shown) + weight_of(shown).chars

    def add_break(self) -> bool:
        """Append a line break. Returns False, and appends none, if no text is behind the one before."""
        return self._add_break(BREAK)

    def add_line(self) -> bool:
        """Begin a new line of preformatted prose. Returns False, and begins none, if the line before is empty."""
        return self._add_break("\n")

    def _add_break(self, part: str) -> bool:
        if self._last_break and not any(map(str.strip, self.parts[self._last_break :])):
            return False
        self.parts.append(part)
        self._last_break = len(self.parts)
        if self.link_parts is not None:
            self.link_parts.append(part)
        return True

    def read_lines(self) -> Reading:
        """Return how the lines of preformatted prose are to be read. Lines that mean something become breaks.

        The marks of a quotation in a mail (`>`) go.
        """
        lines = [line for line in "".join(self.parts).split("\n") if line.strip()]
        if lines and all(line.lstrip().startswith(">") for line in lines):
            self._remove_marks_of_quotation()
            lines = [line.lstrip(" >") for line in lines]
        reading = read_lines(lines) if lines else "prose"
        if reading == "lines":
            self.parts = [BREAK if part == "\n" else part for part in self.parts]
        return reading

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

    def is_listing(self) -> bool:
        """Return whether the run has several lines, all of them code, as in `<p><code>a<br>b</code>`."""
        if self._last_break < 2:
            return False
        inside = {part for start, end, kind, *_ in self.spans if kind == "code" for part in range(start, end)}
        for start, kind, _ in self._open:
            if kind == "code":
                inside.update(range(start, len(self.parts)))
        return all(index in inside or part.isspace() for index, part in enumerate(self.parts))

    def keep_lines(self) -> None:
        """Make the breaks of a run its only lines: others are the source's. Spaces at their ends go."""
        around = [BREAK, *self.parts, BREAK]
        for index, part in enumerate(self.parts):
            words = " ".join(part.split())
            before = part[:1].isspace() and around[index] != BREAK
            after = part[-1:].isspace() and around[index + 2] != BREAK and words != ""
            self.parts[index] = "\n" if part == BREAK else f"{' ' * before}{words}{' ' * after}"

    def _remove_marks_of_quotation(self) -> None:
        is_start = True
        for index, part in enumerate(self.parts):
            if part == "\n":
                is_start = True
            elif is_start and part.strip():
                self.parts[index] = part.lstrip(" >")
                is_start = False

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
        text, words = self._text(preformatted)
        segment = None
        if text:
            counts = self.link_chars, self.links, self.images, words
            segment = Segment(element, text, self.parts, self.spans, preformatted, *counts)
            self.spans = []
            self.link_chars = self.links = self.images = 0
        elif self.spans:  # images and footnotes wait for the next text
            self.spans = [(0, 0, *span[2:]) for span in self.spans if span[2] in POINT_KINDS]
        self.parts = []
        self._link_end = self._last_break = 0
        self._has_text = False
        return segment

    def _text(self, preformatted: bool) -> tuple[str, int]:
        """Return the text, and the number of its words; -1 if they are not counted."""
        if preformatted:
            return place_preformatted(self.parts, ())[0], -1
        if self._last_break:
            return collapse_lines(self.parts), -1
        words = "".join(self.parts).split()
        return " ".join(words), len(words)

    def _split_open_spans(self) -> None:
        end = len(self.parts)
        self.spans += [(start, end, kind, target, "") for start, kind, target in self._open]
        self._open = [(0, kind, target) for _, kind, target in self._open]
