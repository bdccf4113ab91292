"""The feeders of a stage: one order per key over all topics, bounded memory, and no event left over at a rebalance."""

import asyncio
import inspect
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import faust
import pytest
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread
from faust.types import TP

from schemas import Event
from streams.errors import RiffleError
from streams.runtime.agent import Delivery
from streams.runtime.brake import Brake
from streams.runtime.faust_app import REPLAYS_PER_SLOT, PartitionsChanged, StageApp, new_app
from streams.runtime.records import SENT_AHEAD, Incoming
from streams.settings import Settings
from streams.topology import Order
from tests.unit.runtime.stage_harness import STAGE, Asked, RunningStage, asked, retried, settle


class Gates:
    """An agent's `handle` in which each event waits until the test opens it."""

    def __init__(self) -> None:
        self.running: list[tuple[str, int]] = []
        self.done: list[tuple[str, int]] = []
        self.most_at_once: dict[str, int] = {}
        self._gates: dict[tuple[str, int], asyncio.Event] = {}
        self.all_open = False

    def open(self, name: str, number: int) -> None:
        self._gates.setdefault((name, number), asyncio.Event()).set()

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        assert isinstance(event, Asked)
        place = (event.name, event.number)
        self.running.append(place)
        same_key = sum(name == event.name for name, _ in self.running)
        self.most_at_once[event.name] = max(self.most_at_once.get(event.name, 0), same_key)
        try:
            if not self.all_open:
                await self._gates.setdefault(place, asyncio.Event()).wait()
            self.done.append(place)
        finally:
            self.running.remove(place)
        return []


@pytest.mark.parametrize("kind", ["retry", "retry-long", "replay"])
async def test_an_event_that_is_handled_again_never_runs_beside_one_with_its_key(kind: str) -> None:
    gates = Gates()
    stage = RunningStage(gates.handle)
    stage.feed(asked("a", 1), asked("a", 2))
    await settle()
    stage.feed(retried(asked("a", 0)), retried(asked("b", 0), offset=1), kind=kind)
    await settle()
    assert sorted(gates.running) == [("a", 1), ("b", 0)], "another key runs, the same key waits"
    for number in (1, 2, 0):
        gates.open("a", number)
        await settle()
    assert gates.most_at_once["a"] == 1
    assert [number for name, number in gates.done if name == "a"] == [1, 2, 0]
    await stage.stop()


async def test_a_delayed_event_of_the_retry_topic_does_not_hold_its_key() -> None:
    gates = Gates()
    gates.all_open = True
    stage = RunningStage(gates.handle)
    later = stage.processor.now() + timedelta(hours=1)
    stage.feed(retried(asked("a", 0), not_before=later), kind="retry")
    await settle()
    stage.feed(asked("a", 1))
    await settle()
    assert gates.done == [("a", 1)]
    await stage.stop()


async def test_an_urgent_event_is_handled_at_once_though_thousands_wait() -> None:
    gates = Gates()
    stage = RunningStage(gates.handle)
    stage.feed(*(asked(f"key-{number}", number) for number in range(5_000)))
    await settle()
    stage.feed(replace(asked("seed"), topic=STAGE.urgent_topic), kind="urgent")
    await settle()
    assert ("seed", 0) in gates.running
    await stage.stop()


async def test_an_event_with_a_copy_ahead_is_handled_once() -> None:
    gates = Gates()
    gates.all_open = True
    stage = RunningStage(gates.handle)
    record = asked("seed")
    marked = replace(record, headers=[*record.headers, (SENT_AHEAD, b"other answer")])
    of_others = replace(record, offset=1, headers=[*record.headers, (SENT_AHEAD, b"other")])
    stream = stage.feed(marked, of_others)
    stage.feed(replace(record, topic=STAGE.urgent_topic), kind="urgent")
    await settle()
    assert gates.done == [("seed", 0), ("seed", 0)], "the copy, and the record of which this stage has none"
    assert [offset for _, _, offset in stream.acknowledged] == [0, 1]
    await stage.stop()


async def test_a_replay_of_an_event_that_had_a_copy_ahead_is_handled() -> None:
    gates = Gates()
    gates.all_open = True
    stage = RunningStage(gates.handle)
    marked = replace(asked("seed"), headers=[*asked("seed").headers, (SENT_AHEAD, b"answer")])
    stage.feed(retried(marked, topic=STAGE.replay_topic), kind="replay")
    await settle()
    assert gates.done == [("seed", 0)]
    await stage.stop()


class BrokerConsumer:
    """A consumer that has read all that it knows of, while the broker has five events more."""

    place = TP(Asked.topic, 0)
    _committed_offset: ClassVar[dict[TP, int]] = {place: 7}

    def assignment(self) -> set[TP]:
        return {self.place}

    def highwater(self, _: TP) -> int:
        return 7

    async def highwaters(self, *places: TP) -> dict[TP, int]:
        return dict.fromkeys(places, 12)

    asked_starts = 0

    async def earliest_offsets(self, *places: TP) -> dict[TP, int]:
        self.asked_starts += 1
        return dict.fromkeys(places, 0)


async def test_the_lag_is_the_brokers_so_a_fetcher_that_hangs_does_not_look_idle() -> None:
    stage = RunningStage(Gates().handle)
    stage.app.ready = True
    stage.faust.started = True
    stage.faust.consumer = BrokerConsumer()  # type: ignore[attr-defined]  # Faust has a consumer after its start only
    for _ in range(3):
        assert {place.partition: found.waiting for place, found in (await stage.app.offsets()).items()} == {0: 5}
    assert stage.faust.consumer.asked_starts == 1, "what the broker deletes is asked for once a minute"  # type: ignore[attr-defined]  # as above
    stage.faust.started = False
    await stage.stop()


class GrowingConsumer:
    """A consumer whose topics got more partitions."""

    def topic_partitions(self, _: str) -> int:
        return 6


@pytest.mark.parametrize(("at_start", "ends"), [(4, True), (6, False), (0, False)])
async def test_a_worker_ends_when_its_topics_got_more_partitions(at_start: int, ends: bool) -> None:
    """Otherwise it would count with the old number of partitions for as long as it runs."""
    stage = RunningStage(Gates().handle)
    announced: list[frozenset[int]] = []

    async def assigned(partitions: frozenset[int]) -> None:
        announced.append(partitions)

    app = StageApp(STAGE, stage.settings, assigned, partitions=at_start)
    app.app = stage.faust  # type: ignore[assignment]  # what is used of an app
    stage.faust.consumer = GrowingConsumer()  # type: ignore[attr-defined]  # Faust has a consumer after its start only
    await app._assigned(app.app, {TP(Asked.topic, 5)})
    assert (app.failed.done(), app.ready, bool(announced)) == (ends, not ends, not ends)
    if ends:
        with pytest.raises(PartitionsChanged, match="6 partitions now"):
            app.failed.result()
    await stage.stop()


@pytest.mark.parametrize(
    ("failure", "seen"),
    [
        pytest.param(KeyError("x"), KeyError, id="a bug"),
        pytest.param(asyncio.CancelledError(), RiffleError, id="cancelled from inside, as by a client that closes"),
    ],
)
async def test_an_activity_that_fails_ends_the_worker(failure: BaseException, seen: type[Exception]) -> None:
    """Else nobody would look again whether sources must pause, or may go on."""
    stage = RunningStage(Gates().handle)

    async def fail() -> None:
        raise failure

    stage.app.run_in_background(fail())
    await settle()
    assert isinstance(stage.app.failed.exception(), seen)
    await stage.stop()


async def test_an_activity_that_is_stopped_is_no_failure() -> None:
    stage = RunningStage(Gates().handle)
    stage.app.run_in_background(asyncio.sleep(60))
    await settle()
    await stage.app.stop(0)
    await settle()
    assert not stage.app.failed.done()
    await stage.stop()


async def test_an_event_that_is_cancelled_from_inside_keeps_no_later_event_of_its_key_waiting() -> None:
    async def acknowledge() -> None:
        raise asyncio.CancelledError

    gates = Gates()
    gates.all_open = True
    stage = RunningStage(gates.handle)
    work = stage.app._guard(stage.processor, asked("a"), acknowledge)
    await work()
    assert isinstance(stage.app.failed.exception(), RiffleError), "the worker ends, and all are delivered again"
    await stage.stop()


def test_workers_share_no_folder() -> None:
    folders = [new_app(STAGE, Settings()).conf.datadir for _ in range(2)]
    assert folders[0] != folders[1]
    assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in folders)


async def test_a_long_delay_keeps_no_short_one_waiting() -> None:
    gates = Gates()
    gates.all_open = True
    stage = RunningStage(gates.handle, max_waiting_events=50)
    later = stage.processor.now() + timedelta(hours=1)
    long = (retried(asked(f"long-{n}"), n, later, STAGE.long_retry_topic) for n in range(1_000))
    waiting = stage.feed(*long, kind="retry-long")
    await settle(200)
    assert waiting.delivered == 51, "as many as a worker may hold, and one in the feeder's hands"
    stage.feed(retried(asked("short", 1)), kind="retry")
    await settle()
    assert gates.done == [("short", 1)]
    await stage.stop()


async def test_a_replay_keeps_no_retry_and_no_new_event_waiting() -> None:
    gates = Gates()
    stage = RunningStage(gates.handle)
    replays = (retried(asked(f"replayed-{n}"), n, topic=STAGE.replay_topic) for n in range(1_000))
    replay = stage.feed(*replays, kind="replay")
    await settle(200)
    assert len(gates.running) == STAGE.concurrency
    assert replay.delivered == REPLAYS_PER_SLOT * STAGE.concurrency + 1
    stage.feed(retried(asked("failed", 1)), kind="retry")
    stage.feed(asked("new", 2))
    gates.open("failed", 1)
    gates.open("new", 2)
    for n in range(REPLAYS_PER_SLOT * STAGE.concurrency):
        gates.open(f"replayed-{n}", 0)
    await settle(500)
    assert {("failed", 1), ("new", 2)} <= set(gates.done)
    assert len(gates.done) < 100, "they did not wait for the replay"
    await stage.stop()


async def test_at_a_rebalance_events_in_progress_finish_and_no_other_starts() -> None:
    gates = Gates()
    stage = RunningStage(gates.handle)
    stream = stage.feed(asked("a", 0), asked("a", 1), asked("b", 2))
    await settle()
    revoked = asyncio.create_task(stage.app._revoked())
    await settle()
    assert not revoked.done(), "it waits for the events in progress"
    gates.open("a", 0)
    gates.open("b", 2)
    await asyncio.wait_for(revoked, 20)
    gates.open("a", 1)
    await settle()
    assert sorted(gates.done) == [("a", 0), ("b", 2)]
    assert stream.acknowledged == [("tests.asked", 0, 0)], "offset 2 waits for 1, which the next owner handles"
    gates.all_open = True
    buffered = stage.feed(asked("b", 9))
    await settle()
    stage.faust.consumer_generation_id = 1
    again = stage.feed(asked("a", 1), asked("b", 2))
    await settle()
    assert buffered.acknowledged == [], "its offset would be committed before the offsets 1 and 2"
    assert again.acknowledged == [("tests.asked", 0, 1), ("tests.asked", 0, 2)]
    await stage.stop()


async def test_at_a_rebalance_an_event_that_does_not_finish_is_cancelled_and_not_acknowledged() -> None:
    gates = Gates()
    stage = RunningStage(gates.handle, session_timeout_seconds=0.05)
    stream = stage.feed(asked("a", 0))
    await settle()
    await asyncio.wait_for(stage.app._revoked(), 20)
    assert gates.running == []
    assert stream.acknowledged == []
    assert not stage.app.failed.done(), "a cancelled event is no failure of the worker"
    await stage.stop()


async def test_a_stuck_event_stops_the_consumer_and_memory_stays_bounded() -> None:
    gates = Gates()
    stage = RunningStage(gates.handle, max_waiting_events=50)
    numbers = range(1, 1_000)
    for number in numbers:
        gates.open("b", number)
    stream = stage.feed(asked("stuck", 0), *(asked("b", number) for number in numbers))
    await settle(2_000)
    assert len(gates.done) == 49
    assert stream.delivered == 51, "one event more than the bound is in the feeder's hands"
    gates.open("stuck", 0)
    await settle(20_000)
    assert len(stream.acknowledged) == 1_000
    await stage.stop()


async def test_events_of_one_host_do_not_keep_those_of_others_waiting() -> None:
    gates = Gates()
    stage = RunningStage(gates.handle)
    stage.feed(*(asked("large.test", number) for number in range(100)), asked("small.test", 100))
    await settle(500)
    assert gates.running == [("large.test", 0), ("small.test", 100)]
    gates.all_open = True
    gates.open("large.test", 0)
    await settle(1_000)
    assert len(gates.done) == 100
    await stage.stop()


async def test_replayed_events_leave_no_spans() -> None:
    gates = Gates()
    gates.all_open = True
    stage = RunningStage(gates.handle)
    count = 5_000
    stream = stage.feed(*(retried(asked(f"key-{n % 7}", n), offset=n) for n in range(count)), kind="retry")
    while len(stream.acknowledged) < count:
        await settle(1_000)
    assert stage.observer._spans == {}
    assert stage.observer._arrivals == {}
    await stage.stop()


@pytest.mark.parametrize(
    ("order", "running"),
    [
        ("key", [("a", 0)]),
        ("subject", [("a", 0), ("a", 1)]),
        ("subject of a type", [("a", 0), ("a", 1)]),
        ("none", [("a", 0), ("a", 1), ("a", 2)]),
    ],
)
async def test_a_stage_orders_events_by_key_by_subject_or_not_at_all(
    order: Order, running: list[tuple[str, int]]
) -> None:
    """Three events have one key, and the last two of them are about one page."""
    gates = Gates()
    stage = RunningStage(gates.handle, stage=replace(STAGE, order=order))
    main = stage.feed(*(about(asked("a", number), page) for number, page in enumerate(("x", "y", "y"))))
    await settle()
    assert gates.running == running
    gates.open("a", 2)
    await settle()
    assert main.acknowledged == [], "the order of acknowledgement stays that of arrival"
    for number in (0, 1):
        gates.open("a", number)
    await settle()
    assert [offset for _, _, offset in main.acknowledged] == [0, 1, 2]
    await stage.stop()


def about(incoming: Incoming, subject: str) -> Incoming:
    headers = [(name, value) for name, value in incoming.headers if name != "ce_subject"]
    return replace(incoming, headers=[*headers, ("ce_subject", subject.encode())])


@pytest.mark.parametrize(("setting", "expected"), [(0, 4), (2, 2), (9, 9)])
async def test_the_concurrency_of_a_setting_replaces_that_of_the_topology(setting: int, expected: int) -> None:
    gates = Gates()
    stage = RunningStage(gates.handle, concurrency=setting)
    stage.feed(*(asked(f"key-{number}", 0, offset=number) for number in range(12)))
    await settle()
    assert len(gates.running) == expected
    gates.all_open = True
    for name, number in [*gates.running]:
        gates.open(name, number)
    await stage.stop()


UNUSED_PARTS = ("sensors", "web")
"""Faust's own sensors, which are not used, and its web port, which is off."""
LEFT_OUT = "stream_inbound_time"
"""The name that Faust reads of its monitor only in `verify_event_path`, never called here."""


async def test_the_app_has_all_that_faust_uses_of_its_statistics() -> None:
    """Another version of Faust may use more of its monitor, and the app has a plain sensor in its place."""
    source = Path(faust.__file__).parent
    files = [file for file in source.rglob("*.py") if file.relative_to(source).parts[0] not in UNUSED_PARTS]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    used = re.findall(r"(?<!@)\bmonitor\.(\w+)", text)
    assert set(used) == {"beacon", "loop", "track_tp_end_offset", "on_tp_commit", LEFT_OUT}
    monitor = new_app(STAGE, Settings()).monitor
    assert {name for name in used if not hasattr(monitor, name)} == {LEFT_OUT}
    assert used.count(LEFT_OUT) == inspect.getsource(AIOKafkaConsumerThread.verify_event_path).count(LEFT_OUT + ".get")


async def test_events_that_wait_to_be_written_with_later_ones_are_written_before_their_partition_goes() -> None:
    """Else each rebalance would wait for as long as a stage gathers events, or cancel them."""
    gates, hurried = Gates(), list[bool]()
    stage = RunningStage(gates.handle)

    def hurry(*, is_on: bool) -> None:
        hurried.append(is_on)
        gates.open("a", 1)

    stage.processor.agent.hurry = hurry  # type: ignore[method-assign]  # an agent that gathers
    stream = stage.feed(asked("a", 1))
    await settle()
    await asyncio.wait_for(stage.app._revoked(), 20)
    assert (gates.done, stream.acknowledged) == ([("a", 1)], [("tests.asked", 0, 1)])
    assert hurried == [True, False], "later events may wait again"
    await stage.stop()


async def test_suspects_wait_for_no_later_events_to_be_written_with(tmp_path: Path) -> None:
    """They run one at a time, so each would wait alone for as long as the stage gathers events."""
    suspects = [asked("a", 1), asked("b", 2)]
    notes = tmp_path / "notes.jsonl"
    names = [f"{one.topic}/{one.partition}/{one.offset}/1.0" for one in suspects]
    notes.write_text("".join(f'["begin", "{name}"]\n' for name in names))
    gates, hurried = Gates(), list[bool]()
    stage = RunningStage(gates.handle)
    stage.app._brake = Brake(notes)
    stage.app._brake.begin()

    def hurry(*, is_on: bool) -> None:
        hurried.append(is_on)

    stage.processor.agent.hurry = hurry  # type: ignore[method-assign]  # an agent that gathers
    stage.feed(*suspects, asked("c", 3))
    await settle()
    assert (len(gates.running), hurried) == (2, [True, True]), "one suspect, and an event that is none"
    for place in (("a", 1), ("b", 2)):
        gates.open(*place)
        await settle()
    assert hurried == [True, True, True, False], "both have ended"
    await stage.stop()
