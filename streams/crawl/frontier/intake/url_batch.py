"""The URLs of one discovery event, during the decisions on them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from schemas.crawl import PageDiscovered
from streams.crawl.domains import may_be_one_owner, owner_of, witness_of
from streams.crawl.frontier.decisions import is_seed
from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.crawl.frontier.hosts.new_hosts import SIBLINGS
from streams.crawl.frontier.scheduling.ordering import CHANGING_SECONDS, gained_hops, head_start
from streams.crawl.frontier.state import FrontierState
from streams.crawl.frontier.url_aliases import HostRules
from streams.stores.protocols import FrontierUrl


@dataclass(slots=True)
class UrlBatch:
    """The URLs of one event, all of one host, during the decisions on them."""

    frontier: FrontierState
    live: LiveHost
    cause: str
    at: int
    is_urgent: bool
    """True if the URLs come before all others of their host: a person gave them as seeds."""
    known: dict[UUID, FrontierUrl | None] = field(default_factory=dict)
    """The rows of the event's URLs, as stored or about to be stored."""
    writes: dict[UUID, FrontierUrl] = field(default_factory=dict)
    """Rows to write, by page."""
    refused: list[UUID] = field(default_factory=list)
    """New pages that robots.txt disallows. They have no rows."""
    finder: str = ""
    """The host that led to the URLs, or "" if that is surely their owner's (`ordering.finder_of`)."""
    finder_rank: float = 1.0
    """The rank by links of that host, if it is a stranger's."""
    rules: HostRules | None = None
    """The alias rules of the event's host, read for the first decision that needs them."""
    begins_host: bool = False
    """True if the host is new, and a URL of this event began it."""
    is_trapped: bool = False
    """True if a URL was left out as a trap. The host's row counts it."""
    seen: list[UUID] = field(default_factory=list)
    """Pages with a row that needs no further read, once all is written."""

    async def read(self, page_ids: Sequence[UUID]) -> None:
        self.known.update(await self.frontier.hosts.urls(self.live, page_ids))

    async def alias_rules(self) -> HostRules:
        if self.rules is None:
            self.rules = await self.frontier.aliases.rules_for(self.live.name)
        return self.rules

    async def row(self, page_id: UUID, host: str) -> FrontierUrl | None:
        if page_id not in self.known:
            own = host == self.live.name
            store = self.frontier.store
            self.known[page_id] = await (
                self.frontier.hosts.url(self.live, page_id) if own else store.url(host, page_id)
            )
        return self.known[page_id]

    def write(self, url: FrontierUrl) -> None:
        self.known[url.page_id] = self.writes[url.page_id] = url

    def queued(self) -> list[UUID]:
        """Return the pages of this event that wait in the queue."""
        return [page_id for page_id, url in self.writes.items() if url.state == "queued"]

    def may_begin_host(self, event: PageDiscovered) -> bool:
        """Return whether the host has a row, a person gave it, or its owner may begin a new one. Nothing is noted."""
        return not self._begins_host(event) or self.frontier.new_hosts.may_begin(*self._owners())

    def note_place(self, event: PageDiscovered) -> None:
        """Note that a URL has got a place: a host that it begins counts for its owner."""
        if self._begins_host(event):
            self.frontier.new_hosts.begin(*self._owners())
            self.begins_host = True

    def _begins_host(self, event: PageDiscovered) -> bool:
        return not (self.live.is_stored or self.begins_host or is_seed(event) or event.force)

    def _owners(self) -> tuple[str, str]:
        """Return the owner of the host, and the witness that led to the URL: none, the domain itself, or a stranger."""
        if self.is_of_stranger:
            return owner_of(self.live.name), witness_of(self.finder)
        return owner_of(self.live.name), SIBLINGS if self.finder else ""

    @property
    def is_of_stranger(self) -> bool:
        """True if a host of another domain led to the URLs."""
        return bool(self.finder) and not may_be_one_owner(self.finder, self.live.name)

    def position(self, event: PageDiscovered, known: FrontierUrl | None = None) -> int | None:
        """Return the URL's place in the queue: own URLs of an event with equal promise are queued in their order.

        None: no place. `known` is the URL's row, if there is one.
        """
        host, now = self.live.host, self.frontier.now()
        if self.is_urgent:
            return host.position_ahead()
        if self.finder:
            self.live.is_changed = True
            gap = host.gap(self.frontier.policy)
            place = host.turns.next(witness_of(self.finder), now, gap, self.finder_rank)
            return None if place is None else host.position(place)
        stated = next(iter(event.change_seconds), 0)
        gained = gained_hops(
            event,
            is_linked=bool(known and known.stranger),
            is_changing=0 < stated <= CHANGING_SECONDS and host.hints.state_intervals,
        )
        return host.position(now - head_start(event.depth, gained)) + len(self.writes)
