"""A page in XHTML, written as the HTML that means the same. Pure.

A browser reads such a page as XML: `<script src="x"/>` and `<div/>` end there, and CDATA is text. A parser of HTML
takes all that follows for the text of the script. A page that is not well-formed XML is read as HTML, though browsers
refuse it.

A page with declarations of its own (entities, attributes with defaults) is read as HTML too: what they declare could
grow without end, in texts and in attributes. Nothing outside of the page is read. The named characters of HTML are
known, as in browsers, though the file that declares them is not read.

Namespaces are followed here and not by expat, which writes the whole namespace into the name of each element.
"""

import html
import html.entities
import re
from xml.parsers import expat

_PROLOG_BYTES = 64 * 1024
"""Maximum length of what is in front of the first element."""
_HTML_NAMESPACES = frozenset({"", "http://www.w3.org/1999/xhtml"})
_FOREIGN = {"http://www.w3.org/2000/svg": "svg", "http://www.w3.org/1998/Math/MathML": "math"}
_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
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
    """Return a page in XHTML as HTML; None if it is not well-formed, or if it has declarations of its own."""
    writer = _Writer()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.StartDoctypeDeclHandler = _refuse_declarations
    parser.StartElementHandler = writer.start
    parser.EndElementHandler = writer.end
    parser.CharacterDataHandler = writer.text
    # Without this handler the reference to an unknown entity would be an error.
    parser.DefaultHandler = writer.other
    parser.UseForeignDTD(True)
    content = _without_named_characters(_without_declaration(text)).encode("utf-8", "replace")
    try:
        # An error of a handler ends the parser only behind the bytes that it was given: so declarations have a bound.
        parser.Parse(content[:_PROLOG_BYTES], False)
        if not writer.has_begun:
            return None
        parser.Parse(content[_PROLOG_BYTES:], True)
    except (expat.ExpatError, _NoXhtml):
        return None
    return "".join(writer.parts)


class _NoXhtml(Exception):
    """The page is to be read as HTML."""


def _refuse_declarations(_name: str, _system: str | None, _public: str | None, has_declarations: bool) -> None:
    if has_declarations:
        raise _NoXhtml


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


class _Namespaces:
    """The namespaces of the prefixes, in the element that is open."""

    def __init__(self) -> None:
        self._uris: dict[str, list[str]] = {"": [""], "xml": [_XML_NAMESPACE]}
        self._declared: list[list[str]] = []
        """The prefixes that each open element declares."""

    def begin(self, attributes: list[str]) -> None:
        declared = []
        for name, uri in zip(attributes[::2], attributes[1::2], strict=True):
            if name == "xmlns" or name.startswith("xmlns:"):
                prefix = name[len("xmlns:") :]
                self._uris.setdefault(prefix, []).append(uri)
                declared.append(prefix)
        self._declared.append(declared)

    def end(self) -> None:
        for prefix in self._declared.pop():
            self._uris[prefix].pop()

    def split(self, name: str, *, is_attribute: bool = False) -> tuple[str, str]:
        """Return the namespace of a name, and the name without its prefix. Raises _NoXhtml for an unknown prefix."""
        prefix, colon, local = name.partition(":")
        if not colon:
            return "" if is_attribute else self._uris[""][-1], name
        uris = self._uris.get(prefix)
        if not prefix or not uris or not uris[-1]:
            raise _NoXhtml
        return uris[-1], local


class _Writer:
    """Writes elements and texts as HTML."""

    def __init__(self) -> None:
        self.parts = ["<!DOCTYPE html>"]
        self._open: list[str] = []
        self._namespaces = _Namespaces()

    @property
    def has_begun(self) -> bool:
        return len(self.parts) > 1

    def start(self, name: str, attributes: list[str]) -> None:
        self._namespaces.begin(attributes)
        tag = _tag(*self._namespaces.split(name))
        pairs = zip(map(self._attribute, attributes[::2]), attributes[1::2], strict=True)
        written = (f' {key}="{html.escape(value)}"' for key, value in pairs if key)
        self.parts.append(f"<{tag}{''.join(written)}>")
        self._open.append(tag)

    def end(self, _name: str) -> None:
        self._namespaces.end()
        tag = self._open.pop()
        if tag not in _VOID:
            self.parts.append(f"</{tag}>")

    def text(self, text: str) -> None:
        is_raw = bool(self._open) and self._open[-1] in _RAW
        self.parts.append(text.replace("</", "<\\/") if is_raw else html.escape(text, quote=False))

    def other(self, text: str) -> None:
        """Drop comments, declarations and references to unknown entities."""

    def _attribute(self, name: str) -> str:
        if name == "xmlns" or name.startswith("xmlns:"):
            return ""
        return _attribute(*self._namespaces.split(name, is_attribute=True))


def _tag(namespace: str, local: str) -> str:
    """Return the name of an element in HTML. One of another vocabulary becomes an element without meaning."""
    if not _SAFE_NAME.fullmatch(local):
        return "span"
    if namespace in _HTML_NAMESPACES:
        return local.lower()
    return local if namespace in _FOREIGN else f"x-{local.lower()}"


def _attribute(namespace: str, local: str) -> str:
    """Return the name of an attribute in HTML; empty for one that HTML doesn't have."""
    if not _SAFE_NAME.fullmatch(local):
        return ""
    if namespace in ("", _XML_NAMESPACE):
        return local
    return f"xlink:{local}" if namespace == "http://www.w3.org/1999/xlink" else ""
