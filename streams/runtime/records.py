"""Events to Kafka records and back: the one place that reads what any producer may have written to a topic.

A record may have any bytes as its key, its value and its headers, and each of them may be null. For such a record
`failure_of` and `event_of` raise only InvalidEvent (or NewerEvent), and the stage makes a dead letter of the record. An
exception of any other type would end the worker, and the same record would end the next worker, for ever.

An event's id is computed from its cause (`schemas.ids.event_id`). So a stage that handles an event twice sends the same
ids, and readers recognise the copy.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from schemas import Envelope, Event, InvalidEvent, NewerEvent
from schemas.envelope import Header
from schemas.ids import event_id
from streams.runtime.failure_headers import PREFIX, FailureInfo, original_headers, read_failure
from streams.topology import STAGES, Stage, is_urgent_topic

SENT_AHEAD = f"{PREFIX}sent-ahead"
"""The header of a record with the stages that have a copy of the record in their urgent topic, separated by spaces."""

Found = TypeVar("Found")
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


def copies_ahead(event: type[Event], record: Record) -> tuple[list[Record], Record]:
    """Return copies of a record for the urgent topics of its stages, and the record, which names these stages.

    Send the copies first: a stage skips a record of which it has a copy.
    """
    stages = [stage for stage in STAGES if event in stage.urgent]
    names = " ".join(stage.name for stage in stages).encode()
    marked = replace(record, headers=[*record.headers, (SENT_AHEAD, names)]) if stages else record
    return [replace(record, topic=stage.urgent_topic) for stage in stages], marked


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


@dataclass(frozen=True, slots=True)
class Incoming:
    """A record as received from Kafka."""

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes | None
    headers: list[Header]
    time: float = 0.0
    """Kafka's time of the record (seconds since 1970 UTC). 0 if it is unknown."""

    def header(self, name: str) -> bytes:
        """Return the last value of a header, or an empty value if the header is missing or null."""
        return dict(self.headers).get(name) or b""


def incoming_of(event: Any) -> Incoming:
    """Return the record of a Faust event."""
    message = event.message
    headers = message.headers or ()
    return Incoming(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key or b"",
        value=message.value,
        headers=list(headers.items() if isinstance(headers, Mapping) else headers),
        time=message.timestamp or 0.0,
    )


def order_key(stage: Stage, incoming: Incoming) -> bytes:
    """Return an event's key by the stage's order. Events with the same key are handled one after the other.

    Events with the same subject are in one partition, and so at one worker, if they have the same record key.
    """
    match stage.order:
        case "none":
            return f"{incoming.topic}/{incoming.partition}/{incoming.offset}".encode()
        case "subject":
            return incoming.header("ce_subject") or incoming.key
    return incoming.key


def is_sent_ahead(stage: Stage, incoming: Incoming) -> bool:
    """Return True if the stage has a copy of this record of its inputs in its urgent topic."""
    is_input = any(event.topic == incoming.topic for event in stage.urgent)
    return is_input and stage.name.encode() in incoming.header(SENT_AHEAD).split()


def failure_of(incoming: Incoming) -> FailureInfo | None:
    """Return the failure in a record's headers, or None if the record is an original. Raises InvalidEvent."""
    return _read(lambda: read_failure(dict(incoming.headers)))


def original_of(incoming: Incoming, failure: FailureInfo, value: bytes | None) -> Incoming:
    """Return the original of a record in a retry topic, with its value."""
    return replace(
        incoming,
        topic=failure.topic,
        partition=failure.partition,
        offset=failure.offset,
        value=value,
        headers=original_headers(incoming.headers),
    )


def event_of(models: Iterable[type[Event]], record: Incoming) -> tuple[Event, Envelope]:
    """Return the event in a record of one of the models' topics, or of an urgent topic. Raises InvalidEvent,
    NewerEvent."""
    return _read(lambda: decode(_model(models, record), record.value, record.headers))


def _model(models: Iterable[type[Event]], record: Incoming) -> type[Event]:
    """Return the model of a record: by its topic, and by its type in an urgent topic, which has several types."""
    is_urgent = is_urgent_topic(record.topic)
    name = record.header("ce_type").decode("utf-8", "replace").rpartition(".v")[0]
    for model in models:
        if model.topic == record.topic or (is_urgent and model.event_type().rpartition(".v")[0] == name):
            return model
    raise InvalidEvent(f"no event with the topic {record.topic!r} is read here")


def _read(read: Callable[[], Found]) -> Found:
    """Return what `read` returns. Raises InvalidEvent (or NewerEvent) instead of each other exception."""
    try:
        return read()
    except InvalidEvent:
        raise
    except Exception as error:
        raise InvalidEvent(f"the record can't be read: {type(error).__name__}: {error}") from error
