"""The passes of a ranking: their groups, their readers, their thread and their end."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from streams.errors import SearchUnavailable
from streams.search.deadline import Deadline
from streams.search.ranker import Ranker, Reader
from streams.search.ranking.context import Pass, RankingContext
from streams.search.trace import Trace
from streams.stores.protocols import PageHits
from tests.loop_turns import counted_turns
from tests.unit.search.ranking.contexts import context_of

Pages = list[PageHits]


class Recorder:
    """Passes and readers that record their names, and the thread that they run in."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.threads: list[int] = []

    def step(self, name: str, *reads: str) -> Pass:
        def apply(_context: RankingContext, pages: Pages) -> Pages:
            self.steps.append(name)
            self.threads.append(threading.get_ident())
            return pages

        return Pass(name, apply, reads)

    def reader(self, name: str) -> Reader:
        async def read(_context: RankingContext, _pages: Sequence[PageHits], _deadline: Deadline, _trace: Trace) -> str:
            self.steps.append(f"read {name}")
            assert threading.get_ident() == threading.main_thread().ident
            return f"data of {name}"

        return read


async def test_passes_run_in_order_off_the_event_loop_each_behind_its_readers() -> None:
    recorder = Recorder()
    readers = {"x": recorder.reader("x"), "y": recorder.reader("y")}
    steps = [recorder.step("a"), recorder.step("b", "x", "y", "z"), recorder.step("c"), recorder.step("d", "z")]
    context = context_of("q")
    await Ranker(readers, steps).rank(context, Deadline(5), Trace())
    assert recorder.steps == ["a", "read x", "read y", "b", "c", "d"]
    assert threading.main_thread().ident not in recorder.threads
    assert context.read == {"x": "data of x", "y": "data of y"}


async def test_without_a_reader_all_passes_share_one_change_of_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    hops = 0

    async def to_thread(*arguments: Any) -> Any:
        nonlocal hops
        hops += 1
        return arguments[0](*arguments[1:])

    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    recorder = Recorder()
    await Ranker({}, [recorder.step(name) for name in "abcd"]).rank(context_of("q"), Deadline(5), Trace())
    assert (hops, recorder.steps) == (1, ["a", "b", "c", "d"])


async def test_a_pass_without_end_ends_the_search_at_its_deadline_and_blocks_nobody() -> None:
    released = threading.Event()

    def endless(_context: RankingContext, pages: Pages) -> Pages:
        released.wait()
        return pages

    try:
        async with counted_turns() as turns:
            with pytest.raises(SearchUnavailable, match="took too long"):
                await Ranker({}, [Pass("endless", endless)]).rank(context_of("q"), Deadline(2.0), Trace())
        assert turns.count >= 3, "the event loop went on meanwhile"
    finally:
        released.set()


async def test_no_pass_begins_after_the_deadline() -> None:
    recorder = Recorder()
    deadline = Deadline(0.0)
    context = replace(context_of("q"), check_time=deadline.check)
    with pytest.raises(SearchUnavailable):
        await Ranker({}, [recorder.step("a")]).rank(context, deadline, Trace())
    assert recorder.steps == []
