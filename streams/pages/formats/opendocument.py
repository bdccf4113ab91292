"""OpenDocument (text, presentation, spreadsheet) -> HTML, from its content and its metadata. Pure.

Headings, paragraphs, lists, tables, links and notes are read. A slide is a page; a sheet is a table with its name.
Text boxes follow the paragraph that they stand at. Hidden text, rows and sheets are left out.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from streams.errors import Refused
from streams.pages.formats.converted import (
    MAX_CHARS,
    PAGE_ATTRIBUTE,
    Converted,
    clean,
    footnote,
    iso_date,
    title_of_url,
)
from streams.pages.formats.zipped import (
    MAX_XML_DEPTH,
    Archive,
    attribute,
    local_name,
    number,
    parse_xml,
    stated_facts,
    text_length,
)

CONTENT, META = "content.xml", "meta.xml"
MAX_SPAN = 1_000
"""Maximum number of columns or rows of one cell, as in HTML."""
MAX_SPACES = 200
"""Maximum number of spaces in a row."""
MAX_REPEATED = 20
"""Maximum repetitions of a cell or row. Sheets state the empty rest of a row as one cell that is repeated."""
MAX_COPIES = 20_000
"""Maximum repetitions in a file: tables in repeated cells of tables multiply them."""
_TAGS = {"list": "ul", "list-item": "li", "list-header": "li", "table-header-rows": "thead", "section": "section"}
_PREFORMATTED = "Preformatted_20_Text"
"""The style of paragraphs whose spaces stay."""
_AUTOMATIC = re.compile(r"[^\W\d_]{3,40}\d{1,3}")
"""A name that a program gives a table in any language: a word with a number, such as `Tabelle1`."""
_MANIFEST = "META-INF/manifest.xml"
_HREF = "{http://www.w3.org/1999/xlink}href"
_SKIPPED = frozenset({
    "tracked-changes", "annotation", "notes", "sequence-decls", "forms", "table-of-content", "note-citation",
    "scripts", "automatic-styles", "font-face-decls", "alphabetical-index", "illustration-index", "table-index",
    "user-index", "bibliography", "hidden-text", "hidden-paragraph", "ruby-text", "covered-table-cell",
    "object-index",
})  # fmt: skip


def convert_opendocument(body: bytes, url: str) -> Converted:
    """Convert an OpenDocument file. Raises Refused."""
    archive = Archive(body)
    if b"encryption-data" in archive.read(_MANIFEST):
        raise Refused("opendocument", "it is encrypted. Save it without a password, or as PDF")
    content = archive.read(CONTENT)
    if not content:
        raise Refused("opendocument", f"it has no {CONTENT}")
    root = parse_xml(content)
    writer = _Writer(root)
    writer.write(root, 0)
    html = "".join(writer.parts)
    if not writer.chars:
        raise Refused("opendocument", "it has no text")
    facts = _facts(archive)
    return Converted(
        html,
        title=facts.get("title", "") or writer.title or title_of_url(url),
        author=facts.get("initial-creator", "") or facts.get("creator", ""),
        published=iso_date(facts.get("creation-date", "")),
        modified=iso_date(facts.get("date", "")),
        language=facts.get("language", ""),
        description=facts.get("description", "") or facts.get("subject", ""),
        unread_chars=writer.unread,
    )


def _facts(archive: Archive) -> dict[str, str]:
    meta = archive.read(META)
    return stated_facts(parse_xml(meta).iter()) if meta else {}


def _styles(root: Any) -> tuple[dict[str, str], frozenset[str]]:
    """Return the parent of each automatic style, and the styles of hidden tables."""
    parents: dict[str, str] = {}
    hidden: set[str] = set()
    for styles in (node for node in root if local_name(node) == "automatic-styles"):
        for style in styles:
            parents[attribute(style, "name")] = attribute(style, "parent-style-name")
            if any(attribute(node, "display") == "false" for node in style if local_name(node) == "table-properties"):
                hidden.add(attribute(style, "name"))
    return parents, frozenset(hidden - {""})


class _Writer:
    """Writes the elements of a content as HTML."""

    def __init__(self, root: Any) -> None:
        self.parts: list[str] = []
        self.chars = 0
        self.unread = 0
        """Characters beyond the maximum."""
        self.title = ""
        self._parents, self._hidden = _styles(root)
        self._tag_of_cells = "td"
        self._behind: list[str] = []
        """Blocks that are written behind the paragraph: notes, and the text of boxes."""
        self._pages = 0
        self._notes = 0
        self._copies = 0

    def write(self, node: Any, depth: int) -> None:
        name = local_name(node)
        if not name or name in _SKIPPED or depth > MAX_XML_DEPTH:
            return
        if self.chars > MAX_CHARS:
            self.unread += text_length(node)
            return
        match name:
            case "h":
                self._text(node, f"h{min(max(number(node, 'outline-level', 1), 1), 6)}")
            case "p":
                self._text(node, "pre" if self._is_preformatted(node) else "p")
            case "table-cell":
                spans = "".join(
                    f' {span}="{count}"'
                    for span, count in (
                        ("colspan", number(node, "number-columns-spanned", 1)),
                        ("rowspan", number(node, "number-rows-spanned", 1)),
                    )
                    if 1 < count <= MAX_SPAN
                )
                repeated = number(node, "number-columns-repeated", 1)
                self._around(self._tag_of_cells, node, depth, spans, repeated=repeated)
            case "table-row" if attribute(node, "visibility", "visible") == "visible":
                self._around("tr", node, depth)
            case "table-row":
                return
            case "table-header-rows":
                self._tag_of_cells = "th"
                self._around("thead", node, depth)
                self._tag_of_cells = "td"
            case "page":
                self._pages += 1
                self._around("section", node, depth, f' {PAGE_ATTRIBUTE}="{self._pages}"')
            case "table" if attribute(node, "style-name") not in self._hidden:
                self._table(node, depth)
            case "table":
                return
            case _ if name in _TAGS:
                self._around(_TAGS[name], node, depth)
            case _:
                self._inside(node, depth)

    def _table(self, node: Any, depth: int) -> None:
        outside, self._tag_of_cells = self._tag_of_cells, "td"
        caption = attribute(node, "name")
        self.parts.append("<table>")
        if caption and not _AUTOMATIC.fullmatch(caption):
            self.parts.append(f"<caption>{escape(clean(caption))}</caption>")
        self._inside(node, depth)
        self.parts.append("</table>")
        self._tag_of_cells = outside

    def _is_preformatted(self, node: Any) -> bool:
        style = attribute(node, "style-name")
        return _PREFORMATTED in (style, self._parents.get(style))

    def _inside(self, node: Any, depth: int) -> None:
        for child in node:
            self.write(child, depth + 1)

    def _around(self, tag: str, node: Any, depth: int, attributes: str = "", repeated: int = 1) -> None:
        for copy in range(min(repeated, MAX_REPEATED) if len(node) else 1):
            self._copies += copy > 0
            if copy and self._copies > MAX_COPIES:
                return
            self.parts.append(f"<{tag}{attributes}>")
            self._inside(node, depth)
            self.parts.append(f"</{tag}>")

    def _text(self, node: Any, tag: str) -> None:
        outside, self._behind = self._behind, []
        text = "".join(self._inline(node, 0, is_exact=tag == "pre"))
        text = text.strip("\n") if tag == "pre" else " ".join(text.split())
        if text.strip():
            self.chars += len(text)
            if tag == "pre" and self.parts and self.parts[-1].endswith("</pre>"):
                self.parts[-1] = self.parts[-1].removesuffix("</pre>") + f"\n{text}</pre>"
            else:
                self.parts.append(f"<{tag}>{text}</{tag}>")
            if tag == "h1" and not self.title:
                self.title = " ".join(clean("".join(node.itertext())).split())[:300]
        self.parts += self._behind
        self._behind = outside

    def _box(self, node: Any, depth: int) -> None:
        """Read the text of a box, which is written behind the paragraph that it stands at."""
        outside, self.parts = self.parts, []
        self._inside(node, depth)
        self._behind += self.parts
        self.parts = outside

    def _inline(self, node: Any, depth: int, *, is_exact: bool) -> Iterator[str]:
        if depth > MAX_XML_DEPTH:
            return
        yield escape(clean(node.text or ""), quote=False)
        for child in node:
            yield from self._inline_child(child, depth + 1, is_exact=is_exact)
            yield escape(clean(child.tail or ""), quote=False)

    def _inline_child(self, child: Any, depth: int, *, is_exact: bool) -> Iterator[str]:
        match local_name(child):
            case "s":
                yield " " * min(number(child, "c", 1), MAX_SPACES)
            case "tab":
                yield "\t"
            case "line-break":
                yield "\n" if is_exact else "<br>"
            case "title" | "desc" if "svg" in child.tag:  # the description of a picture
                return
            case "text-box":
                yield " "
                self._box(child, depth)
            case "a" if str(child.get(_HREF) or "").startswith(("https://", "http://")):
                yield f'<a href="{escape(child.get(_HREF))}">'
                yield from self._inline(child, depth, is_exact=is_exact)
                yield "</a>"
            case "note":
                yield self._note(child)
            case name if name and name not in _SKIPPED:
                yield from self._inline(child, depth, is_exact=is_exact)

    def _note(self, node: Any) -> str:
        """Return the mark of a note, and add its text behind the paragraph."""
        body = next((child for child in node if local_name(child) == "note-body"), None)
        text = " ".join(clean("".join(body.itertext())).split()) if body is not None else ""
        if not text:
            return ""
        self._notes += 1
        mark, block = footnote(self._notes, text)
        self._behind.append(block)
        return mark
