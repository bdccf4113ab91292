"""The depth of a search: behind a page that fills the lists, and through many pages of results."""

import asyncio
import random
from dataclasses import replace
from itertools import chain
from typing import Any

from streams.search.paging import FIRST_STATEMENTS
from streams.search.request import MAX_DEPTH
from streams.stores.opener import Stores
from streams.stores.protocols import Candidates
from tests.sizes import FULL
from tests.stages.gateway_fakes import client, gateway, searchable, statement


def filler(seed: int) -> str:
    """Words that no other seed has, so that pages are no near-duplicates."""
    chance = random.Random(seed)
    return " ".join("".join(chance.choices("bdfgklmnprst", k=6)) for _ in range(6))


TOPICS = ("windows", "linux", "macos", "android", "solaris", "haiku")


async def urls(stores: Stores, query: str, **more: int) -> tuple[list[str], bool]:
    async with client(gateway(stores, deadline_seconds=30)) as web:
        answer = (await web.get("/api/v1/search", params={"q": query, **more})).json()
    return [each["url"] for each in answer["results"]], answer["has_next"]


async def test_a_page_with_more_statements_than_a_list_has_places_hides_no_other_page() -> None:
    others = [
        statement(f"https://site{n}.example/", f"This is how one installs sqlite on {topic}.", title=f"Guide {n}")
        for n, topic in enumerate(TOPICS)
    ]
    filling = [
        statement("https://spam.example/", f"install sqlite windows offer {n}", title="Offers") for n in range(450)
    ]
    alone, _ = await urls(await searchable(others), "install sqlite windows")
    both, _ = await urls(await searchable([*filling, *others]), "install sqlite windows")
    assert len(alone) == len(TOPICS)
    assert sorted(set(both) - {"https://spam.example/"}) == sorted(alone)


async def test_no_result_is_lost_or_shown_twice_between_the_pages_of_results() -> None:
    words = ("checkpoint", "node", "queue", "table", "key", "cloud", "code", "log")
    statements = [
        statement(
            f"https://site{n}.example/",
            f"The {words[n % 8]} of {words[n % 7]} {words[(n * part) % 5]}: {filler(3 * n + part)}.",
            title=f"Page {n} {words[n % 3]}",
        )
        for n in range(260)
        for part in range(3)
    ]
    stores = await searchable(statements)
    for query in ("cloud page code", "queue result table", "node checkpoint key")[: 3 if FULL else 1]:
        pages = [await urls(stores, query, page=page) for page in range(1, 13)]
        shown = list(chain.from_iterable(results for results, _ in pages))
        assert len(shown) == len(set(shown)) == 120, query
        assert all(has_next for _, has_next in pages), query


async def test_results_go_on_behind_lists_that_are_full_of_few_pages() -> None:
    """Twelve manuals fill the lists of the first page of results, and a hundred other pages match as well."""
    statements = [
        statement(
            f"https://manual{n}.example/", f"The log is kept, says part {part}: {filler(n)}.", title=f"Manual {n}"
        )
        for n in range(12)
        for part in range(20)
    ]
    statements += [
        statement(f"https://site{n}.example/", f"Something about the log and {filler(100 + n)}.", title=f"Site {n}")
        for n in range(100)
    ]
    stores = await searchable(statements)
    pages = [await urls(stores, "log kept", page=page) for page in range(1, 12)]
    shown = list(chain.from_iterable(results for results, _ in pages))
    assert len(shown) == len(set(shown)) == 110
    assert all(has_next for _, has_next in pages)


async def test_a_condition_that_no_page_of_the_first_lists_meets_is_looked_for_in_longer_ones() -> None:
    logs = [statement(f"https://log{n}.example/", f"A log of {filler(n)}.", title="A log") for n in range(1_200)]
    others = [
        statement(f"https://site{n}.example/", f"Something, {filler(3_000 + n)}.", title="Wanted") for n in range(9)
    ]
    found, has_next = await urls(await searchable([*logs, *others]), "log intitle:wanted")
    assert (len(found), has_next) == (9, False)


async def test_an_index_that_is_too_slow_for_longer_lists_gives_the_results_of_the_short_ones() -> None:
    class Slower:
        """An index that only takes time for long lists."""

        def __getattr__(self, name: str) -> Any:
            return getattr(index, name)

        async def candidates(self, *, limit: int, **query: Any) -> Candidates:
            if limit > FIRST_STATEMENTS:
                await asyncio.Event().wait()
            return await index.candidates(limit=limit, **query)

    stores = await searchable([statement(f"https://s{n}.example/", f"A log of kind {n}.") for n in range(250)])
    index = stores.vectors
    slower: Any = Slower()
    slow = replace(stores, vectors=slower)
    async with client(gateway(slow, deadline_seconds=2)) as web:
        within = await web.get("/api/v1/search", params={"q": "log", "per_page": 7, "page": 15})
        beyond = await web.get("/api/v1/search", params={"q": "log", "per_page": 10, "page": 12})
    assert (len(within.json()["results"]), within.json()["partial"]) == (3, True)
    assert "Further results are left out" in within.json()["reasons"][0]["detail"]
    assert beyond.status_code == 503


async def test_the_last_page_of_results_has_no_next_one() -> None:
    texts = [(f"https://site{n}.example/", f"A log of kind {n}, number {n * n}.") for n in range(MAX_DEPTH + 20)]
    stores = await searchable([statement(url, text, title=text) for url, text in texts])
    results, has_next = await urls(stores, "log", page=MAX_DEPTH // 50, per_page=50)
    assert len(results) == 50
    assert not has_next
