"""The kind of a file: by its media type, else by the extension of its URL, and by its first bytes.

Servers send many files as `application/octet-stream` or `text/plain`, so the extension and the first bytes decide then.
An image, an archive or an office file is no page, whatever type its server names.
"""

import re
from collections.abc import Mapping
from typing import Literal

from streams.media_types import (
    BINARY,
    COMPOUND_FILE,
    SNIFFED_BYTES,
    UNKNOWN,
    is_xhtml,
    media_type,
    sniff,
    sniff_mark,
)

Kind = Literal["html", "pdf", "text", "markdown", "epub", "opendocument", "docx", "pptx", "xlsx", "rtf"]

TYPES: Mapping[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/vnd.wap.xhtml+xml": "html",
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "application/pdf": "pdf",
    "application/rtf": "rtf",
    "application/x-rtf": "rtf",
    "text/rtf": "rtf",
    "application/x-pdf": "pdf",
    "application/epub+zip": "epub",
    "application/vnd.oasis.opendocument.text": "opendocument",
    "application/vnd.oasis.opendocument.presentation": "opendocument",
    "application/vnd.oasis.opendocument.spreadsheet": "opendocument",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.ms-word.document.macroenabled.12": "docx",
    "application/vnd.ms-powerpoint.presentation.macroenabled.12": "pptx",
    "application/vnd.ms-excel.sheet.macroenabled.12": "xlsx",
    "application/msword": "docx",
    "application/vnd.ms-powerpoint": "pptx",
    "application/vnd.ms-excel": "xlsx",
}
"""Media types that can be read."""
UNTYPED = frozenset({"application/octet-stream", "binary/octet-stream", "application/download", "application/zip"})
"""Media types that say nothing. The URL's extension decides."""
XHTML_TYPES = frozenset({"application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
XML_TYPES = frozenset({"text/xml", "application/xml"})
"""Media types of any XML. Its root says whether it is a page."""
EXTENSIONS: Mapping[str, Kind] = {
    "pdf": "pdf", "md": "markdown", "markdown": "markdown", "epub": "epub", "odt": "opendocument",
    "odp": "opendocument", "ods": "opendocument", "txt": "text", "text": "text", "docx": "docx", "docm": "docx",
    "doc": "docx", "pptx": "pptx", "pptm": "pptx", "ppt": "pptx", "xlsx": "xlsx", "xlsm": "xlsx", "xls": "xlsx",
    "rtf": "rtf",
}  # fmt: skip
"""Extensions of files that can be read, without the extensions of web pages. Files of Office 97 to 2003 (`doc`, `ppt`,
`xls`) are refused when they are read, with what to do."""
_PACKED: Mapping[str, frozenset[Kind]] = {
    "application/zip": frozenset({"epub", "opendocument", "docx", "pptx", "xlsx"}),
    COMPOUND_FILE: frozenset({"docx", "pptx", "xlsx"}),
}
"""Kinds of files that begin as an archive does. The media type or the extension names the kind."""
_BLANKS = b" \t\r\n\f\0\xef\xbb\xbf"
"""Bytes before the first tag of a page: blanks, and the mark of UTF-8."""
_PAGE_TAG = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_PDF = b"%PDF-"
_MAGIC_BYTES = 1_024
"""Number of bytes in which the magic number of a PDF may stand (PDF 1.7, appendix H, note 13)."""


def extension_of(url: str) -> str:
    """Return the extension of the URL's file name in lower case; empty without one."""
    name = url.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2].rpartition("/")[2].lower()
    return name.rpartition(".")[2] if "." in name else ""


def is_readable(content_type: str, url: str) -> bool:
    """Return whether a response with this Content-Type can be read. The body is not known yet."""
    kind = media_type(content_type).essence
    return kind in TYPES or kind in UNKNOWN | XML_TYPES or (kind in UNTYPED and extension_of(url) in EXTENSIONS)


def kind_of(body: bytes, content_type: str, url: str) -> Kind | None:
    """Return the kind of a file with this Content-Type, or None if it can't be read."""
    declared, extension, mark = media_type(content_type), extension_of(url), sniff_mark(body)
    kind = sniff(body) if declared.essence in UNKNOWN else declared.essence
    found = TYPES.get(kind) or (EXTENSIONS.get(extension) if kind in UNTYPED else None)
    if kind in XML_TYPES and is_xhtml(body):
        found = "html"
    if mark in ("", "application/pdf") and _PDF in body[:_MAGIC_BYTES] and not body.lstrip().startswith(b"<"):
        return "pdf"
    if mark in _PACKED:
        named = EXTENSIONS.get(extension) if found in ("html", "text") else found
        return named if named in _PACKED[mark] else None
    if mark:
        return TYPES.get(mark) if found or kind in UNTYPED else None
    if found == "html" and not _may_be_page(body[:SNIFFED_BYTES], declared.charset):
        return None
    if found in ("text", "markdown") and not declared.charset.startswith("utf-16") and sniff(body) == BINARY:
        return None
    return EXTENSIONS[extension] if found == "text" and extension in ("md", "markdown") else found


def _may_be_page(head: bytes, charset: str) -> bool:
    """Return whether a page may begin with these bytes. Browsers believe `text/html` of any bytes.

    A text has no controls (MIME Sniffing, section 5: binary data bytes), but a page that begins as one may have some.
    NULs do not count, since the parser drops them.
    """
    if charset.startswith("utf-16") or sniff(head.replace(b"\0", b"")) != BINARY:
        return True
    return head.lstrip(_BLANKS).startswith(b"<") or _PAGE_TAG.search(head) is not None


def is_read_as_xml(body: bytes, headers: Mapping[str, str]) -> bool:
    """Return whether a browser would read a page as XML. `headers` have lower-case names."""
    essence = media_type(headers.get("content-type", "")).essence
    if essence in UNKNOWN:
        return sniff(body) == "application/xhtml+xml"
    return essence in XHTML_TYPES or (essence in XML_TYPES and is_xhtml(body))
