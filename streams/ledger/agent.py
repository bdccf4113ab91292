"""The ledger stage: stores each transition of each page, with a line for people. It emits nothing.

A redelivery writes the same row again. Links to a page are stored by a few rows in all (`discoveries`); every other
event has a row of its own.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid5

from schemas import Event, PageDiscovered
from streams.errors import PoisonError
from streams.ledger.descriptions import describe, describe_links
from streams.ledger.discoveries import LinkMemory, Links
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import Ledger, Transition


class LedgerAgent(Agent):
    """Stores the transition that each event is."""

    def __init__(self, ledger: Ledger, links: LinkMemory | None = None) -> None:
        self._ledger = ledger
        self._links = links or LinkMemory()

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Raises PoisonError for an event that is about no page."""
        if isinstance(delivery.event, PageDiscovered) and delivery.event.why == "link":
            await self._store_link(delivery, delivery.event)
        else:
            await self._ledger.record(transition_of(delivery))
        return ()

    async def _store_link(self, delivery: Delivery, event: PageDiscovered) -> None:
        links = self._links.note(event)
        if links is None:
            return
        try:
            await self._ledger.record(links_transition(delivery, event, links))
        except BaseException:
            self._links.forget(event.page_id)  # the event is tried again, and must be stored then
            raise


def transition_of(delivery: Delivery) -> Transition:
    """The event as a transition, with its data as JSON has it."""
    event = delivery.event
    page_id = getattr(event, "page_id", None)
    if not isinstance(page_id, UUID):
        raise PoisonError(f"{type(event).__name__} is about no page, so no page's history can hold it")
    return _transition(delivery, page_id, _row_id(page_id, event, delivery.envelope.id), describe(event))


def links_transition(delivery: Delivery, event: PageDiscovered, links: Links) -> Transition:
    """One row for several links: the last event, with all linking pages in `referrers`."""
    row_id = uuid5(event.page_id, f"discovered/{links.row}")
    if len(links.referrers) <= 1:
        return _transition(delivery, event.page_id, row_id, describe(event))
    more = {"referrers": list(links.referrers)}
    return _transition(delivery, event.page_id, row_id, describe_links(links.referrers), more)


def _transition(
    delivery: Delivery, page_id: UUID, row_id: UUID, line: str, more: dict[str, Any] | None = None
) -> Transition:
    return Transition(
        page_id=page_id,
        event_id=row_id,
        topic=delivery.event.topic,
        source=delivery.envelope.source,
        at=delivery.at,
        outcome=line,
        data={**delivery.event.model_dump(mode="json", exclude_none=True), **(more or {})},
    )


def _row_id(page_id: UUID, event: Event, event_id: UUID) -> UUID:
    """The event's own id. Sitemaps, redirects and canonical links to a page have one row for each kind."""
    if isinstance(event, PageDiscovered) and event.why not in ("seed", "import"):
        return uuid5(page_id, f"discovered/{event.why}")
    return event_id


async def build(settings: Settings, stores: Stores) -> LedgerAgent:
    return LedgerAgent(stores.ledger)
