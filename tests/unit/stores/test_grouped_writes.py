"""Small writes share requests within bounds, and each of them ends by itself."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from streams import grouped_calls
from streams.stores.cassandra.grouped_writes import CELL_BYTES, MAX_BYTES, MAX_WRITES, GroupedWrites

REFUSED = b"refused"


@dataclass(frozen=True)
class Bound:
    """A bound statement, as far as grouping looks at it."""

    values: Sequence[bytes | None]


class Server:
    """Notes the requests, and does their writes. It refuses a request with a value REFUSED."""

    def __init__(self) -> None:
        self.requests: list[Sequence[Bound]] = []
        self.late = False
        self.begun = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()

    async def send(self, statements: Sequence[Any]) -> None:
        self.requests.append(statements)
        self.begun.set()
        await self.answers.wait()
        if self.late:
            raise TimeoutError
        if any(REFUSED in one.values for one in statements):
            raise ValueError("refused")

    @property
    def sizes(self) -> list[int]:
        return [len(request) for request in self.requests]


def writes(count: int, size_bytes: int = 10) -> list[Bound]:
    return [Bound((number.to_bytes(4, "big"), b"x" * size_bytes, None)) for number in range(count)]


async def run(grouped: GroupedWrites, *many: Bound) -> list[BaseException | None]:
    return await asyncio.gather(*(grouped.execute([one]) for one in many), return_exceptions=True)


async def test_writes_of_one_turn_share_requests_up_to_the_maximum_and_keep_their_order() -> None:
    server = Server()
    many = writes(2 * MAX_WRITES + 3)
    assert await run(GroupedWrites(server.send), *many) == [None] * len(many)
    assert server.sizes == [MAX_WRITES, MAX_WRITES, 3]
    assert [one for request in server.requests for one in request] == many


async def test_a_slow_request_does_not_keep_later_writes_back() -> None:
    server = Server()
    server.answers.clear()
    grouped = GroupedWrites(server.send)
    first = asyncio.create_task(run(grouped, *writes(2)))
    await server.begun.wait()
    server.begun.clear()
    second = asyncio.create_task(run(grouped, *writes(1)))
    await server.begun.wait()
    server.answers.set()
    assert (await first, await second, server.sizes) == ([None, None], [None], [2, 1])


async def test_writes_that_come_while_a_request_is_on_its_way_go_together_when_it_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grouped_calls, "GATHER_SECONDS", 600.0)
    server = Server()
    server.answers.clear()
    grouped = GroupedWrites(server.send)
    first = asyncio.create_task(run(grouped, *writes(1)))
    await server.begun.wait()
    others = []
    for one in writes(3):  # each in a turn of its own
        others.append(asyncio.create_task(run(grouped, one)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert server.sizes == [1]
    server.answers.set()
    await asyncio.gather(first, *others)
    assert server.sizes == [1, 3]


async def test_the_bytes_of_a_request_are_bounded_and_a_larger_write_goes_alone() -> None:
    server = Server()
    half, large = writes(3, MAX_BYTES // 2 - 2 * CELL_BYTES - 4), writes(1, MAX_BYTES)
    await run(GroupedWrites(server.send), *half, *large)
    assert server.requests == [large, half[:2], half[2:]]


async def test_statements_of_one_partition_stay_in_one_request() -> None:
    server = Server()
    grouped, unit = GroupedWrites(server.send), writes(MAX_WRITES + 5)
    await asyncio.gather(grouped.execute(unit), *(grouped.execute([one]) for one in writes(2)))
    assert server.sizes == [MAX_WRITES + 7]


async def test_a_refused_write_fails_alone_and_the_others_are_sent_again() -> None:
    server = Server()
    good, bad = writes(4), Bound((REFUSED,))
    answers = await run(GroupedWrites(server.send), *good[:2], bad, *good[2:])
    assert [type(answer) for answer in answers] == [type(None)] * 2 + [ValueError] + [type(None)] * 2
    assert server.sizes == [5, 1, 1, 1, 1, 1]


async def test_a_refused_write_without_others_is_not_sent_twice() -> None:
    server = Server()
    (answer,) = await run(GroupedWrites(server.send), Bound((REFUSED,)))
    assert isinstance(answer, ValueError)
    assert server.sizes == [1]


async def test_when_the_time_of_a_request_is_over_it_is_over_for_all_its_writes() -> None:
    server = Server()
    server.late = True
    answers = await run(GroupedWrites(server.send), *writes(3))
    assert {type(answer) for answer in answers} == {TimeoutError}
    assert server.sizes == [3]


async def test_a_caller_that_is_cancelled_before_the_request_has_no_write_in_it() -> None:
    server = Server()
    grouped, (one, other) = GroupedWrites(server.send), writes(2)
    leaving, staying = asyncio.create_task(grouped.execute([one])), asyncio.create_task(grouped.execute([other]))
    asyncio.get_running_loop().call_soon(leaving.cancel)
    await staying
    assert leaving.cancelled()
    assert server.requests == [[other]]


async def test_a_caller_that_is_cancelled_during_the_request_leaves_the_others_alone() -> None:
    server = Server()
    server.answers.clear()
    grouped = GroupedWrites(server.send)
    leaving, staying = (asyncio.create_task(grouped.execute([one])) for one in writes(2))
    await server.begun.wait()
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    server.answers.set()
    await staying
    assert server.sizes == [2]


async def test_a_write_whose_caller_has_gone_is_not_sent_again() -> None:
    """Another worker may have its event by then, and a store without times of writes would keep the older one."""
    server = Server()
    server.answers.clear()
    grouped, (one, other) = GroupedWrites(server.send), writes(2)
    calls = [asyncio.create_task(grouped.execute([each])) for each in (one, Bound((REFUSED,)), other)]
    await server.begun.wait()
    calls[0].cancel()
    server.answers.set()
    left, refused, written = await asyncio.gather(*calls, return_exceptions=True)
    assert (type(left), type(refused), written) == (asyncio.CancelledError, ValueError, None)
    assert server.sizes == [3, 1, 1]
    assert server.requests[1:] == [[Bound((REFUSED,))], [other]]


async def test_a_request_that_is_cancelled_ends_its_callers() -> None:
    server = Server()
    server.answers.clear()
    grouped = GroupedWrites(server.send)
    calling = asyncio.create_task(run(grouped, *writes(2)))
    await server.begun.wait()
    for request in grouped._calls._requests:
        request.cancel()
    assert {type(answer) for answer in await calling} == {asyncio.CancelledError}


async def test_a_list_of_writes_keeps_the_bounds_of_a_request() -> None:
    server = Server()
    half = writes(3, MAX_BYTES // 2 - 2 * CELL_BYTES - 4)
    await GroupedWrites(server.send).execute_each([*half, *writes(MAX_WRITES)])
    assert server.sizes == [2, MAX_WRITES, 1]


async def test_a_refused_write_of_a_list_leaves_the_others_done() -> None:
    server = Server()
    good, bad = writes(3), Bound((REFUSED,))
    with pytest.raises(ValueError, match="refused"):
        await GroupedWrites(server.send).execute_each([good[0], bad, *good[1:]])
    assert server.requests[1:] == [[good[0]], [bad], [good[1]], [good[2]]]


async def test_a_list_whose_time_is_over_is_not_sent_again() -> None:
    server = Server()
    server.late = True
    with pytest.raises(TimeoutError):
        await GroupedWrites(server.send).execute_each(writes(3))
    assert server.sizes == [3]
