"""Decodes the bytes of a page as browsers do: by byte order mark, HTTP header, declaration in the page, or the bytes.

Sources: the Encoding Standard, section 4.2 (labels), and the HTML Standard, section 13.2.3.2 (sniffing). If the bytes
are not valid in the declared encoding but valid UTF-8, the page is UTF-8: pages that declare Latin-1 and are UTF-8
outnumber the opposite. Without a declaration, or with a false declaration, encodings of other alphabets are detected,
unless the caller chooses one. Browsers use the reader's language or the country of the site.
"""

import codecs
import contextlib
import encodings
import pkgutil
import re
from collections.abc import Callable

from webencodings import LABELS

from streams.media_types import media_type

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*+=\s*+["']?\s*+([A-Za-z0-9_:.-]{2,40})|<\?xml[^>]{0,100}?encoding\s*+=\s*+["']([A-Za-z0-9_:.-]{2,40})""",
    re.IGNORECASE,
)
_COMMENT = re.compile(rb"<!-(?:->|-->|-.*?(?:-->|\Z))", re.DOTALL)
_HEADER = re.compile(r"charset\s*+=\s*+[\"']?\s*+([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
SNIFFED_BYTES = 2_048
"""Number of bytes that are searched for a declaration in any case. The standard asks for 1024."""
MAX_HEAD_BYTES = 65_536
"""Maximum size of a head that is searched: browsers read a page again if its declaration comes late."""
_BODY = re.compile(rb"<body[\s>]|</head\s*+>", re.IGNORECASE)
_SCRIPT = re.compile(rb"<script[\s>](?:[^<]++|<(?!/script))*+", re.IGNORECASE)

_ISO_2022_JP = "iso2022_jp_ext"
_ISO_2022_JP_ESCAPES = re.compile(rb"\x1b(?:\$[@B]|\([IJ])")
_PYTHON_NAMES = {
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc-jp": "euc_jis_2004",  # with the characters of vendors, which Python's euc_jp lacks
    "iso-2022-jp": _ISO_2022_JP,
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "iso-8859-8-i": "iso8859-8",
    "x-mac-cyrillic": "mac-cyrillic",
    "macintosh": "mac-roman",
    "windows-874": "cp874",
    "x-user-defined": "cp1252",
    "latin-1": "cp1252",
}
"""Python's codec for an encoding of the standard, if its name differs or a larger codec reads more pages. `latin-1` is
no label of the standard, but common."""
_NOT_TEXT = frozenset({
    "base64", "hex", "rot13", "rot_13", "zlib", "bz2", "quopri", "uu", "punycode", "idna", "utf-7",
    "undefined", "unicode_escape", "raw_unicode_escape", "unicode-escape", "raw-unicode-escape", "mbcs", "oem",
})  # fmt: skip
"""Names that Python's codecs know, but that no page may use."""

_DEFAULT = "cp1252"
_DETECTED = {
    "gb18030": "gb18030", "big5": "big5hkscs", "cp932": "cp932", "euc_jp": "euc_jis_2004", "cp949": "cp949",
    "cp1251": "cp1251", "koi8_r": "koi8-r", "cp1253": "cp1253", "cp1255": "cp1255", "cp1256": "cp1256",
    "cp874": "cp874",
}  # fmt: skip
"""Encodings that the detector looks for, and the codecs that read them."""
_TEXT_BEYOND_ASCII = re.compile(rb"(?:\A|>)([^<>\x80-\xff]*+[\x80-\xff][^<>]*+)")
_BEYOND_ASCII = re.compile(rb"[\x80-\x9f\xa1-\xff]++")
_LONG_RUN_BYTES = 3
"""Minimum length of a run of bytes beyond ASCII (bytes) that Western languages don't have."""
_MIN_SAMPLE_BYTES = 24
"""Minimum number of bytes beyond ASCII for a detection. With fewer bytes it would be a guess."""
_WARM_UP_TEXT = "<p>текст на другом языке".encode("cp1251")
_SEARCHED_BYTES = 131_072
"""Maximum part of a page that is searched for a sample (bytes)."""
_SAMPLE_BYTES = 4_096
"""Maximum size of a sample (bytes), apart from its last text."""
_MANY_LOST = 8
"""Minimum number of replaced characters that puts a declaration in doubt."""


Choose = Callable[[bytes], str]
"""Returns the codec of a text by its first texts that aren't ASCII; empty if it can't say."""


def decode_utf8(content: bytes, content_type: str = "", choose: Choose | None = None) -> tuple[str, bytes]:
    """Return the page's text and its UTF-8 bytes (the page's own bytes if it is UTF-8)."""
    if not content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not _is_ambiguous(
        content
    ):
        try:
            return content.decode("utf-8"), content
        except UnicodeDecodeError:
            pass
    text = decode(content, content_type, choose)
    return text, text.encode("utf-8", "replace")


def decode(content: bytes, content_type: str = "", choose: Choose | None = None) -> str:
    """Return the page's text. Invalid bytes become U+FFFD. Never raises.

    `choose` is asked for the codec of a page that declares none.
    """
    for mark, codec in _BOMS:
        if content.startswith(mark):
            return content[len(mark) :].decode(codec, "replace")
    name = declared_encoding(content, content_type)
    if _is_ambiguous(content) and (other := _detect_hidden_encoding(content, name)):
        return content.decode(other, "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start > len(content) - 4 and not content[: error.start].isascii():  # cut off inside a character
            return content.decode("utf-8", "replace")
    return _decode_other(content, name, choose)


def _decode_other(content: bytes, name: str, choose: Choose | None) -> str:
    """Decode a page that is not UTF-8, by its declaration or by detection."""
    if name.startswith("utf-16"):  # a false declaration: UTF-16 was detected before, by the bytes of markup
        name = declared_encoding(content)
    sample = b"" if name else _sample(content)
    if sample and choose and (chosen := choose(sample)):
        return content.decode(chosen, "replace")
    text = content.decode(name or _DEFAULT, "replace")
    # Servers declare Latin-1 for pages in an unknown encoding.
    if (name in ("", _DEFAULT) or _is_broken(text)) and (detected := _detect(sample or _sample(content))):
        return content.decode(detected, "replace")
    return text


def declared_encoding(content: bytes, content_type: str = "") -> str:
    """Return Python's name of the encoding that the header or the page declares; empty if none is known."""
    header = _HEADER.search(content_type)  # a header without a valid media type may name the encoding
    for label in (media_type(content_type).charset, header[1] if header else ""):
        if name := _python_name(label):
            return name
    head = _head_of(content)
    for meta in _DECLARED.finditer(_COMMENT.sub(b"", head) if b"<!--" in head else head):
        if name := _python_name((meta[1] or meta[2]).decode("ascii")):
            # A declaration that was read as single bytes isn't in UTF-16 (HTML Standard, 13.2.3.2, step 2.15).
            return "utf-8" if name.startswith("utf-16") else name
    return ""


def _head_of(content: bytes) -> bytes:
    """Return the first bytes of a page, or its whole head without scripts if the head is longer."""
    if b"charset" in content[:SNIFFED_BYTES]:
        return content[:SNIFFED_BYTES]
    end = _BODY.search(content, 0, MAX_HEAD_BYTES)
    return content[:SNIFFED_BYTES] if end is None else _SCRIPT.sub(b"", content[: end.start()])


def _is_ambiguous(content: bytes) -> bool:
    """Return whether bytes that are valid UTF-8 may be in another encoding."""
    return b"\x1b" in content or b"\0" in content[:SNIFFED_BYTES]


def _detect_hidden_encoding(content: bytes, name: str) -> str:
    """Recognise ISO-2022-JP, or UTF-16 without a mark. Their bytes are often valid UTF-8."""
    for utf16, less_than in (("utf-16-le", b"<\0"), ("utf-16-be", b"\0<")):
        if content.startswith(less_than) or (name == utf16 and less_than in content):
            return utf16
    if name == _ISO_2022_JP or (not name and content.isascii()):
        return _ISO_2022_JP if _ISO_2022_JP_ESCAPES.search(content) else ""
    return ""


def _is_broken(text: str) -> bool:
    """Return whether more than a tenth of the characters beyond ASCII were lost, so that the declaration is false."""
    lost = text.count("\ufffd")
    return lost >= _MANY_LOST and 10 * lost > len(text) - len(text.encode("ascii", "ignore"))


def load_codecs() -> None:
    """Load the detector and Python's codecs, for a process that opens no file later."""
    _detect(_sample(_WARM_UP_TEXT))
    for module in pkgutil.iter_modules(encodings.__path__):
        with contextlib.suppress(LookupError):  # modules without a codec, and codecs of other systems
            codecs.lookup(module.name)


def is_western(sample: bytes) -> bool:
    """Return whether a sample has the bytes of a Western text, or too few others.

    Letters beyond ASCII are alone or in pairs in Western languages, and in runs in all other languages.
    """
    runs = [len(run) for run in _BEYOND_ASCII.findall(sample)]
    in_long_runs = sum(length for length in runs if length >= _LONG_RUN_BYTES)
    return sum(runs) < _MIN_SAMPLE_BYTES or 2 * in_long_runs < sum(runs)


def _detect(sample: bytes) -> str:
    """Detect the encoding of a sample in another alphabet; empty if the bytes look like a Western text.

    That is checked first, because the detector confuses the two.
    """
    if is_western(sample):
        return ""
    # Imported late: most processes need it for no page.
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(_DETECTED)).best()
    return _DETECTED.get(best.encoding, "") if best else ""


def _sample(content: bytes) -> bytes:
    """Collect the first texts of a page that aren't ASCII."""
    if len(content) > _SEARCHED_BYTES:
        content = content[: max(content.rfind(b"<", 0, _SEARCHED_BYTES), 0)]
    texts: list[bytes] = []
    size = 0
    for found in _TEXT_BEYOND_ASCII.finditer(content):
        texts.append(found[1].strip())
        size += len(texts[-1])
        if size > _SAMPLE_BYTES:
            break
    return b"\n".join(texts)


def _python_name(label: str) -> str:
    """Return the name of Python's codec for a label; empty if there is no codec for text."""
    web_name = LABELS.get(label.lower(), label.lower())
    name = _PYTHON_NAMES.get(web_name, web_name)
    if name in _NOT_TEXT:
        return ""
    try:
        codec = codecs.lookup(name)
    except LookupError:
        return ""
    return codec.name if getattr(codec, "_is_text_encoding", True) and codec.name not in _NOT_TEXT else ""
