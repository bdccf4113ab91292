"""Plain text -> HTML: paragraphs of prose, underlined headings, lists, and all else as it is written. Pure."""

import re
from collections.abc import Iterator, Mapping

from streams.pages.formats.converted import MAX_CHARS, Converted, clean, element, title_of_url
from streams.pages.parse.charset import decode

MAX_TITLE_CHARS = 120
MIN_LINE_CHARS = 20
"""Minimum length of the longest line of a paragraph of several lines (characters). Lines of code are shorter."""
_BLANK = re.compile(r"\n[ \t\r\f]*\n")
_UNDERLINE = re.compile(r"\s*([=\-~^*#])\1{2,}\s*")
_COLUMNS = re.compile(r"\S {3,}\S|\t")
_BULLET = re.compile(r"\A\s*(?:[-*+•o]|\d{1,3}[.)])\s+(?=\S)")
_MIN_LETTERS = 0.6
"""Minimum share of letters and spaces in prose. Code and tables have fewer."""


def convert_plain(body: bytes, headers: Mapping[str, str], url: str) -> Converted:
    """Convert a plain text."""
    text = clean(decode(body, headers.get("content-type", ""))[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n"))
    parts = [part for part in _BLANK.split(text) if part.strip()]
    title = _title(parts)
    return Converted("\n".join(_blocks(parts)), title=title or title_of_url(url))


def _title(parts: list[str]) -> str:
    """Return the first line, if it is a paragraph by itself or is underlined."""
    lines = parts[0].strip("\n").splitlines() if parts else []
    if not lines or len(lines[0].strip()) > MAX_TITLE_CHARS:
        return ""
    if len(lines) == 1 or (len(lines) == 2 and _UNDERLINE.fullmatch(lines[1])):
        title = " ".join(lines[0].split())
        return title if any(letter.isalpha() for letter in title) and not _COLUMNS.search(lines[0].strip()) else ""
    return ""


def _blocks(parts: list[str]) -> Iterator[str]:
    code: list[str] = []
    for part in parts:
        block = _block(part)
        if not block:
            code.append(part.rstrip())
            continue
        if code:
            yield element("pre", "\n\n".join(code))
            code = []
        yield block
    if code:
        yield element("pre", "\n\n".join(code))


def _block(part: str) -> str:
    """Return a part as HTML; empty if it is to stay as it is written."""
    lines = [line for line in part.strip("\n").split("\n") if line.strip()]
    if len(lines) >= 2 and _UNDERLINE.fullmatch(lines[1]) and len(lines[0]) <= MAX_TITLE_CHARS:
        level = "h2" if "=" in lines[1] else "h3"
        rest = "\n".join(lines[2:])
        return element(level, " ".join(lines[0].split())) + (
            (_block(rest) or element("pre", rest)) if rest.strip() else ""
        )
    if items := _items(lines):
        return f"<ul>{''.join(element('li', item) for item in items)}</ul>"
    return element("p", " ".join(part.split())) if _is_prose(lines) else ""


def _items(lines: list[str]) -> list[str]:
    """Return the items of a list; none if the text doesn't begin with a bullet."""
    if not _BULLET.match(lines[0]) or not _is_prose([_BULLET.sub("", line, count=1).strip() for line in lines]):
        return []
    items: list[list[str]] = []
    for line in lines:
        if bullet := _BULLET.match(line):
            items.append([line[bullet.end() :].strip()])
        else:
            items[-1].append(line.strip())
    return [" ".join(item) for item in items]


def _is_prose(lines: list[str]) -> bool:
    """Return whether lines are text that was broken anywhere: mostly letters, without columns, with one indent."""
    if len(lines) > 1 and max(map(len, lines)) < MIN_LINE_CHARS:
        return False
    text = "".join(lines)
    letters = sum(letter.isalpha() or letter == " " for letter in text)
    if any(_COLUMNS.search(line.strip()) for line in lines) or letters < _MIN_LETTERS * len(text) + 2:
        return False
    indents = {len(line) - len(line.lstrip()) for line in lines[1:]}
    ends_early = sum(len(line) < 0.5 * max(map(len, lines)) for line in lines[:-1])
    return (len(indents) <= 1 and 3 * ends_early <= len(lines) and any(letter.islower() for letter in text)) or (
        len(indents) <= 1 and not text.isascii()
    )
