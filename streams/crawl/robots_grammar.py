"""The lines of a robots.txt, and the patterns of `Allow` and `Disallow`, as Google's parser reads them. Pure.

Files in the wild have missing colons, misspelt keys, wrong line ends and pages of HTML. Some are in UTF-16, or were
copied out of a page or an office program, with its spaces, dashes and invisible characters. A line that can't be read
is skipped, and nothing raises.

A pattern is a prefix of the path with its query. `*` is any run of characters, and `$` at the end is the end of the
path. The longest pattern that matches decides; of two as long, `Allow` does (RFC 9309, section 2.2.2).

Most patterns have no `*`: they are looked up by their lengths, so a file of 40,000 such patterns costs a few hundred
look-ups for each URL. Patterns with `*` are tried one after the other, the longest first, each in time linear in the
path for ordinary text. Nothing here goes back: a hostile pattern can't take exponential time.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from streams.crawl.urls import NEVER_IN_URLS

Key = Literal["user-agent", "allow", "disallow", "sitemap", "crawl-delay", "request-rate", "visit-time", "signal"]

MAX_LINE_BYTES = 2_083 * 8 - 1
"""Maximum bytes of a line that are read: eight times the longest URL of old browsers. The rest of the line is cut."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COLON = re.compile("[:\uff1a]")
_LATIN_1_SPACE = "\udca0"
"""The no-break space of Latin-1, which is no UTF-8 (`surrogateescape`)."""
_INVISIBLE = frozenset("\xad\u061c\u180e\ufeff").union(
    *(map(chr, range(first, last + 1)) for first, last in ((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2069)))
)
"""Characters without a width (Unicode, general category Cf): of texts that were copied out of a page."""
_UNSEEN = "".join(chr(n) for n in range(0x3001) if chr(n).isspace()) + "".join(sorted(_INVISIBLE)) + _LATIN_1_SPACE
_END = re.compile(rb"[#\0]")
"""A comment or a zero byte ends the text of a line."""
_WITHOUT_COLON = re.compile(rb"([^ \t]+)[ \t]+([^ \t]+)")

_KEYS: tuple[tuple[bytes, Key], ...] = (
    (b"user-agent", "user-agent"), (b"useragent", "user-agent"), (b"user agent", "user-agent"), (b"allow", "allow"),
    (b"disallow", "disallow"), (b"dissallow", "disallow"), (b"dissalow", "disallow"), (b"disalow", "disallow"),
    (b"diasllow", "disallow"), (b"disallaw", "disallow"), (b"sitemap", "sitemap"), (b"site-map", "sitemap"),
    (b"crawl-delay", "crawl-delay"), (b"request-rate", "request-rate"), (b"visit-time", "visit-time"),
    (b"content-signal", "signal"), (b"content-usage", "signal"),
)  # fmt: skip
"""Beginnings of keys that are read, in lower case: a key may go on with other letters (`Disallowed:`)."""
_FIRST_BYTES = frozenset(key[0] for key, _ in _KEYS)
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[\x80-\xff]")
_UNRESERVED_ESCAPE = re.compile(r"%(?:2D|2E|3[0-9]|4[1-9A-F]|5[0-9A]|5F|6[1-9A-F]|7[0-9A]|7E)")
"""Escapes of letters, digits, `-`, `.`, `_` and `~` (RFC 3986, section 2.3)."""
_INDEX = "/index.htm"
_ALWAYS_ESCAPED = str.maketrans({character: f"%{ord(character):02X}" for character in NEVER_IN_URLS})
"""Characters that a canonical URL has as escapes."""


def read_lines(content: bytes) -> Iterator[tuple[Key, bytes]]:
    """Yield the key and the value of each line that has both and whose key is known."""
    for line in _without_byte_order_mark(_in_utf8(content)).replace(b"\r", b"\n").split(b"\n"):
        if not line:
            continue
        pair = _split(line[:MAX_LINE_BYTES])
        if pair and (key := _key(pair[0])):
            yield key, pair[1]


def _in_utf8(content: bytes) -> bytes:
    """Return the content in UTF-8 if it is UTF-16, which its mark says, or the zero byte of its first letter."""
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if content.startswith(mark):
            return content[len(mark) :].decode(codec, "replace").encode("utf-8", "replace")
    if content[1:2] == b"\0" != content[:1]:
        return content.decode("utf-16-le", "replace").encode("utf-8", "replace")
    if content[:1] == b"\0" != content[1:2]:
        return content.decode("utf-16-be", "replace").encode("utf-8", "replace")
    return content


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
    if not text.isascii():
        return _split_copied(text)
    key, colon, value = text.partition(b":")
    if colon:
        return (key.rstrip(), value.strip()) if key.strip() else None
    words = _WITHOUT_COLON.fullmatch(text)
    return (words[1], words[2]) if words else None


def _split_copied(text: bytes) -> tuple[bytes, bytes] | None:
    """Return key and value of a line that is not ASCII, as its writer saw it.

    Around key and value, spaces of any kind and invisible characters are dropped. Within a key, dashes and letters are
    what they look like (`User\u2010agent`, `Disallow\uff1a`). A path keeps its characters.
    """
    line = text.decode("utf-8", "surrogateescape")
    if colon := _COLON.search(line):
        key, value = _plain(line[: colon.start()]), line[colon.end() :].strip(_UNSEEN)
    else:
        key, _, value = _plain(line).partition(" ")
        if not value or " " in value:
            return None
    return (key.encode("ascii", "ignore"), value.encode("utf-8", "surrogateescape")) if key else None


def _plain(key: str) -> str:
    """Return a key without invisible characters, with plain spaces and dashes."""
    seen = (one for one in unicodedata.normalize("NFKC", key.replace(_LATIN_1_SPACE, " ")) if one not in _INVISIBLE)
    return " ".join("".join("-" if unicodedata.category(one) == "Pd" else one for one in seen).split())


def _key(name: bytes) -> Key | None:
    lower = name[:16].lower()
    if not lower or lower[0] not in _FIRST_BYTES:
        return None
    return next((key for beginning, key in _KEYS if lower.startswith(beginning)), None)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line `Allow` or `Disallow`."""

    pattern: str
    """In ASCII, escaped (`escape_pattern`)."""
    allow: bool


class PatternSet:
    """All patterns of a crawler in one file. `allow_folders`: allowing an index file also allows its folder."""

    def __init__(self, rules: Iterable[Rule], *, allow_folders: bool = True) -> None:
        self._prefixes: dict[str, bool] = {}
        self._whole: dict[str, bool] = {}
        globs: dict[str, bool] = {}
        for rule in rules:
            for pattern in _variants(rule, allow_folders):
                if "*" in pattern:
                    globs[pattern] = rule.allow or globs.get(pattern, False)
                elif pattern.endswith("$"):
                    self._whole[pattern[:-1]] = rule.allow or self._whole.get(pattern[:-1], False)
                elif pattern:
                    self._prefixes[pattern] = rule.allow or self._prefixes.get(pattern, False)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)
        self._globs = sorted(globs.items(), key=lambda glob: (-len(glob[0]), not glob[1]))
        self.chars = sum(map(len, (*self._prefixes, *self._whole, *globs)))
        """Number of characters of all patterns: the measure of the memory that they take."""

    def allows(self, path: str) -> bool:
        """Return whether the longest matching pattern allows the path with its query, or no pattern matches."""
        length, allow = self._best_without_star(path)
        for pattern, allows in self._globs:
            if len(pattern) < length or (len(pattern) == length and allow):
                break
            if (allows or len(pattern) > length) and _matches(pattern, path):
                return allows
        return allow

    def _best_without_star(self, path: str) -> tuple[int, bool]:
        """Return the length and the kind of the longest matching pattern without `*`. Without one: (0, True)."""
        length, allow = 0, True
        for candidate in self._lengths:
            found = self._prefixes.get(path[:candidate]) if candidate <= len(path) else None
            if found is not None:
                length, allow = candidate, found
                break
        whole = self._whole.get(path)
        if whole is not None and (len(path) + 1 > length or (len(path) + 1 == length and whole)):
            return len(path) + 1, whole
        return length, allow


def escape_pattern(value: bytes) -> str:
    """Return the pattern in ASCII: bytes outside of it as escapes, and the digits of escapes in upper case."""
    return _ESCAPE.sub(_escape, value).decode("ascii")


def _escape(match: re.Match[bytes]) -> bytes:
    found = match[0]
    return found.upper() if found.startswith(b"%") else b"%%%02X" % found[0]


def _variants(rule: Rule, allow_folders: bool) -> Iterator[str]:
    """Yield the patterns of a rule.

    Allowing an index file also allows its folder (`allow_folders`). Disallowing a spelling also disallows how canonical
    URLs spell the same path. Allowing does not: in doubt a page stays unread.
    """
    yield rule.pattern
    if rule.allow:
        folder, slash, name = rule.pattern.rpartition("/")
        if allow_folders and slash and (slash + name).startswith(_INDEX):
            yield f"{folder}/$"
    else:
        decoded = _UNRESERVED_ESCAPE.sub(lambda escape: chr(int(escape[0][1:], 16)), rule.pattern)
        canonical = decoded.translate(_ALWAYS_ESCAPED)
        if canonical != rule.pattern:
            yield canonical


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern with `*` matches. The first place of each part is enough, since parts don't overlap."""
    first, *middle, last = (pattern[:-1] if pattern.endswith("$") else pattern).split("*")
    if not path.startswith(first):
        return False
    position = len(first)
    for part in middle if pattern.endswith("$") else (*middle, last):
        position = path.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return not pattern.endswith("$") or (len(path) - len(last) >= position and path.endswith(last))
