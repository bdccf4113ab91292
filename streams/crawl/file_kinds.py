"""The kind of a file: by its media type, else by the extension of its URL, and by its first bytes.

Servers send many files as `application/octet-stream` or `text/plain`, so the extension and the first bytes decide then.
"""

from collections.abc import Mapping
from typing import Literal

Kind = Literal["html", "pdf", "text", "markdown", "epub", "opendocument", "docx", "pptx", "xlsx"]

TYPES: Mapping[str, Kind] = {
    "": "html",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "application/pdf": "pdf",
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
EXTENSIONS: Mapping[str, Kind] = {
    "pdf": "pdf", "md": "markdown", "markdown": "markdown", "epub": "epub", "odt": "opendocument",
    "odp": "opendocument", "ods": "opendocument", "txt": "text", "text": "text", "docx": "docx", "docm": "docx",
    "doc": "docx", "pptx": "pptx", "pptm": "pptx", "ppt": "pptx", "xlsx": "xlsx", "xlsm": "xlsx", "xls": "xlsx",
}  # fmt: skip
"""Extensions of files that can be read, without the extensions of web pages. Files of Office 97 to 2003 (`doc`, `ppt`,
`xls`) are refused when they are read, with what to do."""
_ZIPPED = b"PK\x03\x04"
COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of a compound file ([MS-CFB] 2.2): an old file of Office, or an encrypted new one."""
_PDF = b"%PDF-"
_MAGIC_BYTES = 1_024
"""Number of bytes in which the magic number of a PDF may stand (PDF 1.7, appendix H, note 13)."""


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type in lower case, without parameters; empty if the response has none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def extension_of(url: str) -> str:
    """Return the extension of the URL's file name in lower case; empty without one."""
    name = url.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2].rpartition("/")[2].lower()
    return name.rpartition(".")[2] if "." in name else ""


def is_readable(kind: str, url: str) -> bool:
    """Return whether a response of this media type can be read. The body is not known yet."""
    return kind in TYPES or (kind in UNTYPED and extension_of(url) in EXTENSIONS)


def kind_of(body: bytes, kind: str, url: str) -> Kind | None:
    """Return the kind of a file with this media type, or None if it can't be read."""
    found = TYPES.get(kind) or (EXTENSIONS.get(extension_of(url)) if kind in UNTYPED else None)
    if found in ("text", "html") and not (found == "html" and kind):
        found = EXTENSIONS.get(extension_of(url), found) if _fits(body, extension_of(url)) else found
    if found != "pdf" and _PDF in body[:_MAGIC_BYTES] and not body.lstrip().startswith(b"<"):
        return "pdf"
    return found


def _fits(body: bytes, extension: str) -> bool:
    """Return whether the first bytes fit the extension."""
    match EXTENSIONS.get(extension):
        case "pdf":
            return _PDF in body[:_MAGIC_BYTES]
        case "epub" | "opendocument":
            return body.startswith(_ZIPPED)
        case "docx" | "pptx" | "xlsx":
            return body.startswith((_ZIPPED, COMPOUND_FILE))
    return b"\0" not in body[:_MAGIC_BYTES]
