"""Events as transitions of pages. Pure."""

from uuid import UUID

from schemas import Event
from streams.ledger.descriptions import describe
from streams.runtime.agent import Delivery
from streams.stores.protocols import Transition


def transition_about(delivery: Delivery, page_id: UUID) -> Transition:
    """Return an event as a transition of a page, also one that is about something else, such as an entity."""
    return make_transition(delivery, page_id, delivery.envelope.id, delivery.event)


def make_transition(delivery: Delivery, page_id: UUID, row_id: UUID, event: Event) -> Transition:
    """Return an event as a transition of a page, with its data as JSON has it. Two with one `row_id` are one row."""
    return Transition(
        page_id=page_id,
        event_id=row_id,
        topic=event.topic,
        source=delivery.envelope.source,
        at=delivery.at,
        outcome=describe(event),
        data=event.model_dump(mode="json", exclude_none=True, exclude={"more_urls"}),
    )
