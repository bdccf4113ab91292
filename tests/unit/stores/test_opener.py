"""The opening of stores: who writes has compared its clock, and who reads can't write."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from streams.errors import UsageError
from streams.settings import Settings
from streams.stores.opener import fields_of, memory_stores, open_stores, require_clock


class Records(SimpleNamespace):
    """The records of a server whose clock differs from this machine's."""

    def __init__(self, ahead_seconds: float) -> None:
        self._ahead_seconds = ahead_seconds
        self.closed = self.refused = 0
        super().__init__(**{name: getattr(memory_stores(), name) for name in fields_of("records")})
        self.clock_ahead = self._clock_ahead

    async def _clock_ahead(self) -> float:
        return self._ahead_seconds

    def refuse_writes(self) -> None:
        self.refused += 1

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def opened_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Records]:
    def with_clock(ahead_seconds: float) -> Records:
        records = Records(ahead_seconds)

        async def open_records(_: Settings) -> Any:
            return records

        monkeypatch.setattr("streams.stores.cassandra.opening.open_records", open_records)
        return records

    return with_clock


@pytest.mark.parametrize("ahead", [0.0, 4.9, -4.9])
async def test_a_clock_within_the_bound_is_accepted(ahead: float) -> None:
    async def clock_ahead() -> float:
        return ahead

    assert await require_clock(clock_ahead, 5) == ahead


@pytest.mark.parametrize(("ahead", "words"), [(121.0, "121.0 s ahead of"), (-6.0, "6.0 s behind")])
async def test_nothing_is_written_by_a_clock_beyond_the_bound(
    opened_with: Callable[[float], Records], ahead: float, words: str
) -> None:
    records = opened_with(ahead)
    with pytest.raises(UsageError, match=words):
        async with open_stores(Settings(), ["records"]):
            raise AssertionError("a write could come here")
    assert records.closed == 1


async def test_stores_that_are_opened_late_compare_the_clock_at_the_first_call(
    opened_with: Callable[[float], Records],
) -> None:
    records = opened_with(7_200.0)
    async with open_stores(Settings(), [], late=["records"]) as stores:
        with pytest.raises(UsageError, match="ahead of"):
            await stores.notes.of_shelf("a")
    assert records.closed == 1


@pytest.mark.parametrize(("use", "refused"), [("read", 1), ("serve", 0)])
async def test_readers_and_the_gateway_go_on_with_any_clock(
    opened_with: Callable[[float], Records], use: Any, refused: int
) -> None:
    records = opened_with(7_200.0)
    async with open_stores(Settings(), ["records"], use=use):
        assert records.refused == refused
    assert records.closed == 1
