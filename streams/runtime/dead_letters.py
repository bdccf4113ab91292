"""The dead letters that wait, page by page, and replays: one stage handles a failed or past event again.

Dead-letter topics are read twice, in memory that does not grow with their values. The first pass notes an 8-byte hash
of each letter, its time and its kind of failure, about 200 bytes. The second pass takes the letters of one page. A
letter that was delivered twice counts once, with its last failure. A letter that was replayed after its last failure
waits no longer.

A replayed event is copied to the replay topic of the stage, which only that stage reads, so no other stage handles it
again, and no retry waits behind it. The events that follow have the same ids as before. A replayed dead letter is
marked by a record in the dead-letter topic (key: the id of the letter, header: `riffle-replayed-at`) and is no longer
listed.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b

import orjson

from schemas import InvalidEvent
from streams.errors import UsageError
from streams.runtime.readers.topic_reader import read_topic
from streams.runtime.records import FailureInfo, Incoming, Record, failure_of, original_headers
from streams.settings import Settings
from streams.topology import STAGES, Stage
from streams.topology import stage as stage_named

REPLAYED_AT = "riffle-replayed-at"
HASH_BYTES = 8
Read = Callable[[Settings, str], Iterator[Incoming]]
_Place = tuple[float, int]
"""Time of the failure (seconds since 1970 UTC) and hash of the id: the order of the letters."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that failed for good: its original record, and why it failed."""

    failure: FailureInfo
    record: Incoming

    @property
    def event_type(self) -> str:
        return self.record.header("ce_type").decode("utf-8", "replace") or "?"

    @property
    def subject(self) -> str:
        return self.record.header("ce_subject").decode("utf-8", "replace")

    def value_text(self) -> str:
        """Return the original value for people: indented JSON, or bytes as Python writes them."""
        if self.failure.value_ref:
            return f"(too large for a record; it is the blob {self.failure.value_ref})"
        value = self.record.value or b""
        try:
            return orjson.dumps(orjson.loads(value), option=orjson.OPT_INDENT_2).decode()
        except orjson.JSONDecodeError:
            return repr(value)


@dataclass(frozen=True, slots=True)
class Selection:
    """The conditions that a letter must meet. Empty ones are no condition."""

    stages: tuple[Stage, ...] = STAGES
    error: str = ""
    """A part of the error's type or text, in any case."""
    since: datetime | None = None
    ids: frozenset[str] = frozenset()

    def has(self, failure: FailureInfo) -> bool:
        return (
            (not self.error or self.error.casefold() in f"{failure.error_type}: {failure.error}".casefold())
            and (self.since is None or failure.failed_at >= self.since)
            and (not self.ids or failure.id in self.ids)
        )


@dataclass(slots=True)
class DeadLetters:
    """The letters of a selection that waited when this object was made. Raises StoreUnavailable."""

    settings: Settings
    selection: Selection = field(default_factory=Selection)
    read: Read = read_topic
    _waiting: dict[int, tuple[float, tuple[str, str]]] = field(init=False, default_factory=dict)
    """Hash of the id -> time of the last failure, and its kind."""

    def __post_init__(self) -> None:
        replayed: dict[int, float] = {}
        for letter in self._records(replayed):
            number, time = _hash(letter.failure.id), letter.failure.failed_at.timestamp()
            if time >= self._waiting.get(number, (time,))[0]:
                self._waiting[number] = (time, (letter.failure.stage, letter.failure.error_type))
        for number, at in replayed.items():
            if number in self._waiting and self._waiting[number][0] <= at:
                del self._waiting[number]

    def __len__(self) -> int:
        return len(self._waiting)

    def kinds(self) -> Counter[tuple[str, str]]:
        """Return the number of letters of each stage and type of error."""
        return Counter(kind for _, kind in self._waiting.values())

    def page(self, limit: int, after: str = "") -> list[DeadLetter]:
        """Return at most `limit` letters, oldest first, behind the letter with the id `after`. Raises UsageError."""
        first: _Place = (float("-inf"), 0)
        if after:
            if _hash(after) not in self._waiting:
                raise UsageError(
                    f"no dead letter {after!r} among these. It was replayed, or does not match the filters"
                )
            first = (self._waiting[_hash(after)][0], _hash(after))
        places = ((time, number) for number, (time, _) in self._waiting.items())
        wanted = set(heapq.nsmallest(limit, (place for place in places if place > first)))
        found: dict[_Place, DeadLetter] = {}
        for place, letter in self._matching() if wanted else ():
            if place in wanted:
                found[place] = letter
            if len(found) == len(wanted):
                break
        return [found[place] for place in sorted(found)]

    def __iter__(self) -> Iterator[DeadLetter]:
        """Yield all letters, in the order of their topics."""
        left = {(time, number) for number, (time, _) in self._waiting.items()}
        for place, letter in self._matching():
            if place in left:
                left.remove(place)
                yield letter

    def _matching(self) -> Iterator[tuple[_Place, DeadLetter]]:
        for letter in self._records({}):
            number, time = _hash(letter.failure.id), letter.failure.failed_at.timestamp()
            if self._waiting.get(number, (None,))[0] == time:
                yield (time, number), letter

    def _records(self, replayed: dict[int, float]) -> Iterator[DeadLetter]:
        """Yield the letters of the selection. Times of replays are added to `replayed`."""
        for stage in self.selection.stages:
            for record in self.read(self.settings, stage.dead_topic):
                if mark := record.header(REPLAYED_AT):
                    _note_replay(record, mark, replayed)
                elif (failure := _failure(stage, record)) and self.selection.has(failure):
                    yield DeadLetter(failure, record)


def find_dead_letters(settings: Settings, ids: frozenset[str], read: Read = read_topic) -> DeadLetters:
    """Return the letters with these ids.

    Only the topics of their stages are read. Raises UsageError if one is missing.
    """
    names = {letter_id.partition("/")[0] for letter_id in ids}
    stages = tuple(stage for stage in STAGES if stage.name in names)
    letters = DeadLetters(settings, Selection(stages, ids=ids), read)
    if len(letters) < len(ids):
        missing = sorted(ids - {letter.failure.id for letter in letters})
        raise UsageError(f"no dead letter {missing[0]!r}. `riffle dead-letters list` shows all")
    return letters


def _note_replay(record: Incoming, mark: bytes, replayed: dict[int, float]) -> None:
    """Note the time of a replay by the letter's hash. A mark that Riffle did not write is left out."""
    try:
        number, at = _hash(record.key.decode()), datetime.fromisoformat(mark.decode()).timestamp()
    except (ValueError, OverflowError):
        return
    replayed[number] = max(at, replayed.get(number, at))


def _failure(stage: Stage, record: Incoming) -> FailureInfo | None:
    """Return the failure of a letter. A letter that can't be read is a failure of its own."""
    try:
        return failure_of(record)
    except InvalidEvent as error:
        place, at = (record.topic, record.partition, record.offset), datetime.fromtimestamp(record.time, UTC)
        return FailureInfo(*place, stage.name, 1, InvalidEvent.__name__, str(error), at)


def _hash(letter_id: str) -> int:
    return int.from_bytes(blake2b(letter_id.encode(), digest_size=HASH_BYTES).digest())


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
    urls = (str(data.get(name, "")) for name in ("url", "source_url"))  # `links.found` has the URLs of both pages
    is_of_host = any(url.startswith((f"https://{host}/", f"https://{host}:")) for url in urls)
    return is_of_host or host in (data.get("host"), data.get("target_host"))
