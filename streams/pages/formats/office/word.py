"""Documents of Word (WordprocessingML, ISO/IEC 29500-1, 17) -> HTML. Pure.

Text is read as it stands after all tracked changes are accepted. Left out are comments, deleted and hidden text,
tables of contents, headers and footers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from streams.pages.formats.converted import MAX_CHARS, clean, footnote
from streams.pages.formats.office.package import Package, child, is_on
from streams.pages.formats.office.tables import Cell, merge_down, table
from streams.pages.formats.zipped import MAX_XML_DEPTH, attribute, local_name, number, text_length

MAX_BASES = 20
"""Maximum length of a chain of styles."""
MAX_LIST_LEVEL = 8
"""The deepest level of a list (17.9.3)."""
_SKIPPED = frozenset({"del", "moveFrom", "sectPr", "pPr", "rPr", "tcPr", "tblPr", "rt", "instrText", "delText"})
_BREAKS = frozenset({"page", "column"})


@dataclass(frozen=True, slots=True)
class _Style:
    """The properties that a style gives its paragraphs."""

    level: int = 0
    """Level of a heading, from 1; 0 for other paragraphs."""
    is_contents: bool = False
    list_id: str = ""


class _Looks:
    """The styles and the lists of a document."""

    def __init__(self, package: Package) -> None:
        styles = package.read_related(package.main, "styles")
        nodes = [node for node in (styles if styles is not None else ()) if local_name(node) == "style"]
        self._styles = {attribute(node, "styleId"): node for node in nodes}
        self._known: dict[str, _Style] = {}
        self._formats = _list_formats(package.read_related(package.main, "numbering"))

    def of(self, style_id: str) -> _Style:
        if style_id not in self._known:
            self._known[style_id] = self._read(style_id)
        return self._known[style_id]

    def list_tag(self, list_id: str, level: int) -> str:
        return "ul" if self._formats.get((list_id, level), "bullet") in ("bullet", "none") else "ol"

    def _read(self, style_id: str) -> _Style:
        """Return a style with what it inherits. Names of built-in styles are English in every language (17.7.4.9)."""
        level, list_id, name = 0, "", ""
        for _ in range(MAX_BASES):
            node = self._styles.get(style_id)
            if node is None:
                break
            name = name or attribute(child(node, "name"), "val").lower()
            properties = child(node, "pPr")
            level = level or _level(properties) or (1 if attribute(child(node, "name"), "val") == "Title" else 0)
            list_id = list_id or attribute(child(properties, "numPr", "numId"), "val")
            style_id = attribute(child(node, "basedOn"), "val")
        return _Style(level, name.startswith("toc "), list_id)


def _level(properties: Any) -> int:
    """Return the level of a heading, from 1. Level 10 is the body (17.3.1.20)."""
    level = number(child(properties, "outlineLvl"), "val", 9) + 1
    return min(level, 6) if level < 10 else 0


def _list_formats(root: Any) -> Mapping[tuple[str, int], str]:
    """Return the format of each list and level: `bullet`, `decimal`, ..."""
    abstract: dict[str, Mapping[int, str]] = {}
    formats: dict[tuple[str, int], str] = {}
    for node in root if root is not None else ():
        match local_name(node):
            case "abstractNum":
                levels = (level for level in node if local_name(level) == "lvl")
                abstract[attribute(node, "abstractNumId")] = {
                    number(level, "ilvl"): attribute(child(level, "numFmt"), "val") for level in levels
                }
            case "num":
                base = abstract.get(attribute(child(node, "abstractNumId"), "val"), {})
                formats |= {(attribute(node, "numId"), level): form for level, form in base.items()}
    return formats


class WordWriter:
    """Writes a document as HTML."""

    def __init__(self, package: Package) -> None:
        self.parts: list[str] = []
        self.chars = 0
        self.unread = 0
        self.title = ""
        self._looks = _Looks(package)
        self._relations = package.relations(package.main)
        self._notes = {kind: _notes(package.read_related(package.main, f"{kind}s")) for kind in ("footnote", "endnote")}
        self._note_count = 0
        self._behind: list[str] = []
        """Blocks that are written behind the paragraph: notes, and the text of boxes."""
        self._lists: list[tuple[str, str]] = []
        """The open lists, from outside: the id and the tag of each."""

    def write(self, root: Any) -> None:
        self._blocks(child(root, "body"), 0)
        self._close_lists(0)

    def _blocks(self, node: Any, depth: int) -> None:
        for below in node if node is not None else ():
            self._block(below, depth + 1)

    def _block(self, node: Any, depth: int) -> None:
        name = local_name(node)
        if not name or name in _SKIPPED or depth > MAX_XML_DEPTH:
            return
        if self.chars > MAX_CHARS:
            self.unread += text_length(node)
            return
        match name:
            case "p":
                self._paragraph(node, depth)
            case "tbl":
                self._close_lists(0)
                self._table(node, depth)
            case "AlternateContent":
                self._blocks(_chosen(node), depth)
            case "sdt":
                if "Contents" not in attribute(child(node, "sdtPr", "docPartObj", "docPartGallery"), "val"):
                    self._blocks(child(node, "sdtContent"), depth)
            case _:
                self._blocks(node, depth)

    def _paragraph(self, node: Any, depth: int) -> None:
        properties = child(node, "pPr")
        style = self._looks.of(attribute(child(properties, "pStyle"), "val"))
        if style.is_contents:
            return
        text = "".join(self._inline(node, depth)).strip()
        behind, self._behind = self._behind, []
        if text:
            self.chars += len(text)
            level = _level(properties) or style.level
            list_id = attribute(child(properties, "numPr", "numId"), "val") or style.list_id
            if level:
                self._close_lists(0)
                self.parts.append(f"<h{level}>{text}</h{level}>")
                if not self.title:
                    self.title = " ".join(clean("".join(plain_text(node))).split())[:300]
            elif list_id not in ("", "0"):
                self._item(list_id, number(child(properties, "numPr", "ilvl"), "val"), text)
            else:
                self._close_lists(0)
                self.parts.append(f"<p>{text}</p>")
        self.parts += behind

    def _item(self, list_id: str, level: int, text: str) -> None:
        depth = min(level, MAX_LIST_LEVEL) + 1
        self._close_lists(depth)
        if len(self._lists) == depth and self._lists[-1][0] == list_id:
            self.parts.append("</li><li>")
        else:
            self._close_lists(depth - 1)
        while len(self._lists) < depth:
            tag = self._looks.list_tag(list_id, len(self._lists))
            self._lists.append((list_id, tag))
            self.parts.append(f"<{tag}><li>")
        self.parts.append(text)

    def _close_lists(self, depth: int) -> None:
        """End the lists that are deeper than this."""
        while len(self._lists) > depth:
            self.parts.append(f"</li></{self._lists.pop()[1]}>")

    def _table(self, node: Any, depth: int) -> None:
        rows: list[list[Cell]] = []
        for row in descendants(node, "tr"):
            properties = child(row, "trPr")
            if child(properties, "del") is None and not is_on(properties, "hidden"):
                is_header = is_on(properties, "tblHeader")
                rows.append([self._cell(cell, depth, is_header=is_header) for cell in descendants(row, "tc")])
        if len(rows) == 1 and len(rows[0]) == 1:  # a box around text
            self.parts.append(rows[0][0].html)
            return
        self.parts.append(table(merge_down(rows)))

    def _cell(self, node: Any, depth: int, *, is_header: bool) -> Cell:
        properties = child(node, "tcPr")
        outside, self.parts = self.parts, []
        lists, self._lists = self._lists, []
        self._blocks(node, depth + 1)
        self._close_lists(0)
        blocks = self.parts
        self.parts, self._lists = outside, lists
        merge = child(properties, "vMerge")
        goes_on = merge is not None and attribute(merge, "val", "continue") == "continue"
        return Cell(
            blocks[0].removeprefix("<p>").removesuffix("</p>") if len(blocks) == 1 else "".join(blocks),
            columns=number(child(properties, "gridSpan"), "val", 1),
            is_header=is_header,
            is_bold=_is_bold(node),
            continues_above=goes_on,
        )

    def _inline(self, node: Any, depth: int) -> Iterator[str]:
        for below in node:
            yield from self._inline_child(below, depth + 1)

    def _inline_child(self, node: Any, depth: int) -> Iterator[str]:
        name = local_name(node)
        if name in _SKIPPED or depth > MAX_XML_DEPTH:
            return
        match name:
            case "t":
                yield escape(clean(node.text or ""), quote=False)
            case "r" if not (is_on(node, "rPr", "vanish") or is_on(node, "rPr", "webHidden")):
                yield from self._inline(node, depth)
            case "tab" | "ptab":
                yield " "
            case "br" | "cr":
                yield " " if attribute(node, "type") in _BREAKS else "<br>"
            case "noBreakHyphen":
                yield "-"
            case "footnoteReference" | "endnoteReference":
                yield self._note(name.removesuffix("Reference"), attribute(node, "id"))
            case "hyperlink":
                yield from self._link(node, depth)
            case "AlternateContent":
                chosen = _chosen(node)
                yield from self._inline(chosen if chosen is not None else (), depth)
            case "txbxContent":
                self._box(node, depth)
            case "" | "r":
                return
            case _:
                yield from self._inline(node, depth)

    def _link(self, node: Any, depth: int) -> Iterator[str]:
        relation = self._relations.get(attribute(node, "id"))
        address = relation.target if relation and relation.is_outside else ""
        is_web = address.startswith(("https://", "http://"))
        if is_web:
            yield f'<a href="{escape(address)}">'
        yield from self._inline(node, depth)
        if is_web:
            yield "</a>"

    def _box(self, node: Any, depth: int) -> None:
        """Read the text of a box, which is written behind the paragraph that it stands at."""
        outside, self.parts = self.parts, []
        lists, self._lists = self._lists, []
        behind, self._behind = self._behind, []
        self._blocks(node, depth)
        self._close_lists(0)
        self._behind = [*behind, *self.parts]
        self.parts, self._lists = outside, lists

    def _note(self, kind: str, note_id: str) -> str:
        """Return the mark of a note, and add its text behind the paragraph."""
        text = self._notes[kind].get(note_id)
        if not text:
            return ""
        self._note_count += 1
        mark, block = footnote(self._note_count, text)
        self._behind.append(block)
        return mark


def _notes(root: Any) -> dict[str, str]:
    """Return the texts of notes by id. Separators have a type, and no text."""
    found: dict[str, str] = {}
    for node in root if root is not None else ():
        text = " ".join(clean("".join(plain_text(node))).split())
        if text and attribute(node, "type", "normal") == "normal":
            found[attribute(node, "id")] = text[:10_000]
    return found


def plain_text(node: Any) -> Iterator[str]:
    """Yield the texts below an element, without deleted ones. Paragraphs are apart."""
    for below in node.iter():
        match local_name(below):
            case "t":
                yield below.text or ""
            case "p" | "tab" | "br":
                yield " "


def _chosen(node: Any) -> Any:
    """Return the part of an alternative that is read: the first choice (ISO/IEC 29500-3, 7.5)."""
    choice = child(node, "Choice")
    return choice if choice is not None else child(node, "Fallback")


def descendants(node: Any, name: str) -> Iterator[Any]:
    """Yield the nearest elements of a name, below elements that only group them."""
    groups = frozenset({"sdt", "sdtContent", "customXml", "ins", "moveTo"})
    waiting = list(reversed(node))
    while waiting:
        below = waiting.pop()
        if local_name(below) == name:
            yield below
        elif local_name(below) in groups:
            waiting += reversed(below)


def _is_bold(cell: Any) -> bool:
    """Return whether all text of a cell is bold."""
    runs = [run for run in cell.iter() if local_name(run) == "r" and child(run, "t") is not None]
    return bool(runs) and all(is_on(run, "rPr", "b") for run in runs)
