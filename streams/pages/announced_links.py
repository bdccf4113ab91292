"""The recently announced links: a link on most pages of a site is not announced by each of them.

A link counts as announced only once Kafka has the event with it (`remember`). Until then other pages announce it, too.
So a killed worker loses no link: forgotten links are announced again, and links that only its memory held back are in
Kafka already.

A link is announced again if that could change the frontier's decision: in another crawl or with other limits, with a
lower depth, or after `MAX_SECONDS`. Links to other hosts are always announced in a crawl that stays on the hosts of
its seeds, because any host may become a seed's host later.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from schemas import Event, PageDiscovered
from streams.caches import RecentCache
from streams.crawl.urls import host_of

MAX_LINKS = 100_000
"""Maximum number of links in memory, about 30 MB."""
MAX_SECONDS = 300.0
"""Time until a link is announced again (seconds). A URL without an answer from its host rests longer."""


@dataclass(frozen=True, slots=True)
class _Announced:
    depth: int
    cause: UUID
    """Id of the event that announced the link. Its redelivery has the same outputs."""
    until: float


class AnnouncedLinks:
    """A bounded memory of announced links. It forgets the least recently used."""

    def __init__(self, monotonic: Callable[[], float], max_links: int = MAX_LINKS) -> None:
        self._monotonic = monotonic
        self._links: RecentCache[Hashable, _Announced] = RecentCache(max_links)

    def drop_announced(self, events: Iterable[PageDiscovered], cause: UUID) -> Iterator[PageDiscovered]:
        """Yield the events without the links that need no announcement. An event without any link is dropped."""
        now = self._monotonic()
        for event in events:
            kept = [one for one in event.each() if not self._is_announced(one, cause, now)]
            if kept:
                yield kept[0].model_copy(update={"more_urls": tuple(one.url for one in kept[1:])})

    def remember(self, events: Iterable[Event], cause: UUID) -> None:
        """Remember the links of events that Kafka has."""
        until = self._monotonic() + MAX_SECONDS
        for event in events:
            if isinstance(event, PageDiscovered):
                for one in event.each():
                    self._links.put(_key(one), _Announced(one.depth, cause, until))

    def _is_announced(self, event: PageDiscovered, cause: UUID, now: float) -> bool:
        if event.same_host and event.host != host_of(event.referrer or event.url):
            return False
        known = self._links.get(_key(event))
        return known is not None and known.cause != cause and known.depth <= event.depth and now < known.until


def _key(event: PageDiscovered) -> Hashable:
    limits = (event.max_depth, event.max_pages, event.same_host)
    return (event.page_id.bytes, event.crawl_id, event.why, event.purpose, *limits)
