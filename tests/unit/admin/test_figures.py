"""The figures of operators: queries without results, where they are collected, and the newest fetch."""

import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import micros_from_utc
from schemas.ids import page_id
from streams.admin.figures import Reader
from streams.settings import QueriesSettings, Settings
from streams.stores.opener import memory_stores
from streams.stores.page_record import Fetched, Indexed, Removed
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


@pytest.mark.parametrize(
    ("fetched", "indexed", "removed", "newest"),
    [
        ((5, "ok"), 5, -1, 5),
        ((9, "not_modified"), 5, -1, 9),
        ((9, "ok"), 5, -1, 9),  # its text was the same
        ((9, "server_error"), 5, -1, 5),
        ((9, "ok"), -1, -1, None),  # not in the index
        ((9, "ok"), 5, 7, None),  # removed
    ],
)
async def test_the_newest_fetch_of_a_searchable_page(
    tmp_path: Path, fetched: tuple[int, str], indexed: int, removed: int, newest: int | None
) -> None:
    def hour(number: int) -> int:
        return micros_from_utc(NOW) + number * 3_600_000_000 if number > 0 else -1

    url, stores = "https://a.example/", memory_stores()
    row: dict[str, Any] = {"url": url, "host": "a.example", "generation": hour(fetched[0]), "outcome": fetched[1]}
    await stores.pages.put(page_id(url), Fetched.of_row(row), 1)
    await stores.pages.put(page_id(url), Indexed.of_row({"url": url, "generation": hour(indexed)}), 1)
    await stores.pages.put(page_id(url), Removed.of_row({"url": url, "generation": hour(removed)}), 1)
    settings = Settings(home=tmp_path)
    reader = Reader(settings, stores, lambda: NOW, random.Random(1), lambda _: [], lambda _: Counter(), lambda _: ())
    found = (await reader.overview()).newest_page
    assert (found and micros_from_utc(found)) == (newest and hour(newest))
