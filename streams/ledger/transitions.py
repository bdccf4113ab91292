"""Events as transitions of pages. Pure."""

from uuid import UUID

from schemas import Event
from streams.ledger.descriptions import describe
from streams.runtime.agent import Delivery
from streams.stores.protocols import Transition

_NOT_KEPT = {"more_urls", "title", "description", "label"}
"""Fields that a transition leaves out: further URLs have rows of their own, and a history outlives a page's texts."""


def transition_about(delivery: Delivery, page_id: UUID) -> Transition:
    """Return an event as a transition of a page, also one that is about something else, such as an entity."""
    return make_transition(delivery, page_id, delivery.envelope.id, delivery.event)


def make_transition(delivery: Delivery, page_id: UUID, row_id: UUID, event: Event) -> Transition:
    """Return an event as a transition of a page, with its data as JSON has it, but no text of the page.

    Two with one `row_id` are one row.
    """
    return Transition(
        page_id=page_id,
        event_id=row_id,
        topic=event.topic,
        source=delivery.envelope.source,
        at=delivery.at,
        outcome=describe(event),
        data=event.model_dump(mode="json", exclude_none=True, exclude=_NOT_KEPT),
    )
