"""Optional parts of an answer, and the rest of a store that failed."""

import asyncio

import pytest

from streams.errors import DeadlineExceeded, PoisonError, StoreUnavailable
from streams.search.deadline import OptionalPart, Rest


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_rest_begins_at_the_last_of_some_failures_in_a_row_and_ends() -> None:
    clock = Clock()
    rest = Rest(2.0, failures=3, clock=clock)

    def lasts() -> bool:
        return rest.lasts

    rest.failed()
    rest.failed()
    assert not lasts(), "two failures are too few"
    rest.succeeded()
    rest.failed()
    rest.failed()
    assert not lasts(), "an answer came in between"
    rest.failed()
    assert lasts()
    clock.now += 2.0
    assert not lasts(), "then one search tries it again"
    rest.failed()
    assert lasts(), "and one more failure is enough"


class Reading:
    """A read that returns, fails or waits."""

    def __init__(self, outcome: object = "found") -> None:
        self.outcome = outcome
        self.calls = 0

    async def __call__(self) -> object:
        self.calls += 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        if self.outcome == "wait":
            await asyncio.Event().wait()
        return self.outcome


OUTCOMES = [
    # the outcome of the read, what comes back, the reason, the errors that are counted
    ("found", "found", [], []),
    ("wait", None, ["late"], [TimeoutError]),
    (DeadlineExceeded("slow"), None, ["late"], [DeadlineExceeded]),
    (StoreUnavailable("down"), None, ["failed"], [StoreUnavailable]),
    (PoisonError("refused"), None, ["failed"], [PoisonError]),
    (KeyError("a fault of this program"), None, ["failed"], [KeyError]),
]


@pytest.mark.parametrize(("outcome", "found", "reasons", "counted"), OUTCOMES, ids=lambda value: str(value)[:20])
async def test_whatever_goes_wrong_the_part_is_missing_with_its_reason(
    outcome: object, found: object, reasons: list[str], counted: list[type[Exception]]
) -> None:
    errors: list[type[BaseException]] = []
    given: list[str] = []
    part = OptionalPart("part", lambda error: errors.append(type(error)))
    assert await part.read(Reading(outcome), asyncio.timeout(0.5), given.append) == found
    assert (given, errors) == (reasons, counted)


async def test_a_part_is_not_read_while_it_rests() -> None:
    clock, read, given = Clock(), Reading(StoreUnavailable("down")), list[str]()
    part = OptionalPart("part", rest=Rest(2.0, clock=clock))
    await part.read(read, asyncio.timeout(1), given.append)
    await part.read(read, asyncio.timeout(1), given.append)
    assert (read.calls, given) == (1, ["failed", "resting"])
    clock.now += 2.0
    read.outcome = "found"
    assert await part.read(read, asyncio.timeout(1), given.append) == "found"


async def test_a_cancelled_answer_is_no_failure() -> None:
    errors: list[BaseException] = []
    part = OptionalPart("part", errors.append)
    reading = asyncio.create_task(part.read(Reading("wait"), asyncio.timeout(60)))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not errors
