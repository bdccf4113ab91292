"""Bytes -> text, as browsers decide it: byte order mark, then HTTP, then the page's own word, then what the bytes are.

Encoding Standard, section 4.2 (labels), and HTML Standard, section 13.2.3.2 (sniffing). A declared encoding in which
the bytes are not valid loses to UTF-8 in which they are: pages that declare Latin-1 and are UTF-8 outnumber their
opposite. Where nothing is declared, or what the bytes can't be, the encodings of other alphabets are recognised, which
browsers do by the reader's language or the site's country.
"""

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})|<\?xml[^>]{0,100}encoding=["']([A-Za-z0-9_:.-]{2,40})""",
    re.IGNORECASE,
)
_COMMENT = re.compile(rb"<!-(?:->|-->|-.*?(?:-->|\Z))", re.DOTALL)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
SNIFFED_BYTES = 2_048
"""The standard asks for 1024; many pages put scripts before their declaration."""

_JAPANESE_MAIL = "iso2022_jp_ext"
"""ISO-2022-JP: seven bits, so that its bytes are valid in UTF-8, too."""
_ESCAPES = re.compile(rb"\x1b(?:\$[@B]|\([IJ])")
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e "
    "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
    "iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 "
    "iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
    "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 latin-1 x-user-defined",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
    "windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "gb18030": "gb18030 chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jis_2004": "cseucpkdfmtjapanese euc-jp x-euc-jp",  # with the makers' additions, which Python's euc_jp lacks
    _JAPANESE_MAIL: "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
    "windows-949",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}
"""The standard's labels, by what Python calls the encoding that they mean on the web."""
_WEB_NAMES = {label: name for name, labels in _LABELS.items() for label in labels.split()}
_NOT_TEXT = frozenset({
    "base64", "hex", "rot13", "rot_13", "zlib", "bz2", "quopri", "uu", "punycode", "idna", "utf-7",
    "undefined", "unicode_escape", "raw_unicode_escape", "unicode-escape", "raw-unicode-escape", "mbcs", "oem",
})  # fmt: skip

_DEFAULT = "cp1252"
_OF_OTHER_ALPHABETS = {
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "cp932": "cp932",
    "euc_jp": "euc_jis_2004",
    "cp949": "cp949",
    "cp1251": "cp1251",
    "koi8_r": "koi8-r",
    "cp1253": "cp1253",
    "cp1255": "cp1255",
    "cp1256": "cp1256",
    "cp874": "cp874",
}
"""Encodings that are recognised, as the detector calls them, and the larger ones that they are read as."""
_TEXT_BEYOND_ASCII = re.compile(rb"(?:\A|>)([^<>]*[\x80-\xff][^<>]*)")
_BEYOND_ASCII = re.compile(rb"[\x80-\x9f\xa1-\xff]+")
_RUN_BYTES = 3
_MIN_BYTES = 24
"""Beyond ASCII: in fewer, a guess would be one."""
_LOOKED_AT_BYTES = 131_072
_JUDGED_BYTES = 4_096
_MANY_LOST = 8


def decode_utf8(content: bytes, content_type: str = "") -> tuple[str, bytes]:
    """The page's text, and the same as UTF-8: the bytes as they came, where they are that already."""
    if not content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not _may_hide(content):
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
    if _may_hide(content) and (hidden := _hidden(content, name)):
        return content.decode(hidden, "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start > len(content) - 4 and not content[: error.start].isascii():  # cut off inside a character
            return content.decode("utf-8", "replace")
    if name.startswith("utf-16"):  # which would have been found above: there is no markup in it
        name = declared(content)
    text = content.decode(name or _DEFAULT, "replace")
    # Servers call everything Latin-1 whose encoding they don't know.
    if (name in ("", _DEFAULT) or _is_broken(text)) and (recognised := _recognised(content)):
        return content.decode(recognised, "replace")
    return text


def declared(content: bytes, content_type: str = "") -> str:
    """The encoding that the header or the page names, as Python calls it; empty when none that is known."""
    header = _HEADER.search(content_type)
    if header and (name := _python_name(header[1])):
        return name
    head = content[:SNIFFED_BYTES]
    for meta in _DECLARED.finditer(_COMMENT.sub(b"", head) if b"<!--" in head else head):
        if name := _python_name((meta[1] or meta[2]).decode("ascii")):
            # A declaration that could be read byte by byte isn't UTF-16 (HTML Standard, 13.2.3.2, step 2.15).
            return "utf-8" if name.startswith("utf-16") else name
    return ""


def _may_hide(content: bytes) -> bool:
    """Whether bytes that are valid UTF-8 may be something else."""
    return b"\x1b" in content or b"\0" in content[:SNIFFED_BYTES]


def _hidden(content: bytes, name: str) -> str:
    """ISO-2022-JP or UTF-16 without a mark, whose bytes are often valid UTF-8."""
    if name == _JAPANESE_MAIL or (not name and content.isascii()):
        return _JAPANESE_MAIL if _ESCAPES.search(content) else ""
    for utf16, less_than in (("utf-16-le", b"<\0"), ("utf-16-be", b"\0<")):
        if content.startswith(less_than) or (name == utf16 and less_than in content):
            return utf16
    return ""


def _is_broken(text: str) -> bool:
    """Whether more than a tenth of what isn't ASCII was lost: then it's no slip, but another encoding."""
    lost = text.count("\ufffd")
    return lost >= _MANY_LOST and 10 * lost > len(text) - len(text.encode("ascii", "ignore"))


def _recognised(content: bytes) -> str:
    """The encoding of a text in another alphabet, by its bytes; empty where they look like a Western text.

    In Western languages letters beyond ASCII stand alone or in pairs, in all others in runs: this alone tells them
    apart, and the detector, which takes the one for the other, is asked about the others.
    """
    sample = _sample(content)
    runs = [len(run) for run in _BEYOND_ASCII.findall(sample)]
    in_long_ones = sum(length for length in runs if length >= _RUN_BYTES)
    if sum(runs) < _MIN_BYTES or 2 * in_long_ones < sum(runs):
        return ""
    # Imported late: few pages need it.
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(_OF_OTHER_ALPHABETS)).best()
    return _OF_OTHER_ALPHABETS.get(best.encoding, "") if best else ""


def _sample(content: bytes) -> bytes:
    """The texts in it that aren't ASCII, whole ones."""
    if len(content) > _LOOKED_AT_BYTES:
        content = content[: max(content.rfind(b"<", 0, _LOOKED_AT_BYTES), 0)]
    pieces: list[bytes] = []
    size = 0
    for found in _TEXT_BEYOND_ASCII.finditer(content):
        pieces.append(found[1].strip())
        size += len(pieces[-1])
        if size > _JUDGED_BYTES:
            break
    return b"\n".join(pieces)


def _python_name(label: str) -> str:
    label = label.lower()
    name = _WEB_NAMES.get(label, label)
    if name in _NOT_TEXT:
        return ""
    try:
        found = codecs.lookup(name)
    except LookupError:
        return ""
    return found.name if getattr(found, "_is_text_encoding", True) and found.name not in _NOT_TEXT else ""
