"""Events to Kafka records and back. Pure: bytes and headers in, models out.

An event's id is computed from its cause (`schemas.ids.event_id`). So a stage that handles an event twice sends the same
ids, and readers recognise the copy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from schemas import Envelope, Event, InvalidEvent, NewerEvent
from schemas.ids import event_id

Header = tuple[str, bytes | None]
"""A header's name and value. Kafka allows a header without a value (null)."""
Headers = Iterable[Header] | Mapping[str, bytes | None] | None


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record to send."""

    topic: str
    key: bytes
    value: bytes
    headers: list[Header]


def encode(event: Event, *, cause: str, ordinal: int = 0, source: str, time: datetime, traceparent: str = "") -> Record:
    """Encode an event. `cause` is the id or name of its cause, `ordinal` its number among that cause's events."""
    envelope = Envelope(
        id=event_id(event.event_type(), cause, event.subject(), ordinal),
        type=event.event_type(),
        source=f"/riffle/{source}",
        time=time,
        subject=event.subject(),
        traceparent=traceparent,
    )
    return Record(event.topic, event.key().encode(), event.to_json(), envelope.to_headers())


def decode(model: type[Event], value: bytes | None, headers: Headers) -> tuple[Event, Envelope]:
    """Read a record of the topic that carries `model`. Raises InvalidEvent with the reason, or NewerEvent."""
    envelope = Envelope.from_headers(headers or {})
    if envelope.type != model.event_type():
        mistake = NewerEvent if _is_newer(envelope.type, model.event_type()) else InvalidEvent
        raise mistake(f"{model.topic} carries {model.event_type()}, but this record's type is {envelope.type}")
    return model.from_json(value), envelope


def _is_newer(found: str, known: str) -> bool:
    """Return whether both types are versions of one type, and `found` is the later version."""
    name, _, version = found.rpartition(".v")
    known_name, _, known_version = known.rpartition(".v")
    return name == known_name and version.isdecimal() and int(version) > int(known_version)
