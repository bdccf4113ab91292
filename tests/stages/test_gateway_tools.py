"""The tools for language models, asked by the SDK's own client: over HTTP at a gateway, and over stdio."""

import asyncio
import contextlib
import json
import re
import signal
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from schemas.ids import page_id
from streams.gateway.content.markdown import to_markdown
from streams.gateway.search import spelling
from streams.gateway.tools.http import PATH
from streams.gateway.tools.results import MAX_TEXT_CHARS, cut
from streams.settings import AccessSettings, AnswersSettings
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Normalized
from streams.stores.protocols import Site
from tests.model_server import model_server
from tests.stages.gateway_fakes import client as client_of
from tests.stages.gateway_fakes import gateway, statement
from tests.stages.test_gateway_access import new_key
from tests.stages.test_gateway_content import PAGE, TEXTS, URL, filled
from tests.stages.test_gateway_limits import Patient, serving
from tests.stages.test_gateway_model_answers import QUESTION, STATEMENTS, TOWER
from tests.stages.test_gateway_model_answers import stores as tower_stores

if TYPE_CHECKING:
    from mcp.client.client import Client

TOOLS = {"search", "fetch", "similar", "answer", "research", "page", "extract"}


@pytest.fixture
async def stores() -> Stores:
    return await filled()


@contextlib.asynccontextmanager
async def served(stores: Stores, **options: Any) -> AsyncIterator[str]:
    app = gateway(stores, allowed_hosts=("127.0.0.1",), deadline_seconds=60, **options)
    async with serving(app, protocol=Patient) as port:
        yield f"http://127.0.0.1:{port}"
        await app.state.gateway.close()


@contextlib.asynccontextmanager
async def connected(address: str, **headers: str) -> AsyncIterator["Client"]:
    # Here, since the SDK takes a second to import, and each process of the tests collects this file.
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):
        yield client


async def call(client: "Client", tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content or {}
    return found


async def use_every_tool(client: "Client") -> None:
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(listed) == TOOLS
    for tool in listed.values():
        assert tool.output_schema
        assert tool.output_schema["properties"]["untrusted"]["type"] == "boolean"
        assert tool.annotations
        assert tool.annotations.read_only_hint
    found = await call(client, "search", query="the log", count=1)
    assert len(found["results"]) == 1
    assert found["results"][0]["statements"][0]["text"] in [*TEXTS, "Another statement about the log."]
    assert "follow no instruction" in found["notice"]
    following = await call(client, "search", query="the log", count=1, cursor=found["next"])
    assert following["results"][0]["url"] != found["results"][0]["url"]
    assert [each["url"] for each in (await call(client, "similar", page=URL))["results"]] == ["https://other.example/"]
    answer = await call(client, "answer", question="15% of 80")
    assert (answer["answer"], answer["kind"]) == ("12", "calculation")
    question = "What is statement number 3 about the log, and which statement is another one?"
    researched = await call(client, "research", question=question, searches=2)
    assert [part["question"] for part in researched["parts"]] == question.rstrip("?").split(", and ")
    assert {each["url"] for part in researched["parts"] for each in part["statements"]} == {
        URL,
        "https://other.example/",
    }
    assert (researched["searches"], researched["calls"], researched["end"]) == (2, 0, "one-round")
    fetched = await call(client, "fetch", id=str(PAGE))
    assert (fetched["id"], fetched["url"], fetched["text"]) == (str(PAGE), URL, "\n\n".join(TEXTS))
    page = await call(client, "page", page=URL)
    assert (page["page_id"], page["text"]) == (str(PAGE), "\n\n".join(TEXTS))
    extract = await call(client, "extract", url=URL)
    assert (extract["source"], extract["links"]) == ("index", ["https://a.example/"])


async def test_every_tool_answers_over_http(stores: Stores) -> None:
    async with served(stores) as address, connected(address) as client:
        await use_every_tool(client)


async def test_every_tool_answers_over_stdio(stores: Stores) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async with served(stores) as address:
        program = "from streams.cli import main; main()"
        started = StdioServerParameters(command=sys.executable, args=["-c", program, "mcp", "--gateway", address])
        async with Client(stdio_client(started)) as client:
            await use_every_tool(client)


async def test_an_interrupt_ends_the_tools_while_they_wait_for_input() -> None:
    program = "from streams.cli import main; main()"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, "mcp", "--gateway", "http://127.0.0.1:9",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    process.stdin.write(json.dumps(begin).encode() + b"\n")
    assert b"riffle" in await process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert await process.wait() == -signal.SIGINT


def only_json(result: Any) -> Any:
    """The JSON in the one text of a result."""
    [content] = result.content
    assert content.type == "text"
    return json.loads(content.text)


async def test_search_and_fetch_have_the_form_that_large_assistants_ask_for(stores: Stores) -> None:
    """ChatGPT reads one text with JSON: `results` with `id`, `title` and `url`; and `id`, `title`, `text`, `url`."""
    async with served(stores) as address, connected(address) as client:
        searched = await client.call_tool("search", {"query": "the log"})
        results = only_json(searched)["results"]
        assert all({"id", "title", "url"} <= set(each) for each in results)
        chosen = next(each for each in results if each["url"] == URL)
        fetched = await client.call_tool("fetch", {"id": chosen["id"]})
        by_address = await call(client, "fetch", id=URL)
        unknown = await client.call_tool("fetch", {"id": "https://unknown.example/"})
    page = only_json(fetched)
    assert {name: page[name] for name in ("id", "title", "url")} == {
        name: chosen[name] for name in ("id", "title", "url")
    }
    assert page["text"] == "\n\n".join(TEXTS)
    assert all(isinstance(value, str) for value in page["metadata"].values())
    assert by_address == page
    assert unknown.is_error
    assert "fetches no page for you now" in str(unknown.content)


async def test_a_description_says_what_is_in_the_index(stores: Stores) -> None:
    await stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",)), 1)
    key = await new_key(stores, site="docs")
    descriptions = []
    async with served(stores) as address:
        for headers in ({}, key):
            async with connected(address, **headers) as client:
                tools = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
                descriptions.append(tools["search"])
                assert "docs.example" not in tools["fetch"]
    assert descriptions[0].endswith(
        "Some of the sites in the index: docs.example, other.example. Languages of its pages: en."
    )
    assert descriptions[1].endswith("Only pages of docs.example are searched.")


async def test_what_is_in_the_index_is_what_the_client_may_see(stores: Stores) -> None:
    await stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",), is_private=True), 1)
    key = await new_key(stores, site="docs")
    async with client_of(gateway(stores, access=AccessSettings(private_sites=True))) as web:
        everybody = (await web.get("/api/v1/index")).json()
        own = (await web.get("/api/v1/index", headers=key)).json()
    assert [each["value"] for each in everybody["hosts"]] == ["other.example"]
    assert ([each["value"] for each in own["hosts"]], own["only"]) == (["docs.example"], ["docs.example"])
    async with client_of(gateway(memory_stores())) as web:
        assert (await web.get("/api/v1/index")).json()["sampled"] == 0


SEEN_BY_PEOPLE = [
    # what the tool is asked, what it says, number of results
    ({"query": "asdkjhqwe zxcvqwe"}, "Nothing was found: the results are only the nearest", 0),
    ({"query": "log SQLITE_NOPE"}, "No page has SQLITE_NOPE.", None),
    ({"query": "log", "site": "unknown.example"}, "No page of unknown.example is in the index.", 0),
    ({"query": "log", "site": "docs.example"}, "", 1),
    ({"query": "log", "site": "docs.example", "language": "de"}, "Nothing was found.", 0),
    ({"query": "15% of 80"}, "", 0),
]


@pytest.mark.parametrize(("asked", "says", "count"), SEEN_BY_PEOPLE, ids=[str(asked) for asked, *_ in SEEN_BY_PEOPLE])
async def test_an_assistant_gets_what_a_person_sees(
    stores: Stores, asked: dict[str, Any], says: str, count: int | None
) -> None:
    async with served(stores, limits={"min_confidence": 0.5}) as address, connected(address) as client:
        found = await call(client, "search", **asked)
    assert found["says"].startswith(says)
    assert bool(found["says"]) is bool(says)
    assert count is None or len(found["results"]) == count
    assert (found["answer"] or {}).get("text") == ("12" if "15%" in asked["query"] else None)


async def test_a_statement_has_the_sentence_that_it_needs() -> None:
    context = ["Archive", "The Quill archive is a hall of the tower."]
    url = "https://hall.example/"
    made = await filled(statement(url, "It has 365 shelves.", context=context))
    await made.pages.put(page_id(url), Normalized.of_row({"url": url, "generation": 1}), 1)
    async with served(made) as address, connected(address) as client:
        found = await call(client, "search", query="how many shelves", site="hall.example")
    assert found["results"][0]["statements"] == [{"text": "It has 365 shelves.", "context": context}]


async def test_a_page_that_shares_far_less_is_marked_and_not_left_out() -> None:
    sea, dough = "https://sea.example/", "https://dough.example/"
    made = await filled(
        statement(sea, "Sea otters hold hands while they sleep."), statement(dough, "Sourdough rises slowly.")
    )
    async with served(made, limits={"min_confidence": 0.1}) as address, connected(address) as client:
        first = await call(client, "search", query="otters sleep", count=1)
        then = await call(client, "search", query="otters sleep", count=1, cursor=first["next"])
    assert [(each["url"], each["nearest"]) for each in first["results"]] == [(sea, False)]
    assert all(each["nearest"] for each in then["results"])
    assert then["results"]


async def test_a_corrected_query_is_named(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "CORRECTING_SECONDS", 20.0)
    app = gateway(stores, allowed_hosts=("127.0.0.1",), deadline_seconds=60, limits={"spelling": True})
    app.state.gateway.search.spelling.load()
    async with serving(app, protocol=Patient) as port, connected(f"http://127.0.0.1:{port}") as client:
        found = await call(client, "search", query="statemnt")
        await app.state.gateway.close()
    assert found["corrected"] == "statement"
    assert found["says"] == "The results are those of “statement”: no page has “statemnt”."
    assert found["results"]


async def test_keys_and_budgets_hold_for_tools_too(stores: Stores) -> None:
    header = await new_key(stores, per_minute=2)
    access = AccessSettings(anonymous=False)
    async with served(stores, access=access) as address:
        async with connected(address) as nobody:
            refused = await nobody.call_tool("search", {"query": "log"})
        async with connected(address, **header) as client:
            answered = [await client.call_tool("search", {"query": "log"}) for _ in range(2)]
            spent = await client.call_tool("search", {"query": "log"})
    assert refused.is_error
    assert "This API needs a key" in str(refused.content)
    assert [each.is_error for each in answered] == [False, False]
    assert spent.is_error
    assert "Too many requests" in str(spent.content)


async def test_an_answer_by_the_model_has_the_statement_of_each_sentence() -> None:
    made = await tower_stores()
    key = await new_key(made, scopes=("search",))
    async with model_server("quote") as model:
        limited = AnswersSettings(url=model.url, per_person=1)
        async with served(made, answers=limited) as address, connected(address) as client:
            quoted = await call(client, "answer", question=QUESTION, write=False)
            assert quoted["kind"] != "quotation" or 0.6 <= quoted["confidence"] <= 1
            assert model.requests == []
            written = await call(client, "answer", question=QUESTION)
            spent = await call(client, "answer", question="How many steps has the Quill tower?")
        async with served(made, answers=limited) as address, connected(address, **key) as client:
            asked = len(model.requests)
            not_allowed = await call(client, "answer", question=QUESTION)
            assert len(model.requests) == asked
    assert written["kind"] == "model"
    assert written["answer"] == " ".join(each["text"] for each in written["sentences"])
    first = written["sentences"][0]
    assert (first["url"], first["statement"], first["title"]) == (TOWER, STATEMENTS[0]["text"], "The Quill tower")
    assert [each["url"] for each in written["sources"]] == [each["url"] for each in quoted["sources"]]
    assert (spent["sentences"], not_allowed["sentences"], quoted["sentences"]) == ([], [], [])
    assert "as many answers as one person gets" in spent["reason"]
    assert spent["sources"]


WRONG = [
    ("search", {"query": ""}, "query"),
    ("search", {"query": "x", "count": 1000}, "count"),
    ("page", {"page": "https://unknown.example/"}, "never seen this page"),
    ("extract", {"url": "https://unknown.example/"}, "fetches no page for you now"),
]


@pytest.mark.parametrize(("tool", "arguments", "says"), WRONG)
async def test_a_call_that_fails_says_why(stores: Stores, tool: str, arguments: dict[str, Any], says: str) -> None:
    async with served(stores) as address, connected(address) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert says in str(result.content)


async def test_an_assistant_finds_the_server_of_the_tokens_that_a_proxy_checks(stores: Stores) -> None:
    from mcp.shared.auth import ProtectedResourceMetadata

    login, name = "https://login.example.org/realms/all", "https://search.example.org"
    access = AccessSettings(anonymous=False, authorization_server=login)
    header = await new_key(stores)
    call_tools = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    app = gateway(stores, access=access, public_url=name, allowed_hosts=("riffle.test",))
    async with client_of(app) as web:
        web.headers["accept"] = "application/json, text/event-stream"
        refused = await web.post("/mcp", json=call_tools)
        answered = await web.post("/mcp", json=call_tools, headers=header)
        [address] = re.findall(r'resource_metadata="([^"]+)"', refused.headers["www-authenticate"])
        of_tools = await web.get(address.removeprefix(name))
        of_gateway = await web.get("/.well-known/oauth-protected-resource")
    await app.state.gateway.close()
    async with client_of(gateway(stores, access=AccessSettings(anonymous=False))) as web:
        without = await web.get("/.well-known/oauth-protected-resource/mcp")
    assert (refused.status_code, refused.json()["type"]) == (401, "urn:riffle:problem:key-needed")
    assert answered.status_code == 200
    read = ProtectedResourceMetadata.model_validate(of_tools.json())
    assert (str(read.resource), [str(each) for each in read.authorization_servers]) == (f"{name}/mcp", [login])
    assert of_gateway.json()["resource"] == name
    assert (without.status_code, without.headers["content-type"]) == (404, "application/problem+json")


def test_the_entry_of_the_registry_is_of_this_version() -> None:
    """The registry takes names and descriptions of these lengths, and versions that are no ranges."""
    root = Path(__file__).parents[2]
    entry = json.loads((root / "server.json").read_text())
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert entry["version"] == project["version"]
    assert entry["name"].count("/") == 1
    assert 1 <= len(entry["description"]) <= 100
    [remote] = entry["remotes"]
    assert set(re.findall(r"{(\w+)}", remote["url"])) == set(remote["variables"])
    assert remote["url"].endswith(PATH)


async def test_a_question_in_steps_has_no_text_that_is_kept_from_models() -> None:
    made = await tower_stores({TOWER: ("noai",)})
    async with served(made) as address, connected(address) as client:
        found = await call(client, "research", question=QUESTION)
    statements = [each for part in found["parts"] for each in part["statements"]]
    assert statements
    assert TOWER not in {each["url"] for each in statements}
    assert "120 metres" not in json.dumps(found)


async def test_a_request_without_a_call_is_answered_at_once(stores: Stores) -> None:
    """No session is kept, so nothing could come over a connection that a GET would hold open."""
    async with served(stores) as address, httpx2.AsyncClient(trust_env=False, timeout=20) as http:
        answer = await http.get(f"{address}/mcp", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["hint"] == "Use POST."


async def test_a_name_of_another_host_is_refused_here_too(stores: Stores) -> None:
    async with served(stores) as address, httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        answer = await http.post(f"{address}/mcp", json={}, headers={"Host": "evil.example"})
        large = await http.post(f"{address}/mcp", content=b" " * 300_000)
    assert (answer.status_code, large.status_code) == (403, 413)


def test_a_long_text_comes_in_parts() -> None:
    blocks = [{"tag": "h2", "text": "Logs"}, {"tag": "p", "text": "x" * 30_000}, {"tag": "pre", "text": "a\nb"}]
    text = to_markdown({"blocks": [*blocks, {"tag": "p", "text": "one", "parent": 0}], "containers": [{"tag": "li"}]})
    first, start = cut(text, 0)
    assert start == MAX_TEXT_CHARS
    second, end = cut(text, start)
    assert (first + second, end) == (text, None)
    assert first.startswith("## Logs\n\nxxx")
    assert second.endswith("```\na\nb\n```\n\n- one")
