"""Sources beside the results: each may come late, fail or be absent without the others noticing."""

import asyncio
from typing import Any

import pytest

from streams.errors import StoreUnavailable
from streams.search.core import REST_SECONDS, Beside, SideBySide
from streams.search.deadline import Deadline
from streams.search.request import SearchRequest
from streams.search.searcher import Found
from streams.search.trace import Trace
from streams.stores.protocols import FOR_EVERYBODY

REQUEST = SearchRequest("tides", FOR_EVERYBODY)


class Fake:
    """A source that answers, fails or waits, and counts its questions."""

    def __init__(self, name: str, answer: Any = None, *, seconds: float = 0.0) -> None:
        self.name, self._answer, self._seconds = name, answer, seconds
        self.asked = 0

    async def find(self, request: SearchRequest, deadline: Deadline) -> Any | None:
        self.asked += 1
        await asyncio.sleep(self._seconds)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


async def results(request: SearchRequest, _deadline: Deadline) -> Found:
    return Found(request, (), has_next=False, trace=Trace(), took_ms=1.0)


async def beside(*sources: Fake, seconds: float = 5.0) -> Beside:
    answering = SideBySide(results, sources).start(REQUEST, Deadline(seconds))
    assert (await answering.results).request == REQUEST
    return await answering.beside


class FakeOfResults:
    """A source that reads the results."""

    name = "answer"

    async def find_among(self, found: Found, deadline: Deadline) -> str:
        return f"of {found.request.text}"


async def test_a_source_of_results_gets_them_and_some_time_also_if_they_are_late() -> None:
    async def late(request: SearchRequest, deadline: Deadline) -> Found:
        await asyncio.sleep(0.05)
        return await results(request, deadline)

    answering = SideBySide(late, [FakeOfResults()]).start(REQUEST, Deadline(0.01))
    assert (await answering.beside).found == {"answer": "of tides"}


async def test_without_results_such_a_source_is_not_asked() -> None:
    async def fail(request: SearchRequest, deadline: Deadline) -> Found:
        raise StoreUnavailable("down")

    answering = SideBySide(fail, [FakeOfResults()]).start(REQUEST, Deadline(5.0))
    assert await answering.beside == Beside()
    with pytest.raises(StoreUnavailable):
        await answering.results


CASES = [
    # sources, what is found, what is missing
    ((), {}, {}),
    ((Fake("panel", "the moon"),), {"panel": "the moon"}, {}),
    ((Fake("panel"), Fake("related", "ebb")), {"related": "ebb"}, {}),
    (
        (Fake("panel", StoreUnavailable("down")), Fake("related", "ebb")),
        {"related": "ebb"},
        {"panel": "`panel` did not answer."},
    ),
    (
        (Fake("panel", KeyError("a fault")), Fake("related", "ebb")),
        {"related": "ebb"},
        {"panel": "`panel` did not answer."},
    ),
    (
        (Fake("panel", "late", seconds=60), Fake("related", "ebb")),
        {"related": "ebb"},
        {"panel": "`panel` took too long."},
    ),
]
IDS = ["none", "one", "absent", "failing", "at fault", "slow"]


@pytest.mark.parametrize(("sources", "found", "missing"), CASES, ids=IDS)
async def test_an_answer_has_what_the_other_sources_found(
    sources: tuple[Fake, ...], found: dict[str, Any], missing: dict[str, str]
) -> None:
    answer = await beside(*sources, seconds=0.5)
    assert (answer.found, answer.missing) == (found, missing)


async def test_results_do_not_wait_for_a_slow_source() -> None:
    answering = SideBySide(results, [Fake("panel", "late", seconds=60)]).start(REQUEST, Deadline(60))
    async with asyncio.timeout(10):
        await answering.results
    assert not answering.beside.done()
    answering.beside.cancel()


async def test_sources_answer_side_by_side() -> None:
    barrier = asyncio.Barrier(3)

    class Meeting(Fake):
        async def find(self, request: SearchRequest, deadline: Deadline) -> Any:
            await barrier.wait()
            return self.name

    sources = [Meeting(name) for name in ("a", "b", "c")]
    assert list((await beside(*sources)).found) == ["a", "b", "c"]


async def test_a_source_that_failed_rests() -> None:
    panel = Fake("panel", StoreUnavailable("down"))
    sides = SideBySide(results, [panel])
    first = await sides.start(REQUEST, Deadline(5)).beside
    again = await sides.start(REQUEST, Deadline(5)).beside
    assert panel.asked == 1, f"it is not asked again within {REST_SECONDS} s"
    assert (first.missing, again.missing) == (
        {"panel": "`panel` did not answer."},
        {"panel": "`panel` has not answered lately."},
    )


def test_two_sources_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="panel"):
        SideBySide(results, [Fake("panel"), Fake("panel")])
