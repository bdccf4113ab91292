"""The figures of operators: queries without results, where they are collected and where they are not."""

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streams.admin.figures import Reader
from streams.settings import QueriesSettings, Settings
from streams.stores.opener import memory_stores
from streams.stores.protocols import DayCounts

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
TODAY = (NOW - datetime(1970, 1, 1, tzinfo=UTC)).days


@pytest.mark.parametrize(
    ("collects", "is_stored", "found"),
    [
        (False, False, None),  # the page says that queries are not collected
        (True, False, []),  # and here that none was without results
        (False, True, [("en", "frobnicate", 2.0)]),  # the gateways collect, and this process does not know it
        (True, True, [("en", "frobnicate", 2.0)]),
    ],
)
async def test_queries_without_results(
    collects: bool, is_stored: bool, found: list[tuple[str, str, float]] | None, tmp_path: Path
) -> None:
    stores = memory_stores()
    if is_stored:
        await stores.query_counts.put("en", "frobnicate", TODAY, DayCounts(3, 2, {1: 3}, 0, 1), 1)
        await stores.query_counts.put("en", "answered", TODAY, DayCounts(5, 0, {1: 5}, 0, 2), 1)
    settings = Settings(home=tmp_path, queries=QueriesSettings(collect=collects))
    assert await Reader(settings, stores, lambda: NOW, random.Random(1)).empty_queries() == found
