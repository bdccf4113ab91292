"""The knowledge of a host before it is asked: the frontier's row first, then what this process learned itself.

The frontier has read the files of most hosts, so its row and blobs are used while they are fresh. For any other host
the same state (`Robots`) is kept in memory. A host that failed or asked for time rests: all processes see that in the
store of the pace.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from streams.caches import SizedCache
from streams.crawl.frontier.host_caches import HostOrders, RightsCache, RobotsCache
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.hosts.robots_state import Robots
from streams.crawl.frontier.policy import SECOND, Policy
from streams.crawl.polite.refusals import NotAsked
from streams.crawl.rights import Rights, parse_rights
from streams.crawl.robots import ROBOTS_TTL_SECONDS, Rules, parse
from streams.errors import MissingBlob
from streams.settings import CrawlSettings
from streams.stores.opener import Stores
from streams.stores.protocols import HostOrder

MAX_HOSTS = 5_000
"""Maximum number of hosts in memory. Rests are in the store."""
MAX_CHARS = 4 * 1024 * 1024
"""Maximum size of what is known of them together (characters), some 24 MB: a hostile robots.txt has 500 KiB."""
_HOST_CHARS = 500
"""Size of a host without files (characters)."""
ROW_MICROS = 30 * SECOND
"""Time until the frontier's row of a host is read again (microseconds)."""
MAX_REST_SECONDS = 86_400
"""Maximum time that a host rests (seconds)."""
_RESTING = "resting"
"""The holder of the keys of hosts that rest: any process may hold them longer."""
_BUSY_SHARE = 1.5
"""A host that the frontier asks later than after this number of delays rests: it failed, or asked for time."""


@dataclass(slots=True)
class KnownHost:
    """One host."""

    name: str
    rules: Rules
    is_apart: bool = False
    """True for an origin that the operator allowed, as those see it who may only reach public addresses."""
    robots: Robots = field(default_factory=Robots)
    rights: Rights = field(default_factory=lambda: parse_rights(b""))
    rights_at: int = 0
    """When the reservations of rights were read, microseconds since 1970 UTC."""
    failures: int = 0
    """Number of requests in a row that failed here."""
    strangers_failures: int = 0
    """The same of requests that pages of other domains caused."""
    order: HostOrder = field(default_factory=lambda: HostOrder(""))
    row_at: int = 0
    """When the frontier's row was read."""

    def delay_seconds(self, settings: CrawlSettings) -> float:
        """Return the time between two requests, as the frontier has it (seconds)."""
        return max(self.robots.delay_seconds or settings.delay_seconds, self.order.delay_seconds)

    def knows_rights(self, now: int) -> bool:
        """Return whether the reservations of rights were read within a day."""
        return bool(self.rights_at) and now < self.rights_at + round(ROBOTS_TTL_SECONDS * SECOND)


class KnownHosts:
    """The hosts of one process."""

    def __init__(self, settings: CrawlSettings, stores: Stores, now: Callable[[], int]) -> None:
        self._settings, self._stores, self._now = settings, stores, now
        self._policy = Policy.of(settings)
        self._orders = HostOrders(stores.frontier, now)
        self._robots_files = RobotsCache(stores.blobs, settings.robot_name)
        self._rights_files = RightsCache(stores.blobs)
        self._hosts = SizedCache[tuple[str, bool], KnownHost](MAX_CHARS, _size_of, max_values=MAX_HOSTS)

    async def find(self, name: str, *, is_apart: bool = False, is_stranger: bool = False) -> KnownHost:
        """Return what is known of a host. Raises NotAsked if the asker may not ask it at present.

        `is_apart`: for those who may not reach the private addresses of an allowed origin. They learn nothing from
        those that may, and their failures let nobody else wait. `is_stranger`: a page of another domain asks. It
        chooses what fails, so only such pages wait after that.
        """
        known = self._hosts.get((name, is_apart)) or KnownHost(name, parse(b"", self._settings.robot_name), is_apart)
        self.keep(known)
        known.order = await self._orders.of(name)
        if known.order.blocked:
            raise NotAsked("blocked", f"The operator has blocked {name}.")
        if not is_apart and self._now() >= known.row_at + ROW_MICROS:
            await self._read_row(known)
            known.row_at = self._now()
        keys = [_rest_key(known, is_stranger=False), *([_rest_key(known, is_stranger=True)] if is_stranger else [])]
        if left := max([await self._stores.pace_holds.left(key) for key in keys]):
            detail = f"{name} failed, or asked for time. It may be asked again in {left:.0f} s."
            raise NotAsked("unreachable" if known.robots.status == "unreachable" else "resting", detail, left)
        return known

    def keep(self, known: KnownHost) -> None:
        """Keep a host, whose files may have grown."""
        self._hosts.put((known.name, known.is_apart), known)

    async def _read_row(self, known: KnownHost) -> None:
        """Take what the frontier knows, if that is newer than what is known here. Raises NotAsked."""
        row = await self._stores.frontier.host(known.name)
        if row is None:
            return
        host, now = Host.from_row(row), self._now()
        if host.robots.fetched_at > known.robots.fetched_at:
            try:
                if host.robots.ref:
                    known.rules = await self._robots_files.get(host.robots.ref)
                elif host.robots.status == "allowed":
                    known.rules = parse(b"", self._settings.robot_name)
                known.robots = host.robots
            except MissingBlob:  # robots.txt is read again
                pass
        if host.rights.fetched_at > known.rights_at:
            await self._take_rights(known, host)
        wait = (host.next_at - now) / SECOND
        if wait > _BUSY_SHARE * host.delay_seconds(self._policy) and (host.failures or host.is_deferred):
            await self.rest(known, wait)

    async def _take_rights(self, known: KnownHost, host: Host) -> None:
        try:
            ref = host.rights.ref
            known.rights = await self._rights_files.get(ref) if ref else parse_rights(b"")
            known.rights_at = host.rights.fetched_at
        except MissingBlob:  # they are read again
            pass

    async def rest(self, known: KnownHost, seconds: float, *, is_stranger: bool = False) -> None:
        """Let a host rest, for all processes. A longer rest stays. `is_stranger`: only pages of other domains wait."""
        key, length = _rest_key(known, is_stranger=is_stranger), min(ceil(seconds), MAX_REST_SECONDS)
        if length > await self._stores.pace_holds.left(key):
            await self._stores.pace_holds.hold(key, _RESTING, length)


def _rest_key(known: KnownHost, *, is_stranger: bool) -> str:
    return f"rest {'apart ' if known.is_apart else ''}{'of strangers ' if is_stranger else ''}{known.name}"


def _size_of(known: KnownHost) -> int:
    return _HOST_CHARS + known.rules.chars + known.rights.chars
