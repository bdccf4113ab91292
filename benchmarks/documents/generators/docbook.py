"""Reads DocBook: the sections of a book, each by the identifiers that its page has."""

from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from lxml import etree

from benchmarks.documents.generators.source import Source

_SPACE = "{http://www.w3.org/XML/1998/namespace}"
_LISTINGS = frozenset({"programlisting", "screen", "synopsis", "literallayout"})
_UNSHOWN = frozenset({"indexterm", "remark", "comment", "alt", "textobject"})


def read_book(paths: list[Path]) -> list[Any]:
    """Return the root of each file. Entities of other files are unknown, so their places are empty."""
    parser = etree.XMLParser(recover=True, resolve_entities=True, load_dtd=False, no_network=True, huge_tree=True)
    roots = (etree.fromstring(path.read_bytes(), parser) for path in paths)
    return [root for root in roots if root is not None]


def identified(roots: list[Any]) -> dict[str, Any]:
    """Return the elements with an identifier."""
    elements = (element for root in roots for element in root.iter(etree.Element))
    return {name: one for one in elements if (name := one.get("id") or one.get(f"{_SPACE}id"))}


def read_sections(sections: dict[str, Any], identifiers: Set[str]) -> Source:
    """Return the items of the sections that a page has."""
    source, done = Source(), set[Any]()
    for name, section in sections.items():
        if name in identifiers and not any(one in done for one in section.iterancestors()):
            done.add(section)
            elsewhere = {one for other, one in sections.items() if other not in identifiers and _is_section(one)}
            _read(source, section, elsewhere)
    source.title = source.names.pop(0) if source.names else ""
    return source


def _is_section(element: Any) -> bool:
    return element.find("{*}title") is not None and not element.tag.endswith(("table", "figure", "example"))


def _inside(section: Any, elsewhere: Set[Any]) -> Iterator[Any]:
    """Yield the elements of a section in order, without those below sections of other pages."""
    yield section
    for child in section.iterchildren(etree.Element):
        if child not in elsewhere:
            yield from _inside(child, elsewhere)


def _read(source: Source, section: Any, elsewhere: Set[Any]) -> None:
    for element in _inside(section, elsewhere):
        tag, parent = etree.QName(element).localname, element.getparent()
        above = "" if parent is None else etree.QName(parent).localname
        is_first = parent is not None and parent.index(element) == 0
        if tag in _LISTINGS:
            source.code.append(_text(element))
        elif tag in {"title", "term"} or (tag == "entry" and (is_first or _is_header(element))):
            source.names.append(_text(element))
        elif tag == "entry" or (tag in {"para", "simpara"} and above == "listitem" and is_first):
            source.values.append(_text(element))
        elif tag in {"para", "simpara"}:
            source.texts.append(_text(element))


def _is_header(entry: Any) -> bool:
    return any(etree.QName(one).localname == "thead" for one in entry.iterancestors())


def _text(element: Any) -> str:
    return "".join(_parts(element))


def _parts(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if isinstance(child.tag, str) and etree.QName(child).localname not in _UNSHOWN:
            yield from _parts(child)
        yield child.tail or ""
