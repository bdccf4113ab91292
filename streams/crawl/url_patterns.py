"""The patterns of a crawl: which URLs belong to it. Pure.

A pattern is `+GLOB` (only such URLs) or `-GLOB` (no such URL). In a glob, `*` matches any characters, and every other
character matches itself. A glob that begins with `/` is compared with path and query, any other one with the whole URL:

    +/docs/*                     only below /docs/
    -/docs/*/print.html          no pages for printing
    -https://a.example/search?*  no results of the site's own search

A URL belongs to the crawl if it matches one of the `+` patterns (or there are none), and no `-` pattern.
"""

from collections.abc import Iterable

MAX_PATTERNS = 64
"""Maximum number of patterns of a crawl: its events carry them."""
MAX_PATTERN_CHARS = 256
"""Maximum characters of a pattern."""


def make_patterns(include: Iterable[str], exclude: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of two lists of globs. Raises ValueError if there are too many, or one is empty or long."""
    made = tuple(dict.fromkeys([f"+{glob}" for glob in include] + [f"-{glob}" for glob in exclude]))
    if len(made) > MAX_PATTERNS:
        raise ValueError(f"{len(made)} patterns, and {MAX_PATTERNS} are allowed")
    for pattern in made:
        if not 1 < len(pattern) <= MAX_PATTERN_CHARS:
            raise ValueError(f"the pattern {pattern[1:40]!r} has {len(pattern) - 1} characters: 1 to 255 are allowed")
    return made


def belongs(url: str, patterns: Iterable[str]) -> bool:
    """Return whether a canonical URL belongs to the crawl with these patterns."""
    wanted, found = False, False
    for pattern in patterns:
        sign, glob = pattern[:1], pattern[1:]
        matches = _matches(_subject(url, glob), glob)
        if sign == "-" and matches:
            return False
        if sign == "+":
            wanted, found = True, found or matches
    return found or not wanted


def _subject(url: str, glob: str) -> str:
    return f"/{url.partition('://')[2].partition('/')[2]}" if glob.startswith("/") else url


def _matches(text: str, glob: str) -> bool:
    """Match without a regular expression: each part between two stars is searched once, from left to right."""
    first, *others = glob.split("*")
    if not others:
        return text == first
    *middle, last = others
    if not text.startswith(first) or len(text) < len(first) + len(last) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
