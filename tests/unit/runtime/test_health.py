"""Health is progress: tables of what a worker looks like over time, with the time given."""

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from streams.runtime.health import HealthServer, Progress
from streams.runtime.health_thread import OwnTime, measure_queue_seconds
from streams.runtime.lags.offsets import PartitionOffsets
from streams.runtime.observer import Metrics
from tests.busy_loop import ask_while_busy


def offsets(committed: int, waiting: int) -> PartitionOffsets:
    return PartitionOffsets(committed, 0, committed + waiting)


LOOKS = list[tuple[int, int, int, float]]
"""(committed offset, events finished, lag, at second)"""


@pytest.mark.parametrize(
    ("looks", "now", "healthy"),
    [
        pytest.param([], 1000, True, id="just started"),
        pytest.param([(5, 0, 0, 0)], 1000, True, id="nothing waits"),
        pytest.param([(5, 0, 9, 0), (6, 1, 8, 50)], 100, True, id="offsets move"),
        pytest.param([(5, 0, 9, 0), (5, 1, 9, 50)], 100, True, id="events finish behind a slow one"),
        pytest.param([(5, 0, 9, 0), (5, 0, 9, 50)], 59, True, id="a pause"),
        pytest.param([(5, 0, 9, 0), (5, 0, 9, 50)], 60, False, id="a stall"),
        pytest.param([(5, 0, 9, 0), (5, 0, 9, 80), (9, 4, 5, 90)], 100, True, id="recovered"),
    ],
)
def test_a_worker_is_healthy_while_it_gets_on(looks: LOOKS, now: float, healthy: bool) -> None:
    progress = Progress(stall_seconds=60)
    for committed, finished, lag, at in looks:
        progress.observe({"partition": offsets(committed, lag)}, finished, at)
    assert progress.is_healthy(now) == healthy, f"stalled for {progress.stalled_seconds(now)} s"


@pytest.mark.parametrize(
    ("looks", "now", "healthy"),
    [
        pytest.param([(0, False)], 59, True, id="joining"),
        pytest.param([(0, False), (50, False)], 60, False, id="never joined"),
        pytest.param([(0, True), (49, True), (50, False)], 70, True, id="a rebalance"),
        pytest.param([(0, True), (50, False), (100, False)], 110, False, id="a rebalance without an end"),
        pytest.param(
            [(0, True), (50, False), (100, False), (105, True)], 110, True, id="joined again, and nothing waits"
        ),
    ],
)
def test_a_worker_without_partitions_is_healthy_for_a_while(
    looks: list[tuple[float, bool]], now: float, healthy: bool
) -> None:
    progress = Progress(stall_seconds=60)
    for at, assigned in looks:
        progress.observe({"partition": offsets(5, 0)} if assigned else {}, 0, at, assigned=assigned)
    assert progress.is_healthy(now) == healthy, f"stalled for {progress.stalled_seconds(now)} s"


def test_finished_but_not_committed_shows_in_its_own_age() -> None:
    progress = Progress(stall_seconds=60)
    progress.observe({"p": offsets(5, 9)}, 0, 0.0)
    progress.observe({"p": offsets(5, 9)}, 7, 50.0)
    assert progress.stalled_seconds(70.0) == 20.0
    assert progress.uncommitted_seconds(70.0) == 70.0


def test_one_stuck_partition_is_seen_beside_others_that_move() -> None:
    progress = Progress(stall_seconds=60, stuck_seconds=600)
    for minute in range(11):
        at = minute * 60.0
        moving = {"moves": offsets(minute, 100), "idle": offsets(7, 0), "stuck": offsets(5, 9)}
        progress.observe(moving, minute, at)
        assert progress.uncommitted_seconds(at) == at, "the age is that of the stuck partition"
        assert progress.is_healthy(at) == (minute < 10)
    progress.observe({"stuck": offsets(6, 8)}, 99, 700.0)
    assert progress.uncommitted_seconds(700.0) == 0.0


def test_offsets_that_were_not_asked_for_again_say_nothing_new() -> None:
    progress = Progress(stall_seconds=60, stuck_seconds=600)
    read = {"waits": offsets(5, 9), "idle": offsets(7, 0)}
    for at in range(0, 60, 10):
        progress.observe(read, 0, at)
    assert (progress.lag, progress.stalled_seconds(59.0), progress.uncommitted_seconds(59.0)) == (9, 59.0, 59.0)
    assert not progress.is_healthy(60.0), "no event was finished, and no offset was committed"
    progress.observe(read, 0, 70.0, waiting_for="StoreUnavailable: Cassandra")
    progress.observe(read, 0, 80.0)
    assert progress.uncommitted_seconds(80.0) == 10.0, "the time of the outage does not count"
    progress.observe({"waits": offsets(5, 9), "idle": offsets(7, 2)}, 0, 90.0)
    assert progress.committed_at == {"waits": 70.0, "idle": 90.0}, "events that come later have not waited before"


ANSWER, NO_ANSWER, NOT_ASKED = "answer", "no answer", "not asked"


@pytest.mark.parametrize(
    ("looks", "silence"),
    [
        pytest.param([], 0, id="not started"),
        pytest.param([(0, ANSWER), (5, ANSWER)], 95, id="the last answer counts, though no event waits"),
        pytest.param([(0, ANSWER), (5, NO_ANSWER), (10, NO_ANSWER)], 100, id="the last offsets stay"),
        pytest.param([(0, ANSWER), (5, NO_ANSWER), (98, ANSWER)], 2, id="it is back"),
        pytest.param([(0, ANSWER), (50, NOT_ASKED)], 100, id="a rebalance without an end"),
        pytest.param([(0, NOT_ASKED), (50, NOT_ASKED)], 100, id="never joined"),
    ],
)
def test_the_silence_of_kafka_is_the_time_since_its_last_answer(looks: list[tuple[float, str]], silence: float) -> None:
    progress, read = Progress(stall_seconds=60), dict[str, PartitionOffsets]()
    for at, outcome in looks:
        if outcome != NO_ANSWER:
            read = {"partition": offsets(5, 0)} if outcome == ANSWER else {}
        progress.observe(read, 0, at, assigned=outcome != NOT_ASKED)
    assert progress.silent_seconds(100) == silence


def test_a_worker_with_an_empty_assignment_has_nothing_to_ask_and_hears_no_silence() -> None:
    progress = Progress(stall_seconds=60)
    for at in range(0, 100, 5):
        progress.observe({}, 0, at, assigned=True)
    assert progress.silent_seconds(95) == 0


def test_the_most_lost_events_that_a_stage_of_the_process_sees_are_exported() -> None:
    metrics = Metrics()

    def exported() -> float | None:
        return metrics.registry.get_sample_value("riffle_events_lost", {"stage": "embed"})

    metrics.set_lost("embed", 0, seen_by="embed")
    metrics.set_lost("embed", 7, seen_by="frontier")
    assert exported() == 7, "a worker of the frontier watches the stages behind it"
    metrics.set_lost("embed", 0, seen_by="embed")
    assert exported() == 7
    metrics.set_lost("embed", 0, seen_by="frontier")
    assert exported() == 0, "an operator has accepted the loss"
    metrics.set_lost("embed", 2, seen_by="embed")
    assert exported() == 2


def test_a_worker_that_waits_for_a_store_is_healthy_however_long() -> None:
    progress = Progress(stall_seconds=60, stuck_seconds=600)
    for at in range(0, 7_201, 60):
        progress.observe({"p": offsets(5, 9)}, 0, at, waiting_for="StoreUnavailable: Cassandra")
    assert progress.is_healthy(7_200)
    assert progress.waiting_for
    progress.observe({"p": offsets(5, 9)}, 0, 7_201)
    assert progress.is_healthy(7_202), "the time starts again when the store is back"
    assert not progress.is_healthy(7_300)


def test_events_that_retention_deleted_are_counted_and_are_not_progress() -> None:
    progress = Progress(stall_seconds=60)
    progress.observe({"p": PartitionOffsets(committed=100, start=0, end=400)}, 0, 0.0)
    progress.observe({"p": PartitionOffsets(committed=100, start=300, end=400)}, 0, 50.0)
    progress.observe({"p": PartitionOffsets(committed=100, start=300, end=400)}, 0, 59.0)
    assert (progress.lost, progress.lag) == (200, 100)
    assert not progress.is_healthy(60.0)
    progress.observe({"p": PartitionOffsets(committed=310, start=300, end=400)}, 10, 61.0)
    progress.observe({"p": PartitionOffsets(committed=310, start=320, end=400)}, 10, 62.0)
    assert progress.lost == 210


@pytest.mark.parametrize(
    ("committed", "start", "end", "waiting", "lost"),
    [
        pytest.param(5, 0, 9, 4, 0, id="some wait"),
        pytest.param(9, 9, 9, 0, 0, id="all handled and deleted since"),
        pytest.param(5, 8, 9, 1, 3, id="three were deleted before they were handled"),
        pytest.param(5, 9, 9, 0, 4, id="all were"),
        pytest.param(None, 3, 9, 6, 0, id="a new stage starts with what is there"),
    ],
)
def test_waiting_and_lost_events_follow_from_the_offsets(
    committed: int | None, start: int, end: int, waiting: int, lost: int
) -> None:
    place = PartitionOffsets(committed, start, end)
    assert (place.waiting, place.lost) == (waiting, lost)


def test_own_time_passes_slowly_on_a_busy_machine() -> None:
    seen = iter([0.0, *(10.0 * number for number in range(1, 61)), 600.0, 600.0, 600.5])
    own = OwnTime(lambda: next(seen))
    for _ in range(60):  # a tick of a second comes each 10 s
        own.tick()
    assert own.seconds == 120.0, "of 600 s by the clock"
    assert own.turn_age_seconds == 600.0
    own.turn()
    assert (own.missed_seconds, own.turn_age_seconds) == (0.0, 0.5)


def test_own_time_stands_still_while_the_loop_has_no_processor() -> None:
    """The thread that ticks needs little of the processor, and gets it also where the loop starves."""
    now, queued = iter(range(100)), iter([0.0, *(number * 0.95 for number in range(1, 61)), 57.0, 57.0])
    own = OwnTime(lambda: float(next(now)), lambda: next(queued))
    for _ in range(60):
        own.tick()
    assert own.seconds == pytest.approx(3.0), "of 60 s by the clock, 57 in the queue for a processor"
    own.tick()
    assert own.seconds == pytest.approx(4.0), "a loop that hangs does not wait for a processor"


def test_the_time_in_the_queue_is_the_kernels(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "schedstat").write_text("559760 2500000000 2\n")
    assert measure_queue_seconds(7, tmp_path) == 2.5
    assert measure_queue_seconds(8, tmp_path) == 0.0, "without a measurement all time counts"
    (tmp_path / "7" / "schedstat").write_text("")
    assert measure_queue_seconds(7, tmp_path) == 0.0


def ask(port: int, page: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.status or 0, json.load(error)


@pytest.mark.parametrize(("stuck_seconds", "status"), [(60.0, 200), (1.5, 503)])
async def test_a_worker_answers_while_its_loop_is_busy_and_says_since_when(stuck_seconds: float, status: int) -> None:
    progress = {"fetch": Progress(60.0)}
    server = HealthServer(Metrics(), progress, lambda: True, host="127.0.0.1", port=0, stuck_seconds=stuck_seconds)
    await server.start()
    try:
        assert await asyncio.to_thread(ask, server.port, "readyz") == (200, {"ready": True})
        answer = ask_while_busy(lambda: ask(server.port, "healthz"), status)
        assert answer["healthy"] == (status == 200)
        while (await asyncio.to_thread(ask, server.port, "healthz"))[0] != 200:
            await asyncio.sleep(0.1)
    finally:
        await server.stop()


async def test_a_taken_port_is_an_error_at_the_start() -> None:
    first = HealthServer(Metrics(), {}, lambda: True, host="127.0.0.1", port=0)
    await first.start()
    second = HealthServer(Metrics(), {}, lambda: True, host="127.0.0.1", port=first.port)
    with pytest.raises(OSError, match="in use"):
        await second.start()
    await second.stop()
    await first.stop()
