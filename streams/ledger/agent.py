"""The ledger stage: writes every transition of every page down, with a line of words. It emits nothing.

What a redelivery writes is the same row again. One kind of event is not kept one by one: a page that half a site
links to is discovered once per link. Of these a page keeps at most DISCOVERIES_KEPT, the latest of each slot, so
that its history stays short enough to be read at once.
"""

from collections.abc import Sequence
from uuid import UUID, uuid5

from schemas import Event, PageDiscovered
from streams.errors import PoisonError
from streams.ledger.status import describe
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import Ledger, Transition

DISCOVERIES_KEPT = 64


class LedgerAgent(Agent):
    """Event in, transition written."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Raises PoisonError for an event that is about no page."""
        await self._ledger.record(transition_of(delivery))
        return ()


def transition_of(delivery: Delivery) -> Transition:
    """The transition that this event is. Its data is what was sent, as JSON has it."""
    event = delivery.event
    page_id = getattr(event, "page_id", None)
    if not isinstance(page_id, UUID):
        raise PoisonError(f"{type(event).__name__} is about no page, so it can't stand in a page's history")
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
    """The event's own id; one of a few slots for the many events that say that a link was seen."""
    if isinstance(event, PageDiscovered) and event.why not in ("seed", "import"):
        return uuid5(page_id, f"discovered/{event_id.int % DISCOVERIES_KEPT}")
    return event_id


async def build(settings: Settings, stores: Stores) -> LedgerAgent:
    return LedgerAgent(stores.ledger)
