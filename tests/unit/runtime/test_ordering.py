"""Acknowledgements in order; concurrency between keys, order within one."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.ordering import InOrder, KeyedTasks, Work


@given(st.permutations(range(12)))
def test_whatever_finishes_first_acknowledgements_keep_the_order_of_arrival(finish: list[int]) -> None:
    acknowledged: list[int] = []

    async def scenario() -> None:
        order = InOrder(100)

        def place(number: int) -> Work:
            async def acknowledge() -> None:
                acknowledged.append(number)

            return order.add("partition", acknowledge)

        places = [place(number) for number in range(12)]
        for n, number in enumerate(finish):
            await places[number]()
            done = set(finish[: n + 1])
            # Exactly the events before the first unfinished one.
            expected = next((k for k in range(12) if k not in done), 12)
            assert acknowledged == list(range(expected))
        assert len(order) == 0

    asyncio.run(scenario())


async def test_urgent_work_runs_before_all_work_that_has_not_started() -> None:
    tasks, done, gate = KeyedTasks(2), list[str](), asyncio.Event()

    def work(name: str, *, waits: bool = True) -> Work:
        async def run() -> None:
            if waits:
                await gate.wait()
            done.append(name)

        return run

    for number in range(1_000):
        tasks.submit(f"key-{number % 7}".encode(), work(f"usual-{number}"))
    await asyncio.sleep(0)
    tasks.submit_urgent(b"another", work("urgent", waits=False))
    tasks.submit_urgent(b"key-0", work("urgent of a busy key", waits=False))
    for _ in range(20):
        await asyncio.sleep(0)
    assert done == ["urgent"], "one with the key of running work waits for the end of that work"
    gate.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert "urgent of a busy key" in done[:10]


async def test_urgent_work_is_next_after_the_running_work_with_its_key() -> None:
    tasks, done, gates = KeyedTasks(1), list[str](), [asyncio.Event() for _ in range(3)]

    def work(name: str, gate: asyncio.Event) -> Work:
        async def run() -> None:
            await gate.wait()
            done.append(name)

        return run

    tasks.submit(b"key", work("first", gates[0]))
    tasks.submit(b"key", work("second", gates[1]))
    await asyncio.sleep(0)
    tasks.submit_urgent(b"key", work("urgent", gates[2]))
    for gate in (gates[0], gates[2], gates[1]):
        gate.set()
        for _ in range(20):
            await asyncio.sleep(0)
    assert done == ["first", "urgent", "second"]
    assert tasks.waiting == 0


async def test_urgent_work_that_has_not_started_is_dropped_at_a_rebalance() -> None:
    tasks, done, gate = KeyedTasks(1), list[str](), asyncio.Event()

    async def hold() -> None:
        await gate.wait()

    async def urgent() -> None:
        done.append("urgent")

    tasks.submit(b"key", hold)
    await asyncio.sleep(0)
    tasks.submit_urgent(b"key", urgent)
    await asyncio.sleep(0)
    draining = asyncio.create_task(tasks.drain(10))
    await asyncio.sleep(0)
    gate.set()
    assert await draining
    assert done == []


async def test_partitions_do_not_wait_for_each_other() -> None:
    order, acknowledged = InOrder(100), []

    async def acknowledge() -> None:
        acknowledged.append("b")

    order.add("a", acknowledge)
    await order.add("b", acknowledge)()
    assert acknowledged == ["b"]


@pytest.mark.parametrize("concurrency", [1, 3, 50])
async def test_same_key_runs_in_order_and_never_at_once(concurrency: int) -> None:
    tasks, running = KeyedTasks(concurrency), dict.fromkeys(range(5), 0)
    seen: dict[int, list[int]] = {key: [] for key in range(5)}
    chance = random.Random(7)
    most = 0

    def work(key: int, number: int) -> Work:
        async def run() -> None:
            nonlocal most
            running[key] += 1
            assert running[key] == 1, f"two of key {key} at once"
            most = max(most, sum(running.values()))
            await asyncio.sleep(chance.random() / 500)
            seen[key].append(number)
            running[key] -= 1

        return run

    for number in range(200):
        tasks.submit(str(number % 5).encode(), work(number % 5, number))
    while tasks.waiting:
        await asyncio.sleep(0.01)
    assert await tasks.drain(10)
    assert all(numbers == sorted(numbers) and len(numbers) == 40 for numbers in seen.values())
    assert most <= min(concurrency, 5)
    assert tasks.waiting == 0
