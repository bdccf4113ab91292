"""The wait of `riffle bench queries --while-indexing` for a pipeline that is at work."""

import asyncio
from typing import Any

import pytest

from benchmarks import queries
from benchmarks.queries import wait_until_busy
from streams.errors import UsageError
from streams.stores.triton import Busy


class Model:
    """A model that has computed these seconds at each look; the last number stays."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = list(seconds)

    async def busy(self, name: str) -> Busy:
        return Busy(self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0], 2)


async def wait(model: Any, importing: Any = None) -> None:
    async with asyncio.timeout(20):
        await wait_until_busy(model, "sbert", importing or asyncio.create_task(asyncio.sleep(30)))


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(queries, "IDLE_SECONDS", 0.05)


async def test_the_questions_wait_until_the_model_has_computed_for_a_while() -> None:
    model = Model(7.0, 7.0, 8.0, 8.5, 9.5)
    await wait(model)
    assert model.seconds == [9.5]


async def test_pages_that_give_the_model_nothing_to_do_end_the_measurement() -> None:
    # It waited for ever: the pages of its second run were duplicates of those of the first.
    with pytest.raises(UsageError, match="nothing to do"):
        await wait(Model(7.0, 8.0))


async def test_an_import_that_fails_ends_the_measurement() -> None:
    async def failing() -> None:
        raise UsageError("no page in DIR")

    importing = asyncio.create_task(failing())
    await asyncio.sleep(0)
    with pytest.raises(UsageError, match="no page in DIR"):
        await wait(Model(7.0), importing)
