"""The one pass over a parsed page: it finds the block elements and the text between their boundaries.

The cost is per node, and a page has about two thousand nodes. So a node costs two or three calls of small methods, and
the step at the end of an element is kept as a method on a stack.
"""

from collections.abc import Callable, Collection
from functools import partial
from sys import intern

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
    MATH,
    PRE,
    SKIP,
    SMALL,
    SPAN,
    SPAN_KINDS,
    SUBSCRIPT,
    SUPERSCRIPT,
    TEXT,
)
from streams.pages.parse.link_resolver import form_of
from streams.pages.parse.math_tex import source_of
from streams.pages.parse.permalinks import Permalinks
from streams.pages.parse.segments import NO_ATTRIBUTES, Attributes, Walk
from streams.pages.parse.text_run import TextRun, is_directly_followed, unicode_form
from streams.pages.text.normal_forms import remove_invisible

LATE_SOURCES = ("data-src", "data-lazy-src", "data-original", "data-srcset")
"""Attributes with the address of an image that scripts load late, in the order of the attempts. `src` has a placeholder
then, which may be a file."""


def walk(body: LexborNode, left_out: Collection[int] = ()) -> Walk:
    """Visit each node below `body` once, in document order, except the nodes of these identities and their contents."""
    return _Walker(body).visit(body, frozenset(left_out))


class _Walker:
    """The state of a walk: the open elements, and the text run that has begun."""

    def __init__(self, body: LexborNode) -> None:
        self._page = Walk(["body"], [-1], [body.attributes])
        self._run = TextRun()
        self._element = 0
        self._undivided = INLINE
        """HEADING or PRE inside such an element, where blocks don't divide the text; else INLINE."""
        self._link = ("", "")
        """href and rel of the open link."""
        self._open = [body.mem_id]
        self._endings: list[Callable[[], object] | None] = [None]
        """For each open element, what its end does."""
        self._permalinks: Permalinks | None = None
        """Made for the first link to a place of the page."""
        self._body = body
        self._skipped: set[int] = set()
        """Elements without text of their own, and all nodes below them."""

    def visit(self, body: LexborNode, left_out: frozenset[int]) -> Walk:
        """Visit all nodes that are not left out, and return the page's lists."""
        methods = self._methods()
        inline = methods[INLINE]
        by_number = {number: methods[kind] for number, kind in KINDS.items()}
        open_elements, skipped = self._open, self._skipped
        nodes = body.traverse(include_text=True)
        next(nodes)  # the body itself
        for node in nodes:
            parent = node.parent.mem_id  # type: ignore[union-attr]  # each node below the body has a parent
            if parent in skipped or (left_out and node.mem_id in left_out):
                skipped.add(node.mem_id)
                continue
            while open_elements[-1] != parent:
                self._leave()
            by_number.get(node.tag_id, inline)(node)
        self._finish()
        return self._page

    def _methods(self) -> dict[int, Callable[[LexborNode], None]]:
        return {
            TEXT: self._text,
            COMMENT: self._ignore,
            SKIP: self._skip,
            INLINE: self._inline,
            BLOCK: self._block,
            HEADING: partial(self._undivided_element, kind=HEADING),
            PRE: partial(self._undivided_element, kind=PRE),
            BREAK: self._break,
            LINK: self._link_element,
            SPAN: self._span,
            SMALL: self._small,
            SUPERSCRIPT: partial(self._small_digits, kind=SUPERSCRIPT),
            SUBSCRIPT: partial(self._small_digits, kind=SUBSCRIPT),
            IMAGE: self._image,
            MATH: self._math,
        }

    # Leaving elements

    def _leave(self) -> None:
        """Leave the last entered element."""
        self._open.pop()
        ending = self._endings.pop()
        if ending is not None:
            ending()

    def _finish(self) -> None:
        while len(self._open) > 1:
            self._leave()
        self._end_text()

    def _end_run(self) -> None:
        is_listing = self._page.tags[self._element] == "p" and not self._undivided and self._run.is_listing()
        if is_listing:
            self._run.keep_lines()
            self._page.tags[self._element] = "pre"
        segment = self._run.end(self._element, is_listing or self._undivided == PRE)
        if segment is not None:
            self._page.segments.append(segment)

    def _end_text(self) -> None:
        """End the run. Images behind the last text of an element belong to that text, not to the next element's."""
        run, segments = self._run, self._page.segments
        if run.parts or run.spans:
            self._end_run()
            if run.spans and segments and segments[-1].element >= self._element:
                segments[-1].append(run.spans)
                run.spans = []

    def _end_block(self) -> None:
        self._end_text()
        self._element = self._page.parents[self._element]

    def _end_undivided(self) -> None:
        self._end_run()
        self._undivided = INLINE
        self._element = self._page.parents[self._element]

    def _end_link(self) -> None:
        href, rel = self._link
        text = self._run.close_link()
        self._page.links.append((href, text, rel, len(self._page.segments), form_of(href)))

    # Entering elements

    def _enter(self, node: LexborNode, ending: Callable[[], object] | None = None) -> None:
        self._open.append(node.mem_id)
        self._endings.append(ending)

    def _inline(self, node: LexborNode) -> None:
        self._open.append(node.mem_id)
        self._endings.append(None)

    def _ignore(self, node: LexborNode) -> None:
        """Pass a comment or an optional line break."""

    def _skip(self, node: LexborNode) -> None:
        self._skipped.add(node.mem_id)

    def _text(self, node: LexborNode) -> None:
        text = remove_invisible(node.text_content or "")
        if self._run.parts or self._undivided == PRE or not text.isspace():
            self._run.add(text)

    def _block(self, node: LexborNode) -> None:
        if self._undivided:
            self._inner_block(node)
        else:
            self._start_element(node)
            self._enter(node, self._end_block)

    def _undivided_element(self, node: LexborNode, kind: int) -> None:
        if self._undivided:
            self._inner_block(node)
        else:
            self._start_element(node)
            self._enter(node, self._end_undivided)
            self._undivided = kind

    def _start_element(self, node: LexborNode) -> None:
        if self._run.parts:
            self._end_run()
        page = self._page
        page.parents.append(self._element)
        self._element = len(page.tags)
        page.tags.append(intern(node.tag or ""))
        page.attributes.append(node.attributes or NO_ATTRIBUTES)

    def _inner_block(self, node: LexborNode) -> None:
        """Enter a block in a heading or preformatted text: its start and end are line breaks."""
        self._divide()
        self._enter(node, self._divide)

    def _divide(self) -> None:
        """Start a new line, unless the text is at the start of a line."""
        parts = self._run.parts
        if self._undivided != PRE or (parts and parts[-1][-1:] not in ("\n", "\r")):
            parts.append("\n")

    def _break(self, node: LexborNode) -> None:
        """Read a line break. Two of them end the run."""
        parts = self._run.parts
        if self._undivided == PRE:
            parts.append("\n")
        elif parts and parts[-1] == "\n":
            self._end_run()
        elif parts:
            parts.append("\n")

    # Elements within a text

    def _link_element(self, node: LexborNode) -> None:
        attributes = node.attributes
        href = attributes.get("href")
        if href and href[0] == "#" and self._is_permalink(node, href):
            self._skip(node)
        elif not href or self._run.link_parts is not None:
            self._inline(node)
        else:
            self._link = (href, attributes.get("rel") or "")
            self._run.open_link(href)
            self._enter(node, self._end_link)

    def _is_permalink(self, node: LexborNode, href: str) -> bool:
        if self._permalinks is None:
            self._permalinks = Permalinks(self._body)
        return self._permalinks.has(node, href)

    def _span(self, node: LexborNode) -> None:
        if self._undivided == PRE:
            self._name_code(node)
            self._inline(node)
        else:
            self._run.open_span(SPAN_KINDS[node.tag or ""])
            self._enter(node, self._run.close_span)

    def _name_code(self, node: LexborNode) -> None:
        """Give the class of `<pre><code class="language-python">` to the outer element."""
        if name := node.attributes.get("class"):
            attributes = self._page.attributes
            outer = attributes[self._element]
            attributes[self._element] = outer | {"class": f"{outer.get('class') or ''} {name}"}

    def _small(self, node: LexborNode) -> None:
        if node.attributes.get("role") != "doc-footnote":
            self._inline(node)
            return
        if note := " ".join(node.text().split()):
            self._run.add_point("footnote", note)
        self._skip(node)

    def _small_digits(self, node: LexborNode, kind: int) -> None:
        written = unicode_form(node, kind)
        if written and (self._has_text_before() or is_directly_followed(node)):
            self._run.add(written)
            self._skip(node)
        else:
            self._inline(node)

    def _has_text_before(self) -> bool:
        """Return whether the open link, or else the run, has text. In preformatted text a space counts."""
        run = self._run
        return bool(run.parts) if self._undivided == PRE and run.link_parts is None else run.has_text()

    def _image(self, node: LexborNode) -> None:
        attributes = node.attributes
        self._run.images += 1
        if source := source_of_image(attributes):
            self._run.add_point("image", source, " ".join(remove_invisible(attributes.get("alt") or "").split()))

    def _math(self, node: LexborNode) -> None:
        if tex := source_of(node):
            self._run.add_formula(tex)
        self._skip(node)


def source_of_image(attributes: Attributes) -> str:
    """Return an image's address: of the image that is loaded late, else of `src`, else the first of its sizes."""
    written = (attributes.get(name) or "" for name in (*LATE_SOURCES, "src", "srcset"))
    found = ((value.split(None, 1) or [""])[0].rstrip(",") for value in written)
    return next((source for source in found if source and not source.startswith("data:")), "")
