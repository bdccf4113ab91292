"""The crawl scope: the limits of a crawl, which each of its events carries. Pure.

Events and stored URLs hold the scope as fields of their own. Only this module copies them.
"""

from dataclasses import dataclass, replace
from typing import Protocol, Self, TypedDict


class ScopeFields(TypedDict):
    """The scope's fields, as keyword arguments of an event or a stored URL."""

    depth: int
    max_depth: int | None
    max_pages: int | None
    same_host: bool
    patterns: tuple[str, ...]
    crawl_id: str


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
    """The globs of the URLs that belong to the crawl (`streams.crawl.url_patterns`)."""
    crawl_id: str = ""
    """The `riffle crawl` that reports on these pages. Empty: none."""

    @classmethod
    def of(cls, source: Scoped) -> Self:
        """Return the scope of an event or a stored URL."""
        return cls(source.depth, source.max_depth, source.max_pages, source.same_host, source.patterns, source.crawl_id)

    def at_depth(self, depth: int) -> Self:
        """Return the same limits for a page at this depth."""
        return replace(self, depth=depth)

    def fields(self) -> ScopeFields:
        """Return the fields by name."""
        return ScopeFields(
            depth=self.depth,
            max_depth=self.max_depth,
            max_pages=self.max_pages,
            same_host=self.same_host,
            patterns=self.patterns,
            crawl_id=self.crawl_id,
        )
