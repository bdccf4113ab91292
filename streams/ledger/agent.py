"""The ledger stage: stores each transition of each page, with a line for people. It emits nothing.

A redelivery writes the same row again. Discoveries are the exception: a page that half a site links to is discovered
once for each link. A page keeps at most DISCOVERIES_KEPT of these, the latest of each slot, so that its history stays
short enough to be read at once.
"""

from collections.abc import Sequence
from uuid import UUID, uuid5

from schemas import Event, PageDiscovered
from streams.errors import PoisonError
from streams.ledger.descriptions import describe
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import Ledger, Transition

DISCOVERIES_KEPT = 64
"""Maximum discoveries that a page keeps, seeds and imports not counted."""


class LedgerAgent(Agent):
    """Stores the transition that each event is."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Raises PoisonError for an event that is about no page."""
        await self._ledger.record(transition_of(delivery))
        return ()


def transition_of(delivery: Delivery) -> Transition:
    """The event as a transition, with its data as JSON has it."""
    event = delivery.event
    page_id = getattr(event, "page_id", None)
    if not isinstance(page_id, UUID):
        raise PoisonError(f"{type(event).__name__} is about no page, so no page's history can hold it")
    return Transition(
        page_id=page_id,
        event_id=_row_id(page_id, event, delivery.envelope.id),
        topic=event.topic,
        source=delivery.envelope.source,
        at=delivery.at,
        outcome=describe(event),
        data=event.model_dump(mode="json", exclude_none=True),
    )


def _row_id(page_id: UUID, event: Event, event_id: UUID) -> UUID:
    """The event's own id. For a discovery by a link, sitemap or redirect: one of the page's slots."""
    if isinstance(event, PageDiscovered) and event.why not in ("seed", "import"):
        return uuid5(page_id, f"discovered/{event_id.int % DISCOVERIES_KEPT}")
    return event_id


async def build(settings: Settings, stores: Stores) -> LedgerAgent:
    return LedgerAgent(stores.ledger)
