"""Nobody without a key of a private site learns anything of it: the index answers as if the site were not there.

Two indexes are made: one with the pages of the site, and one without. Each route is asked the same of both, by a person
without a key and with the key of another site. The answers are the same: texts, ids, counts, order, scores and errors.
So no list of what must be hidden is needed. A key of the site asks the same gateway before: its caches
are warm.
"""

import json
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute
from structlog.testing import capture_logs

from schemas import PageEmbedded
from schemas.envelope import micros_from_utc
from schemas.ids import page_id
from streams.doctor.searchable_pages import Outdated, find_outdated
from streams.gateway.access.clients import expires_at
from streams.gateway.app import create_app
from streams.gateway.labs.explainer import Explainer
from streams.logs import configure_logging
from streams.pages.sandbox.pool import ParsePool
from streams.settings import AccessSettings, GatewaySettings, Settings
from streams.stores.opener import memory_stores
from streams.stores.protocols import Site
from tests.sizes import FULL
from tests.stages.gateway_fakes import NOW, client, gateway
from tests.stages.reindexing import fill
from tests.stages.test_gateway_access import new_key
from tests.stages.test_gateway_tools import connected, served
from tests.stages.two_worlds import (
    CANARIES,
    COPY,
    DRAFT,
    INTERN,
    OTHER,
    PRIVATE,
    PUBLIC,
    SECRET,
    TENANT,
    UNLISTED,
    World,
    comparable,
    make_world,
)

_PARAMETER = re.compile(r"\{[^}]*\}")
ACCESS = AccessSettings(private_sites=True)
QUERIES = ("ships of the harbour", "project", "board of the town", "site:intern.example.net harbour", "trees in May")
PAGES = (PUBLIC, OTHER, TENANT, UNLISTED, *PRIVATE)
IDS = tuple(str(page_id(url)) for url in PAGES)
SUBJECTS = (*PAGES, *IDS)
TYPED = ("pro", "project b", "har", "news", "blue")

# The routes that read pages, and what each is asked: its parameters, and their values.
ASKED: dict[str, tuple[str, Iterable[str]]] = {
    "/searxng/search": ("q={}&format=json", QUERIES),
    "/api/v1/index": ("", ("",)),
    "/api/v1/search": ("q={}&explain=true&per_page=50", QUERIES),
    "/api/v1/feed": ("q={}", QUERIES),
    "/search": ("q={}", QUERIES),
    "/sites/docs": ("q={}", QUERIES),
    "/sites/intern": ("q={}", QUERIES),
    "/ask": ("q={}", QUERIES),
    "/rank": ("q={}&by=ships", QUERIES),
    "/api/v1/answer": ("q={}", QUERIES),
    "/api/v1/ask": ("q={}", QUERIES),
    "/api/v1/rank": ("q={}&by=ships", QUERIES),
    "/api/v1/related": ("q={}", QUERIES),
    "/api/v1/entities": ("q={}", QUERIES),
    "/suggest": ("q={}", TYPED),
    "/api/v1/suggest": ("q={}", TYPED),
    "/page": ("url={}", SUBJECTS),
    "/labs/page": ("url={}", SUBJECTS),
    "/labs/statements": ("url={}", SUBJECTS),
    "/api/v1/extract": ("url={}", SUBJECTS),
    "/api/v1/similar": ("page={}", SUBJECTS),
    "/similar": ("page={}", IDS),
    "/api/v1/pages/{}": ("", SUBJECTS),
    "/api/v1/pages/{}/document": ("", IDS),
    "/api/v1/pages/{}/statements": ("", IDS),
    "/api/v1/pages/{}/vectors": ("", IDS),
    "/summary": ("page={}&q=harbour", IDS),
    "/api/v1/summary": ("page={}&q=harbour", IDS),
}
# The routes that read no page of the index.
OF_NO_PAGE = {
    "/", "/help", "/privacy", "/healthz", "/readyz", "/metrics", "/robots.txt", "/favicon.ico", "/opensearch.xml",
    "/static/{}", "/mcp", "/act", "/entities/{}", "/api/v1/entities/{}", "/api/v1/openapi.json",
    "/api/v1/schemas", "/api/v1/schemas/{}", "/api/v1/asyncapi.json",
    "/preferences", "/preferences/site", "/preferences/export", "/preferences/import", "/preferences/shared",
    "/preferences/reset", "/v1/models", "/.well-known/oauth-protected-resource",
}  # fmt: skip
# Other paths of a route that is asked.
ALSO = {"/searxng", "/searxng/"}
# The routes of other programs that take a body: tests/stages/test_gateway_compatible.py asks them as a stranger.
OF_BODIES = {
    "/tavily/search", "/tavily/extract", "/openwebui/search", "/openwebui/load", "/v1/embeddings",
}  # fmt: skip
# The routes that answer nobody without a key: what a key hears and reads of pages, the tests of these routes say.
OF_KEYS = {
    "/api/v1/pages", "/api/v1/crawls", "/api/v1/crawls/{}", "/api/v1/crawls/{}/events", "/api/v1/changes",
    "/api/v1/hooks", "/api/v1/hooks/{}", "/api/v1/hooks/{}/secret", "/api/v1/hooks/{}/test",
    "/api/v1/hooks/{}/deliveries", "/api/v1/hooks/{}/on", "/api/v1/sites/{}/words",
}  # fmt: skip


def requests(step: int = 1) -> list[str]:
    """Return what is asked. With a step, each route is asked with each `step`-th of its values."""
    found = []
    for route, (parameters, values) in ASKED.items():
        for value in [quote(each, safe="") for each in values][::step]:
            query = f"?{parameters.format(value)}" if parameters else ""
            found.append(route.format(value) + query)
    return [*found, *(f"/ask?steps=1&q={quote(each)}" for each in list(QUERIES)[::step])]


Answers = dict[str, tuple[int, str]]


async def answers(world: World, *clients: dict[str, str], paths: Sequence[str]) -> list[Answers]:
    """Ask all requests for each client, by its headers. Returns the status and the text of each answer."""
    explainer = Explainer(seconds=120)  # as a busy machine needs
    app = gateway(world.stores, access=ACCESS, deadline_seconds=60, explainer=explainer)
    await app.state.gateway.suggest.look()
    found, owner = [], await owner_of(world)
    async with client(app) as web:
        for path in (*OF_THE_SITE, *(f"/api/v1/search?q={quote(query)}" for query in QUERIES)):
            await web.get(path, headers=owner)
        for headers in clients:
            asked = {path: await web.get(path, headers=headers) for path in paths}
            found.append({path: (each.status_code, comparable(each.text)) for path, each in asked.items()})
    await app.state.gateway.close()
    await explainer.close()
    return found


def differences(with_site: Answers, without: Answers) -> list[str]:
    return [
        f"{path}: {with_site[path][0]}, without the site {without[path][0]}; names "
        f"{[word for word in CANARIES if word in with_site[path][1] and word not in without[path][1]]}"
        for path in with_site
        if with_site[path] != without[path]
    ]


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with ParsePool(1) as started:
        yield started


@pytest.fixture(scope="module")
async def worlds(pool: ParsePool) -> tuple[World, World]:
    made = (await make_world(pool, has_private=True), await make_world(pool, has_private=False))
    for world in made:
        await world.visit(0)
    return made


OF_THE_SITE = (
    "/api/v1/search?q=board%20of%20the%20town",
    f"/api/v1/pages/{page_id(SECRET)}",
    f"/api/v1/pages/{page_id(SECRET)}/statements",
)


async def owner_of(world: World) -> dict[str, str]:
    """Return the headers of a key of the site."""
    scopes = ("search", "pages", "extract", "answer")
    return await new_key(world.stores, site="intern", scopes=scopes, per_minute=1_000_000)


async def strangers(world: World) -> dict[str, dict[str, str]]:
    """Return the headers of those who may not see the site: nobody, and a tenant beside it."""
    scopes = ("search", "pages", "extract", "answer")
    return {"nobody": {}, "tenant": await new_key(world.stores, site="tenant", scopes=scopes)}


async def differences_for_strangers(worlds: tuple[World, World], paths: Sequence[str]) -> list[str]:
    found = []
    for world in worlds:
        clients = await strangers(world)
        found.append(await answers(world, *clients.values(), paths=paths))
    return [f"{who} {each}" for who, *both in zip(clients, *found, strict=True) for each in differences(*both)]


async def test_strangers_see_the_index_as_if_the_site_were_not_there(worlds: tuple[World, World]) -> None:
    assert not await differences_for_strangers(worlds, requests())


PARAMETERS = (
    "host=intern.example.net", "include=intern.example.net", "include=example.net", "exclude=www.example.com",
    "sort=date", "language=en", "page=2", "exact=true",
)  # fmt: skip
OPERATORS = (
    "intitle:harbour", "inurl:merger", "site:example.net harbour", "link:intern.example.net", '"board of the town"',
    "harbour OR bluebird", "after:2000 harbour", "define takeover", "takeovre of the harbuor",
)  # fmt: skip
FORMS = (
    "https://INTERN.example.net/bluebird", "http://intern.example.net/bluebird", "intern.example.net/bluebird",
    "https://intern.example.net./bluebird", "https://intern.example.net/bluebird?utm_source=x", "//intern.example.net/",
    "https://www.intern.example.net/bluebird", "https://user@intern.example.net/bluebird",
    "https://intern.example.net:443/bluebird",
    "https://intern\u3002example\u3002net/bluebird", "https://x.intern.example.net/",
)  # fmt: skip
"""Ways to write an address of the site, or of one below it."""


async def test_no_parameter_operator_or_form_of_an_address_leads_to_the_site(worlds: tuple[World, World]) -> None:
    asked = [f"/api/v1/search?q=harbour&per_page=50&{each}" for each in PARAMETERS]
    asked += [f"/api/v1/feed?q=harbour&{each}" for each in ("sort=date", "include=intern.example.net")]
    for query in map(quote, OPERATORS):
        asked += [f"/api/v1/search?q={query}&per_page=50", f"/search?q={query}", f"/api/v1/answer?q={query}"]
    for url in (quote(each, safe="") for each in FORMS):
        asked += [f"/page?url={url}", f"/api/v1/pages/{url}", f"/api/v1/extract?url={url}", f"/labs/page?url={url}"]
        asked += [f"/api/v1/similar?page={url}", f"/api/v1/extract?url={url}&fetch=true"]
    assert not await differences_for_strangers(worlds, asked)


async def test_its_own_key_sees_all_of_it(worlds: tuple[World, World]) -> None:
    (found,) = await answers(worlds[0], await owner_of(worlds[0]), paths=OF_THE_SITE)
    for path in OF_THE_SITE[1:]:
        assert found[path][0] == 200
        assert "takeover" in found[path][1]
    assert "takeover" in found[OF_THE_SITE[0]][1]
    # The copies of the site have a representative of the site.
    record = await worlds[0].stores.pages.get(page_id(DRAFT))
    assert record.deduplicated.canonical_page_id in {page_id(url) for url in PRIVATE}
    assert record.normalized.audience == "intern"


async def test_a_key_of_the_site_ends_on_its_day(worlds: tuple[World, World]) -> None:
    """The gateway has used the key shortly before, and refuses it at the moment when it ends."""
    now, stores = NOW, worlds[0].stores
    ends = expires_at(micros_from_utc(NOW), 90)
    headers = await new_key(stores, site="intern", scopes=("search", "pages"), expires=ends)
    settings = Settings(access=ACCESS, gateway=GatewaySettings(allowed_hosts=("riffle.test",)))
    app = create_app(settings, stores, publish=None, clock=lambda: now)
    statuses = []
    async with client(app) as web:
        for passed in (timedelta(0), timedelta(days=90, seconds=-1), timedelta(days=90), timedelta(days=900)):
            now = NOW + passed
            found = [await web.get(path, headers=headers) for path in OF_THE_SITE]
            statuses.append({each.status_code for each in found})
            assert ("takeover" in found[0].text) == (passed < timedelta(days=90))
    await app.state.gateway.close()
    assert statuses == [{200}, {200}, {401}, {401}]


async def test_a_log_names_who_reads_the_site(worlds: tuple[World, World]) -> None:
    headers = await new_key(worlds[0].stores, site="intern", scopes=("search", "pages"))
    with capture_logs() as logs:
        async with client(gateway(worlds[0].stores, access=ACCESS)) as web:
            await web.get("/api/v1/search?q=harbour", headers=headers)
            await web.get("/api/v1/search?q=harbour")
    (line,) = [each for each in logs if each["event"] == "a private site is read"]
    assert (line["site"], line["path"]) == ("intern", "/api/v1/search")
    assert line["key"] in headers["Authorization"]


@pytest.mark.usefixtures("logging_as_before")
@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING", "ERROR"])
@pytest.mark.parametrize("path", OF_THE_SITE)
async def test_the_log_of_reads_is_one_of_its_own_at_any_level(
    worlds: tuple[World, World], path: str, level: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = await new_key(worlds[0].stores, site="intern", scopes=("search", "pages"))
    configure_logging(Settings(log_json=True, log_level=level))
    async with client(gateway(worlds[0].stores, access=ACCESS)) as web:
        await web.get(path, headers=headers)
        await web.get(path)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    (line,) = [each for each in lines if each.get("log") == "riffle.private_reads"]
    assert line["site"] == "intern"
    assert line["path"] == path.partition("?")[0]
    assert line["key"] in headers["Authorization"]


async def test_pages_of_results_are_those_of_the_client(worlds: tuple[World, World]) -> None:
    """One result a page: strangers page through the same results, and the cursor of another client is refused."""
    path = "/api/v1/search?q=harbour&per_page=1"
    pages: dict[str, list[list[str]]] = {}
    for world in worlds:
        async with client(gateway(world.stores, access=ACCESS)) as web:
            owner = (await web.get(path, headers=await owner_of(world))).json()
            for who, headers in (await strangers(world)).items():
                shown, cursor = list[str](), ""
                while True:
                    answer = (
                        await web.get(f"{path}&cursor={quote(cursor)}" if cursor else path, headers=headers)
                    ).json()
                    shown += [result["url"] for result in answer["results"]]
                    if not (cursor := answer.get("next", "")):
                        break
                pages.setdefault(who, []).append(shown)
                if theirs := owner.get("next"):
                    refused = await web.get(f"{path}&cursor={quote(theirs)}", headers=headers)
                    assert refused.status_code == 400
    assert pages["nobody"][0] == pages["nobody"][1] != []
    assert pages["tenant"][0] == pages["tenant"][1] != []


async def test_tools_answer_as_if_the_site_were_not_there(worlds: tuple[World, World]) -> None:
    texts = []
    for world in worlds:
        async with AsyncExitStack() as stack:
            address = await stack.enter_async_context(served(world.stores, access=ACCESS))
            asked: list[tuple[str, dict[str, Any]]] = [
                *(("search", {"query": query}) for query in QUERIES),
                *(("answer", {"question": query}) for query in QUERIES),
                *((tool, {"page": page}) for tool in ("page", "similar") for page in SUBJECTS),
                *(("extract", {"url": url}) for url in PAGES),
            ]
            found = []
            for headers in (await strangers(world)).values():
                tools = await stack.enter_async_context(connected(address, **headers))
                found += [comparable(str(await tools.call_tool(tool, given))) for tool, given in asked]
            texts.append(found)
    assert texts[0] == texts[1]


def test_each_route_is_asked_or_reads_no_page() -> None:
    known = {route.format("{}") for route in ASKED} | OF_NO_PAGE | OF_KEYS | OF_BODIES | ALSO
    known |= {"/sites/{}"}
    app = gateway(memory_stores(), access=ACCESS)
    paths = {_PARAMETER.sub("{}", route.path) for route in app.routes if isinstance(route, APIRoute)}
    assert not paths - known, "Add the route to ASKED, or to those that read no page"


PRIVATE_NOW = ("it becomes private", "it becomes private just now")


@pytest.mark.parametrize("event", ["a reindex", "a removal", "everybody may see it", *PRIVATE_NOW])
async def test_strangers_after(pool: ParsePool, event: str) -> None:
    worlds = (await make_world(pool, has_private=True), await make_world(pool, has_private=False))
    opened = Site(INTERN.name, INTERN.title, INTERN.hosts)
    for world in worlds:
        if event in PRIVATE_NOW:
            await world.stores.api_keys.put_site(opened, 2)
        await world.visit(0)
        match event:
            case "a reindex":
                await world.visit(1)
            case "a removal":
                await world.remove_private(1)
            case "everybody may see it":
                await world.put_site(opened, 2)
                world.journey.restart()
                await world.visit(1)
            case "it becomes private":
                await world.put_site(INTERN, 3)
                world.journey.restart()
                await world.visit(1)
            case "it becomes private just now":
                await world.put_site(INTERN, 3)
    # Labs take the stored documents apart, which no event here changes.
    asked = [path for path in requests(1 if FULL else 3) if not path.startswith("/labs/")]
    if event == "it becomes private just now":
        asked += [f"/api/v1/pages/{page_id(PUBLIC)}"]
    found = await differences_for_strangers(worlds, asked)
    if event in PRIVATE_NOW:  # what was once together has other times and another history
        found = [each for each in found if not each.endswith("names []")]
    assert (found != []) == (event == "everybody may see it"), found
    (of_owner,) = await answers(worlds[0], await owner_of(worlds[0]), paths=OF_THE_SITE)
    shown = ["takeover" in text for _, text in of_owner.values()]
    assert shown == ([False] * len(shown) if event == "a removal" else [True] * len(shown)), of_owner
    if event == "everybody may see it":
        record = await worlds[0].stores.pages.get(page_id(PUBLIC))
        assert record.deduplicated.canonical_page_id in {page_id(PUBLIC), page_id(COPY)}


@pytest.mark.parametrize("way", ["a reindex", "a replay from embed"])
@pytest.mark.parametrize("opens", [True, False], ids=["everybody may see it", "it becomes private"])
async def test_points_made_after_a_change_have_the_audience_of_now(pool: ParsePool, opens: bool, way: str) -> None:
    """They are made of records that name the former audience. The words are still those of it, so a replay is asked."""
    world = await make_world(pool, has_private=True)
    opened, index = Site(INTERN.name, INTERN.title, INTERN.hosts), world.stores.vectors
    before, after = (INTERN, opened) if opens else (opened, INTERN)
    await world.stores.api_keys.put_site(before, 2)
    world.journey.restart()
    embedded = [event for event in await world.visit(0) if isinstance(event, PageEmbedded)]
    (collection,) = await index.collections()
    assert await find_outdated(index, collection) is None
    await world.put_site(after, 3)
    world.journey.restart()
    for url in PRIVATE:
        await index.remove_page(collection, page_id(url))  # as if the index were lost
    if way == "a reindex":
        await fill(world.stores, world.stores.embedder)
    else:
        for event in embedded:
            await world.journey.handle(event, 86_400)
    points = [hit.payload for url in PRIVATE for hit in await index.scroll(collection, page_id(url))]
    assert {point.audience for point in points} == {"" if opens else "intern"}
    outdated = await find_outdated(index, collection)
    assert outdated == Outdated("normalize", len({point.page_id for point in points}))
    world.journey.restart()
    await world.visit(2)
    assert await find_outdated(index, collection) is None


@pytest.mark.parametrize("asked", ["board of the town", "trees in May"])
async def test_no_cache_says_what_a_key_of_the_site_asked(worlds: tuple[World, World], asked: str) -> None:
    """The vector of a query is in a cache, and `explain` says so: not to those who may not see the site."""
    app = gateway(worlds[0].stores, access=ACCESS)
    path = f"/api/v1/search?explain=true&q={quote(asked)}"

    async def state(headers: dict[str, str]) -> str:
        found: str = (await web.get(path, headers=headers)).json()["explain"]["parts"]["dense"]
        return found

    async with client(app) as web:
        owner = await owner_of(worlds[0])
        assert [await state(owner), await state(owner)] == ["ok", "cached"]
        for headers in (await strangers(worlds[0])).values():
            assert [await state(headers), await state(headers)] == ["ok", "cached"]


async def test_the_page_of_a_site_for_people_shows_what_people_may_see(worlds: tuple[World, World]) -> None:
    """A site for everybody within a private one: its page is asked without a key."""
    narrow = Site("narrow", "Narrow", ("intern.example.net",))
    await worlds[0].stores.api_keys.put_site(narrow, 1)
    async with client(gateway(worlds[0].stores, access=ACCESS)) as web:
        answer = await web.get("/sites/narrow?q=takeover")
    await worlds[0].stores.api_keys.remove_site("narrow", 2)
    assert answer.status_code == 200
    assert "bluebird" not in answer.text
