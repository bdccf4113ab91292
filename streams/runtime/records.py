"""Events to Kafka records and back: the one place that reads what any producer may have written to a topic.

A record may have any bytes as its key, its value and its headers, and each of them may be null. For such a record
`failure_of` and `event_of` raise only InvalidEvent (or NewerEvent), and the stage makes a dead letter of the record. An
exception of any other type would end the worker, and the same record would end the next worker, for ever.

An event's id is computed from its cause (`schemas.ids.event_id`). So a stage that handles an event twice sends the same
ids, and readers recognise the copy.

A failed event has headers in a retry or dead-letter topic, beside its original key and value:

    riffle-topic, riffle-partition, riffle-offset   where the original record is
    riffle-stage                                     which stage failed
    riffle-attempts                                  how often it was tried, in place and through the retry topic
    riffle-error-type, riffle-error                  the last failure
    riffle-failed-at                                 ISO 8601, UTC
    riffle-not-before                                in the retry topic: when to try again, ISO 8601, UTC
    riffle-value-ref                                 the blob with the original's value, if it is too large for a record

The record has the original's value, byte for byte (or an empty one, if the value is in a blob), and the original's
headers. So a replay is a plain copy.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from schemas import Envelope, Event, InvalidEvent, NewerEvent
from schemas.envelope import Header
from schemas.ids import event_id
from streams.errors import EventEarly
from streams.topology import STAGES, Stage, is_urgent_topic

PREFIX = "riffle-"
SOURCE = "/riffle/"
"""Begin of the source of the events of Riffle's own programs."""
MAX_ERROR_CHARS = 2_000
SENT_AHEAD = f"{PREFIX}sent-ahead"
"""The header of a record with the stages that have a copy of the record in their urgent topic, separated by spaces."""

Found = TypeVar("Found")
Headers = Iterable[Header] | Mapping[str, bytes | None] | None


@dataclass(frozen=True, slots=True)
class FailureInfo:
    """The place of a failed event's record, and the reason of its failure."""

    topic: str
    partition: int
    offset: int
    stage: str
    attempts: int
    error_type: str
    error: str
    failed_at: datetime
    not_before: datetime | None = None
    value_ref: str = ""

    @property
    def id(self) -> str:
        """The name of the original record. The same failure delivered twice has the same id."""
        return f"{self.stage}/{self.topic}/{self.partition}/{self.offset}"

    def headers(self, original: Iterable[Header]) -> list[Header]:
        """Return the original's headers, followed by this failure's headers."""
        fields = {
            "topic": self.topic,
            "partition": str(self.partition),
            "offset": str(self.offset),
            "stage": self.stage,
            "attempts": str(self.attempts),
            "error-type": self.error_type,
            "error": self.error[:MAX_ERROR_CHARS],
            "failed-at": self.failed_at.isoformat(),
            "not-before": self.not_before.isoformat() if self.not_before else "",
            "value-ref": self.value_ref,
        }
        own = ((PREFIX + name, value.encode("utf-8", "replace")) for name, value in fields.items() if value)
        return [*original_headers(original), *own]


def original_headers(headers: Iterable[Header]) -> list[Header]:
    """Return the headers of the original record: all without the prefix of a failure's headers."""
    return [(name, value) for name, value in headers if not name.startswith(PREFIX)]


def read_failure(headers: Mapping[str, bytes | None]) -> FailureInfo | None:
    """Return the failure in a record's headers, or None if the record is an original.

    Raises ValueError if one of the headers is malformed, or has a value that Riffle never writes.
    """

    def text(name: str) -> str:
        return (headers.get(PREFIX + name) or b"").decode("utf-8", "replace")

    if PREFIX + "topic" not in headers:
        return None
    not_before, attempts = text("not-before"), int(text("attempts"))
    if attempts < 0:
        raise ValueError(f"riffle-attempts is {attempts}")
    return FailureInfo(
        topic=text("topic"),
        partition=int(text("partition")),
        offset=int(text("offset")),
        stage=text("stage"),
        attempts=attempts,
        error_type=text("error-type"),
        error=text("error"),
        failed_at=_time(text("failed-at")),
        not_before=_time(not_before) if not_before else None,
        value_ref=text("value-ref"),
    )


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"the time {text!r} has no zone")
    return time


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
        source=f"{SOURCE}{source}",
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
        case "subject of a type":
            return incoming.header("ce_type") + b"/" + (incoming.header("ce_subject") or incoming.key)
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


def require_past(event: Event, envelope: Envelope, now: datetime, allowed_seconds: float) -> None:
    """Raise EventEarly if a time by which the event is ordered is later than now, by more than `allowed_seconds`.

    Times order what two events of a page do: from a wrong clock, one would outrank all later events for as long as the
    clock was ahead. A removal on request may outrank them: it holds until it is withdrawn. `now` is of this machine,
    whose clock was compared: nobody compares a broker's. Riffle's own programs compared theirs, too, and their
    generations are later than those in the stores: these may be ahead if a clock was before it was set right.
    """
    times = {"its time": envelope.time.timestamp()}
    may_outrank = envelope.source.startswith(SOURCE) or getattr(event, "reason", None) == "request"
    if (generation := getattr(event, "generation", None)) is not None and not may_outrank:
        times["its generation"] = generation / 1_000_000
    name = max(times, key=times.__getitem__)
    ahead_seconds = times[name] - now.timestamp()
    if ahead_seconds > allowed_seconds:
        raise EventEarly(
            f"{name} is {ahead_seconds:.0f} s ahead of this machine's clock, and {allowed_seconds:g} s are "
            f"allowed: check the clock of its producer, {envelope.source}"
        )


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
