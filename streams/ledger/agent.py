"""The ledger stage: stores each transition of each page, with a line for people. It emits nothing.

The events of a page's journey are one write, as far as they come within some minutes (`gathering`). A redelivery writes
the same rows again. About once in sixteen fetches of a page, the transitions that its history no longer needs are
deleted (`transitions`). Links to a page are stored in a few rows (`LinkMemory`). The link or sitemap that led to the
discovery of a page has no row: the frontier's row of the URL has it (`history`), and a sitemap that is read again and
again names all pages each time. Every other event has a row of its own.
"""

import asyncio
from collections.abc import Iterator, Sequence
from uuid import UUID, uuid5

from schemas import Event, LinkFound, PageDiscovered, PageFetched, PageIndexed, PageRemoved
from streams.errors import PoisonError
from streams.ledger.descriptions import describe_links
from streams.ledger.gathering import DEADLINE_SHARE, MAX_SECONDS, GatheredLedger
from streams.ledger.transitions import LinkMemory, Links, find_outdated, make_transition
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import Ledger, Transition

FETCHES_PER_TRIM = 16
"""Number of fetches, on average, after which a page's history is read for what it no longer needs."""


class LedgerAgent(Agent):
    """Stores the transition that each event is."""

    def __init__(self, ledger: Ledger, max_gathering_seconds: float = MAX_SECONDS) -> None:
        self._ledger = ledger
        self._gathered = GatheredLedger(ledger, max_gathering_seconds)
        self._links = LinkMemory()

    def hurry(self, *, is_on: bool) -> None:
        self._gathered.hurry(is_on=is_on)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Store the event. Raises PoisonError for an event that is about no page."""
        self._gathered.note_event()
        self.steps += 1  # a worker whose events wait is not hung while others come
        match delivery.event:
            case LinkFound(lost=True):
                pass  # the history of the linking page has its removal
            case LinkFound() as event:
                if edges := event.edges():
                    await self._store_links(delivery, edges)
            case PageDiscovered(why="link" | "sitemap"):
                pass  # the frontier stores it if it led to the page first
            case PageDiscovered(more_urls=()) as event:
                (step,) = _discoveries(delivery, event)
                await self._gathered.record(step)
            case PageDiscovered() as event:
                await asyncio.gather(*map(self._ledger.record, _discoveries(delivery, event)))
            case event:
                last = isinstance(event, PageIndexed | PageRemoved)
                await self._gathered.record(transition_of(delivery), last=last)
                # The history has room for many fetches, so a look after one in some is enough.
                if isinstance(event, PageFetched) and delivery.envelope.id.int % FETCHES_PER_TRIM == 0:
                    await self._trim(event.page_id)
        return ()

    async def _trim(self, page_id: UUID) -> None:
        """Delete what the page's history no longer needs. After a crash before this, the redelivery deletes it."""
        if outdated := find_outdated(await self._ledger.history(page_id)):
            await self._ledger.delete(*outdated)

    async def _store_links(self, delivery: Delivery, event: LinkFound) -> None:
        rows = []
        for link in event.each():
            links = None if link.nofollow else self._links.note(link.target_page_id, link.source_url)
            if links:
                rows.append(links_transition(delivery, link, links))
        try:
            await asyncio.gather(*map(self._gathered.record, rows))
        except BaseException:
            for row in rows:  # the event is tried again, and its rows must be stored then
                self._links.forget(row.page_id)
            raise


def transition_of(delivery: Delivery) -> Transition:
    """Return the event as a transition, with its data as JSON has it."""
    event = delivery.event
    page_id = getattr(event, "page_id", None)
    if not isinstance(page_id, UUID):
        raise PoisonError(f"{type(event).__name__} is about no page, so no page's history can hold it")
    return make_transition(delivery, page_id, delivery.envelope.id, event)


def links_transition(delivery: Delivery, link: LinkFound, links: Links) -> Transition:
    """Return one row for several links to a page: the last link, with all linking pages in `referrers`."""
    page_id = link.target_page_id
    return Transition(
        page_id=page_id,
        event_id=uuid5(page_id, f"links/{links.row}"),
        topic=LinkFound.topic,
        source=delivery.envelope.source,
        at=delivery.at,
        outcome=describe_links(links.referrers),
        data={"page_id": str(page_id), "url": link.target_url, "why": "link", "referrers": list(links.referrers)},
    )


def _discoveries(delivery: Delivery, event: PageDiscovered) -> Iterator[Transition]:
    """Yield a row for each URL of the event.

    Redirects and canonical links to a page have one row for each kind; each seed and import has its own.
    """
    for one in event.each():
        own = event.why in ("seed", "import")
        row_id = delivery.envelope.id if own else uuid5(one.page_id, f"discovered/{event.why}")
        yield make_transition(delivery, one.page_id, row_id, one)


async def build(settings: Settings, stores: Stores) -> LedgerAgent:
    """Return the stage's agent. No event waits until its deadline is over."""
    return LedgerAgent(stores.ledger, min(MAX_SECONDS, DEADLINE_SHARE * settings.runtime.event_deadline_seconds))
