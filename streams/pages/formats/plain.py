"""Plain text -> HTML: paragraphs, lines, underlined headings, lists and quotations; all else stays as written. Pure.

The marks of a quotation in a mail (`>`), and the headers and footers around a form feed, are no text.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape

from streams.charset import decode
from streams.pages.formats.converted import MAX_CHARS, Converted, clean, element, join_lines, title_of_url
from streams.pages.text.undeclared_encodings import choose_encoding
from streams.pages.text.wrapped_lines import BLANK, COLUMNS, read_lines

MAX_TITLE_CHARS = 120
_UNDERLINE = re.compile(r"\s*([=\-~^*#])\1{2,}\s*")
_NUMBERED = re.compile(
    r"\s*+(?:(?:Chapter|Section|Appendix) )?((?:\d{1,2}|[A-Z](?=\.))(?:\.\d{1,2}){0,4})"
    r"(?:\.\s++(?=\S)|\s++(?=[^\W\d_a-z]))"
)
"""The number of a chapter, in front of its title."""
_NO_TITLE_END = re.compile(r"[.,;:][\s\d]*\Z")
_NUMBER = re.compile(r"\d+")
_BULLET = re.compile(r"\A\s*(?:[-*+•o]|\d{1,3}[.)])\s+(?=\S)")


def convert_plain(body: bytes, headers: Mapping[str, str], url: str) -> Converted:
    whole = decode(body, headers.get("content-type", ""), choose_encoding)
    text = clean(_without_page_breaks(whole[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n")))
    parts = [part for part in BLANK.split(text) if part.strip()]
    title = _title(parts)
    unread = max(len(whole) - MAX_CHARS, 0)
    return Converted("\n".join(_blocks(parts)), title=title or title_of_url(url), unread_chars=unread)


def _without_page_breaks(text: str) -> str:
    """Return the text without its form feeds, and without the footers and headers around them, as RFCs have them.

    A sentence goes on behind such a break.
    """
    pages = [page.strip("\n").split("\n") for page in text.split("\f")]
    if len(pages) < 2:
        return text
    last_lines = Counter(_NUMBER.sub("#", lines[-1].strip()) for lines in pages)
    kept: list[str] = []
    for number, lines in enumerate(pages):
        is_footer = last_lines[_NUMBER.sub("#", lines[-1].strip())] > 1 or _is_in_columns(lines[-1])
        own = lines[:-1] if is_footer else lines
        own = own[1:] if number and own and _is_in_columns(own[0]) else own
        own = "\n".join(own).strip("\n").split("\n")
        goes_on = kept and kept[-1].strip() and own[0].strip()[:1].islower()
        kept += own if goes_on else ["", *own]
    return "\n".join(kept)


def _is_in_columns(line: str) -> bool:
    return COLUMNS.search(line.strip()) is not None


def _title(parts: list[str]) -> str:
    """Return the first line, if it is a paragraph by itself or is underlined."""
    lines = parts[0].strip("\n").splitlines() if parts else []
    if not lines or len(lines[0].strip()) > MAX_TITLE_CHARS:
        return ""
    if len(lines) == 1 or (len(lines) == 2 and _UNDERLINE.fullmatch(lines[1])):
        title = " ".join(lines[0].split())
        return title if any(letter.isalpha() for letter in title) and not COLUMNS.search(lines[0].strip()) else ""
    return ""


def _blocks(parts: list[str]) -> Iterator[str]:
    code: list[str] = []
    for part, level in zip(parts, _numbered_levels(parts), strict=True):
        block = element(f"h{level}", " ".join(part.split())) if level else _block(part)
        if not block:
            code.append(part.rstrip())
            continue
        if code:
            yield element("pre", "\n\n".join(code))
            code = []
        yield block
    if code:
        yield element("pre", "\n\n".join(code))


def _numbered_levels(parts: list[str]) -> list[int]:
    """Return the level of each part that is a heading with the number of its chapter; 0 for other parts.

    A line of a table of contents is followed by another one, and an item of a list comes after one. A heading is
    followed by its text, or by the first heading of its own section.
    """
    numbers = [_number_of(part) for part in parts]
    levels = [0] * len(parts)
    for place in range(len(parts) - 2, -1, -1):
        number, after = numbers[place], numbers[place + 1]
        leads = levels[place + 1] > 0 and len(after) > len(number) if after else not _NUMBERED.match(parts[place + 1])
        if number and leads and not (place and _follows(numbers[place - 1], number)):
            levels[place] = min(len(number) + 1, 6)
    return levels


def _number_of(part: str) -> tuple[str, ...]:
    """Return the number of the chapter whose title this part is: 3 and 1 for `3.1. The root`; none for another text."""
    line = part.strip()
    if "\n" in line or len(line) > MAX_TITLE_CHARS or _NO_TITLE_END.search(line) or COLUMNS.search(line):
        return ()
    number = _NUMBERED.match(line)
    return tuple(number[1].split(".")) if number else ()


def _follows(before: tuple[str, ...], number: tuple[str, ...]) -> bool:
    """Return whether a number is the next one of the same list: 2 behind 1."""
    if before[:-1] != number[:-1] or not (before and before[-1].isdigit() and number[-1].isdigit()):
        return False
    return int(number[-1]) == int(before[-1]) + 1


def _block(part: str) -> str:
    """Return a part as HTML; empty if it is to stay as it is written."""
    lines = [line for line in part.strip("\n").split("\n") if line.strip()]
    if len(lines) >= 2 and _UNDERLINE.fullmatch(lines[1]) and len(lines[0]) <= MAX_TITLE_CHARS:
        level = "h2" if "=" in lines[1] else "h3"
        rest = "\n".join(lines[2:])
        return element(level, " ".join(lines[0].split())) + (
            (_block(rest) or element("pre", rest)) if rest.strip() else ""
        )
    if all(line.lstrip().startswith(">") for line in lines):
        quoted = "\n".join(line.lstrip()[1:].removeprefix(" ") for line in lines)
        inner = (_block(part) or element("pre", part) for part in BLANK.split(quoted) if part.strip())
        return f"<blockquote>{''.join(inner)}</blockquote>"
    if items := _items(lines):
        return f"<ul>{''.join(element('li', item) for item in items)}</ul>"
    reading = read_lines(lines)
    if reading == "verbatim":
        return ""
    trimmed = [" ".join(line.split()) for line in lines]
    if reading == "lines":
        return f"<p>{'<br>'.join(escape(line, quote=False) for line in trimmed)}</p>"
    return element("p", join_lines(trimmed, divides_words=False))


def _items(lines: list[str]) -> list[str]:
    """Return the items of a list; none if the text doesn't begin with a bullet."""
    if not _BULLET.match(lines[0]):
        return []
    if read_lines([_BULLET.sub("", line, count=1).strip() for line in lines]) == "verbatim":
        return []
    items: list[list[str]] = []
    for line in lines:
        if bullet := _BULLET.match(line):
            items.append([line[bullet.end() :].strip()])
        else:
            items[-1].append(line.strip())
    return [join_lines(item, divides_words=False) for item in items]
