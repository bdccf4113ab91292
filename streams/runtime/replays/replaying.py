"""Dead letters and replays: one stage handles a failed or past event again.

Both are copied to the stage's replay topic, which only that stage reads, so no other stage handles the event again,
and no retry waits behind them.
The events that follow have the same ids as before. A replayed dead letter is marked by a record in the dead-letter
topic (key: the letter's id, header: `riffle-replayed-at`) and is no longer listed.
"""

from collections.abc import Iterator
from datetime import datetime

import orjson

from streams.runtime.failure_headers import FailureInfo, original_headers
from streams.runtime.records import Incoming, Record
from streams.runtime.replays.dead_letters import REPLAYED_AT, DeadLetter
from streams.runtime.topic_reader import read_topic
from streams.settings import Settings
from streams.topology import Stage
from streams.topology import stage as stage_named


def replay_records(dead: DeadLetter, now: datetime) -> list[Record]:
    """Return the records to send for a replay of a dead letter: the event itself, and the mark of its replay."""
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
    """Yield the stage's inputs that Kafka still holds, optionally only inputs of one host or since a time."""
    for event in stage.inputs:
        for record in read_topic(settings, event.topic, since):
            if record.value is not None and (host is None or _is_of_host(record, host)):
                yield record


def replay_record(stage: Stage, record: Incoming, now: datetime, origin: FailureInfo | None = None) -> Record:
    """Return a record for the stage's replay topic that has the stage handle `record` as if for the first time."""
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
    if not isinstance(data, dict):
        return False
    url = str(data.get("url", ""))
    return data.get("host") == host or url.startswith((f"https://{host}/", f"https://{host}:"))
