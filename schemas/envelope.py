"""The attributes that all events share (CloudEvents 1.0), and their encoding in a Kafka record.

The record is in CloudEvents' binary content mode (Kafka protocol binding, section 3.2): attributes and the
W3C trace context are headers, the value is the event's data as JSON, and the key decides the partition.

Fields that a newer producer added are ignored, and most of its new values are read as a known one
(`schemas.unknown_values`). An event that only a newer release can read raises `NewerEvent`, and is tried again later.
An invalid record raises `InvalidEvent`, which names the field and the reason. It becomes a dead letter.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Self
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

SPEC_VERSION = "1.0"
CONTENT_TYPE = "application/json"
Header = tuple[str, bytes | None]
"""The name and value of a record's header. Kafka allows a header without a value (null)."""
COPIED_FIELDS = ("page_id", "url", "host", "generation", "crawl_id", "seen_at", "brought_ref")
"""Fields that an event has from its cause: the page, fetch and crawl that both are about, and what came with them."""


class InvalidEvent(ValueError):
    """A record isn't a valid event of its topic. It is never retried."""


class NewerEvent(InvalidEvent):
    """An event has a value, or is of a version, that only a newer release knows. It may be retried after an upgrade."""


class Event(BaseModel):
    """The data of an event. Subclasses state their topic and the field with the partition key."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)

    topic: ClassVar[str] = ""
    """The topic that carries this event: `<family>.<past participle>`."""
    key_field: ClassVar[str] = ""
    """Name of the field with the record's key."""

    @classmethod
    def following(cls, cause: "Event", **fields: Any) -> Self:
        """Return the event about the same page that `cause` led to. It has the cause's page, fetch and crawl.

        `fields` are the event's other fields, or replace copied ones. Raises TypeError for a name that is no field of
        the event, and pydantic's ValidationError if a required field is missing.
        """
        known = cls.model_fields.keys()
        if unknown := fields.keys() - known:
            raise TypeError(f"{cls.__name__} has no field {', '.join(sorted(unknown))}")
        copied = {name: getattr(cause, name) for name in COPIED_FIELDS if name in known and hasattr(cause, name)}
        return cls(**{**copied, **fields})

    @classmethod
    def event_type(cls) -> str:
        """Return the CloudEvents `type`: reverse-DNS style, with the major version of the data."""
        return f"riffle.{cls.topic}.v1"

    @classmethod
    def schema_id(cls) -> str:
        """Return the name of the JSON Schema of the event's data: `$id` of the schema, and CloudEvents `dataschema`."""
        return schema_id_of(cls.event_type())

    @classmethod
    def summary(cls) -> str:
        """The first line of the event's description."""
        return (cls.__doc__ or "").strip().splitlines()[0]

    def key(self) -> str:
        return str(getattr(self, self.key_field))

    def subject(self) -> str:
        """Return the CloudEvents `subject`: a page's id if the event has one, else its key."""
        return str(getattr(self, "page_id", self.key()))

    def to_json(self) -> bytes:
        return self.model_dump_json(exclude_none=True).encode()

    @classmethod
    def from_json(cls, value: bytes | None) -> Self:
        """Parse a record's value. Raises InvalidEvent with the first few reasons, or NewerEvent."""
        if value is None:
            raise InvalidEvent(f"{cls.topic}: the record has no value")
        try:
            return cls.model_validate_json(value)
        except ValidationError as error:
            problems = error.errors(include_url=False)
            reasons = "; ".join(
                f"{'.'.join(str(part) for part in problem['loc']) or 'value'}: {problem['msg']}"
                for problem in problems[:5]
            )
            if all(_is_unknown_value(problem) for problem in problems):
                raise NewerEvent(f"{cls.topic}: {reasons}. A newer release of Riffle may know it") from None
            raise InvalidEvent(f"{cls.topic}: {reasons}") from None


SCHEMA_PREFIX = "urn:riffle:schema:"
"""Begin of the names of all schemas."""


def schema_id_of(event_type: str) -> str:
    """Return the name of the JSON Schema of a type of events. It is a name, not an address."""
    return f"{SCHEMA_PREFIX}{event_type.removeprefix('riffle.')}"


def _is_unknown_value(problem: ErrorDetails) -> bool:
    return problem["type"] in ("literal_error", "enum") and isinstance(problem["input"], str)


class Envelope(BaseModel):
    """The CloudEvents attributes of one event, with its trace context."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: UUID
    type: str
    source: str
    """The producer: `/riffle/<stage>`."""
    time: AwareDatetime
    """Time of the event. Stores use it as the write time, so that a late copy never overwrites a newer value."""
    subject: str = ""
    traceparent: str = ""
    """W3C Trace Context, level 1: `00-<trace id>-<span id>-<flags>`."""

    def to_headers(self) -> list[Header]:
        headers = {
            "ce_specversion": SPEC_VERSION,
            "ce_id": str(self.id),
            "ce_type": self.type,
            "ce_source": self.source,
            "ce_dataschema": schema_id_of(self.type),
            "ce_time": self.time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "ce_subject": self.subject,
            "content-type": CONTENT_TYPE,
            "traceparent": self.traceparent,
        }
        return [(name, value.encode()) for name, value in headers.items() if value]

    @classmethod
    def from_headers(cls, headers: Mapping[str, bytes | None] | Iterable[Header]) -> Self:
        """Read the attributes from headers. A header without a value (null) counts as missing.

        Raises InvalidEvent if an attribute is missing or malformed.
        """
        attributes: dict[str, Any] = {}
        for name, value in dict(headers).items():
            field = name.removeprefix("ce_")
            if value is not None and (name == "traceparent" or name.startswith("ce_")):
                attributes[field] = value.decode("utf-8", "replace")
        try:
            return cls.model_validate(attributes)
        except ValidationError as error:
            missing = ", ".join(str(problem["loc"][0]) for problem in error.errors(include_url=False))
            raise InvalidEvent(f"CloudEvents attributes missing or malformed: {missing}") from None


def utc_from_micros(micros: int) -> datetime:
    """Return the time of a `generation` (microseconds since 1970, UTC)."""
    return datetime.fromtimestamp(micros / 1_000_000, tz=UTC)


def micros_from_utc(time: datetime) -> int:
    """Return the microseconds since 1970, UTC: a `generation`, and Cassandra's write time."""
    delta = time.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
