"""The log of operators' actions: each is published before it begins, and the last ones are shown."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from schemas import InvalidEvent, OperationAudited
from streams.runtime.producer import EventProducer
from streams.runtime.topic_reader import read_topic
from streams.settings import Settings

SHOWN_DAYS = 30
SHOWN_ACTIONS = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """An action of an operator."""

    at: datetime
    event: OperationAudited


class AuditLog:
    """The topic `operations.audited`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def write(self, actor: str, action: str, target: str, detail: str) -> None:
        """Publish an action, and wait until Kafka has it. Raises StoreUnavailable: then the action must not begin."""
        event = OperationAudited(actor=actor, action=action, target=target[:2_048], detail=detail[:2_048])
        async with EventProducer(self._settings, "admin") as producer:
            await producer(event)

    def read(self, now: datetime) -> list[Entry]:
        """Return the last actions, newest first. Raises StoreUnavailable."""
        records = read_topic(self._settings, OperationAudited.topic, since=now - timedelta(days=SHOWN_DAYS))
        found = deque(_entries((record.time, record.value or b"") for record in records), maxlen=SHOWN_ACTIONS)
        return sorted(found, key=lambda entry: entry.at, reverse=True)


def _entries(records: Iterable[tuple[float, bytes]]) -> Iterable[Entry]:
    for time, value in records:
        try:
            event = OperationAudited.from_json(value)
        except InvalidEvent:
            continue
        yield Entry(datetime.fromtimestamp(time).astimezone(), event)
