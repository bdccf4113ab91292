"""Bytes -> text, as browsers decide it: byte order mark, then HTTP, then the page's own word, then what the bytes are.

Encoding Standard, section 4.2 (labels), and HTML Standard, section 13.2.3.2 (sniffing). A declared encoding in which
the bytes are not valid loses to UTF-8 in which they are: pages that declare Latin-1 and are UTF-8 outnumber their
opposite.
"""

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})|<\?xml[^>]{0,100}encoding=["']([A-Za-z0-9_:.-]{2,40})""",
    re.IGNORECASE,
)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
SNIFFED_BYTES = 2_048
"""The standard asks for 1024; many pages put scripts before their declaration."""

# Labels that mean another encoding on the web than in Python (Encoding Standard, section 4.2), or that Python lacks.
_WEB_NAMES = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "iso-8859-9": "cp1254",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "windows-874": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "unicode": "utf-16-le",
    "utf-16": "utf-16-le",
    "x-mac-roman": "mac-roman",
    "macintosh": "mac-roman",
}
_NOT_TEXT = frozenset({"base64", "hex", "rot13", "rot_13", "zlib", "bz2", "quopri", "uu", "punycode", "idna", "utf-7"})


def decode_utf8(content: bytes, content_type: str = "") -> tuple[str, bytes]:
    """The page's text, and the same as UTF-8: the bytes as they came, where they are that already."""
    if not content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return content.decode("utf-8"), content
        except UnicodeDecodeError:
            pass
    text = decode(content, content_type)
    return text, text.encode("utf-8", "replace")


def decode(content: bytes, content_type: str = "") -> str:
    """The page's text; bytes that mean nothing become U+FFFD. Never raises."""
    for mark, name in _BOMS:
        if content.startswith(mark):
            return content[len(mark) :].decode(name, "replace")
    name = declared(content, content_type)
    if name == "utf-8":
        return content.decode("utf-8", "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start > len(content) - 4 and not content[: error.start].isascii():  # cut off inside a character
            return content.decode("utf-8", "replace")
    return content.decode(name or "cp1252", "replace")


def declared(content: bytes, content_type: str = "") -> str:
    """The encoding that the header or the page names, as Python calls it; empty when none that is known."""
    header = _HEADER.search(content_type)
    if header and (name := _python_name(header[1])):
        return name
    meta = _DECLARED.search(content, 0, SNIFFED_BYTES)
    if meta:
        name = _python_name((meta[1] or meta[2]).decode("ascii"))
        # A declaration that could be read byte by byte isn't UTF-16 (HTML Standard, 13.2.3.2, step 2.15).
        return "utf-8" if name.startswith("utf-16") else name
    return ""


def _python_name(label: str) -> str:
    label = label.lower()
    name = _WEB_NAMES.get(label, label)
    if name in _NOT_TEXT:
        return ""
    try:
        found = codecs.lookup(name)
    except LookupError:
        return ""
    return found.name if getattr(found, "_is_text_encoding", True) else ""
