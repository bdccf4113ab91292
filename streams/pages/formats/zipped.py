"""The members of a zip archive with limits, and XML without entities: the base of EPUB and OpenDocument. Pure.

A member may unpack to gigabytes, so it is read piece by piece up to a limit; all members together have a limit, too.
"""

import io
import zipfile
import zlib
from collections.abc import Iterable
from typing import Any

from lxml import etree

from streams.errors import Refused
from streams.pages.formats.converted import clean

MAX_MEMBERS = 5_000
"""Maximum number of members that an archive may list."""
MAX_MEMBER_BYTES = 16 * 1024 * 1024
"""Maximum length of an unpacked member (bytes)."""
MAX_TOTAL_BYTES = 40 * 1024 * 1024
"""Maximum length of all members that are read, unpacked (bytes)."""
MAX_FACT_CHARS = 2_000
"""Maximum length of a text that a file states of itself (characters)."""
MAX_XML_DEPTH = 200
"""Maximum nesting of XML. lxml itself stops at 256."""
_PIECE_BYTES = 64 * 1024


class Archive:
    """An archive whose members are read with limits."""

    def __init__(self, body: bytes) -> None:
        """Open an archive. Raises Refused."""
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(body))
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
            raise Refused("zip", f"the archive can't be read: {str(error)[:100]}") from None
        self.names = frozenset(self._zip.namelist())
        if len(self.names) > MAX_MEMBERS:
            raise Refused("zip", f"{len(self.names)} members, {MAX_MEMBERS} are allowed")
        self._left = MAX_TOTAL_BYTES

    def read(self, name: str) -> bytes:
        """Return a member, unpacked; empty if it is missing. Raises Refused."""
        if name not in self.names:
            return b""
        limit = min(MAX_MEMBER_BYTES, self._left)
        content = bytearray()
        try:
            with self._zip.open(name) as member:
                while piece := member.read(_PIECE_BYTES):
                    content += piece
                    if len(content) > limit:
                        raise Refused("zip", f"more than {limit} bytes unpacked")
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            OSError,
            ValueError,
        ) as error:
            raise Refused("zip", f"a member can't be unpacked: {str(error)[:100]}") from None
        self._left -= len(content)
        return bytes(content)


def parse_xml(content: bytes) -> Any:
    """Parse XML without entities, files and network. Returns the root. Raises Refused."""
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Refused("xml", str(error)[:200]) from None
    if root is None:
        raise Refused("xml", "it is empty")
    return root


def local_name(node: Any) -> str:
    """Return the name of an element without its namespace; empty for what is no element."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def attribute(node: Any, name: str, default: str = "") -> str:
    """Return an attribute by its local name; the default if it, or the node, is missing."""
    if node is None:
        return default
    return next((str(value) for key, value in node.items() if key.rpartition("}")[2] == name), default)


def number(node: Any, name: str, default: int = 0) -> int:
    """Return a whole number of an attribute; the default for an attribute that has none."""
    text = attribute(node, name).strip()
    return int(text[:9]) if text.isascii() and text.isdigit() else default


def text_length(node: Any) -> int:
    """Return the number of characters below an element, without the spaces that format its XML."""
    return sum(len(text.strip()) for text in node.itertext())


def stated_facts(nodes: Iterable[Any]) -> dict[str, str]:
    """Return the texts of elements by local name, the first of each name: what a file states of itself."""
    found: dict[str, str] = {}
    for node in nodes:
        if local_name(node) and node.text and node.text.strip():
            found.setdefault(local_name(node), " ".join(clean(node.text).split())[:MAX_FACT_CHARS])
    return found


def serialize_html(root: Any) -> bytes:
    """Return an XML tree as HTML in UTF-8, with the names of its elements only."""
    for node in root.iter():
        if isinstance(node.tag, str):
            node.tag = local_name(node)
    etree.cleanup_namespaces(root)
    html: bytes = etree.tostring(root, method="html", encoding="utf-8")
    return html
