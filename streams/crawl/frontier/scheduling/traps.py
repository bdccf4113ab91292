"""Traps: URLs of a host that a program makes without end. Pure.

    calendar          a month far in the future or long ago, in a URL with a word for a calendar
    query explosion   more than MAX_QUERIES URLs of one path that differ only in their query
    order of parts    parts of a path in another order, where a site puts them in any (`path_orders`)

A trap costs a host nothing but the trapped URLs: they are left out, and the host's row counts them by name. What a
person or a sitemap names is never a trap. A trapped URL has no row: who asks for it gets the reason by the same rules.
Depth, repetition and long queries are rules of each URL by itself (`streams.crawl.urls.reason_not_to_crawl`), and
session ids are no part of a canonical URL.

Anybody can link to any number of queries of another's path. So the URLs that strangers found have counts of their own,
and so have those that other hosts of the domain found, which may be the same people's or not. The counts of a kind
leave out further links of that kind, and never a link of the host itself. A URL counts once, when the frontier takes
it, however often it is announced. Only pages of the same owner teach an order of parts.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal

import xxhash

from schemas.crawl import PageDiscovered
from streams.crawl.domains import may_be_one_owner
from streams.crawl.frontier.scheduling.path_orders import PathOrders

MONTHS_AHEAD = 13
"""Number of months from now on whose pages may be events that are planned."""
MONTHS_BACK = 240
"""Number of months back of which a calendar may have events."""
MAX_QUERIES = 2_000
"""Maximum number of URLs of one path with different queries, of one host."""
MAX_CHARS = 500
"""Maximum characters of a URL that are looked at."""
MAX_PATHS = 64
"""Maximum number of paths with queries that a host remembers, of the site and of strangers each. The path that was seen
first is forgotten.
"""

_HINT = re.compile(r"calend|kalend|agenda|event|whats-on|schedule|month|monat|termine|veranstalt", re.IGNORECASE)
"""A URL without any of these letters has no word for a calendar."""
_CALENDARS = frozenset({"calendar", "calendars", "kalender", "calendrier", "calendario", "month", "months", "monat"})
_EVENTS = frozenset({"event", "events", "agenda", "schedule", "schedules", "termine", "veranstaltungen", "whats-on"})
"""Words for lists of events: pages of real events stand below them, too."""
_BESIDE = frozenset({"of", "the", "view", "monthly", "full", "day", "week", "year", "list", "page", "archive"})
"""Words that may stand beside a word for a calendar in its part of the path, as in `calendar-of-events`."""
_VIEWS = _BESIDE | _CALENDARS | {"grid", "index", "html", "htm", "php", "aspx", "jsp", "print", "ics", "ical"}
"""Words after a month that are no name of an event."""
_YEAR_NAMES = frozenset({"year", "yr", "jahr", "y", "yyyy", "ano", "anno", "annee", "jaar"})
_MONTH_NAMES = frozenset({"month", "mon", "monat", "m", "mm", "mes", "mois", "mese", "maand"})
_YEARS = range(1900, 2200)
"""Years in forms that numbers of events have, too."""

_MONTH = re.compile(r"(?<![0-9])([0-9]{4})(?:[/_-]|%2f)(0?[1-9]|1[0-2])(?![0-9])")
_WEEK = re.compile(r"(?<![0-9])([0-9]{4})[/_-]?k?w(?:eek)?[/_-]?([0-9]{1,2})(?![0-9])")
_DAY = re.compile(r"(?<![0-9])([0-9]{4})(0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?![0-9])")
_MONTH_FIRST = re.compile(r"(?<![0-9])(0?[1-9]|1[0-2])(?:[/_-]|%2f)([0-9]{4})(?![0-9])")
_WORDS = re.compile(r"[-_+]")
_YEAR_NUMBER = re.compile("[0-9]{4}")
_MONTH_NUMBER = re.compile("0?[1-9]|1[0-2]")
_NAME = re.compile(r"[a-z]{2,}|%[0-9a-f]{2}")

Kind = Literal["calendar", "events"]
Finder = Literal["host", "sibling", "stranger"]
_LINKED_BY: Mapping[Finder, str] = {
    "host": "",
    "sibling": ", by links of other hosts of its domain",
    "stranger": ", by links of other sites",
}
Month = tuple[int, int, int]
"""Year, month, and the place after it in its text."""


class Traps:
    """The memory of a host's traps."""

    def __init__(self, row: Mapping[str, Mapping[str, int]] | None = None) -> None:
        row = self._stored = {name: dict(part) for name, part in (row or {}).items()}
        self.left_out: dict[str, int] = dict(row.get("left_out", {}))
        """Number of URLs that were left out, by the name of the trap."""
        self._of_site: dict[str, int] = dict(row.get("own_queries", {}))
        """Number of URLs with a query that the host itself led to first, by the hash of their path."""
        self._of_siblings: dict[str, int] = dict(row.get("sibling_queries", {}))
        """The same of URLs that other hosts of its owner led to first."""
        self._of_strangers: dict[str, int] = dict(row.get("stranger_queries", {}))
        """The same of URLs that hosts of others led to first."""
        self._orders = PathOrders(row.get("path_parts", {}), row.get("path_sets", {}))

    def row(self) -> dict[str, dict[str, int]]:
        """Return what is stored: also parts that another release has written. It is empty for most hosts."""
        parts = {
            "left_out": self.left_out,
            "own_queries": self._of_site,
            "sibling_queries": self._of_siblings,
            "stranger_queries": self._of_strangers,
            "path_parts": self._orders.words,
            "path_sets": self._orders.sets,
        }
        return {name: part for name, part in (self._stored | parts).items() if part}

    def find(self, event: PageDiscovered, now_seconds: int, finder: str) -> str | None:
        """Return why a URL is left out, and count that it is; or None. `finder`: as `ordering.finder_of` has it."""
        if not _may_be_trap(event):
            return None
        found = self._find(_after_host(event.url), now_seconds, _finder_kind(event, finder))
        if found is None:
            return None
        name, detail = found
        self.left_out[name] = self.left_out.get(name, 0) + 1
        return f"trap: {name}: {detail}"

    def count(self, event: PageDiscovered, finder: str) -> bool:
        """Count a URL that the frontier takes and that it did not know before. Return whether the row has changed."""
        if not _may_be_trap(event):
            return False
        path, _, query = _after_host(event.url).partition("?")
        kind = _finder_kind(event, finder)
        if query:
            _count(self._counts_of(kind), _key(path))
        has_learned = kind == "host" and self._orders.count(path, query)
        return bool(query) or has_learned

    def reason(self, url: str, now_seconds: int) -> str | None:
        """Return why a link to a URL would be left out now, at least one of another site; or None.

        Nothing is counted.
        """
        rest = _after_host(url)
        found = self._find(rest, now_seconds, "host") or self._find(rest, now_seconds, "stranger")
        return f"trap: {found[0]}: {found[1]}" if found else None

    def _find(self, rest: str, now_seconds: int, finder: Finder) -> tuple[str, str] | None:
        """Return the name and the detail of the trap that a path with its query is in."""
        if is_far_month(rest, now_seconds):
            return "calendar", "a month far from today"
        path, _, query = rest.partition("?")
        if query and self._counts_of(finder).get(_key(path), 0) >= MAX_QUERIES:
            by = _LINKED_BY[finder]
            return "query explosion", f"more than {MAX_QUERIES:,} URLs of this path with a query{by}"
        detail = self._orders.find(path, query, is_own=finder == "host")
        return ("order of parts", detail) if detail else None

    def _counts_of(self, finder: Finder) -> dict[str, int]:
        return {"host": self._of_site, "sibling": self._of_siblings, "stranger": self._of_strangers}[finder]


def _may_be_trap(event: PageDiscovered) -> bool:
    """Return whether the URL is a page that a link, a redirect or a canonical link led to."""
    return event.why in ("link", "redirect", "canonical") and event.depth > 0 and event.purpose == "page"


def _finder_kind(event: PageDiscovered, finder: str) -> Finder:
    """Return who led to the URL: surely the host's owner, another host of its domain, or a stranger."""
    if not finder:
        return "host"
    return "sibling" if may_be_one_owner(finder, event.host) else "stranger"


def _count(counts: dict[str, int], key: str) -> None:
    if key not in counts and len(counts) >= MAX_PATHS:
        del counts[next(iter(counts))]
    counts[key] = counts.get(key, 0) + 1


def _after_host(url: str) -> str:
    return url.partition("://")[2].partition("/")[2]


def _key(path: str) -> str:
    return xxhash.xxh3_64_hexdigest(path.encode())[:8]


def is_far_month(path: str, now_seconds: int) -> bool:
    """Return whether a path with its query names a month that a calendar has and an event hardly does.

    The word for a calendar stands before the month, as a part of the path by itself. A word in the name of a page
    ("how-to-prevent-flu", "agenda-21-summit") says nothing.
    """
    if not _HINT.search(path, 0, MAX_CHARS):
        return False
    today = datetime.fromtimestamp(now_seconds, UTC)
    where, _, query = path[:MAX_CHARS].lower().partition("?")
    kind, start = _find_calendar(where)
    if kind and _is_far(where[start:], _months_in(where[start:], kind), today):
        return True
    asked, is_named = _months_asked(query, kind or "calendar")
    if kind:
        return _is_far("", asked, today)
    # An archive may be older than any calendar: without a calendar in the path only the future is one.
    return is_named and any(_months_from(today, month) > MONTHS_AHEAD for month in asked)


def _find_calendar(path: str) -> tuple[Kind | None, int]:
    """Return what the parts of a path say, and where the first of them that says it begins."""
    kind: Kind | None = None
    first, start = 0, 0
    for part in path.split("/"):
        found = _kind_of(part)
        if found and not kind:
            kind, first = found, start
        elif found == "calendar":
            kind = found
        start += len(part) + 1
    return kind, first


def _kind_of(part: str) -> Kind | None:
    """Return whether a part of a path is a word for a calendar or for events, such as `events-calendar.php`."""
    name = part.partition(".")[0]
    words = [word for word in _WORDS.split(name) if word and not word.isdecimal()]
    if not words:
        return None
    is_known = name in _EVENTS or all(word in _CALENDARS or word in _EVENTS or word in _BESIDE for word in words)
    if words[-1].endswith(("calendar", "kalender")) or (is_known and not _CALENDARS.isdisjoint(words)):
        return "calendar"
    return "events" if is_known and (name in _EVENTS or not _EVENTS.isdisjoint(words)) else None


def _months_in(text: str, kind: Kind) -> list[Month]:
    """Return the months that a text names, in the forms that calendars use."""
    found = [(int(one[1]), int(one[2]), one.end()) for one in _MONTH.finditer(text)]
    found += [(int(one[1]), (int(one[2]) - 1) * 12 // 53 + 1, one.end()) for one in _WEEK.finditer(text)]
    if kind == "events":  # whose numbers may look like any year
        return [month for month in found if month[0] in _YEARS]
    if not found:
        found = [(int(one[1]), int(one[2]), one.end()) for one in _DAY.finditer(text)]
        found += [(int(one[2]), int(one[1]), one.end()) for one in _MONTH_FIRST.finditer(text)]
        found = [month for month in found if month[0] in _YEARS]
    return found


def _months_asked(query: str, kind: Kind) -> tuple[list[Month], bool]:
    """Return the months that a query names, and whether one of its parameters has the name of a month."""
    pairs = [part.partition("=")[::2] for part in query.split("&")]
    years = [int(value) for name, value in pairs if name in _YEAR_NAMES and _YEAR_NUMBER.fullmatch(value)]
    months = [int(value) for name, value in pairs if name in _MONTH_NAMES and _MONTH_NUMBER.fullmatch(value)]
    found = [(year, month, 0) for year in years[:1] for month in months[:1]]
    found += [(year, month, 0) for _, value in pairs for year, month, _ in _months_in(value, kind)]
    return found, any(name in _CALENDARS for name, _ in pairs)


def _is_far(text: str, months: Iterable[Month], today: datetime) -> bool:
    """Return whether one of the months is far ahead, or far back and not followed by the name of an event."""
    for month in months:
        distance = _months_from(today, month)
        if distance > MONTHS_AHEAD:
            return True
        if distance < -MONTHS_BACK and all(name in _VIEWS for name in _NAME.findall(text, month[2])):
            return True
    return False


def _months_from(today: datetime, month: Month) -> int:
    return (month[0] - today.year) * 12 + month[1] - today.month
