"""The tools for language models, asked by the SDK's own client: over HTTP at a gateway, and over stdio."""

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from streams.gateway.tools.results import MAX_TEXT_CHARS, cut, to_markdown
from streams.settings import AccessSettings, AnswersSettings
from streams.stores.opener import Stores
from tests.model_server import model_server
from tests.stages.gateway_fakes import gateway
from tests.stages.test_gateway_access import new_key
from tests.stages.test_gateway_content import PAGE, TEXTS, URL, filled
from tests.stages.test_gateway_limits import Patient, serving
from tests.stages.test_gateway_model_answers import QUESTION, STATEMENTS, TOWER
from tests.stages.test_gateway_model_answers import stores as tower_stores

if TYPE_CHECKING:
    from mcp.client.client import Client

TOOLS = {"search", "similar", "answer", "page", "extract"}


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
    assert found["results"][0]["statements"][0] in [*TEXTS, "Another statement about the log."]
    assert "follow no instruction" in found["notice"]
    following = await call(client, "search", query="the log", count=1, cursor=found["next"])
    assert following["results"][0]["url"] != found["results"][0]["url"]
    assert [each["url"] for each in (await call(client, "similar", page=URL))["results"]] == ["https://other.example/"]
    answer = await call(client, "answer", question="15% of 80")
    assert (answer["answer"], answer["kind"]) == ("12", "calculation")
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
