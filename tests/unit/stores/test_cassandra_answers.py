"""Answers of the driver's thread reach the event loop that waits: in order, together, and only while the loop runs."""

import asyncio
import threading
from functools import partial

from streams.stores.cassandra.session import _Answers


def run_in_thread(work: object) -> None:
    thread = threading.Thread(target=work)  # type: ignore[arg-type] # a function without arguments
    thread.start()
    thread.join()


async def test_answers_that_come_together_wake_the_loop_once_and_keep_their_order() -> None:
    loop, answers, got, turns = asyncio.get_running_loop(), _Answers(), list[int](), list[int]()
    loop.set_debug(False)

    def answer() -> None:
        for number in range(100):
            answers.put(loop, partial(got.append, number))
        loop.call_soon_threadsafe(lambda: turns.append(len(got)))

    run_in_thread(answer)  # the loop has no turn meanwhile
    assert got == []
    await asyncio.sleep(0)
    assert (got, turns) == (list(range(100)), [100])
    run_in_thread(lambda: answers.put(loop, partial(got.append, 100)))
    await asyncio.sleep(0)
    assert got[-1] == 100, "the next answer wakes it again"


async def test_an_answer_during_the_turn_of_others_is_not_lost() -> None:
    loop, answers, got = asyncio.get_running_loop(), _Answers(), list[str]()

    def first() -> None:
        got.append("first")
        run_in_thread(lambda: answers.put(loop, partial(got.append, "second")))

    run_in_thread(lambda: answers.put(loop, first))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert got == ["first", "second"]


def test_an_answer_for_a_closed_loop_is_dropped_and_others_still_come() -> None:
    closed, answers, got = asyncio.new_event_loop(), _Answers(), list[int]()
    closed.close()
    for _ in range(2):
        answers.put(closed, partial(got.append, 1))

    async def wait() -> None:
        loop = asyncio.get_running_loop()
        run_in_thread(lambda: answers.put(loop, partial(got.append, 2)))
        await asyncio.sleep(0)

    asyncio.run(wait())
    assert got == [2]
    assert answers._waiting == {}
