"""A removal on request is refused on a machine with a wrong clock, before anything is written."""

import pytest

from streams.commands.pages.remove import _require_clock
from streams.errors import UsageError
from streams.settings import Settings
from streams.stores.opener import Stores


@pytest.mark.parametrize("ahead", [7_200.0, -7_200.0])
async def test_a_wrong_clock_is_refused(ahead: float) -> None:
    async def clock_ahead() -> float:
        return ahead

    with pytest.raises(UsageError, match="the clock of this machine is 7200"):
        await _require_clock(Settings(), Stores(clock_ahead=clock_ahead))


async def test_a_right_clock_is_not() -> None:
    async def clock_ahead() -> float:
        return 0.5

    await _require_clock(Settings(), Stores(clock_ahead=clock_ahead))
