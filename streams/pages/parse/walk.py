"""The one pass over a parsed page: it finds the block elements and the text between their boundaries.

The cost is per node, and a page has about two thousand nodes. So an element costs two or three calls of small methods,
a text costs none, and the step at the end of an element is kept as a method on a stack.
"""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Literal
from urllib.parse import unquote

from selectolax.lexbor import LexborNode

from streams.pages.parse.anchors import anchor_of
from streams.pages.parse.elements import (
    BLOCK,
    BLOCK_NAMES,
    BREAK,
    COMMENT,
    HEADING,
    IMAGE,
    INLINE,
    KINDS,
    LINK,
    MATH,
    NAMED,
    PARTS_OF_TABLES,
    PRE,
    SKIP,
    SMALL,
    SPAN,
    SPAN_KINDS,
    SUBSCRIPT,
    SUPERSCRIPT,
    TEXT,
)
from streams.pages.parse.hiding.doubts import MARK, SHOWN
from streams.pages.parse.link_resolver import form_of
from streams.pages.parse.listings import is_prose_listing
from streams.pages.parse.math_tex import source_of
from streams.pages.parse.permalinks import Permalinks, is_tool
from streams.pages.parse.segments import NO_ATTRIBUTES, NO_SEGMENT, Attributes, Walk
from streams.pages.parse.text_run import TextRun, is_directly_followed, unicode_form
from streams.pages.text.normal_forms import remove_invisible

LATE_SOURCES = ("data-src", "data-lazy-src", "data-original", "data-srcset")
"""Attributes with the address of an image that scripts load late, in the order of the attempts. `src` has a placeholder
then, which may be a file."""


Ending = Callable[[], object] | Literal[False] | None
"""The step at the end of an element. False: the element has no text of its own, and is left out with all in it."""


def walk(body: LexborNode, left_out: Collection[int] = (), *, written: bool = False) -> Walk:
    """Visit each node below `body` once, in document order, except the nodes of these identities and their contents.

    `written`: the page was written by `document.to_html`, so its paragraphs are no listings.
    """
    return _Walker(body, written).visit(body, frozenset(left_out))


def _names_of(node: LexborNode) -> Iterator[str]:
    """Yield the names of an element's place: its id, and the name of a link."""
    for key in ("id", "name") if node.tag == "a" else ("id",):
        if name := node.attributes.get(key):
            yield name


class _Walker:
    """The state of a walk: the open elements, and the text run that has begun."""

    def __init__(self, body: LexborNode, written: bool) -> None:
        self._written = written
        self._page = Walk(["body"], [-1], [body.attributes])
        self._run = TextRun()
        self._element = 0
        self._undivided = INLINE
        """HEADING or PRE inside such an element, where blocks don't divide the text; else INLINE."""
        self._link = ("", "")
        """href and rel of the open link."""
        self._permalinks: Permalinks | None = None
        """Made for the first link to a place of the page."""
        self._body = body
        self._in_prose = False
        """True inside preformatted prose: its empty lines end a text."""

    def visit(self, body: LexborNode, left_out: frozenset[int]) -> Walk:
        """Visit all nodes that are not left out, and return the page's lists."""
        methods = self._methods()
        inline = methods[INLINE]
        by_number = {number: methods[kind] for number, kind in KINDS.items()}
        run = self._run
        open_elements: list[tuple[LexborNode, Callable[[], object] | None]] = []
        node = body.first_child
        while True:
            if node is None:
                if not open_elements:
                    break
                node, ending = open_elements.pop()
                if ending is not None:
                    ending()
                node = node.next
            elif left_out and node.mem_id in left_out:
                node = node.next
            elif (method := by_number.get(node.tag_id, inline)) is None:
                text = node.text_content or ""
                if not text.isascii():
                    text = remove_invisible(text)
                if self._in_prose:
                    self._add_lines(text)
                elif run.parts or self._undivided == PRE or not text.isspace():
                    run.add(text)
                node = node.next
            elif (found := method(node)) is False:
                node = node.next
            else:
                open_elements.append((node, found))
                node = node.first_child
        self._end_text()
        self._page.places = self._find_places()
        return self._page

    def _find_places(self) -> frozenset[str]:
        """Return the addresses of links whose fragment is an id or a name on the page, as written or decoded."""
        page = self._page
        asked = {href: unquote(href[1:]) for href, *_ in page.links if href[:1] == "#" and href[1:]}
        if not asked:
            return frozenset()
        names = {own for attributes in page.attributes if attributes and (own := attributes.get("id"))}
        if not all(href[1:] in names or place in names for href, place in asked.items()):
            for node in self._body.css("[id], a[name]"):
                names.update(_names_of(node))
        return frozenset(href for href, place in asked.items() if href[1:] in names or place in names)

    def _methods(self) -> dict[int, Callable[[LexborNode], Ending] | None]:
        return {
            TEXT: None,
            COMMENT: self._skip,
            SKIP: self._skip,
            INLINE: self._inline,
            BLOCK: self._block,
            HEADING: partial(self._undivided_element, kind=HEADING),
            PRE: self._preformatted,
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

    def _end_run(self) -> None:
        if self._in_prose:
            self._end_paragraph()
            return
        may_be_listing = self._page.tags[self._element] == "p" and not (self._undivided or self._written)
        is_listing = may_be_listing and self._run.is_listing()
        if is_listing:
            self._run.keep_lines()
            self._page.tags[self._element] = "pre"
        segment = self._run.end(self._element, is_listing or self._undivided == PRE)
        if segment is not None:
            self._page.segments.append(segment)

    def _end_paragraph(self) -> None:
        """End a paragraph of preformatted prose, as an element of its own."""
        reading = self._run.read_lines()
        page = self._page
        segment = self._run.end(len(page.tags), reading == "verbatim")
        if segment is not None:
            page.parents.append(self._element)
            page.tags.append("pre" if reading == "verbatim" else "p")
            mark = page.attributes[self._element].get(MARK, SHOWN)
            page.attributes.append(NO_ATTRIBUTES if mark == SHOWN else {MARK: mark})
            page.segments.append(segment)

    def _end_prose(self) -> None:
        self._end_block()
        self._in_prose = False

    def _end_text(self) -> None:
        """End the run. Images behind the last text of an element belong to that text, not to the next element's."""
        run, segments = self._run, self._page.segments
        if run.parts or run.spans:
            self._end_run()
            if run.spans and segments and segments[-1].element >= self._element:
                segments[-1].append(run.spans)
                run.spans = []

    def _end_block(self) -> None:
        if self._run.parts or self._run.spans:
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

    def _inline(self, node: LexborNode) -> Ending:
        return None

    def _skip(self, node: LexborNode) -> Ending:
        return False

    def _add_lines(self, text: str) -> None:
        """Add a text of preformatted prose: each line is a part, and an empty line ends a paragraph."""
        for number, line in enumerate(text.split("\n")):
            if number and self._run.parts and not self._run.add_line():
                self._end_run()
            if line.strip() or self._run.parts:
                self._run.add(line)

    def _block(self, node: LexborNode) -> Ending:
        if self._undivided:
            return self._inner_block()
        self._start_element(node)
        return self._end_block

    def _undivided_element(self, node: LexborNode, kind: int) -> Ending:
        if self._undivided:
            return self._inner_block()
        self._start_element(node)
        self._undivided = kind
        return self._end_undivided

    def _preformatted(self, node: LexborNode) -> Ending:
        if self._undivided or self._written or self._in_prose or not is_prose_listing(node):
            return self._undivided_element(node, PRE)
        self._start_element(node)
        self._page.tags[-1] = "div"
        self._in_prose = True
        return self._end_prose

    def _start_element(self, node: LexborNode) -> None:
        if self._run.parts:
            self._end_run()
        page = self._page
        page.parents.append(self._element)
        self._element = len(page.tags)
        tag = BLOCK_NAMES[node.tag_id]
        attributes = node.attributes or NO_ATTRIBUTES
        if tag in NAMED and (anchor := anchor_of(node)):
            page.anchors[self._element] = anchor
        if (part := PARTS_OF_TABLES.get(attributes.get("role") or "")) and page.tags[page.parents[-1]] in part[1]:
            tag = part[0]
        page.tags.append(tag)
        page.attributes.append(attributes)

    def _inner_block(self) -> Ending:
        """Enter a block in a heading or preformatted text: its start and end are line breaks."""
        self._divide()
        return self._divide

    def _divide(self) -> None:
        """Start a new line, unless the text is at the start of a line."""
        parts = self._run.parts
        if self._undivided != PRE or (parts and parts[-1][-1:] not in ("\n", "\r")):
            parts.append("\n")

    def _break(self, node: LexborNode) -> Ending:
        """Read a line break: a new line of the text. Two of them end the run. A heading is one line."""
        parts = self._run.parts
        if self._undivided:
            parts.append("\n")
        elif parts and not self._run.add_break():
            self._end_run()
        return False

    # Elements within a text

    def _link_element(self, node: LexborNode) -> Ending:
        attributes = node.attributes
        href = attributes.get("href")
        if href and href[0] == "#" and self._is_permalink(node, href):
            return False
        if not href or self._run.link_parts is not None:
            return None
        if href[0] != "#" and is_tool(node):
            self._page.links.append((href, "", attributes.get("rel") or "", NO_SEGMENT, form_of(href)))
            return False
        self._link = (href, attributes.get("rel") or "")
        self._run.open_link(href)
        return self._end_link

    def _is_permalink(self, node: LexborNode, href: str) -> bool:
        if self._permalinks is None:
            self._permalinks = Permalinks(self._body)
        return self._permalinks.has(node, href)

    def _span(self, node: LexborNode) -> Ending:
        if self._undivided == PRE:
            self._name_code(node)
            return None
        self._run.open_span(SPAN_KINDS[node.tag or ""])
        return self._run.close_span

    def _name_code(self, node: LexborNode) -> None:
        """Give the class of `<pre><code class="language-python">` to the outer element."""
        if name := node.attributes.get("class"):
            attributes = self._page.attributes
            outer = attributes[self._element]
            attributes[self._element] = outer | {"class": f"{outer.get('class') or ''} {name}"}

    def _small(self, node: LexborNode) -> Ending:
        if node.attributes.get("role") != "doc-footnote":
            return None
        if note := " ".join(node.text().split()):
            self._run.add_point("footnote", note)
        return False

    def _small_digits(self, node: LexborNode, kind: int) -> Ending:
        written = unicode_form(node, kind)
        if written and (self._has_text_before() or is_directly_followed(node)):
            self._run.add(written)
            return False
        return None

    def _has_text_before(self) -> bool:
        """Return whether the open link, or else the run, has text. In preformatted text a space counts."""
        run = self._run
        return bool(run.parts) if self._undivided == PRE and run.link_parts is None else run.has_text()

    def _image(self, node: LexborNode) -> Ending:
        attributes = node.attributes
        self._run.images += 1
        if source := source_of_image(attributes):
            self._run.add_point("image", source, " ".join(remove_invisible(attributes.get("alt") or "").split()))
        return False

    def _math(self, node: LexborNode) -> Ending:
        if tex := source_of(node):
            self._run.add_formula(tex)
        return False


def source_of_image(attributes: Attributes) -> str:
    """Return an image's address: of the image that is loaded late, else of `src`, else the first of its sizes."""
    written = (attributes.get(name) or "" for name in (*LATE_SOURCES, "src", "srcset"))
    found = ((value.split(None, 1) or [""])[0].rstrip(",") for value in written)
    return next((source for source in found if source and not source.startswith("data:")), "")
