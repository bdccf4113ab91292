"""The checks of a running worker's clock."""

import asyncio

import pytest

from streams.errors import StoreUnavailable
from streams.runtime.clock import COMPARE_SECONDS, READ_SECONDS, ClockWatch, compare_clocks


async def test_the_difference_of_the_clocks_is_shown_again_and_again() -> None:
    answers: list[float | None] = [0.2, 3.9, None, 4.0]
    shown, slept = list[float](), list[float]()

    async def clock_ahead() -> float:
        if (answer := answers.pop(0)) is None:
            raise StoreUnavailable("Cassandra is away")
        return answer

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if not answers:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await compare_clocks(clock_ahead, shown.append, sleep)
    assert shown == [0.2, 3.9, 4.0], "while Cassandra is away, the last difference stays"
    assert slept == [COMPARE_SECONDS] * 4


class Clocks:
    """A machine's clock and its steady clock, of which each reading takes some time."""

    def __init__(self) -> None:
        self.steady_seconds = 1_000.0
        self.ahead = 1_800_000_000.0
        self.reading_seconds = 0.0

    def steady(self) -> float:
        self.steady_seconds += self.reading_seconds
        return self.steady_seconds

    def wall(self) -> float:
        self.steady_seconds += self.reading_seconds
        return self.steady_seconds + self.ahead


@pytest.mark.parametrize("step", [0.0, 4.9, -4.9, 86_400.0, -6.0])
def test_a_clock_that_is_set_beyond_the_bound_is_noticed_once(step: float) -> None:
    clocks = Clocks()
    watch = ClockWatch(5, clocks.wall, clocks.steady)
    clocks.steady_seconds += 3_600
    assert watch.change() is None, "time that passes is no step"
    clocks.ahead += step
    assert (watch.change() is not None) == (abs(step) > 5)
    assert watch.change() is None


def test_a_process_that_stands_still_between_two_readings_has_no_clock_that_was_set() -> None:
    clocks = Clocks()
    clocks.reading_seconds = 600.0
    watch = ClockWatch(5, clocks.wall, clocks.steady)
    assert watch.change() is None
    clocks.reading_seconds = READ_SECONDS / 10
    assert watch.change() is None
    clocks.reading_seconds = 600.0
    assert watch.change() is None
    clocks.ahead += 60
    clocks.reading_seconds = 0.0
    assert "+60.0 s" in str(watch.change())


def test_this_machines_clocks_agree() -> None:
    assert ClockWatch(60).change() is None
