"""Dead letters and replays: one stage handles a failed or past event again.

Both are copied to the stage's replay topic, which only that stage reads, so no other stage handles the event again,
and no retry waits behind them.
The events that follow have the same ids as before. A replayed dead letter is marked by a record in the dead-letter
topic (key: the letter's id, header: `riffle-replayed-at`) and is no longer listed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import orjson

from streams.errors import UsageError
from streams.runtime.failure_headers import FailureInfo, original_headers, read_failure
from streams.runtime.processing import Incoming
from streams.runtime.records import Record
from streams.runtime.topic_reader import read_topic
from streams.settings import Settings
from streams.topology import STAGES, Stage
from streams.topology import stage as stage_named

REPLAYED_AT = "riffle-replayed-at"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that failed for good: its original record, and why it failed."""

    failure: FailureInfo
    record: Incoming

    @property
    def event_type(self) -> str:
        return dict(self.record.headers).get("ce_type", b"?").decode("utf-8", "replace")

    @property
    def subject(self) -> str:
        return dict(self.record.headers).get("ce_subject", b"").decode("utf-8", "replace")

    def value_text(self) -> str:
        """The original value for people: JSON indented, anything else as Python writes bytes."""
        if self.failure.value_ref:
            return f"(too large for a record; it is the blob {self.failure.value_ref})"
        value = self.record.value or b""
        try:
            return orjson.dumps(orjson.loads(value), option=orjson.OPT_INDENT_2).decode()
        except orjson.JSONDecodeError:
            return repr(value)


def dead_letters(settings: Settings, stages: tuple[Stage, ...] = STAGES) -> list[DeadLetter]:
    """All dead letters that were not replayed, oldest first. One that was delivered twice is listed once."""
    letters: dict[str, DeadLetter] = {}
    replayed: dict[str, datetime] = {}
    for stage in stages:
        for record in read_topic(settings, stage.dead_topic):
            headers = dict(record.headers)
            if REPLAYED_AT in headers:
                replayed[record.key.decode()] = datetime.fromisoformat(headers[REPLAYED_AT].decode())
            elif failure := read_failure(headers):
                letters[failure.id] = DeadLetter(failure, record)
    waiting = [
        letter
        for letter_id, letter in letters.items()
        if letter_id not in replayed or replayed[letter_id] < letter.failure.failed_at
    ]
    return sorted(waiting, key=lambda letter: letter.failure.failed_at)


def find_dead_letter(settings: Settings, letter_id: str) -> DeadLetter:
    """The dead letter with this id. Raises UsageError."""
    for dead in dead_letters(settings):
        if dead.failure.id == letter_id:
            return dead
    raise UsageError(f"no dead letter {letter_id!r}. `riffle dead-letters list` shows all")


def replay_records(dead: DeadLetter, now: datetime) -> list[Record]:
    """The records that have a dead letter tried again and mark it as replayed."""
    stage = dead.failure.stage
    again = replay_record(stage_named(stage), dead.record, now, origin=dead.failure)
    mark = Record(
        stage_named(stage).dead_topic,
        dead.failure.id.encode(),
        b"{}",
        [(REPLAYED_AT, now.isoformat().encode())],
    )
    return [again, mark]


def stage_inputs(
    settings: Settings, stage: Stage, *, host: str | None = None, since: datetime | None = None
) -> Iterator[Incoming]:
    """The stage's inputs that Kafka still holds, optionally only those of one host or since a time."""
    for event in stage.inputs:
        for record in read_topic(settings, event.topic, since):
            if record.value is not None and (host is None or _is_of_host(record, host)):
                yield record


def replay_record(stage: Stage, record: Incoming, now: datetime, origin: FailureInfo | None = None) -> Record:
    """A record for the stage's replay topic that has the stage handle `record` as if for the first time."""
    failure = FailureInfo(
        topic=origin.topic if origin else record.topic,
        partition=origin.partition if origin else record.partition,
        offset=origin.offset if origin else record.offset,
        stage=stage.name,
        attempts=0,
        error_type="Replay",
        error="",
        failed_at=now,
        value_ref=origin.value_ref if origin else "",
    )
    return Record(
        stage.replay_topic, record.key, record.value or b"", failure.headers(original_headers(record.headers))
    )


def _is_of_host(record: Incoming, host: str) -> bool:
    try:
        data = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        return False
    url = str(data.get("url", ""))
    return data.get("host") == host or url.startswith((f"https://{host}/", f"https://{host}:"))
