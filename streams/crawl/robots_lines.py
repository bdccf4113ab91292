"""Reads the lines of a robots.txt as Google's published parser does: keys, typos, marks, lines that are too long. Pure.

Files in the wild have missing colons, misspelt keys, wrong line ends and pages of HTML. A line that can't be read is
skipped, and nothing raises.
"""

import re
from collections.abc import Iterator
from typing import Literal

Key = Literal["user-agent", "allow", "disallow", "sitemap", "crawl-delay", "request-rate", "visit-time", "signal"]

MAX_LINE_BYTES = 2_083 * 8 - 1
"""Maximum bytes of a line that are read: eight times the longest URL of old browsers. The rest of the line is cut."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_END = re.compile(rb"[#\0]")
"""A comment or a zero byte ends the text of a line."""
_WITHOUT_COLON = re.compile(rb"([^ \t]+)[ \t]+([^ \t]+)")

_KEYS: tuple[tuple[bytes, Key], ...] = (
    (b"user-agent", "user-agent"),
    (b"useragent", "user-agent"),
    (b"user agent", "user-agent"),
    (b"allow", "allow"),
    (b"disallow", "disallow"),
    (b"dissallow", "disallow"),
    (b"dissalow", "disallow"),
    (b"disalow", "disallow"),
    (b"diasllow", "disallow"),
    (b"disallaw", "disallow"),
    (b"sitemap", "sitemap"),
    (b"site-map", "sitemap"),
    (b"crawl-delay", "crawl-delay"),
    (b"request-rate", "request-rate"),
    (b"visit-time", "visit-time"),
    (b"content-signal", "signal"),
    (b"content-usage", "signal"),
)
"""Beginnings of keys that are read, in lower case: a key may go on with other letters (`Disallowed:`)."""
_FIRST_BYTES = frozenset(key[0] for key, _ in _KEYS)


def read_lines(content: bytes) -> Iterator[tuple[Key, bytes]]:
    """Yield the key and the value of each line that has both and whose key is known."""
    for line in _without_byte_order_mark(content).replace(b"\r", b"\n").split(b"\n"):
        if not line:
            continue
        pair = _split(line[:MAX_LINE_BYTES])
        if pair and (key := _key(pair[0])):
            yield key, pair[1]


def _without_byte_order_mark(content: bytes) -> bytes:
    """Return the content without the mark, or without the part of the mark that it begins with."""
    length = 0
    while length < len(_BYTE_ORDER_MARK) and content[length : length + 1] == _BYTE_ORDER_MARK[length : length + 1]:
        length += 1
    return content[length:]


def _split(line: bytes) -> tuple[bytes, bytes] | None:
    """Return key and value around the first colon. Without a colon, two words are a key and its value."""
    end = _END.search(line)
    text = (line[: end.start()] if end else line).strip()
    key, colon, value = text.partition(b":")
    if colon:
        return (key.rstrip(), value.strip()) if key.strip() else None
    words = _WITHOUT_COLON.fullmatch(text)
    return (words[1], words[2]) if words else None


def _key(name: bytes) -> Key | None:
    lower = name[:16].lower()
    if not lower or lower[0] not in _FIRST_BYTES:
        return None
    return next((key for beginning, key in _KEYS if lower.startswith(beginning)), None)
