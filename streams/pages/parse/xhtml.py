"""A page in XHTML, written as the HTML that means the same. Pure.

A browser reads such a page as XML: `<script src="x"/>` and `<div/>` end there, and CDATA is text. A parser of HTML
takes all that follows for the text of the script. A page that is not well-formed XML is read as HTML, though browsers
refuse it.

The page's own entities are not expanded, so they can't grow, and nothing outside of the page is read. The named
characters of HTML are known, as in browsers, though the file that declares them is not read.
"""

import html
import html.entities
import re
from xml.parsers import expat

_HTML_NAMESPACES = frozenset({"", "http://www.w3.org/1999/xhtml"})
_FOREIGN = {"http://www.w3.org/2000/svg": "svg", "http://www.w3.org/1998/Math/MathML": "math"}
_VOID = frozenset({
    "area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
})  # fmt: skip
_RAW = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes"})
"""Elements whose text HTML reads as it is. An entity in it would stay one."""
_SAFE_NAME = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_IN_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_CDATA_OR_ENTITY = re.compile(r"<!\[CDATA\[(?:[^\]]++|\](?!\]>))*+|&[A-Za-z][A-Za-z0-9]*+;")


def to_html(text: str) -> str | None:
    """Return a page in XHTML as HTML; None if it is not well-formed."""
    writer = _Writer()
    parser = expat.ParserCreate("utf-8", " ")
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.StartElementHandler = writer.start
    parser.EndElementHandler = writer.end
    parser.CharacterDataHandler = writer.text
    # With this handler no entity of the page is expanded: its reference comes here, as it is written.
    parser.DefaultHandler = writer.other
    parser.UseForeignDTD(True)
    try:
        parser.Parse(_without_named_characters(_without_declaration(text)).encode("utf-8", "replace"), True)
    except expat.ExpatError:
        return None
    return "".join(writer.parts)


def _without_declaration(text: str) -> str:
    """Return the text without its XML declaration, whose encoding is not the encoding of the text."""
    text = text.lstrip()
    return text.partition("?>")[2] if text.startswith("<?xml") else text


def _without_named_characters(text: str) -> str:
    """Return the text with the named characters of HTML as themselves, but for the five of XML and those in CDATA."""
    return _CDATA_OR_ENTITY.sub(lambda found: _character(found[0]), text)


def _character(written: str) -> str:
    if not written.startswith("&") or written[1:-1] in _IN_XML:
        return written
    found = html.entities.html5.get(written[1:])
    return "".join(f"&#{ord(character)};" for character in found) if found else written


class _Writer:
    """Writes elements and texts as HTML."""

    def __init__(self) -> None:
        self.parts = ["<!DOCTYPE html>"]
        self._open: list[str] = []

    def start(self, name: str, attributes: list[str]) -> None:
        tag = _tag(name)
        pairs = zip(map(_attribute, attributes[::2]), attributes[1::2], strict=True)
        written = (f' {key}="{html.escape(value)}"' for key, value in pairs if key)
        self.parts.append(f"<{tag}{''.join(written)}>")
        self._open.append(tag)

    def end(self, _name: str) -> None:
        tag = self._open.pop()
        if tag not in _VOID:
            self.parts.append(f"</{tag}>")

    def text(self, text: str) -> None:
        is_raw = bool(self._open) and self._open[-1] in _RAW
        self.parts.append(text.replace("</", "<\\/") if is_raw else html.escape(text, quote=False))

    def other(self, text: str) -> None:
        """Drop comments, declarations and references to entities that the page declares itself."""


def _tag(name: str) -> str:
    """Return the name of an element in HTML. One of another vocabulary becomes an element without meaning."""
    namespace, _, local = name.rpartition(" ")
    if not _SAFE_NAME.fullmatch(local):
        return "span"
    if namespace in _HTML_NAMESPACES:
        return local.lower()
    return local if namespace in _FOREIGN else f"x-{local.lower()}"


def _attribute(name: str) -> str:
    """Return the name of an attribute in HTML; empty for one that HTML doesn't have."""
    namespace, _, local = name.rpartition(" ")
    if not _SAFE_NAME.fullmatch(local):
        return ""
    match namespace:
        case "":
            return local
        case "http://www.w3.org/XML/1998/namespace":
            return local
        case "http://www.w3.org/1999/xlink":
            return f"xlink:{local}"
    return ""
