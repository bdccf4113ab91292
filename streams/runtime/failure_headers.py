"""The headers that a failed event carries in a retry or dead-letter topic, beside its original key and value.

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from schemas.envelope import Header

PREFIX = "riffle-"
MAX_ERROR_CHARS = 2_000


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
