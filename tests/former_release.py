"""Events that former code wrote: what is in the topics of somebody who follows the main branch.

`tests/data/releases/<commit>.json` was written by that commit's code: three pages of a river guide (one of them a
duplicate, one gone) went through its stages over stores in memory. So no history is needed to run the tests. Its
`events` are Kafka's records (topic, key, value and headers): the journey of the pages, then samples of each type.
"""

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
