"""What the retry and dead-letter topics say of an event that failed: headers beside the original key and value.

    riffle-topic, riffle-partition, riffle-offset   where the original record is
    riffle-stage                                     which stage failed
    riffle-attempts                                  how often it was tried, in place and through the retry topic
    riffle-error-type, riffle-error                  the last failure
    riffle-failed-at                                 ISO 8601, UTC
    riffle-not-before                                of a retry: ISO 8601, UTC

The value is the original's, byte for byte, and the original's headers are kept: so a replay is a plain copy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

PREFIX = "riffle-"
MAX_ERROR_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Letter:
    """Where an event came from, and why it failed."""

    topic: str
    partition: int
    offset: int
    stage: str
    attempts: int
    error_type: str
    error: str
    failed_at: datetime
    not_before: datetime | None = None

    @property
    def id(self) -> str:
        """Names the original record: the same failure delivered twice has the same id."""
        return f"{self.stage}/{self.topic}/{self.partition}/{self.offset}"

    def headers(self, original: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
        """The original's headers, and this letter's."""
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
        }
        own = [(PREFIX + name, value.encode("utf-8", "replace")) for name, value in fields.items() if value]
        return strip(original) + own


def strip(headers: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """The headers that the original record had."""
    return [(name, value) for name, value in headers if not name.startswith(PREFIX)]


def read(headers: Mapping[str, bytes]) -> Letter | None:
    """The letter in a record's headers; None when it is an original. Raises ValueError when it is malformed."""

    def text(name: str) -> str:
        return headers.get(PREFIX + name, b"").decode("utf-8", "replace")

    if PREFIX + "topic" not in headers:
        return None
    not_before = text("not-before")
    return Letter(
        topic=text("topic"),
        partition=int(text("partition")),
        offset=int(text("offset")),
        stage=text("stage"),
        attempts=int(text("attempts")),
        error_type=text("error-type"),
        error=text("error"),
        failed_at=datetime.fromisoformat(text("failed-at")),
        not_before=datetime.fromisoformat(not_before) if not_before else None,
    )
