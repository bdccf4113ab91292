"""Suggestions and corrections of a site that becomes private leave with it, with no build between, and come back."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from fastapi import FastAPI

from schemas.ids import page_id
from streams.crawl.audiences import SITES_SECONDS
from streams.gateway.app import create_app
from streams.gateway.suggest.service import HIDDEN_SECONDS, READ_SECONDS
from streams.knowledge.entity import Entity
from streams.queries.suggestions.agent import SuggestAgent
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.build_notes import has_grown, hide, note_statements, private_now
from streams.queries.suggestions.sums import pack
from streams.seen.suggestions import seen_suggestions, seen_words
from streams.settings import AccessSettings, GatewaySettings, Settings
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import DayCounts, PartKind, PrefixRow, Site, StoredPart, StoredSuggestion
from tests.stages.gateway_fakes import NOW, client
from tests.stages.suggested_pages import JOB, TODAY, ChosenPages, build_all, indexed, store_page, stored

PLANS = Site("plans", "Plans", ("plans.example",), is_private=True)
TITLE = "Bluebird takeover"
OF_STRANGERS = [f"{name}.example" for name in ("one", "two", "three")]


Also = Callable[[Stores], Awaitable[None]]


class Clock:
    """The time of a gateway."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def served(stores: Stores, clock: Callable[[], datetime]) -> FastAPI:
    settings = Settings(
        gateway=GatewaySettings(allowed_hosts=("riffle.test",), spelling=True),
        access=AccessSettings(private_sites=True),
    )
    return create_app(settings, stores, publish=None, clock=clock)


async def shown(app: FastAPI, typed: str) -> list[str]:
    async with client(app) as web:
        answer = (await web.get("/api/v1/suggest", params={"q": typed})).json()
    return [each["text"] for each in answer["suggestions"]]


async def put(stores: Stores, *hosts: str, is_chosen: bool = True, title: str = TITLE) -> None:
    for host in hosts:
        url = f"https://{host}/{title}"
        await store_page(stores, url, title, "A bluebird memo is secret.", is_chosen=is_chosen)


async def put_query(stores: Stores) -> None:
    await stores.query_counts.put("en", TITLE.lower(), TODAY, DayCounts(30, 0, {0: 30}), 1)


async def put_entity(stores: Stores) -> None:
    await stores.entities.put_part("Q1", "wikidata", StoredPart("ref", 1))
    await stores.entities.put("Q1", Entity(entity_id="Q1", label=TITLE).model_dump_json().encode(), 1)


# What has the text, the domain that becomes private -> whether the text is suggested then.
SOURCES = {
    "a chosen page of it": (["plans.example"], True, None, "plans.example", False),
    "a page of a name below it": (["x.plans.example"], True, None, "plans.example", False),
    "pages of two names below it": (["x.plans.example", "y.plans.example"], True, None, "plans.example", False),
    "a page beside the private name": (["www.corp.example", "plans.corp.example"], True, None, "plans.corp.example",
                                       True),
    "a chosen page of another site, too": (["plans.example", "docs.example"], True, None, "plans.example", True),
    "a name that only ends like it": (["myplans.example"], True, None, "plans.example", True),
    "strangers, one of which becomes private": ([*OF_STRANGERS], False, None, "one.example", False),
    "more strangers than are needed": ([*OF_STRANGERS, "four.example"], False, None, "one.example", True),
    "a whole top-level domain": (["wiki.corp", "hr.corp"], True, None, "corp", False),
    "a site with a port": (["plans.example:8443"], True, None, "plans.example", False),
    "people asked it, too": (["plans.example"], True, put_query, "plans.example", True),
    "it names an entity": (["plans.example"], True, put_entity, "plans.example", True),
}  # fmt: skip


@pytest.mark.parametrize(("hosts", "is_chosen", "also", "domain", "stays"), SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("is_new", [False, True], ids=["a warm gateway", "a new gateway"])
async def test_a_text_is_suggested_while_a_reader_sees_enough_of_its_sources(
    hosts: list[str],
    is_chosen: bool,
    also: Callable[[Stores], Awaitable[None]] | None,
    domain: str,
    stays: bool,
    is_new: bool,
) -> None:
    stores, clock = memory_stores(), Clock()
    await put(stores, *hosts, is_chosen=is_chosen)
    if also:
        await also(stores)
    await build_all(stores)
    app = served(stores, clock)
    service = app.state.gateway.suggest
    await service.look()
    text = TITLE.lower()
    for typed in ("blue", "bluebird t", "bleubird"):  # lists of several lengths, and a mistake
        assert text in await shown(app, typed)
    site = Site("plans", "Plans", (domain,), is_private=True)
    await stores.api_keys.put_site(site, 2)
    if is_new:
        app = served(stores, clock)
        await app.state.gateway.suggest.look()
    clock.now += timedelta(seconds=SITES_SECONDS)
    for _ in range(2):  # from the lists, and when the build is loaded again
        for typed in ("blue", "bluebird t"):
            assert (text in await shown(app, typed)) == stays
        await app.state.gateway.suggest.look()
    await stores.api_keys.remove_site("plans", 3)
    clock.now += timedelta(seconds=SITES_SECONDS)
    assert text in await shown(app, "blue")
    await app.state.gateway.suggest.look()
    assert text in await shown(app, "blue")
    await app.state.gateway.close()


async def test_a_change_of_sites_brings_back_no_list_from_before_the_last_build() -> None:
    stores, clock = memory_stores(), Clock()
    await put(stores, "docs.example")
    await build_all(stores)
    former = StoredSuggestion("bluefin tuna", "en", 9.0, hosts=("gone.example",))
    await stores.suggestions.put([PrefixRow("", "bluefi", former)], JOB.at - 1)
    app = served(stores, clock)
    await app.state.gateway.suggest.look()
    assert await shown(app, "bluefin") == []
    await stores.api_keys.put_site(PLANS, 2)
    clock.now += timedelta(seconds=SITES_SECONDS)
    assert await shown(app, "bluefin") == []
    await app.state.gateway.close()


@pytest.mark.parametrize("domain", ["plans.example", "x.plans.example"])
async def test_a_new_title_leaves_with_its_host(domain: str) -> None:
    stores, clock = memory_stores(), Clock()
    app = served(stores, clock)
    agent = SuggestAgent(stores.suggestions, stores.api_keys, lambda: NOW, BlockedWords(), 0, pages=ChosenPages())
    await agent.handle(indexed("https://x.plans.example/a", TITLE))
    assert await shown(app, "blue") == [TITLE.lower()]
    await stores.api_keys.put_site(Site("plans", "Plans", (domain,), is_private=True), 2)
    clock.now += timedelta(seconds=SITES_SECONDS)
    assert await shown(app, "blue") == []
    await app.state.gateway.close()


async def test_a_site_that_becomes_private_during_a_build_has_no_part_in_what_people_see() -> None:
    stores = memory_stores()
    await put(stores, "plans.example")
    await build_all(stores)
    await stores.api_keys.put_site(PLANS, 2)
    app = served(stores, lambda: NOW)
    assert await shown(app, "blue") == []
    await build_all(stores)
    await app.state.gateway.suggest.look()
    assert await shown(app, "blue") == []
    await app.state.gateway.close()


async def test_a_site_that_is_opened_has_its_part_in_the_build_that_becomes_due() -> None:
    """The records of its pages name the audience that they were made for, until they are replayed."""
    stores = memory_stores()
    await stores.api_keys.put_site(PLANS, 2)
    url = f"https://plans.example/{TITLE}"
    await put(stores, "plans.example")
    record = await stores.pages.get(page_id(url))
    await stores.pages.put(page_id(url), replace(record.normalized, audience="plans"), 2)
    found = []
    for _ in range(2):
        private = await private_now(stores)
        assert await has_grown(stores.suggestions, 1, private)
        await build_all(stores)
        await note_statements(stores.suggestions, 1, private)
        assert not await has_grown(stores.suggestions, 1, await private_now(stores))
        found.append(await stored(stores, "blu"))
        await stores.api_keys.remove_site("plans", 3)
    assert found == [[], [TITLE.lower()]]


async def test_no_query_is_corrected_to_a_word_of_sites_that_people_may_not_see() -> None:
    stores, clock = memory_stores(), Clock()
    for name in OF_STRANGERS:
        await store_page(stores, f"https://{name}/", "Pipelines", "We run kubeflow.")
    await build_all(stores)
    app = served(stores, clock)
    spelling = app.state.gateway.search.spelling
    spelling.load()
    await spelling.look()

    async def correction() -> str:
        found = await spelling._correct("kubefolw")
        return found.text if found else ""

    assert await correction() == "kubeflow"
    site = Site("plans", "Plans", ("two.example",), is_private=True)
    await stores.api_keys.put_site(site, 2)
    clock.now += timedelta(seconds=SITES_SECONDS)
    for _ in range(2):
        assert await correction() != "kubeflow"
        await spelling.look()
    await stores.api_keys.remove_site("plans", 3)
    clock.now += timedelta(seconds=SITES_SECONDS)
    await correction()
    await spelling.look()
    assert await correction() == "kubeflow"
    await app.state.gateway.close()


async def test_the_title_of_a_removed_page_is_gone_in_seconds_whatever_is_cached() -> None:
    stores, clock = memory_stores(), Clock()
    for number in range(12):  # the memory has enough, so no list is read
        await put(stores, f"{number}.example", title=f"Bluebird number {number:02d}")
    await build_all(stores)
    app = served(stores, clock)
    await app.state.gateway.suggest.look()
    assert "bluebird number 03" in await shown(app, "blue")
    await hide(stores.suggestions, "bluebird number 03", "en", JOB.at + 1)
    clock.now += timedelta(seconds=HIDDEN_SECONDS)
    assert "bluebird number 03" not in await shown(app, "blue")
    await app.state.gateway.close()


async def test_texts_of_many_removed_pages_are_read_longer_than_a_list_and_hold_up_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A site of ten thousand pages was removed: their texts are read beside the questions, and lists answer on."""
    stores, clock = memory_stores(), Clock()
    await put(stores, *OF_STRANGERS)
    await build_all(stores)
    await hide(stores.suggestions, TITLE.lower(), "en", JOB.at + 1)
    read_parts = stores.suggestions.parts

    async def slow_parts(build: str, kind: PartKind, shard: int) -> list[bytes]:
        if kind == "hidden":
            await asyncio.sleep(1.5 * READ_SECONDS)
        return await read_parts(build, kind, shard)

    monkeypatch.setattr(stores.suggestions, "parts", slow_parts)
    app = served(stores, clock)
    service = app.state.gateway.suggest
    await service.look()
    await service.suggest("blue")
    assert await service._lists.read("", "blu")  # the row that hides the text
    await asyncio.sleep(READ_SECONDS)
    assert service._lists.hidden(JOB.name) == {TITLE.lower()}
    await app.state.gateway.close()


def test_a_build_of_a_release_before_shows_nothing_where_a_site_is_private() -> None:
    former = StoredSuggestion("tide tables", "en", 3.0)
    assert [each.text for each in seen_suggestions([former], None)] == ["tide tables"]
    assert seen_suggestions([former], lambda host: True) == []
    assert [word.text for word in seen_words([pack({"kubeflow": 7})], None)] == ["kubeflow"]
    assert seen_words([pack({"kubeflow": 7})], lambda host: True) == []
