"""A worker's start while a server is away: it waits, shows for what, and can be stopped."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from streams.errors import DeadlineExceeded, StoreUnavailable, UsageError
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


async def test_a_worker_waits_for_a_server_that_is_away_at_its_start() -> None:
    progress, seen = Progress(stall_seconds=60), []
    attempt = attempts(AWAY, AWAY, None, after=lambda _: seen.append(progress.waiting_for))
    assert await prepare_with_retries(attempt, [progress], asyncio.Event()) is not None
    assert seen == ["", *["StoreUnavailable: Triton at triton:8001 is away"] * 2], "/readyz names the server"
    assert progress.waiting_for == "", "/readyz no longer waits"
    assert progress.is_healthy(1e9), "a restart would not help"


async def test_a_server_that_answers_too_late_is_waited_for_too() -> None:
    late = attempts(DeadlineExceeded("Cassandra needed 10 s"), None)
    assert await prepare_with_retries(late, [], asyncio.Event()) is not None


async def test_a_worker_that_waits_for_a_server_can_be_stopped() -> None:
    stop = asyncio.Event()
    waiting = prepare_with_retries(attempts(AWAY, after=lambda made: stop.set() if made == 2 else None), [], stop)
    assert await asyncio.wait_for(waiting, 20) is None


async def test_a_missing_permission_at_the_start_ends_the_worker() -> None:
    with pytest.raises(UsageError, match="no SELECT permission"):
        await prepare_with_retries(attempts(UsageError("no SELECT permission"), None), [], asyncio.Event())
