"""Traps: URLs of a host that a program makes without end. Pure.

    calendar          a month far in the future or long ago, in a URL that has a word for a calendar
    query explosion   more than MAX_QUERIES URLs of one path that differ only in their query

A trap costs a host nothing but the trapped URLs: they are left out, and the host's row counts them by name. What a
person or a sitemap names is never a trap. A trapped URL has no row: who asks for it gets the reason by the same rules.
Depth, repetition and long queries are rules of each URL by itself (`streams.crawl.urls.reason_not_to_crawl`), and
session ids are no part of a canonical URL.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

import xxhash

from schemas.crawl import PageDiscovered

MONTHS_AHEAD = 13
"""Number of months from now on whose pages may be events that are planned."""
MONTHS_BACK = 240
"""Number of months back of which a calendar may have events."""
MAX_QUERIES = 2_000
"""Maximum number of URLs of one path with different queries, of one host."""
MAX_CHARS = 500
"""Maximum characters of a URL that are looked at."""
MAX_PATHS = 64
"""Maximum number of paths with queries that a host remembers. The path that was seen first is forgotten."""

_MONTH = re.compile(r"(?<![0-9])([0-9]{4})(?:[/_-]|&\w{1,12}=)(0?[1-9]|1[0-2])(?![0-9])")
_CALENDAR = re.compile(r"calend|kalender|agenda|events?\b|whats-on|schedule|month|monat", re.IGNORECASE)


class Traps:
    """The memory of a host's traps."""

    def __init__(self, row: Mapping[str, Mapping[str, int]] | None = None) -> None:
        row = row or {}
        self.left_out: dict[str, int] = dict(row.get("left_out", {}))
        """Number of URLs that were left out, by the name of the trap."""
        self._queries: dict[str, int] = dict(row.get("queries", {}))
        """Number of URLs with a query, by the hash of their path."""

    def row(self) -> dict[str, dict[str, int]]:
        """Return what is stored. It is empty for most hosts."""
        parts = {"left_out": self.left_out, "queries": self._queries}
        return {name: part for name, part in parts.items() if part}

    def take(self, event: PageDiscovered, now_seconds: int) -> str | None:
        """Return why a URL is left out, and count it; or None."""
        if event.why not in ("link", "redirect", "canonical") or event.depth == 0 or event.purpose != "page":
            return None
        rest = _after_host(event.url)
        path, _, query = rest.partition("?")
        if query and not is_far_month(rest, now_seconds):
            self._count_query(path)
        found = self._find(rest, now_seconds)
        if found is None:
            return None
        name, detail = found
        self.left_out[name] = self.left_out.get(name, 0) + 1
        return f"trap: {name}: {detail}"

    def reason(self, url: str, now_seconds: int) -> str | None:
        """Return why a link to a URL would be left out now, or None. Nothing is counted."""
        found = self._find(_after_host(url), now_seconds)
        return f"trap: {found[0]}: {found[1]}" if found else None

    def _find(self, rest: str, now_seconds: int) -> tuple[str, str] | None:
        """Return the name and the detail of the trap that a path with its query is in."""
        if is_far_month(rest, now_seconds):
            return "calendar", "a month far from today"
        path, _, query = rest.partition("?")
        if query and self._queries.get(_key(path), 0) > MAX_QUERIES:
            return "query explosion", f"more than {MAX_QUERIES:,} URLs of this path with a query"
        return None

    def _count_query(self, path: str) -> None:
        key = _key(path)
        if key not in self._queries and len(self._queries) >= MAX_PATHS:
            del self._queries[next(iter(self._queries))]
        self._queries[key] = self._queries.get(key, 0) + 1


def _after_host(url: str) -> str:
    return url.partition("://")[2].partition("/")[2]


def _key(path: str) -> str:
    return xxhash.xxh3_64_hexdigest(path.encode())[:8]


def is_far_month(path: str, now_seconds: int) -> bool:
    """Return whether a path with its query names a month that a calendar has and an event hardly does."""
    if not _CALENDAR.search(path, 0, MAX_CHARS):
        return False
    today = datetime.fromtimestamp(now_seconds, UTC)
    for year, month in _MONTH.findall(path, 0, MAX_CHARS):
        months = (int(year) - today.year) * 12 + int(month) - today.month
        if not -MONTHS_BACK <= months <= MONTHS_AHEAD:
            return True
    return False
