"""The check of a worker's clock."""

import pytest

from streams.errors import UsageError
from streams.runtime.clock import require_clock


@pytest.mark.parametrize("ahead", [0.0, 4.9, -4.9])
async def test_a_clock_within_the_bound_is_accepted(ahead: float) -> None:
    async def clock_ahead() -> float:
        return ahead

    assert await require_clock(clock_ahead, 5) == ahead


@pytest.mark.parametrize(("ahead", "words"), [(121.0, "121.0 s ahead of"), (-6.0, "6.0 s behind")])
async def test_a_clock_beyond_the_bound_stops_the_worker(ahead: float, words: str) -> None:
    async def clock_ahead() -> float:
        return ahead

    with pytest.raises(UsageError, match=words):
        await require_clock(clock_ahead, 5)
