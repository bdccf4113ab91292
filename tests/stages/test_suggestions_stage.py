"""The stage of suggestions: titles of new pages are offered at once, and no list is lost or grows without end."""

import asyncio
import math
import random
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

import pytest

from schemas import Envelope, OriginChanged
from schemas.ids import event_id
from streams.errors import PoisonError, StoreUnavailable
from streams.queries.suggestions.agent import MAX_OFFERS, SITES_SECONDS, SuggestAgent, build
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.prefix_lists import FULL, KEPT, best, offer, rows_of
from streams.runtime.agent import Delivery
from streams.settings import QueriesSettings, Settings
from streams.stores.memory import MemoryApiKeys, MemorySuggestions
from streams.stores.opener import memory_stores
from streams.stores.protocols import PrefixRow, Site, StoredSuggestion
from tests.stages.gateway_fakes import NOW
from tests.stages.suggested_pages import QUARTER, asked, indexed, stored


async def test_the_stage_offers_titles_at_once_and_the_same_event_twice_changes_nothing() -> None:
    stores = memory_stores()
    agent = SuggestAgent(stores.suggestions, stores.api_keys, lambda: NOW, BlockedWords(["forbidden"]), 0)
    for _ in range(2):
        await agent.handle(indexed("https://a.example/", "Tide tables — Harbour office"))
    await agent.handle(indexed("https://b.example/", "A forbidden tide"))
    assert (await stored(stores, "tide t"), await stored(stores, "ti", "en")) == (["tide tables"], ["tide tables"])
    assert await asked(stores, "tide t") == ["tide tables"], "a gateway without a build reads the lists"
    assert await asked(stores, "a forb") == []


async def test_the_titles_of_a_private_site_are_suggested_to_nobody() -> None:
    stores, now = memory_stores(), [NOW]
    await stores.api_keys.put_site(Site("plans", "Plans", ("plans.example",), is_private=True), 1)
    agent = SuggestAgent(stores.suggestions, stores.api_keys, lambda: now[0], BlockedWords(), 0)
    await agent.handle(indexed("https://a.plans.example/", "Tide walls of 2027"))
    await agent.handle(indexed("https://b.example/", "Tide tables"))
    assert await asked(stores, "tide") == ["tide tables"]
    await stores.api_keys.remove_site("plans", 2)
    now[0] += timedelta(seconds=SITES_SECONDS)
    await agent.handle(indexed("https://a.plans.example/", "Tide walls of 2027"))
    assert sorted(await stored(stores, "tide")) == ["tide tables", "tide walls of 2027"]


async def test_an_event_waits_until_it_is_known_which_sites_are_private() -> None:
    agent = SuggestAgent(MemorySuggestions(), Away(), lambda: NOW, BlockedWords(), 0)
    with pytest.raises(StoreUnavailable):
        await agent.handle(indexed("https://a.example/", "Tide tables"))


class Away(MemoryApiKeys):
    async def sites(self) -> list[Site]:
        raise StoreUnavailable("Cassandra is away")


class Crashing(MemorySuggestions):
    """A store that counts its reads and fails after the first rows of its first writes."""

    def __init__(self, crashes: int) -> None:
        super().__init__()
        self.crashes = crashes
        self.reads = 0

    async def of_prefixes(self, language: str, prefixes: Collection[str]) -> dict[str, list[StoredSuggestion]]:
        self.reads += 1
        return await super().of_prefixes(language, prefixes)

    async def put(self, rows: Iterable[PrefixRow], at: int) -> None:
        written = list(rows)
        if self.crashes:
            self.crashes -= 1
            await super().put(written[: 5 * self.crashes], at)
            raise StoreUnavailable("the process ended")
        await super().put(written, at)


async def test_a_crash_between_the_reads_and_the_writes_loses_no_list() -> None:
    """The event is not acknowledged then, so it comes again: after none, and after some of the rows."""
    whole, crashing = MemorySuggestions(), Crashing(crashes=3)
    event = indexed("https://a.example/", "Tide tables — Harbour office")
    await SuggestAgent(whole, MemoryApiKeys(), lambda: NOW, BlockedWords(), 0).handle(event)
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await SuggestAgent(crashing, MemoryApiKeys(), lambda: NOW, BlockedWords(), 0).handle(event)
    await SuggestAgent(crashing, MemoryApiKeys(), lambda: NOW, BlockedWords(), 0).handle(event)
    for prefix in ("t", "ti", "tide", "tide tab", "tide table"):
        for language in ("", "en"):
            found = await crashing.of_prefix(language, prefix)
            assert found == await whole.of_prefix(language, prefix)
            assert [each.text for each in found] == ["tide tables"]
    assert crashing.reads == 4 * 2, "one request reads all lists of a language"


@pytest.mark.parametrize("seed", range(20))
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
    assert together.reads == 2 * math.ceil(len(titles) / 16)
    for row in {(row.language, row.prefix) for title in titles for row in rows_of(title)}:
        found, wanted = [best(await store.of_prefix(*row), QUARTER, KEPT) for store in (together, alone)]
        assert [each.weight for each in found] == [each.weight for each in wanted]
        assert len(await together.of_prefix(*row)) <= FULL


async def test_titles_that_come_within_a_second_are_offered_together() -> None:
    store = Crashing(0)
    agent = SuggestAgent(store, MemoryApiKeys(), lambda: NOW, BlockedWords(), gather_seconds=600)
    await asyncio.gather(
        *(agent.handle(indexed(f"https://a.example/{number}", f"Tide table {number}")) for number in range(MAX_OFFERS))
    )
    assert store.reads == 2, "the last of so many does not wait for the end of the time"
    assert len(await store.of_prefix("en", "tide")) == MAX_OFFERS


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
