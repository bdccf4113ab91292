"""OpenDocument (text, presentation, spreadsheet) -> HTML, from its content and its metadata. Pure.

Headings, paragraphs, lists, tables, links and notes are read. A slide is a page; a sheet is a table with its name.
"""

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
from streams.pages.formats.zipped import MAX_XML_DEPTH, Archive, local_name, number, parse_xml, stated_facts

CONTENT, META = "content.xml", "meta.xml"
MAX_REPEATED = 20
"""Maximum repetitions of a cell or row. Sheets state the empty rest of a row as one cell that is repeated."""
_TAGS = {
    "list": "ul", "list-item": "li", "list-header": "li", "table": "table", "table-row": "tr", "section": "section",
}  # fmt: skip
_HREF = "{http://www.w3.org/1999/xlink}href"
_SKIPPED = frozenset({
    "tracked-changes", "annotation", "notes", "sequence-decls", "forms", "table-of-content", "note-citation",
    "scripts", "automatic-styles", "font-face-decls", "alphabetical-index", "illustration-index", "table-index",
    "user-index",
})  # fmt: skip


def convert_opendocument(body: bytes, url: str) -> Converted:
    """Convert an OpenDocument file. Raises Refused."""
    archive = Archive(body)
    content = archive.read(CONTENT)
    if not content:
        raise Refused("opendocument", f"it has no {CONTENT}")
    writer = _Writer()
    writer.write(parse_xml(content), 0)
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
    )


def _facts(archive: Archive) -> dict[str, str]:
    meta = archive.read(META)
    return stated_facts(parse_xml(meta).iter()) if meta else {}


class _Writer:
    """Writes the elements of a content as HTML."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.chars = 0
        self.title = ""
        self._pages = 0
        self._notes = 0

    def write(self, node: Any, depth: int) -> None:
        name = local_name(node)
        if not name or name in _SKIPPED or depth > MAX_XML_DEPTH or self.chars > MAX_CHARS:
            return
        match name:
            case "h":
                self._text(node, f"h{min(max(number(node, 'outline-level', 1), 1), 6)}")
            case "p":
                self._text(node, "p")
            case "table-cell" | "covered-table-cell":
                self._around("td", node, depth, repeated=number(node, "number-columns-repeated", 1))
            case "page":
                self._pages += 1
                self._around("section", node, depth, f' {PAGE_ATTRIBUTE}="{self._pages}"')
            case "table" if caption := node.get("{urn:oasis:names:tc:opendocument:xmlns:table:1.0}name"):
                self.parts.append("<table>")
                if not caption.startswith(("Table", "Sheet")):
                    self.parts.append(f"<caption>{escape(clean(caption))}</caption>")
                self._inside(node, depth)
                self.parts.append("</table>")
            case _ if name in _TAGS:
                self._around(_TAGS[name], node, depth)
            case _:
                self._inside(node, depth)

    def _inside(self, node: Any, depth: int) -> None:
        for child in node:
            self.write(child, depth + 1)

    def _around(self, tag: str, node: Any, depth: int, attributes: str = "", repeated: int = 1) -> None:
        for _ in range(min(repeated, MAX_REPEATED) if len(node) else 1):
            self.parts.append(f"<{tag}{attributes}>")
            self._inside(node, depth)
            self.parts.append(f"</{tag}>")

    def _text(self, node: Any, tag: str) -> None:
        notes: list[str] = []
        text = "".join(self._inline(node, notes, 0)).strip()
        if text:
            self.chars += len(text)
            self.parts.append(f"<{tag}>{text}</{tag}>")
            if tag == "h1" and not self.title:
                self.title = " ".join(clean("".join(node.itertext())).split())[:300]
        self.parts += notes

    def _inline(self, node: Any, notes: list[str], depth: int) -> Iterator[str]:
        if depth > MAX_XML_DEPTH:
            return
        yield escape(clean(node.text or ""), quote=False)
        for child in node:
            yield from self._inline_child(child, notes, depth + 1)
            yield escape(clean(child.tail or ""), quote=False)

    def _inline_child(self, child: Any, notes: list[str], depth: int) -> Iterator[str]:
        match local_name(child):
            case "s" | "tab":
                yield " "
            case "line-break":
                yield "<br>"
            case "a" if str(child.get(_HREF) or "").startswith(("https://", "http://")):
                yield f'<a href="{escape(child.get(_HREF))}">'
                yield from self._inline(child, notes, depth)
                yield "</a>"
            case "note":
                yield self._note(child, notes)
            case name if name and name not in _SKIPPED:
                yield from self._inline(child, notes, depth)

    def _note(self, node: Any, notes: list[str]) -> str:
        """Return the mark of a note, and add its text behind the paragraph."""
        body = next((child for child in node if local_name(child) == "note-body"), None)
        text = " ".join(clean("".join(body.itertext())).split()) if body is not None else ""
        if not text:
            return ""
        self._notes += 1
        mark, block = footnote(self._notes, text)
        notes.append(block)
        return mark
