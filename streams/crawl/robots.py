"""Robots rules: the robots.txt of a host as Google's published matcher reads it (RFC 9309), and its extensions. Pure.

The extensions are crawl-delay, request-rate, visit-time, sitemaps, and the signals that say what a page's content may
be used for. `robots_grammar` reads the lines and matches paths. Reading a file takes time linear in it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from streams.crawl.content_signals import USES, add_signals, parse_signals
from streams.crawl.domains import has_public_suffix
from streams.crawl.robots_grammar import Key, PatternSet, Rule, escape_pattern, read_lines
from streams.robot_name import ProductToken
from streams.robot_name import product_token as product_token

if TYPE_CHECKING:  # processes that read sitemaps and robots.txt load no schemas
    from schemas.crawl import Outcome

MAX_ROBOTS_BYTES = 500 * 1024
"""Maximum bytes of a file that are read (the minimum of RFC 9309, section 2.5). The rest is ignored."""
MAX_ROBOTS_REDIRECTS = 5
"""Maximum redirects in a row (RFC 9309, section 2.3.1.2, asks for at least five, also to other hosts)."""
ROBOTS_TTL_SECONDS = 86_400.0
"""Time until the files of a host are fetched again (seconds). RFC 9309, section 2.4: at most 24 hours."""
MAX_DELAY_SECONDS = 86_400.0
"""Maximum delay between two fetches (seconds): a page a day. The file itself is read again after a day."""
MAX_SITEMAPS = 200
"""Maximum number of sitemaps that a file may name."""
MAX_WINDOWS = 16
"""Maximum number of visit times that a file may name."""
MAX_VALUE_BYTES = 500
"""Maximum length of a delay, a rate or visit times that is read (bytes)."""
MAX_SIGNAL_PATHS = 1_000
"""Maximum number of paths with signals of their own."""

RobotsAccess = Literal["rules", "allow", "redirect", "unreachable"]

_AGENT = re.compile(rb"[A-Za-z_-]*")
_UNIT = r"(?: ?(ms|s|sec|second|m|min|minute|h|hour|d|day)s?(?![a-z]))?"
_NUMBER = re.compile(rf"(?<![-0-9.,])([0-9]{{0,9}}(?:[.,][0-9]{{1,9}})?){_UNIT}")
_RATE = re.compile(rf"([0-9]{{1,9}}(?:[.,][0-9]{{1,9}})?) ?[a-z]{{0,9}} ?(?:/|per) ?([0-9]{{0,9}}){_UNIT}")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_TIME = r"([01]?[0-9]|2[0-4])[:.h]?([0-5][0-9])"
_WINDOW = re.compile(rf"(?<![0-9:.]){_TIME} ?(?:-|\u2013|to) ?{_TIME}(?![0-9])")

Window = tuple[int, int]
"""Begin and end of a time of day (minutes since midnight, UTC). A window that ends before it begins is over night."""


@dataclass(slots=True)
class _Group:
    """The lines of a file for one crawler."""

    rules: list[Rule] = field(default_factory=list)
    delay_seconds: float = 0.0
    windows: list[Window] = field(default_factory=list)
    signals: dict[str, bool] = field(default_factory=dict)
    refusals: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    """Paths with the uses that the file forbids there."""

    def take(self, key: Key, value: bytes) -> None:
        match key:
            case "allow" | "disallow":
                self.rules.append(Rule(escape_pattern(value), key == "allow"))
            case "crawl-delay":
                self.delay_seconds = max(self.delay_seconds, _seconds(value))
            case "request-rate":
                self.delay_seconds = max(self.delay_seconds, _seconds_per_request(value))
            case "visit-time":
                self.windows = [*self.windows, *_windows(value)][:MAX_WINDOWS]
            case "signal":
                self._take_signals(value.decode("utf-8", "replace"))

    def _take_signals(self, value: str) -> None:
        """Take a line of signals. It may name paths first (`/private/ ai-input=n`), of which only refusals count."""
        signals = parse_signals(value)
        paths = list(takewhile(lambda word: word[:1] in "/*" and not parse_signals(word), value.split()))
        if not paths or not signals:
            add_signals(self.signals, signals)
        for path in paths[: MAX_SIGNAL_PATHS - len(self.refusals)]:
            self.refusals.append((path, frozenset(name for name, allowed in signals.items() if not allowed)))


class Rules:
    """The rules of one robots.txt for one crawler, named by its product token (`RiffleBot`)."""

    def __init__(self, group: _Group, sitemaps: tuple[str, ...] = ()) -> None:
        self._patterns = PatternSet(group.rules)
        self.delay_seconds: float = min(group.delay_seconds, MAX_DELAY_SECONDS)
        """Time between two fetches (seconds): the longest of crawl-delay and request-rate. 0: none is asked for."""
        self.windows: tuple[Window, ...] = tuple(group.windows)
        """The times of day in which the host may be asked. Empty: always."""
        self._signals: Mapping[str, bool] = group.signals
        self._refusals = {
            use: PatternSet(
                Rule(escape_pattern(path.encode()), allow=False) for path, uses in group.refusals if use in uses
            )
            for use in USES
            if any(use in uses for _, uses in group.refusals)
        }
        self.sitemaps = sitemaps
        """The sitemaps that the file names, as it names them."""

    @property
    def chars(self) -> int:
        """The number of characters of all patterns and sitemaps."""
        patterns = (self._patterns, *self._refusals.values())
        return sum(each.chars for each in patterns) + sum(map(len, self.sitemaps))

    def allowed(self, url: str) -> bool:
        """Return whether this crawler may fetch the URL. The file itself is always allowed (RFC 9309, section 2.2.2).

        The URL is compared as it is: a canonical URL is percent-encoded, as the patterns are.
        """
        path = _path_of(url)
        return path == "/robots.txt" or self._patterns.allows(path)

    def signals_for(self, url: str) -> dict[str, bool]:
        """Return the uses of a page that the file allows or forbids (`search`, `ai-train`, `ai-input`, ...)."""
        path = _path_of(url)
        refused = {use: False for use, patterns in self._refusals.items() if not patterns.allows(path)}
        return {**self._signals, **refused}


def parse(content: bytes, agent: ProductToken) -> Rules:
    """Parse a robots.txt for the crawler `agent`. Lines that can't be read are ignored. Raises ValueError for a user
    agent in place of a name.

    All groups with the crawler's name count together. Without such a group, all groups with `*` do. A group ends where
    an agent is named behind an `Allow` or `Disallow`; other lines end no group (RFC 9309, section 2.2.4).
    """
    agent = ProductToken(agent)
    own, general = _Group(), _Group()
    in_own = in_general = after_rule = has_own = False
    sitemaps: dict[str, None] = {}
    for key, value in read_lines(content[:MAX_ROBOTS_BYTES]):
        if key == "sitemap":
            if len(sitemaps) < MAX_SITEMAPS and (address := _address_of_sitemap(value.decode("utf-8", "replace"))):
                sitemaps[address] = None
        elif key == "user-agent":
            if after_rule:
                in_own = in_general = after_rule = False
            in_general = in_general or _is_general(value)
            in_own = in_own or (not _is_general(value) and _names(value, agent))
            has_own = has_own or in_own
        elif in_own or in_general:
            (own if in_own else general).take(key, value)
            after_rule = after_rule or key in ("allow", "disallow")
    return Rules(own if has_own else general, tuple(sitemaps))


def seconds_until_open(windows: Sequence[Window], now_seconds: int) -> int:
    """Return how long a host that is asked only at these times of day is closed (seconds). 0: it is open."""
    second = now_seconds % 86_400
    waits = []
    for begin, end in windows:
        since = (second - begin * 60) % 86_400
        if since < (end - begin) % 1_440 * 60 or begin == end:
            return 0
        waits.append(86_400 - since)
    return min(waits, default=0)


def robots_access(outcome: "Outcome", redirects: int) -> RobotsAccess:
    """Return the access by the answer to robots.txt, after N redirects (RFC 9309, section 2.3.1).

    A success without readable rules has none, so everything is allowed, as if the file is unavailable (4xx). If it is
    unreachable (all else: 5xx, no answer, an answer that can't be read), nothing is allowed until it answers, or for 30
    days (section 2.3.1.4). A host that answers 429 is too busy to be crawled, and a host with a guarded address is not
    trusted: both count as unreachable.
    """
    match outcome:
        case "ok":
            return "rules"
        case "redirect":
            return "redirect" if redirects < MAX_ROBOTS_REDIRECTS else "allow"
        case "gone" | "refused" | "client_error" | "unsupported_type":
            return "allow"
        case _:
            return "unreachable"


def _address_of_sitemap(value: str) -> str:
    """Return the address of a sitemap: absolute, or relative to the file. Empty for words that are none.

    `www.a.example/sitemap.xml` names none: a path of these words would be a page that nobody named.
    """
    first, slash, _ = value.partition("/")
    if not value or any(character.isspace() for character in value):
        return value.split()[0] if value.lower().startswith(("http://", "https://")) else ""
    if ":" in first or not first:
        return value
    is_host = slash and has_public_suffix(first.lower())
    return value if "." in value.rpartition("/")[2] and not is_host else ""


def _is_general(value: bytes) -> bool:
    """Return whether the value names all crawlers: a star, whatever stands behind a space."""
    return value[:1] == b"*" and not value[1:2].strip()


def _names(value: bytes, agent: ProductToken) -> bool:
    """Return whether the value is the crawler's name, up to the first character that no name has."""
    found = _AGENT.match(value)
    return found is not None and found[0].decode("ascii").lower() == agent.lower()


def _path_of(url: str) -> str:
    """Return path, parameters and query of a URL, which may lack a scheme. It begins with a slash."""
    start = 2 if url.startswith("//") else 0
    scheme = url.find("://", start)
    early = _first_of(url, start)
    begin = _first_of(url, start if scheme < 0 or 0 <= early < scheme else scheme + 3)
    fragment = url.find("#", start)
    if begin < 0 or 0 <= fragment < begin:
        return "/"
    path = url[begin:fragment] if fragment >= 0 else url[begin:]
    return path if path.startswith("/") else f"/{path}"


def _first_of(url: str, start: int) -> int:
    return min((at for at in (url.find(mark, start) for mark in "/?;") if at >= 0), default=-1)


def _seconds(value: bytes) -> float:
    """Return the seconds of a delay. What surrounds the first number is passed over: `10s`, `1,5`, `[5]`, `2 min`."""
    for number, unit in _NUMBER.findall(_text(value)):
        if number:
            return _float(number) * _unit_seconds(unit)
    return 0.0


def _seconds_per_request(value: bytes) -> float:
    """Return the seconds per request of `1/10`, `30/1m` or `1/10s 0800-1230`. Hours are ignored: it always holds.

    A value that is only a number is read as a delay: so the host is never asked faster than it may have meant.
    """
    found = _RATE.search(_text(value))
    if not found:
        return _seconds(value)
    requests = _float(found[1])
    return int(found[2] or 1) * _unit_seconds(found[3] or "") / requests if requests else 0.0


def _float(number: str) -> float:
    return float(number.replace(",", "."))


def _unit_seconds(unit: str) -> float:
    return 0.001 if unit == "ms" else _UNITS[unit[:1]]


def _windows(value: bytes) -> Iterator[Window]:
    for found in _WINDOW.finditer(_text(value)):
        yield int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])


def _text(value: bytes) -> str:
    """Return the beginning of a value in lower case, with one space in place of several."""
    return " ".join(value[:MAX_VALUE_BYTES].decode("utf-8", "replace").lower().split())
