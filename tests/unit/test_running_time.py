"""The clock of the tests: a pause of the machine doesn't count."""

import asyncio
import time

import pytest

from tests.running_time import LONGEST_SECONDS, RunningTime


class Machine:
    """The clock of a machine, set by hand."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def read(self) -> float:
        return self.at


@pytest.mark.parametrize(
    ("gaps", "counted"),
    [
        ((0.01, 0.01, 0.01), 0.03),
        ((30.0,), LONGEST_SECONDS),  # a pause
        ((0.01, 12.0, 0.01, 30.0, 0.01), 0.03 + 2 * LONGEST_SECONDS),
    ],
)
def test_a_pause_counts_next_to_nothing(gaps: tuple[float, ...], counted: float) -> None:
    machine = Machine()
    clock = RunningTime(machine.read)
    for gap in gaps:
        machine.at += gap
        clock.tick()
    assert clock.now() == pytest.approx(1_000.0 + counted)


def test_between_two_ticks_it_goes_on_but_never_back() -> None:
    machine = Machine()
    clock = RunningTime(machine.read)
    shown = []
    for at in (0.0, 0.004, 0.02, 0.049, 5.0, 31.0):
        machine.at = 1_000.0 + at
        shown.append(clock.now())
    clock.tick()
    shown.append(clock.now())
    assert shown == sorted(shown)
    assert (shown[1], shown[-1]) == pytest.approx((1_000.004, 1_000.0 + LONGEST_SECONDS))


async def test_tests_and_their_event_loops_have_it() -> None:
    assert isinstance(getattr(time.monotonic, "__self__", None), RunningTime)
    assert time.perf_counter == time.monotonic
    before = time.monotonic()
    assert before <= asyncio.get_running_loop().time() <= time.monotonic()
