"""The stage of suggestions: titles of new pages are offered at once, none is lost, and no list grows without end."""

import asyncio
import math
import random
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

import pytest

from schemas import Envelope, OriginChanged
from schemas.ids import event_id
from streams.crawl.audiences import SITES_SECONDS
from streams.errors import PoisonError, StoreUnavailable
from streams.queries.suggestions.agent import MAX_TOGETHER, SuggestAgent, build
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.prefix_lists import FULL, KEPT, best, offer, rows_of
from streams.runtime.agent import Delivery
from streams.settings import QueriesSettings, Settings
from streams.stores.memory import MemoryApiKeys, MemorySuggestions
from streams.stores.opener import memory_stores
from streams.stores.protocols import NewTitle, Site, StoredSuggestion
from tests.sizes import size
from tests.stages.gateway_fakes import NOW
from tests.stages.suggested_pages import QUARTER, ChosenPages, asked, indexed, stored

BLOCKED = BlockedWords(["forbidden"])


async def test_the_stage_offers_titles_at_once_and_the_same_event_twice_changes_nothing() -> None:
    stores = memory_stores()
    agent = SuggestAgent(
        stores.suggestions, stores.api_keys, lambda: NOW, BlockedWords(["forbidden"]), 0, pages=ChosenPages()
    )
    for _ in range(2):
        await agent.handle(indexed("https://a.example/", "Tide tables — Harbour office"))
    await agent.handle(indexed("https://b.example/", "A forbidden tide"))
    assert (await stored(stores, "tide t"), await stored(stores, "ti")) == (["tide tables"], ["tide tables"])
    assert await asked(stores, "tide t") == ["tide tables"], "a gateway without a build reads the lists"
    assert await asked(stores, "a forb") == []


async def test_the_titles_of_a_private_site_are_suggested_to_nobody() -> None:
    stores, now = memory_stores(), [NOW]
    await stores.api_keys.put_site(Site("plans", "Plans", ("plans.example",), is_private=True), 1)
    agent = SuggestAgent(stores.suggestions, stores.api_keys, lambda: now[0], BlockedWords(), 0, pages=ChosenPages())
    await agent.handle(indexed("https://a.plans.example/", "Tide walls of 2027"))
    await agent.handle(indexed("https://b.example/", "Tide tables"))
    assert await asked(stores, "tide") == ["tide tables"]
    await stores.api_keys.remove_site("plans", 2)
    now[0] += timedelta(seconds=SITES_SECONDS)
    await agent.handle(indexed("https://a.plans.example/", "Tide walls of 2027"))
    assert sorted(await stored(stores, "tide")) == ["tide tables", "tide walls of 2027"]


async def test_an_event_waits_until_it_is_known_which_sites_are_private() -> None:
    agent = SuggestAgent(MemorySuggestions(), Away(), lambda: NOW, BlockedWords(), 0, pages=ChosenPages())
    with pytest.raises(StoreUnavailable):
        await agent.handle(indexed("https://a.example/", "Tide tables"))


class Away(MemoryApiKeys):
    async def sites(self) -> list[Site]:
        raise StoreUnavailable("Cassandra is away")


class Crashing(MemorySuggestions):
    """A store that counts its requests and fails after some titles of its first writes."""

    def __init__(self, crashes: int) -> None:
        super().__init__()
        self.crashes = crashes
        self.requests = 0

    async def of_prefixes(self, language: str, prefixes: Collection[str]) -> dict[str, list[StoredSuggestion]]:
        self.requests += 1
        return await super().of_prefixes(language, prefixes)

    async def add_titles(self, titles: Sequence[NewTitle]) -> None:
        self.requests += 1
        if self.crashes:
            self.crashes -= 1
            await super().add_titles(titles[: self.crashes])
            raise StoreUnavailable("the process ended")
        await super().add_titles(titles)


async def test_a_crash_before_the_write_or_within_it_loses_no_title() -> None:
    """The events are not acknowledged then, so they come again: after none, and after one of two titles."""
    store = Crashing(crashes=2)
    events = [indexed(f"https://a.example/{number}", f"Tide tables {number}") for number in range(2)]
    for result in (StoreUnavailable, StoreUnavailable, tuple):
        agent = SuggestAgent(store, MemoryApiKeys(), lambda: NOW, BlockedWords(), 0, pages=ChosenPages())
        found = await asyncio.gather(*map(agent.handle, events), return_exceptions=True)
        assert [type(each) for each in found] == [result, result]
    assert [each.text for each in await store.titles("tide")] == ["tide tables 0", "tide tables 1"]


@pytest.mark.parametrize("seed", range(size(40)))
async def test_titles_that_come_together_are_offered_as_one_after_the_other(seed: int) -> None:
    """The best of each list are the same, and all lists of a language are read with one request."""
    chance = random.Random(seed)
    texts = [f"tide {chance.choice('abc')}{number}" for number in range(4 * KEPT)]
    titles = [StoredSuggestion(text, "en", float(chance.randrange(9))) for text in chance.choices(texts, k=120)]
    together, alone = Crashing(0), MemorySuggestions()
    for first in range(0, len(titles), 16):
        await offer(together, titles[first : first + 16], QUARTER, first)
        for title in titles[first : first + 16]:
            await offer(alone, [title], QUARTER, first)
    assert together.requests == 2 * math.ceil(len(titles) / 16)
    for row in {(row.language, row.prefix) for title in titles for row in rows_of(title)}:
        found, wanted = [best(await store.of_prefix(*row), QUARTER, KEPT) for store in (together, alone)]
        assert [each.weight for each in found] == [each.weight for each in wanted]
        assert len(await together.of_prefix(*row)) <= FULL


async def test_titles_that_come_within_seconds_are_stored_together_without_a_read() -> None:
    store = Crashing(0)
    agent = SuggestAgent(store, MemoryApiKeys(), lambda: NOW, BlockedWords(), gather_seconds=600, pages=ChosenPages())
    events = [indexed(f"https://a.example/{number}", f"Tide table {number:03d}") for number in range(MAX_TOGETHER)]
    await asyncio.gather(*map(agent.handle, events))
    assert store.requests == 1, "the last of so many does not wait for the end of the time"
    assert [each.text for each in await store.titles("tide table 00")] == [f"tide table {n:03d}" for n in range(10)]


async def test_a_worker_that_ends_stores_the_titles_that_wait() -> None:
    store = Crashing(0)
    agent = SuggestAgent(store, MemoryApiKeys(), lambda: NOW, BlockedWords(), gather_seconds=600, pages=ChosenPages())
    waiting = asyncio.create_task(agent.handle(indexed("https://a.example/", "Tide table")))
    await asyncio.sleep(0.01)
    agent.hurry(is_on=True)
    await asyncio.wait_for(waiting, 20)
    await asyncio.wait_for(agent.handle(indexed("https://b.example/", "Tide clock")), 20)
    assert [each.text for each in await store.titles("tide")] == ["tide clock", "tide table"]


async def test_the_stage_is_built_from_the_settings_and_another_event_is_poison(tmp_path: Any) -> None:
    (tmp_path / "words").write_text("Tide  # why\n")
    stores = memory_stores()
    agent = await build(Settings(queries=QueriesSettings(blocked_words=(tmp_path / "words",))), stores)
    await agent.handle(indexed("https://a.example/", "Tide tables"))
    assert await stored(stores, "tide") == []
    event = OriginChanged(host="a.example")
    envelope = Envelope(id=event_id("x", "x", "x"), type="x", source="/x", time=NOW)
    with pytest.raises(PoisonError):
        await agent.handle(Delivery(event, envelope, "x", 0, 0))


async def test_a_list_keeps_its_best_and_stays_short() -> None:
    store = MemorySuggestions()
    for number in range(4 * KEPT):
        await offer(store, [StoredSuggestion(f"tide {number:02d}", "", float(number % 37))], QUARTER, number)
    rows = await store.of_prefix("", "tide")
    assert len(rows) <= FULL
    heaviest = sorted((float(number % 37), f"tide {number:02d}") for number in range(4 * KEPT))[-10:]
    assert {each.text for each in best(rows, QUARTER)} <= {f"tide {n:02d}" for n in range(4 * KEPT) if n % 37 >= 30}
    assert [each.weight for each in best(rows, QUARTER)] == [weight for weight, _ in reversed(heaviest)]


def test_a_suggestion_stands_in_the_lists_of_its_language_and_of_all() -> None:
    rows = list(rows_of(StoredSuggestion("écologie", "fr", 1.0)))
    assert {(row.language, row.prefix) for row in rows} >= {("fr", "e"), ("", "eco"), ("fr", "ecologie")}
