"""Orders of events over real stores, whose writes are ordered by their times: removals that are read late, and chance.

What the stages do in memory in thousands of orders (`tests/stages/test_any_order.py`), they do here in a few.
"""

from pathlib import Path

import pytest

from streams.settings import Settings
from tests.integration.test_handed_on_index import installation
from tests.stages.any_order import World
from tests.stages.test_any_order import come_and_go, live

pytestmark = [pytest.mark.integration("kafka", "cassandra"), pytest.mark.timeout(600)]


async def test_late_removals_and_orders_of_chance_on_real_stores(stack: Settings, tmp_path: Path) -> None:
    async with installation(stack, tmp_path) as own:
        world = World(1, has_translations=True, has_canonicals=True, stores=own.stores)
        for kind in ("unlisted", "gone", "noindex"):
            assert await come_and_go(world, kind) == []
        for _ in range(2):
            assert await live(world) == []
