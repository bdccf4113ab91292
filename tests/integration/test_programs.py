"""The ways in which programs ask, on the real stack: gateway and `riffle mcp` as processes, over pages of real stages.

Keys of a site see only its pages, so the other pages of this run are in no answer.
"""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4
from xml.etree.ElementTree import fromstring

import httpx2
import numpy as np
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from streams.client import ApiError, AsyncRiffle, NotReached, Riffle
from streams.gateway.access.bucket import spending_of_day
from streams.local.ports import free_ports
from streams.maintenance.mapping import IndexMap
from streams.queries.counts import list_unanswered
from streams.queries.suggestions.build import read_words
from streams.queries.suggestions.build_notes import current_build
from streams.queries.suggestions.normal_form import key_of, normalize_prefix
from streams.queries.suggestions.prefix_lists import stored_prefix
from streams.seen.stores import SeenStores
from streams.settings import Settings
from streams.statements.statement import decode_statements
from streams.stores.index_maps import newest_map, read_map
from streams.stores.opener import Stores, open_stores
from streams.stores.protocols import FOR_EVERYBODY
from tests.conftest import fresh_name
from tests.integration.handbook import TEXTS, Handbook
from tests.integration.test_operations import RIFFLE, run_command
from tests.integration.test_operations import environment as addresses
from tests.short_lives import NO_SPELLING
from tests.stages.gateway_fakes import TYPED
from tests.stages.test_programs_guide import GUIDES, PYTHON, SHELL, TOOLS
from tests.stages.test_use_riffle_from import EXAMPLES, run_example

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

LOOK_SECONDS = 0.2
WAIT_SECONDS = 300.0
QUESTION = "why do otters hold hands?"
ALL = "handbook"
"""A query that all pages answer."""


@dataclass(frozen=True, slots=True)
class Service:
    """A running gateway over the handbook."""

    address: str
    environment: dict[str, str]
    book: Handbook
    site: str
    stores: Stores
    key: str = ""

    @property
    def home(self) -> Path:
        return Path(self.environment["RIFFLE_HOME"])

    async def riffle(self, *arguments: str, status: int = 0) -> Any:
        """Run a command with --json. Return its output."""
        done = await run_command(self.environment, *arguments, "--json")
        assert done.exit_code == status, done.output
        return json.loads(done.stdout)

    async def process(self, *arguments: str) -> Any:
        """Run a command with --json in a process of its own. Return its output."""
        command = [*RIFFLE, *arguments, "--json"]
        # The map's library compiles itself at each start. That it is not optimized here saves a third of the time.
        env = {**self.environment, "NUMBA_OPT": "0"}
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    async def new_key(self, *options: str) -> dict[str, Any]:
        made: dict[str, Any] = await self.riffle("keys", "add", "test", "--site", self.site, *options)
        return made


@pytest.fixture(scope="module")
async def service(stack: Settings) -> AsyncIterator[Service]:
    (port,) = free_ports(1)
    home = stack.home / fresh_name("programs")
    home.mkdir()
    environment = {
        **addresses(stack),
        **NO_SPELLING,
        "RIFFLE_HOME": str(home),
        "RIFFLE_TRITON__URL": stack.triton.url,
        "RIFFLE_GATEWAY__PORT": str(port),
        "RIFFLE_GATEWAY__DEADLINE_SECONDS": "60",
        "RIFFLE_GATEWAY__KEYS": json.dumps([uuid4().hex * 2]),
        "RIFFLE_QUERIES__COLLECT": "true",
        "RIFFLE_QUERIES__MIN_PEOPLE": "2",
        "RIFFLE_RUNTIME__HEALTH_PORT": "0",
    }  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    site = fresh_name("book").replace("_", "-")
    async with running(home, environment, "gateway"), open_stores(stack, ["records", "vectors", "models"]) as stores:
        made = Service(address, environment, Handbook(), site, stores)
        await made.book.index(stores)
        await made.riffle("sites", "add", site, "--host", made.book.host)
        key = (await made.new_key())["key"]

        async def answers() -> bool:
            async with AsyncRiffle(address, key) as riffle:
                with suppress(ApiError, NotReached):
                    found = await riffle.search(QUESTION)
                    return bool(found["results"]) and not found["partial"]
            return False

        await until(answers)
        yield Service(address, environment, made.book, site, stores, key)


@asynccontextmanager
async def running(home: Path, environment: dict[str, str], *arguments: str) -> AsyncIterator[None]:
    """A command that runs until it is stopped. Its log is in the home."""
    with (home / f"{arguments[0]}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*RIFFLE, *arguments, env=environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not await is_so():
            await asyncio.sleep(LOOK_SECONDS)


def today() -> int:
    """Return the days since 1970."""
    return int(datetime.now(UTC).timestamp() // 86_400)


def first_text(results: Sequence[Any]) -> str:
    text: str = results[0]["statements"][0]["text"]
    return text


class FailsFirst(httpx2.HTTPTransport):
    """A connection that breaks at the first request."""

    requests = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += 1
        if self.requests == 1:
            raise httpx2.ConnectError("broken")
        return super().handle_request(request)


class FailsFirstAsync(httpx2.AsyncHTTPTransport):
    """The same, for asyncio."""

    requests = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += 1
        if self.requests == 1:
            raise httpx2.ConnectError("broken")
        return await super().handle_async_request(request)


async def test_the_plain_client_searches_pages_through_and_tries_again(service: Service) -> None:
    def ask() -> tuple[Any, Any, list[str], int]:
        breaks = FailsFirst()
        with (
            httpx2.Client(transport=breaks, timeout=60) as http,
            Riffle(service.address, service.key, http=http) as riffle,
        ):
            answer = riffle.search(QUESTION, per_page=3)
            beyond = riffle.search(ALL, per_page=9, cursor=riffle.search(ALL, per_page=9)["next"])
            return answer, beyond, [each["url"] for each in riffle.results(ALL, per_page=9)], breaks.requests

    answer, beyond, urls, requests = await asyncio.to_thread(ask)
    assert (answer["results"][0]["url"], first_text(answer["results"])) == (service.book.url("otters"), TEXTS["otters"])
    assert [each["url"] for each in beyond["results"]] == urls[9:18]
    assert (len(urls), set(urls)) == (len(TEXTS), service.book.urls), "each page once"
    assert requests >= 1 + 3 + 5, "the first one broke"


async def test_the_client_for_asyncio_answers_the_same(service: Service) -> None:
    breaks = FailsFirstAsync()
    async with (
        httpx2.AsyncClient(transport=breaks, timeout=60) as http,
        AsyncRiffle(service.address, service.key, http=http) as riffle,
    ):
        answer = await riffle.search(QUESTION, per_page=3)
        urls = [each["url"] async for each in riffle.results(ALL, per_page=9)]
        record = await riffle.page(service.book.url("bees"))
        with pytest.raises(ApiError) as unknown:
            await riffle.page(f"https://{service.book.host}/nothing")
    assert (answer["results"][0]["url"], first_text(answer["results"])) == (service.book.url("otters"), TEXTS["otters"])
    assert (len(urls), set(urls)) == (len(TEXTS), service.book.urls)
    assert breaks.requests >= 1 + 1 + 5 + 2
    assert (record["status"], record["page_id"]) == ("indexed", str(service.book.page("bees")))
    assert unknown.value.kind == "unknown-page"


async def test_a_query_is_a_feed(service: Service) -> None:
    async with AsyncRiffle(service.address, service.key) as riffle:
        feed = fromstring(await riffle.feed(QUESTION))
    names = {"a": "http://www.w3.org/2005/Atom"}
    entries = {entry.findall("a:link", names)[0].get("href"): entry for entry in feed.findall("a:entry", names)}
    found = entries[service.book.url("otters")]
    assert found.findtext("a:title", namespaces=names) == "Handbook of otters"
    assert TEXTS["otters"] in str(found.findtext("a:summary", namespaces=names))
    dates = [str(entry.findtext("a:updated", namespaces=names)) for entry in entries.values()]
    assert dates == sorted(dates, reverse=True)
    assert found.findtext("a:updated", namespaces=names) == "2025-06-30T00:00:00+00:00"


async def use_every_tool(client: Client, book: Handbook) -> None:
    """Call each tool once, and compare what it says with the handbook."""

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, again as long as it says that a store was too slow."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result.content
                found = result.structured_content or {}
                if not found.get("partial"):
                    return found
                await asyncio.sleep(LOOK_SECONDS)

    found = await call("search", query=QUESTION, count=1)
    assert found["results"][0]["statements"][0]["text"] == TEXTS["otters"]
    assert TEXTS["otters"] in (await call("fetch", id=found["results"][0]["id"]))["text"]
    following = await call("search", query=QUESTION, count=1, cursor=found["next"])
    assert following["results"][0]["url"] in book.urls - {book.url("otters")}
    page = await call("page", page=book.url("bread"))
    assert (page["page_id"], page["status"], TEXTS["bread"] in page["text"]) == (
        str(book.page("bread")),
        "indexed",
        True,
    )
    similar = await call("similar", page=book.url("lighthouses"), count=20)
    assert {each["url"] for each in similar["results"]} < book.urls - {book.url("lighthouses")}
    answer = await call("answer", question="What is a gnomon?")
    assert (TEXTS["gnomons"] in answer["answer"], answer["sources"][0]["url"]) == (True, book.url("gnomons"))
    extract = await call("extract", url=book.url("bees"))
    assert (extract["source"], extract["title"], TEXTS["bees"] in extract["text"]) == (
        "index",
        "Handbook of bees",
        True,
    )


def configured(number: int, service: Service, key: str) -> dict[str, Any]:
    """Return a configuration of the guide for assistants, with this gateway and this key."""
    text = re.findall(r"```json\n(.*?)```", (GUIDES / "assistants.md").read_text(), re.DOTALL)[number]
    text = text.replace("https://search.example.org", service.address).replace("rfl_...", key)
    found: dict[str, Any] = json.loads(text)["mcpServers"]["riffle"]
    return found


async def test_the_tools_over_http_with_a_key(service: Service) -> None:
    async def connect(key: str, use: Callable[[Client], Awaitable[None]]) -> None:
        server = configured(1, service, key)
        async with (
            httpx2.AsyncClient(headers=server["headers"], trust_env=False, timeout=60) as http,
            Client(streamable_http_client(server["url"], http_client=http)) as client,
        ):
            await use(client)

    async def is_refused(client: Client) -> None:
        result = await client.call_tool("search", {"query": QUESTION})
        assert (result.is_error, "key is refused" in str(result.content)) == (True, True)

    await connect(service.key, lambda client: use_every_tool(client, service.book))
    await connect("rfl_wrong", is_refused)


async def test_the_tools_over_stdio_with_a_key(service: Service) -> None:
    server = configured(0, service, service.key)
    started = StdioServerParameters(
        command=sys.executable,
        args=[*RIFFLE[1:], *server["args"]],
        env={**service.environment, **server["env"]},
    )
    async with Client(stdio_client(started)) as client:
        await use_every_tool(client, service.book)


@pytest.mark.skipif(bool(TOOLS), reason=f"the examples need {', '.join(TOOLS)}")
async def test_the_examples_of_the_guide_as_they_stand(service: Service, client_packages: Path) -> None:
    """All commands of the shell in one, and all programs in Python in one."""
    environment = {
        **service.environment,
        "GATEWAY": service.address,
        "KEY": service.key,
        "PAGE": service.book.url("logs"),
        "no_proxy": "127.0.0.1",
        "PYTHONPATH": str(client_packages),
    }
    for command in (["bash", "-euo", "pipefail", "-c", "\n".join(SHELL)], [sys.executable, "-c", "\n".join(PYTHON)]):
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "urn:riffle:problem" not in done.stdout
        assert service.book.url("logs") in done.stdout
        assert TEXTS["logs"] in done.stdout


@pytest.mark.parametrize(("language", "code"), EXAMPLES)
async def test_programs_made_for_other_services_search_here(
    service: Service, language: str, code: str, tmp_path: Path
) -> None:
    printed = await run_example(language, code, tmp_path, service.address, service.key)
    if "tavily" in code or "searxng" in code:
        assert service.book.host in printed
    assert printed.strip()


async def test_the_box_of_a_site_searches_its_pages(service: Service) -> None:
    made = await service.riffle("sites", "add", service.site, "--host", service.book.host)
    action, name = re.findall(r'action="([^"]+)"|name="([^"]+)"', made["box"])
    async with httpx2.AsyncClient(timeout=60, trust_env=False, headers={"Accept": "text/html"}) as web:
        found = await web.get(action[0], params={name[1]: QUESTION})
    assert action[0].startswith(service.address)
    assert service.book.url("otters") in found.text
    assert "so that the current does not carry them apart" in found.text, "the words of the query are marked"


async def test_a_build_in_two_processes_suggests_the_titles_of_the_handbook(service: Service) -> None:
    """Each process opens the stores by itself, and hands on what it read through Cassandra only."""
    one_site = replace(service, environment={**service.environment, "RIFFLE_QUERIES__WORD_SITES": "1"})
    built = await one_site.riffle("suggest", "build", "--processes", "2")
    assert built["read"] >= len(TEXTS)
    assert built["suggestions"] > 0
    typed = stored_prefix(key_of(normalize_prefix("handbook of otters")))
    stored = await service.stores.suggestions.of_prefix("", typed)
    assert "handbook of otters" in [each.text for each in stored]
    assert await current_build(service.stores.suggestions) == built["build"]
    seen = SeenStores(service.stores).suggestions
    words = [word.text for word in await read_words(seen, built["build"], visible=FOR_EVERYBODY)]
    assert "otters" in words, "words are kept beside them"


async def test_a_key_has_scopes_and_a_budget_that_cassandra_keeps(service: Service) -> None:
    made = await service.new_key("--scope", "search", "--per-day", "3")
    answered, answer = 0, httpx2.Response(200)
    async with AsyncRiffle(service.address, made["key"]) as riffle:

        async def is_read() -> bool:
            """Return True once the gateway has read the key. A busy store may be late, and then nothing is counted."""
            with suppress(ApiError):
                return bool((await riffle.search(QUESTION))["results"])
            return False

        await until(is_read)
        with pytest.raises(ApiError) as missing:
            await riffle.page(service.book.url("bees"))
    headers = {"Authorization": f"Bearer {made['key']}"}
    async with httpx2.AsyncClient(base_url=service.address, headers=headers, timeout=60, trust_env=False) as web:
        while answered < 20 and answer.status_code == 200:
            answer = await web.get("/api/v1/search", params={"q": QUESTION})
            answered += 1
    assert (missing.value.status, missing.value.kind) == (403, "scope-missing")
    assert (answer.status_code, answer.json()["type"]) == (429, "urn:riffle:problem:too-many-requests")
    assert 0 < int(answer.headers["Retry-After"]) <= 86_400
    assert '"day";r=0' in answer.headers["RateLimit"]

    async def is_kept() -> bool:
        rows = [await spending_of_day(service.stores.notes, f"k{made['id']}", today() - ago) for ago in range(2)]
        return sum(row.spent for day in rows for row in day.values()) >= 3

    await until(is_kept)
    assert made["id"] in {each["id"] for each in await service.riffle("keys", "list")}
    await service.riffle("keys", "revoke", made["id"])
    stored = await service.stores.api_keys.get(made["id"])
    assert stored
    assert stored.revoked


async def test_statements_and_vectors_are_got_by_the_references_of_events(service: Service) -> None:
    book, page, stores = service.book, str(service.book.page("tea")), service.stores
    record = await stores.pages.get(UUID(page))
    refs = record.indexed.statements_ref, record.indexed.vectors_ref
    stored = decode_statements(await stores.blobs.get(refs[0])).statements
    newer = f"White tea of lot {uuid4().hex[:6]} is only withered and dried."
    async with AsyncRiffle(service.address, service.key) as riffle:
        texts = [each["text"] async for each in riffle.statements(page, ref=refs[0])]
        vectors = [each async for each in riffle.vectors(page, ref=refs[1])]
        await book.change(stores, "tea", newer)
        with pytest.raises(ApiError) as changed:
            [each async for each in riffle.statements(page, ref=refs[0])]
        texts_now = [each["text"] async for each in riffle.statements(page)]
    assert texts == [each.text for each in stored]
    assert any("tea" in text for text in texts)
    embedded = await stores.embedder.embed([each.in_context for each in stored], "passage")
    assert len(vectors) == len(texts)
    assert (np.asarray(vectors) * embedded).sum(axis=1).min() > 0.99
    assert (changed.value.status, changed.value.kind) == (409, "content-changed")
    assert texts_now[0] == newer


PEOPLE = [f"127.0.0.{number}" for number in range(1, 5)]
UNANSWERED = "frobnicate the zorkmid quux"


async def count_unanswered(service: Service) -> str:
    """Ask a query without results until it is counted, and return it: by gateway, Kafka, worker and Cassandra."""
    query = f"{UNANSWERED} {uuid4().hex[:6]}"

    async def is_counted() -> bool:
        for person in PEOPLE:
            transport = httpx2.AsyncHTTPTransport(local_address=person)
            async with httpx2.AsyncClient(transport=transport, base_url=service.address, timeout=60) as web:
                await web.get("/search", params={"q": query}, headers=TYPED)
        found = await list_unanswered(service.stores.query_counts, datetime.now(UTC), 2)
        return query in {each[1] for each in found}

    async with running(service.home, service.environment, "worker", "queries"):
        await until(is_counted)
    return query


async def test_a_query_without_results_is_counted(service: Service) -> None:
    query = await count_unanswered(service)
    listed = await service.riffle("queries", "list", "--by", "empty")
    assert query in {each["query"] for each in listed}


@pytest.mark.night
async def test_a_query_without_results_stands_on_the_map(service: Service) -> None:
    """`riffle map` takes 12 s of CPU time: its library compiles itself."""
    query = await count_unanswered(service)
    drawn = await service.process("map")  # a library of it warns when it is imported, and here warnings are errors
    packed = await read_map(service.stores.notes, await newest_map(service.stores.notes))
    assert packed is not None
    made = IndexMap.unpack(packed)
    assert drawn["pages"] == len(made.pages)
    (gap,) = [each for each in made.gaps if each.query == query]
    assert gap.times > 1  # two, or a little less if a day ended between them
    assert 0 <= gap.x <= 1
    assert 0 <= gap.y <= 1
    assert {page.url for page in made.pages} & service.book.urls
