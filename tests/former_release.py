"""Events, rows and blobs that the former release wrote, and what its own readers made of them.

`tests/data/releases/<commit>.json` was written by that commit's code: three pages of a river guide (one of them a
duplicate, one gone) went through its stages over stores in memory. So no history is needed to run the tests.

    events    each record: topic, key, value and headers; the journey of the pages, then samples of each type
    rows      the bytes of stored rows (base64), and under `expected` the values of its readers
    blobs     document, statements and vectors of the first page
    fields    the fields that its readers of rows know
"""

import base64
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data" / "releases"
FORMER = "1d35875"
"""The commit that is the former release."""


@dataclass(frozen=True)
class FormerRecord:
    """A Kafka record."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


class FormerRelease:
    """All fixtures of a release."""

    def __init__(self, commit: str = FORMER) -> None:
        self.data: dict[str, Any] = json.loads((_DATA / f"{commit}.json").read_text(encoding="utf-8"))

    @cached_property
    def records(self) -> list[FormerRecord]:
        return [
            FormerRecord(
                event["topic"],
                event["key"].encode(),
                event["value"].encode(),
                [(name, value.encode()) for name, value in event["headers"].items()],
            )
            for event in self.data["events"]
        ]

    def journey(self, topic: str) -> FormerRecord:
        """The first record of a topic: of the first page's journey."""
        return next(record for record in self.records if record.topic == topic)

    @cached_property
    def blobs(self) -> dict[str, bytes]:
        return {ref: base64.b64decode(content) for ref, content in self.data["blobs"].items()}

    @property
    def rows(self) -> dict[str, Any]:
        rows: dict[str, Any] = self.data["rows"]
        return rows

    @property
    def expected(self) -> dict[str, Any]:
        expected: dict[str, Any] = self.data["expected"]
        return expected


def row_bytes(text: str) -> bytes:
    """The bytes of a row."""
    return base64.b64decode(text)
