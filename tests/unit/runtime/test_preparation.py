"""A worker's start while a server is away: it waits, shows for what, and can be stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import pytest

from streams.errors import DeadlineExceeded, KafkaAway, StoreUnavailable, UsageError
from streams.runtime.health import Progress
from streams.runtime.preparation import Prepared, prepare_with_retries
from streams.stores.opener import Stores


def attempts(
    *outcomes: Exception | None, after: Callable[[int], object] = lambda number: None
) -> Callable[[], Awaitable[Prepared]]:
    """A preparation that fails with each error in turn, and calls `after` with the number of each attempt."""
    made = 0

    async def attempt() -> Prepared:
        nonlocal made
        made += 1
        outcome = outcomes[min(made, len(outcomes)) - 1]
        after(made)
        if outcome:
            raise outcome
        return Prepared(Stores(), {}, {}, close)

    return attempt


async def close() -> None: ...


AWAY = StoreUnavailable("Triton at triton:8001 is away")
KAFKA_AWAY = KafkaAway("Kafka at kafka:9092 doesn't answer")


def no_time() -> float:
    """A clock that stands still."""
    return 0.0


async def test_a_worker_waits_for_a_server_that_is_away_at_its_start() -> None:
    progress, seen = Progress(stall_seconds=60), []
    attempt = attempts(AWAY, AWAY, None, after=lambda _: seen.append(progress.waiting_for))
    assert await prepare_with_retries(attempt, [progress], asyncio.Event(), no_time) is not None
    assert seen == ["", *["StoreUnavailable: Triton at triton:8001 is away"] * 2], "/readyz names the server"
    assert progress.waiting_for == "", "/readyz no longer waits"


@pytest.mark.parametrize(
    ("outcomes", "stalls"),
    [
        pytest.param([None], [40, 40], id="the first attempt, and what follows it, take too long"),
        pytest.param([AWAY, None], [40, 0, 40, 40], id="not the wait for a server, which a restart would not help"),
    ],
)
async def test_a_start_that_hangs_counts_as_a_stall(outcomes: list[Exception | None], stalls: list[float]) -> None:
    """Nothing is observed before the worker has started. Each attempt, wait and end of the start takes 70 s here."""
    clock, progress, seen = [0.0], Progress(stall_seconds=30), list[float]()

    def look(_: object = None) -> None:
        clock[0] += 70
        seen.append(progress.stalled_seconds(clock[0]))
        assert progress.is_healthy(clock[0]) == (not seen[-1])

    class Waits(asyncio.Event):
        async def wait(self) -> Literal[True]:
            look()
            return True

    assert await prepare_with_retries(attempts(*outcomes, after=look), [progress], Waits(), lambda: clock[0])
    look()
    assert seen == stalls


async def test_a_server_that_answers_too_late_is_waited_for_too() -> None:
    late = attempts(DeadlineExceeded("Cassandra needed 10 s"), None)
    assert await prepare_with_retries(late, [], asyncio.Event(), no_time) is not None


async def test_a_worker_that_waits_for_a_server_can_be_stopped() -> None:
    stop = asyncio.Event()
    attempt = attempts(AWAY, after=lambda made: stop.set() if made == 2 else None)
    waiting = prepare_with_retries(attempt, [], stop, no_time)
    assert await asyncio.wait_for(waiting, 20) is None


async def test_a_missing_permission_at_the_start_ends_the_worker() -> None:
    with pytest.raises(UsageError, match="no SELECT permission"):
        await prepare_with_retries(attempts(UsageError("no SELECT permission"), None), [], asyncio.Event(), no_time)


@pytest.mark.parametrize(
    ("outcomes", "silences"),
    [
        pytest.param([KAFKA_AWAY, KAFKA_AWAY, KAFKA_AWAY, None], [0, 0, 100, 200, 0], id="since the first question"),
        pytest.param([AWAY, AWAY, None], [0, 0, 0, 0], id="Kafka is not asked while a store is away"),
        pytest.param([KAFKA_AWAY, KAFKA_AWAY, AWAY, None], [0, 0, 100, 0, 0], id="Kafka is back before a store"),
    ],
)
async def test_a_start_without_kafka_counts_as_its_silence(
    outcomes: list[Exception | None], silences: list[float]
) -> None:
    """An attempt takes 100 s here. The silence is read before each attempt, and after the last one."""
    clock, progress, seen = [0.0], Progress(stall_seconds=60), list[float]()

    def begin(_: int) -> None:
        seen.append(progress.silent_seconds(clock[0]))
        clock[0] += 100

    await prepare_with_retries(attempts(*outcomes, after=begin), [progress], asyncio.Event(), lambda: clock[0])
    assert [*seen, progress.silent_seconds(clock[0])] == silences
