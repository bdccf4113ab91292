"""Dead letters and replays: what failed, or passed before, goes through one stage again.

Both go to the stage's retry topic, which that stage alone reads: so nobody else handles the event a second time. What
the stage then sends has the same ids as before. A replayed dead letter is marked by a record in the dead-letter topic
(its key the letter's id, header `riffle-replayed-at`), and is no longer listed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import orjson

from streams.errors import UsageError
from streams.runtime.failure_headers import Letter, read, strip
from streams.runtime.lag import input_topics
from streams.runtime.processing import Incoming
from streams.runtime.records import Record
from streams.runtime.topic_reader import read_topic
from streams.settings import Settings
from streams.topology import STAGES, Stage

REPLAYED_AT = "riffle-replayed-at"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A letter with the record that it is about."""

    letter: Letter
    record: Incoming

    @property
    def event_type(self) -> str:
        return dict(self.record.headers).get("ce_type", b"?").decode("utf-8", "replace")

    @property
    def subject(self) -> str:
        return dict(self.record.headers).get("ce_subject", b"").decode("utf-8", "replace")

    def value_text(self) -> str:
        """The original value for people: JSON indented, anything else as it can be shown."""
        value = self.record.value or b""
        try:
            return orjson.dumps(orjson.loads(value), option=orjson.OPT_INDENT_2).decode()
        except orjson.JSONDecodeError:
            return repr(value)


def dead_letters(settings: Settings, stages: tuple[Stage, ...] = STAGES) -> list[DeadLetter]:
    """All that were not replayed, oldest first; one that was delivered twice is listed once."""
    found: dict[str, DeadLetter] = {}
    replayed: dict[str, datetime] = {}
    for stage in stages:
        for record in read_topic(settings, stage.dead_topic):
            headers = dict(record.headers)
            if REPLAYED_AT in headers:
                replayed[record.key.decode()] = datetime.fromisoformat(headers[REPLAYED_AT].decode())
            elif letter := read(headers):
                found[letter.id] = DeadLetter(letter, record)
    waiting = [d for d in found.values() if d.letter.id not in replayed or replayed[d.letter.id] < d.letter.failed_at]
    return sorted(waiting, key=lambda dead: dead.letter.failed_at)


def find_dead_letter(settings: Settings, letter_id: str) -> DeadLetter:
    """The letter of that id. Raises UsageError."""
    for dead in dead_letters(settings):
        if dead.letter.id == letter_id:
            return dead
    raise UsageError(f"no dead letter {letter_id!r}. `riffle dead-letters list` shows those that there are")


def replay_records(dead: DeadLetter, now: datetime) -> list[Record]:
    """What to send to try a dead letter again, and to mark it."""
    topic = f"{dead.letter.stage}.retry"
    again = retry_record(topic, dead.letter.stage, dead.record, now, origin=dead.letter)
    mark = Record(
        f"{dead.letter.stage}.dead",
        dead.letter.id.encode(),
        b"{}",
        [(REPLAYED_AT, now.isoformat().encode())],
    )
    return [again, mark]


def stage_inputs(
    settings: Settings, stage: Stage, *, host: str | None = None, since: datetime | None = None
) -> Iterator[Incoming]:
    """The stage's inputs that Kafka still holds, of one host and since a time if so asked."""
    for topic in input_topics(stage)[:-1]:
        for record in read_topic(settings, topic, since):
            if record.value is not None and (host is None or _is_of_host(record, host)):
                yield record


def retry_record(topic: str, stage: str, record: Incoming, now: datetime, origin: Letter | None = None) -> Record:
    """A record for the stage's retry topic that has it handle `record` afresh."""
    letter = Letter(
        topic=origin.topic if origin else record.topic,
        partition=origin.partition if origin else record.partition,
        offset=origin.offset if origin else record.offset,
        stage=stage,
        attempts=0,
        error_type="Replay",
        error="",
        failed_at=now,
    )
    return Record(topic, record.key, record.value or b"", letter.headers(strip(record.headers)))


def _is_of_host(record: Incoming, host: str) -> bool:
    try:
        data = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        return False
    url = str(data.get("url", ""))
    return data.get("host") == host or url.startswith((f"https://{host}/", f"https://{host}:"))
