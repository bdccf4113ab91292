"""Events to Kafka records and back. Pure: bytes and headers in, models out.

An event's id follows from what caused it (`schemas.ids.event_id`), so that a stage which handles an event twice sends
the same ids, and whoever reads them can tell the copy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from schemas import EVENTS, Envelope, Event, InvalidEvent
from schemas.ids import event_id

EVENT_OF_TOPIC: dict[str, type[Event]] = {event.topic: event for event in EVENTS}

Headers = Iterable[tuple[str, bytes]] | Mapping[str, bytes] | None


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record to send."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


def encode(event: Event, *, cause: str, ordinal: int = 0, source: str, time: datetime, traceparent: str = "") -> Record:
    """The record of an event that `cause` led to; `ordinal` tells several with one cause apart."""
    envelope = Envelope(
        id=event_id(event.event_type(), cause, event.subject(), ordinal),
        type=event.event_type(),
        source=f"/riffle/{source}",
        time=time,
        subject=event.subject(),
        traceparent=traceparent,
    )
    return Record(event.topic, event.key().encode(), event.to_json(), envelope.to_headers())


def decode(topic: str, value: bytes | None, headers: Headers) -> tuple[Event, Envelope]:
    """Read a record of a topic of the journey. Raises InvalidEvent with the reason."""
    model = EVENT_OF_TOPIC.get(topic)
    if model is None:
        raise InvalidEvent(f"no event travels on the topic {topic!r}")
    envelope = Envelope.from_headers(headers or {})
    if envelope.type != model.event_type():
        raise InvalidEvent(f"{topic} carries {model.event_type()}, but this record says {envelope.type}")
    return model.from_json(value), envelope
