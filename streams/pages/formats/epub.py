"""EPUB -> HTML: the chapters in the order of the spine, each through the parser of web pages. Pure.

Links inside of the book lead nowhere on the web, so only the marks of notes in the same chapter are kept.
"""

import posixpath
from typing import Any
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from streams.charset import decode_utf8
from streams.errors import Refused
from streams.pages.formats.converted import MAX_CHARS, Converted, clean, iso_date, title_of_url
from streams.pages.formats.zipped import Archive, attribute, local_name, parse_xml, serialize_html
from streams.pages.parse.page import SAFE_TAGS, refuse_nesting

CONTAINER = "META-INF/container.xml"
MAX_CHAPTERS = 2_000
MAX_AUTHORS = 20
"""Maximum number of creators that are read."""
_ENCRYPTION = "META-INF/encryption.xml"
_OF_FONTS = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
"""Algorithms that only hide fonts."""
_CHAPTER_TYPES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def convert_epub(body: bytes, url: str) -> Converted:
    """Convert an EPUB. Raises Refused."""
    archive = Archive(body)
    _refuse_encryption(archive)
    package = _package_name(archive)
    root = parse_xml(archive.read(package))
    facts = _facts(root)
    chapters, chars = [], 0
    names = list(_chapters(root, posixpath.dirname(package)))
    for number, name in enumerate(names, 1):
        html = _chapter(archive.read(name), number)
        chapters.append(html)
        chars += len(html)
        if chars > MAX_CHARS or number >= MAX_CHAPTERS:
            break
    if not any(chapters):
        raise Refused("epub", "it has no chapter with text")
    return Converted(
        "\n".join(chapters),
        title=facts.get("title", "") or title_of_url(url),
        author=", ".join(_authors(root)),
        published=iso_date(facts.get("date", "")),
        modified=iso_date(facts.get("dcterms:modified", "")),
        language=facts.get("language", ""),
        description=facts.get("description", ""),
        unread_chars=(len(names) - len(chapters)) * chars // len(chapters),
    )


def _refuse_encryption(archive: Archive) -> None:
    """Refuse a book whose chapters are encrypted. Fonts often are, against copying (OCF 3.3, section 4.4)."""
    content = archive.read(_ENCRYPTION)
    for item in parse_xml(content).iter() if content else ():
        if local_name(item) == "EncryptedData" and not any(
            attribute(node, "Algorithm") in _OF_FONTS for node in item if local_name(node) == "EncryptionMethod"
        ):
            raise Refused("epub", "it is encrypted, so only its owner's program can read it: ask for a free copy")


def _authors(root: Any) -> list[str]:
    """Return all creators of a book, without those that another role is stated of, such as its illustrator."""
    roles: dict[str, str] = {}
    found: list[tuple[str, str, str]] = []
    for node in root.iter():
        text = " ".join(clean(node.text or "").split()) if isinstance(node.tag, str) else ""
        if local_name(node) == "meta" and attribute(node, "property") == "role":
            roles[attribute(node, "refines").removeprefix("#")] = text
        elif local_name(node) == "creator" and text and len(found) < MAX_AUTHORS:
            found.append((text[:200], attribute(node, "id"), attribute(node, "role")))
    return list(dict.fromkeys(name for name, key, role in found if (role or roles.get(key, "aut")) == "aut")) or [
        name for name, _, _ in found[:1]
    ]


def _package_name(archive: Archive) -> str:
    root = parse_xml(archive.read(CONTAINER) or b"<none/>")
    for node in root.iter():
        if local_name(node) == "rootfile" and node.get("full-path"):
            return str(node.get("full-path"))
    raise Refused("epub", f"it has no {CONTAINER} that names its package")


def _facts(root: Any) -> dict[str, str]:
    """Return the first value of each fact of the package."""
    found: dict[str, str] = {}
    for node in root.iter():
        text = " ".join(clean(node.text or "").split()) if isinstance(node.tag, str) else ""
        if text and local_name(node) in ("title", "creator", "date", "language", "description"):
            found.setdefault(local_name(node), text[:2_000])
        elif text and local_name(node) == "meta" and node.get("property"):
            found.setdefault(node.get("property"), text[:2_000])
    return found


def _chapters(root: Any, folder: str) -> list[str]:
    """Return the names of the chapters in reading order, without the table of contents."""
    items = {node.get("id"): node for node in root.iter() if local_name(node) == "item" and node.get("href")}
    names = []
    for node in root.iter():
        item = items.get(node.get("idref")) if local_name(node) == "itemref" else None
        if (
            item is None
            or item.get("media-type") not in _CHAPTER_TYPES
            or "nav" in (item.get("properties") or "").split()
        ):
            continue
        names.append(posixpath.normpath(posixpath.join(folder, unquote(item.get("href").partition("#")[0]))))
    return list(dict.fromkeys(names))  # some books list a file for each of its sections


def _as_html(content: bytes) -> bytes:
    """Return XHTML as HTML, where `<a id="x"/>` has an end tag. What is no XML stays as it is: it may be HTML."""
    try:
        return serialize_html(parse_xml(content))
    except Refused:
        return content


def _chapter(content: bytes, number: int) -> str:
    """Return the inside of a chapter's body, with its ids made unique in the book."""
    _, encoded = decode_utf8(_as_html(content), "application/xhtml+xml")
    refuse_nesting(encoded, safe_tags=SAFE_TAGS)
    try:
        tree = LexborHTMLParser(encoded)
    except SelectolaxError as error:
        raise Refused("parser", str(error)) from None
    body = tree.body
    if body is None:
        return ""
    for node in body.css("script, style, nav"):
        node.decompose()
    for node in body.css("[id]"):
        node.attrs["id"] = f"c{number}-{node.attributes.get('id')}"
    for node in body.css("a[href]"):
        href = node.attributes.get("href") or ""
        if href.startswith("#"):
            node.attrs["href"] = f"#c{number}-{href[1:]}"
        elif not href.startswith(("https://", "http://")):
            del node.attrs["href"]
    html = body.html or ""
    return html.replace("<body", "<div", 1).removesuffix("</body>") + "</div>" if body.text(strip=True) else ""
