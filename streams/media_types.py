"""Media types as browsers read them: by the Content-Type header, and by the first bytes where it says nothing. Pure.

Sources: the Fetch Standard ("extract a MIME type": the last valid value counts, and keeps the character set of an
earlier one of the same type) and the MIME Sniffing Standard (sections 4.4, 6 and 7). Two rules are wider than the
standard: markup may begin with any element, not only with 17 of them, and a byte order mark may stand before it.
"""

import codecs
import re
from dataclasses import dataclass

SNIFFED_BYTES = 1_445
"""Number of bytes that decide (MIME Sniffing, section 5.2: the resource header)."""
UNKNOWN = frozenset({"", "*/*", "unknown/unknown", "application/unknown"})
"""Types that say nothing (MIME Sniffing, section 7)."""
BINARY = "application/octet-stream"
COMPOUND_FILE = "application/x-ole-storage"
"""An old file of Office, or an encrypted new one ([MS-CFB] 2.2)."""

_NAME = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_VALUE = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*+"?+)++')
_TYPE = re.compile(rf"\s*({_NAME}/{_NAME})\s*(?:;|$)")
_PARAMETER = re.compile(r';\s*([^;="]*)(?:=(?:"((?:[^"\\]|\\.)*+)"?[^;]*|([^;]*)))?')
_MARKS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\0\0\1\0", "image/x-icon"), (0, b"\0\0\2\0", "image/x-icon"), (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"), (8, b"WEBPVP", "image/webp"), (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"), (0, b"II*\0", "image/tiff"), (0, b"MM\0*", "image/tiff"),
    (0, b"8BPS", "image/vnd.adobe.photoshop"), (4, b"ftypavif", "image/avif"), (4, b"ftyphei", "image/heic"),
    (0, b"\xff\x0a", "image/jxl"), (0, b"\0\0\0\x0cJXL ", "image/jxl"), (0, b"\0\0\0\x0cjP  ", "image/jp2"),
    (8, b"AIFF", "audio/aiff"), (0, b"ID3", "audio/mpeg"), (0, b"OggS\0", "application/ogg"),
    (0, b"MThd\0\0\0\6", "audio/midi"), (8, b"AVI ", "video/avi"), (8, b"WAVE", "audio/wave"),
    (0, b"fLaC", "audio/flac"), (4, b"ftyp", "video/mp4"), (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"FLV\1", "video/x-flv"),
    (0, b"wOFF", "font/woff"), (0, b"wOF2", "font/woff2"), (0, b"\0\1\0\0", "font/ttf"), (0, b"OTTO", "font/otf"),
    (0, b"ttcf", "font/collection"), (0, b"\x1f\x8b\x08", "application/gzip"), (0, b"PK\3\4", "application/zip"),
    (0, b"PK\5\6", "application/zip"), (0, b"Rar!\x1a\7", "application/x-rar-compressed"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"), (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"), (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", COMPOUND_FILE), (0, b"{\\rtf", "application/rtf"),
    (0, b"%!PS-Adobe-", "application/postscript"), (0, b"%PDF-", "application/pdf"),
    (0, b"\x7fELF", "application/x-elf"), (0, b"\0asm", "application/wasm"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
)  # fmt: skip
"""Offset, first bytes and type of images, sounds, films, fonts, archives, office files (MIME Sniffing, section 6)."""
_IN_RIFF = frozenset({"image/webp", "video/avi", "audio/wave", "audio/aiff"})
"""Types whose mark stands behind the size of a RIFF or FORM file."""
_ZIP_NAME, _ZIP_NAME_AT = b"mimetype", 30
_ZIP_TYPE = re.compile(rb"[a-z]+/[a-z0-9.+-]+")
"""EPUB and OpenDocument begin with an uncompressed file `mimetype` (OCF 3.3, section 4.3; OpenDocument 1.3, part 2)."""
_BINARY_BYTE = re.compile(rb"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_BEHIND_MARKS = re.compile(
    rb"(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*+(?:\[[^\]]*+\]\s*+)?>)*+", re.IGNORECASE | re.DOTALL
)
_ELEMENT = re.compile(rb"</?([a-z][a-z0-9_.:-]*+)(?=[\s/>]|\Z)", re.IGNORECASE)
_HTML_BEGIN = re.compile(rb"\s*<!doctype\s+html", re.IGNORECASE)
_XML_ROOTS = {
    b"svg": "image/svg+xml", b"rss": "application/rss+xml", b"feed": "application/atom+xml",
    b"rdf": "application/rdf+xml", b"urlset": "application/xml", b"sitemapindex": "application/xml",
    b"opml": "text/x-opml",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type, in lower case. `essence` is empty if the response has no valid one."""

    essence: str = ""
    charset: str = ""


def media_type(content_type: str) -> MediaType:
    """Extract the media type of a response from the values of its Content-Type headers, joined by commas."""
    found = MediaType()
    for value in _VALUE.findall(content_type):
        kind = _TYPE.match(value)
        if kind is None or kind[1] == "*/*":
            continue
        essence = kind[1].lower()
        named = (quoted or plain for name, quoted, plain in _PARAMETER.findall(value) if name.lower() == "charset")
        charset = next(named, "").strip().lower()
        found = MediaType(essence, charset or (found.charset if found.essence == essence else ""))
    return found


def sniff(body: bytes) -> str:
    """Return the type of a file by its first bytes: `text/plain` and BINARY if nothing more is known."""
    head = body[:SNIFFED_BYTES]
    if marked := sniff_mark(head):
        return marked
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return sniff_text(head.decode("utf-16", "replace").encode("utf-8", "replace"))
    return BINARY if _BINARY_BYTE.search(head) else sniff_text(head.removeprefix(codecs.BOM_UTF8))


def sniff_mark(body: bytes) -> str:
    """Return the type of an image, a sound, a film, a font, an archive or an office file; empty for all other files."""
    for at, mark, essence in _MARKS:
        if body.startswith(mark, at) and (essence not in _IN_RIFF or body[:4] in (b"RIFF", b"FORM")):
            if mark.isalnum() and mark.isascii() and not _BINARY_BYTE.search(body, 0, SNIFFED_BYTES):
                continue  # a text that begins with these letters
            return _type_in_zip(body) if essence == "application/zip" else essence
    return ""


def is_xhtml(body: bytes) -> bool:
    """Return whether the root element of an XML file is `html`."""
    head = body[:SNIFFED_BYTES]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        head = head.decode("utf-16", "replace").encode("utf-8", "replace")
    return _root(head.removeprefix(codecs.BOM_UTF8)) == b"html"


def _root(text: bytes) -> bytes:
    """Return the name of the first element without its prefix, in lower case; empty if a text stands before it."""
    begin = _BEHIND_MARKS.match(text)
    first = _ELEMENT.match(text, begin.end()) if begin else None
    return first[1].lower().rpartition(b":")[2] if first else b""


def _type_in_zip(body: bytes) -> str:
    """Return the type that the first file of a ZIP file names, or the type of ZIP files."""
    begin = _ZIP_NAME_AT + len(_ZIP_NAME)
    found = _ZIP_TYPE.match(body, begin) if body.startswith(_ZIP_NAME, _ZIP_NAME_AT) else None
    return found[0].decode("ascii") if found else "application/zip"


def sniff_text(text: bytes) -> str:
    """Return the type of a text: by its root if it is XML, HTML if it has a tag."""
    root = _root(text)
    if kind := _XML_ROOTS.get(root):
        return kind
    if text.lstrip().lower().startswith(b"<?xml"):
        return "application/xhtml+xml" if root == b"html" else "application/xml"
    return "text/html" if _HTML_BEGIN.match(text) or _ELEMENT.search(text) else "text/plain"
