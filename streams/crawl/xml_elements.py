"""Finds the elements of an XML document that matter, in a document that may be cut or malformed. Pure and linear.

XML's own grammar makes this possible without a tree: a `<` begins markup wherever it stands, since neither text nor
attributes may have one. So a document is a sequence of tags, comments, CDATA sections and instructions, nesting costs
nothing, and an error harms only the element in which it is. lxml's parser with `recover=True` was compared: it loses
the text behind a raw ampersand, all that follows a raw `<`, and, since it stops at a nesting of 256, most of a feed
whose descriptions have HTML with elements without an end.

Entities of XML and HTML are replaced, with their semicolon: nothing that a document declares is expanded.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MAX_CONTENT_CHARS = 65_536
"""Maximum length of a text that is read (characters)."""
MAX_ATTRIBUTE_CHARS = 4_096
"""Maximum length of an attribute that is read (characters)."""

_NAME = r"[^\W\d][\w.-]{0,63}+"
_ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
"""Markup that has no elements inside, with its end."""
_ATTRIBUTE = re.compile(rf"""((?:{_NAME}:)?{_NAME})\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


@dataclass(frozen=True, slots=True)
class Element:
    """A start tag, with the text up to the next tag, or an end tag."""

    name: str
    """In lower case, without its prefix."""
    prefix: str
    namespace: str
    """The address of the namespace; the prefix itself if the document doesn't declare it."""
    is_end: bool
    tag: str
    document: str
    end: int
    """Place behind the tag."""

    @property
    def attributes(self) -> Mapping[str, str]:
        """The attributes by their names, as they are written, in lower case."""
        return read_attributes(self.tag)

    @property
    def text(self) -> str:
        """The text, without white space around it. Empty if the document ends within it: it may be cut."""
        return "" if self.is_end or self.tag.endswith("/") else _text_from(self.document, self.end).strip()


def tag_pattern(*names: str) -> re.Pattern[str]:
    """Return the pattern of the tags of elements with these names, and of markup that has no elements inside."""
    return re.compile(
        rf"""<(?:(?=(!--|!\[CDATA\[|\?))|(/)?+(?:({_NAME}):)?+({"|".join(names)})(?=[\s/>])"""
        rf"""((?:[^<>"']|"[^<"]*+"|'[^<']*+')*+(?=>)|[^<>]*+)>)""",
        re.IGNORECASE,
    )


def find_elements(document: str, tags: re.Pattern[str]) -> Iterator[Element]:
    """Yield the tags of the elements of a `tag_pattern`, whatever their prefixes and case."""
    declared: dict[str, str] = {}
    at = 0
    while found := tags.search(document, at):
        if kind := found[1]:
            at = _behind(document, f"<{kind.upper()}", found.start())
            continue
        at = found.end()
        _, is_end, prefix, name, tag = found.groups(default="")
        if "xmlns" in tag:
            declared |= _namespaces(read_attributes(tag))
        prefix = prefix.lower()
        namespace = declared.get(prefix, prefix)
        yield Element(name.lower(), prefix, namespace, bool(is_end), tag.rstrip(), document, at)


def read_attributes(tag: str) -> dict[str, str]:
    """Return the attributes of a tag. Of two with one name the first counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(tag):
        found.setdefault(name.lower(), unescape((double or single or bare)[:MAX_ATTRIBUTE_CHARS]))
    return found


def unescape(text: str) -> str:
    """Return a text with its entities replaced. One without its semicolon is text: `&copy=1` is part of an address."""
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


def _namespaces(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the namespaces that a tag declares, by prefix; the empty prefix is for names without one."""
    names = ((name.partition(":"), value) for name, value in attributes.items())
    return {prefix: value.strip() for (xmlns, _, prefix), value in names if xmlns == "xmlns"}


def _text_from(document: str, at: int) -> str:
    """Return the text up to the next tag: sections of CDATA belong to it, comments and instructions don't."""
    parts: list[str] = []
    while (start := document.find("<", at)) >= 0:
        parts.append(unescape(document[at : min(start, at + MAX_CONTENT_CHARS)]))
        kind = next((mark for mark in _ENDS if document.startswith(mark, start)), "")
        if not kind:
            return "".join(parts)
        at = _behind(document, kind, start)
        if kind == "<![CDATA[":
            parts.append(document[start + len(kind) : min(at - 3, start + MAX_CONTENT_CHARS)])
    return ""


def _behind(document: str, mark: str, start: int) -> int:
    """Return the place behind the markup that begins with this mark at `start`, or the end of the document."""
    found = document.find(_ENDS[mark], start + len(mark))
    return len(document) if found < 0 else found + len(_ENDS[mark])
