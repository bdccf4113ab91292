"""Rich Text Format (RTF 1.9.1) -> HTML: paragraphs, headings, lists, tables, links and notes. Pure.

A file is a tree of groups, in which words of control set the state of the text. A word that nobody knows is skipped,
and so is a group that begins with a mark for that. Headers, pictures, comments, deleted and hidden text are no text.
Bytes are of the code page of their font; characters of Unicode stand beside bytes for old programs.
"""

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from html import escape

from streams.errors import Refused
from streams.pages.formats.converted import MAX_CHARS, Converted, clean, is_no_title, title_of_url
from streams.pages.formats.rtf_blocks import Blocks

MAX_DEPTH = 500
"""Maximum nesting of groups."""
_TOKEN = re.compile(
    r"\\(?:(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,9})? ?|'(?P<byte>[0-9a-fA-F]{2})|(?P<sign>[^a-zA-Z]))"
    r"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+|\\"
)
_CODE_PAGES: Mapping[int, str] = {
    0: "cp1252", 2: "cp1252", 77: "mac-roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
"""Codecs of the sets of characters that fonts have (`fcharset`)."""
_SIGNS: Mapping[str, str] = {
    "emdash": "\u2014", "endash": "\u2013", "lquote": "\u2018", "rquote": "\u2019", "ldblquote": "\u201c",
    "rdblquote": "\u201d", "bullet": "\u2022", "tab": " ", "emspace": " ", "enspace": " ", "qmspace": " ",
}  # fmt: skip
_SKIPPED = frozenset({
    "colortbl", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "pict",
    "nonshppict", "annotation", "objdata", "objclass", "filetbl", "revtbl", "listtable", "listoverridetable", "rsidtbl",
    "generator", "xmlnstbl", "private", "fontemb", "template", "bkmkstart", "bkmkend", "atnid", "atnauthor", "tc", "xe",
    "sp", "ftnsep", "ftnsepc", "aftnsep", "aftnsepc", "keywords", "comment", "operator", "doccomm", "company",
    "manager", "category", "hlinkbase", "buptim", "printim",
})  # fmt: skip
"""Groups whose text is no text of the document."""
_KNOWN_MARKED = frozenset({"fldinst", "ud", "shptxt", "shpinst"})
"""Groups with the mark for programs that do not know them, which are read."""
_ENDS = frozenset({"par", "line", "cell", "row", "sect", "page"})
"""Words that are no character, so they are no fallback of one."""
_LINK = re.compile(r'\s*HYPERLINK\s+"(https?://[^"\s<>]{1,2000})"')
_HEADING = re.compile(r"heading (\d)\b", re.IGNORECASE)


@dataclass(slots=True)
class _State:
    """The state of the text in a group."""

    group: str = "text"
    """Kind of the group: `text`, `skip`, or the word that begins it."""
    codec: str = "cp1252"
    fallback: int = 1
    """Number of bytes behind a character of Unicode that old programs show in its place."""
    is_hidden: bool = False
    is_deleted: bool = False
    is_bold: bool = False
    at_end: Callable[[], None] | None = None
    """Function that is called at the end of the group."""


@dataclass(slots=True)
class _Facts:
    """The facts that a file states about itself."""

    texts: dict[str, str] = field(default_factory=dict)
    dates: dict[str, dict[str, int]] = field(default_factory=dict)

    def date(self, name: str) -> str:
        parts = self.dates.get(name, {})
        year, month, day = (parts.get(part, 0) for part in ("yr", "mo", "dy"))
        return f"{year:04}-{month:02}-{day:02}" if 1900 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= 31 else ""


def convert_rtf(body: bytes, url: str) -> Converted:
    """Convert an RTF file. Raises Refused."""
    reader = _Reader()
    html = reader.read(body.decode("latin-1"))
    if not reader.blocks.chars:
        raise Refused("rtf", "it has no text")
    stated = reader.facts.texts.get("title", "")
    return Converted(
        html,
        title=("" if is_no_title(stated) else stated) or reader.blocks.title or title_of_url(url),
        author=reader.facts.texts.get("author", ""),
        published=reader.facts.date("creatim"),
        modified=reader.facts.date("revtim"),
        description=reader.facts.texts.get("subject", ""),
    )


class _Reader:
    """Reads a file word by word."""

    def __init__(self) -> None:
        self.blocks = Blocks()
        self.facts = _Facts()
        self._states = [_State()]
        self._codecs: dict[int, str] = {}
        """The codec of each font."""
        self._default_codec = "cp1252"
        self._font = 0
        self._style, self._style_text = -1, list[str]()
        self._bytes = bytearray()
        """Bytes that are not decoded yet."""
        self._waiting = 0
        """Number of fallback bytes to skip."""
        self._high = ""
        """The first half of a character beyond the basic plane."""
        self._instruction: list[str] = []
        self._begins = self._is_marked = False
        """True if a group has just begun, and true if it has the mark for unknown ones."""

    @property
    def _state(self) -> _State:
        return self._states[-1]

    def read(self, text: str) -> str:
        """Return a file as HTML. Raises Refused if its groups nest too deep."""
        at, length = 0, len(text)
        while at < length and self.blocks.chars <= MAX_CHARS:
            found = _TOKEN.match(text, at)
            assert found is not None  # the last alternative matches each other character
            at = found.end()
            if word := found["word"]:
                number = int(found["number"]) if found["number"] else None
                if word == "bin":
                    at += min(max(number or 0, 0), length - at)
                else:
                    self._read_word(word, number)
            elif brace := found["brace"]:
                self._open() if brace == "{" else self._close()
            elif byte := found["byte"]:
                self._add_bytes(bytes.fromhex(byte))
            elif sign := found["sign"]:
                self._read_sign(sign)
            elif plain := found["text"]:
                self._add_bytes(plain.encode("latin-1"))
        while len(self._states) > 1:
            self._close()
        self._flush()
        return self.blocks.finish()

    def _open(self) -> None:
        self._flush()
        self._waiting = 0
        if len(self._states) > MAX_DEPTH:
            raise Refused("rtf", f"its groups nest deeper than {MAX_DEPTH}")
        self._states.append(replace(self._state, at_end=None))
        self._begins, self._is_marked = True, False

    def _close(self) -> None:
        self._flush()
        self._waiting = 0
        self._begins = False
        if len(self._states) > 1:
            if self._state.at_end:
                self._state.at_end()
            self._states.pop()

    def _read_sign(self, sign: str) -> None:
        match sign:
            case "*":
                self._is_marked = self._begins
                return
            case "~":
                self._add(" ")
            case "_":
                self._add("-")
            case "\\" | "{" | "}":
                self._add_bytes(sign.encode())
            case "\n" | "\r":
                self._read_word("par", None)
        self._begins = False

    def _read_word(self, word: str, number: int | None) -> None:
        if self._waiting and word != "u" and word not in _ENDS:
            self._waiting -= 1
            return
        self._waiting = 0
        begins, self._begins = self._begins, False
        if begins and self._begin_group(word):
            return
        if self._state.group == "skip" or self._read_fact(word, number):
            return
        is_on = number != 0
        match word:
            case "u" if number is not None:
                self._add_unicode(number % 65_536)
            case "uc":
                self._state.fallback = min(max(number or 0, 0), 100)
            case "f":
                self._flush()
                self._font = number or 0
                self._state.codec = self._codecs.get(self._font, self._default_codec)
            case "fcharset" if self._state.group == "fonttbl":
                self._codecs[self._font] = _CODE_PAGES.get(number or 0, self._default_codec)
            case "ansicpg" | "cpg":
                self._flush()
                self._set_code_page(number or 0, is_font=word == "cpg")
            case "mac" | "pc" | "pca":
                self._default_codec = self._state.codec = {"mac": "mac-roman", "pc": "cp437", "pca": "cp850"}[word]
            case "v" | "b" | "deleted":
                self._flush()
                name = {"v": "is_hidden", "b": "is_bold", "deleted": "is_deleted"}[word]
                setattr(self._state, name, is_on)
            case "plain":
                self._flush()
                self._state.is_hidden = self._state.is_bold = False
            case _:
                self._read_paragraph_word(word, number)

    def _read_paragraph_word(self, word: str, number: int | None) -> None:
        self._flush()
        blocks = self.blocks
        match word:
            case "par" | "sect" | "page":
                blocks.end_paragraph()
            case "line" | "lbr":
                self._add_html("<br>")
            case "pard":
                blocks.begin_properties()
            case "s":
                blocks.paragraph.style = number or 0
            case "outlinelevel":
                blocks.paragraph.level = (number or 0) + 1
            case "intbl":
                blocks.paragraph.is_in_table = True
            case "trowd" | "trhdr":
                blocks.is_header_row = word == "trhdr"
            case "cell" | "nestcell":
                blocks.end_cell()
            case "row" | "nestrow":
                blocks.end_row()
            case _ if word in _SIGNS:
                self._add(_SIGNS[word])

    def _begin_group(self, word: str) -> bool:
        """Set the kind of a group by its first word. Return whether the word has no other meaning."""
        state = self._state
        is_unknown = self._is_marked and word not in _KNOWN_MARKED and not word.startswith("sh")
        if state.group == "skip":
            return True
        if word in _SKIPPED or is_unknown:
            state.group = "skip"
            return True
        match word:
            case "fonttbl" | "stylesheet" | "info":
                state.group = word
            case "listtext" | "pntext":
                self.blocks.paragraph.is_item = True
                state.group = "skip"
            case "upr":
                state.group = "upr"
            case "ud" if state.group == "upr":
                state.group = self._states[-3].group if len(self._states) > 2 else "text"
            case "fldinst":
                state.group = "fldinst"
                self._instruction = []
            case "fldrslt":
                self._begin_link()
            case "footnote":
                self._begin_note()
            case "title" | "author" | "subject" | "creatim" | "revtim" if state.group == "info":
                state.group = word
            case _ if state.group == "info":
                state.group = "skip"
            case _:
                return False
        return True

    def _read_fact(self, word: str, number: int | None) -> bool:
        """Read a part of a date, or the level of a style. Return whether the word was one."""
        group = self._state.group
        if group in ("creatim", "revtim"):
            self.facts.dates.setdefault(group, {})[word] = number or 0
            return True
        if group == "stylesheet":
            if word == "s":
                self._style, self._style_text = number or 0, []
            elif word == "outlinelevel" and (number or 0) < 9:
                self.blocks.levels[self._style] = (number or 0) + 1
            return word not in ("u", "uc", "f")
        return False

    def _begin_link(self) -> None:
        found = _LINK.match("".join(self._instruction))
        self._instruction = []
        if found and self._is_shown():
            self._add_html(f'<a href="{escape(found[1])}">')
            self._state.at_end = lambda: self._add_html("</a>")

    def _begin_note(self) -> None:
        is_shown = self._is_shown()
        self.blocks.begin_note()
        self._state.at_end = lambda: self.blocks.end_note(is_shown=is_shown)

    def _set_code_page(self, number: int, *, is_font: bool) -> None:
        codec = {65001: "utf-8", 10000: "mac-roman", 936: "gb18030"}.get(number, f"cp{number}")
        try:
            codecs.lookup(codec)
        except LookupError:
            return
        if is_font and self._state.group == "fonttbl":
            self._codecs[self._font] = codec
        elif not is_font:
            self._default_codec = self._state.codec = codec

    def _is_shown(self) -> bool:
        state = self._state
        return state.group == "text" and not state.is_hidden and not state.is_deleted

    def _add_bytes(self, content: bytes) -> None:
        self._begins = False
        if self._waiting:
            skipped = min(self._waiting, len(content))
            self._waiting -= skipped
            content = content[skipped:]
        self._bytes += content

    def _add_unicode(self, number: int) -> None:
        self._flush()
        self._waiting = self._state.fallback
        char = chr(number)
        if 0xD800 <= number < 0xDC00:
            self._high = char
            return
        if 0xDC00 <= number < 0xE000:
            char = (self._high + char).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self._high = ""
        self._add(char)

    def _flush(self) -> None:
        """Decode the bytes of one font."""
        if self._bytes:
            content, self._bytes = bytes(self._bytes), bytearray()
            self._write(content.decode(self._state.codec, "replace"))

    def _add(self, text: str) -> None:
        self._flush()
        self._write(text)

    def _write(self, text: str) -> None:
        match self._state.group:
            case "text" if self._is_shown():
                self.blocks.add(escape(clean(text), quote=False), len(text.strip()), is_bold=self._state.is_bold)
            case "fldinst":
                self._instruction.append(text)
            case "stylesheet":
                self._style_text.append(text)
                if ";" in text and (found := _HEADING.search("".join(self._style_text))):
                    self.blocks.levels.setdefault(self._style, min(int(found[1]), 6))
            case "title" | "author" | "subject" as name:
                self.facts.texts[name] = " ".join(clean(self.facts.texts.get(name, "") + text).split())[:2_000]

    def _add_html(self, html: str) -> None:
        self._flush()
        if self._is_shown():
            self.blocks.add(html)
