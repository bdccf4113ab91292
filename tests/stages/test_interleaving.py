"""The order of store calls that a test chooses: calls of other tasks go on at once."""

import asyncio

from tests.stages.interleaving import Interleaving


class Store:
    """A store that remembers its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def read(self, name: str) -> str:
        self.calls.append(name)
        return name


async def test_a_call_in_a_gather_waits_for_no_turn() -> None:
    store, interleaving = Store(), Interleaving([1, 0])
    watched = interleaving.watched(store)

    async def handle(name: str) -> list[str]:
        first = await watched.read(name)
        return [first, *await asyncio.gather(*(watched.read(f"{name}{number}") for number in range(2)))]

    async with asyncio.timeout(10):  # it would wait for ever
        found = await interleaving.run(handle("a"), handle("b"))
    assert found == [["a", "a0", "a1"], ["b", "b0", "b1"]]
    assert store.calls == ["b", "b0", "b1", "a", "a0", "a1"]
