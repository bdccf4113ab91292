"""The crawl scope: the limits of a crawl, which each of its events carries, with the patterns of its URLs. Pure.

Events and stored URLs hold the scope as fields of their own. Only this module copies them.

A pattern is `+GLOB` (only such URLs) or `-GLOB` (no such URL). In a glob, `*` matches any characters, and every other
character matches itself. A glob that begins with `/` is compared with path and query, any other one with the whole URL:

    +/docs/*                     only below /docs/
    -/docs/*/print.html          no pages for printing
    -https://a.example/search?*  no results of the site's own search

A URL belongs to the crawl if it matches one of the `+` patterns (or there are none), and no `-` pattern.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypedDict, cast

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


class ScopeFields(TypedDict):
    """The scope's fields, as keyword arguments of an event or a stored URL."""

    depth: int
    max_depth: int | None
    max_pages: int | None
    same_host: bool
    patterns: tuple[str, ...]
    crawl_id: str
    sitemap_level: int | None


class Scoped(Protocol):
    """An event or stored URL that carries a crawl scope."""

    @property
    def depth(self) -> int: ...
    @property
    def max_depth(self) -> int | None: ...
    @property
    def max_pages(self) -> int | None: ...
    @property
    def same_host(self) -> bool: ...
    @property
    def patterns(self) -> tuple[str, ...]: ...
    @property
    def crawl_id(self) -> str: ...
    @property
    def sitemap_level(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """The limits of a crawl, and the depth of a page in it."""

    depth: int = 0
    """Number of hops from the seed."""
    max_depth: int | None = None
    """Maximum depth of a page with links that are followed. None: no limit."""
    max_pages: int | None = None
    """Maximum pages of one host in this crawl. None: the setting's default."""
    same_host: bool = False
    """Follow only links that stay on the hosts of the seeds."""
    patterns: tuple[str, ...] = ()
    """The globs of the URLs that belong to the crawl (`streams.crawl.scope`)."""
    crawl_id: str = ""
    """The `riffle crawl` that reports on these pages. Empty: none."""
    sitemap_level: int | None = None
    """Level of a sitemap, as in `pages.discovered`; None for what is no sitemap."""

    @classmethod
    def of(cls, source: Scoped) -> Self:
        """Return the scope of an event or a stored URL."""
        return cls(**_fields_of(source))

    def at_depth(self, depth: int, *, sitemap_level: int | None = None) -> Self:
        """Return the same limits for a page at this depth, or for a sitemap of this level."""
        return replace(self, depth=depth, sitemap_level=sitemap_level)

    def includes(self, depth: int) -> bool:
        """Return whether pages at this depth belong to the crawl."""
        return self.max_depth is None or depth <= self.max_depth

    @property
    def asked_at(self) -> int:
        """The depth of the page that led to a sitemap, or to the index that names it."""
        return self.depth - (self.sitemap_level or 0)

    @property
    def depth_of_pages(self) -> int:
        """The depth of the pages that a sitemap names: as if the page that led to the sitemap linked to them."""
        return self.asked_at + 1

    def fields(self) -> ScopeFields:
        return _fields_of(self)


def _fields_of(source: Scoped) -> ScopeFields:
    return cast(ScopeFields, {name: getattr(source, name) for name in ScopeFields.__annotations__})
