"""The clients of servers that an operator or a person named: what a coded answer costs them."""

import asyncio
import gzip
import http.server
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import aiohttp  # noqa: F401 # the first token imports it, and the test counts memory
import httpx2
import pytest

from streams.client import AsyncRiffle, Riffle
from streams.client.plain_http import coding_fault, plain_async_client, plain_client
from streams.commands.pages.search import ask_api
from streams.doctor.gateway import check_gateway
from streams.models.chat import ChatOptions, Ending, Message, OpenAIChat
from streams.runtime.sign_in import TokenProvider
from streams.settings import KafkaSettings, QdrantSettings, Settings
from streams.stores.qdrant.rest import QdrantRest

BOMB = gzip.compress(b"{" + b" " * (32 * 1024 * 1024), compresslevel=9)
"""A body of 33 KB, of 32 MiB when it is decoded."""
MAX_BYTES = 4 * 1024 * 1024
"""Maximum memory of one request (bytes)."""


@dataclass
class Server:
    """A server that answers each request with the bomb."""

    port: int = 0
    coding: str = "gzip"
    wanted: list[str] = field(default_factory=list)
    """The codings that clients asked for."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.wanted.append(self.headers.get("Accept-Encoding", ""))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            for name, value in (("Content-Type", "application/json"), ("Content-Encoding", state.coding)):
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(BOMB)))
            self.end_headers()
            self.wfile.write(BOMB)

        do_POST = do_PUT = do_GET  # noqa: N815  # names of the standard library

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = listening.server_port
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield state
    listening.shutdown()
    listening.server_close()
    thread.join()


async def ask_chat(address: str) -> object:
    chat = OpenAIChat(address, "model")
    try:
        return [piece async for piece in chat.stream([Message("user", "q")], ChatOptions(10, 10.0), Ending())]
    finally:
        await chat.close()


async def ask_library(address: str) -> object:
    async with AsyncRiffle(address) as client:
        return await client.search("q")


def ask_plain_library(address: str) -> object:
    with Riffle(address) as client:
        return client.search("q")


def ask_qdrant(address: str) -> object:
    with QdrantRest(QdrantSettings(url=address), 5) as client:
        return client.collections()


def ask_doctor(address: str) -> object:
    (finding,) = check_gateway(Settings(), address)
    raise RuntimeError(f"{finding}")


async def ask_tokens(address: str) -> object:
    return await TokenProvider(KafkaSettings(sasl_token_url=address, sasl_username="u")).token()


ASKING: dict[str, Callable[[str], object]] = {
    "the language model's server": lambda address: asyncio.run(ask_chat(address)),
    "the library": ask_plain_library,
    "the library for asyncio": lambda address: asyncio.run(ask_library(address)),
    "riffle search": lambda address: ask_api(Settings(), "/api/v1/search", {"q": "q"}, address),
    "riffle doctor": ask_doctor,
    "Qdrant's snapshots": ask_qdrant,
    "the server of Kafka's tokens": lambda address: asyncio.run(ask_tokens(address)),
}


@pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING)
def test_a_coded_answer_is_refused_before_it_is_decoded(server: Server, ask: Callable[[str], object]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(Exception, match="the coding 'gzip', which was not asked for"):
            ask(server.address)
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    finally:
        tracemalloc.stop()
    assert set(server.wanted) == {"identity"}


@pytest.mark.parametrize("coding", ["br", "zstd", "deflate", "x-gzip", "gzip, gzip", "GZIP", "identity, gzip"])
async def test_each_coding_is_refused(server: Server, coding: str) -> None:
    server.coding = coding
    with plain_client() as client, pytest.raises(httpx2.DecodingError):
        client.get(server.address)
    async with plain_async_client(headers={"x-own": "1"}) as later:
        with pytest.raises(httpx2.DecodingError):
            await later.get(server.address)


async def test_identity_is_no_coding(server: Server) -> None:
    server.coding = "Identity"
    with plain_client() as client:
        assert len(client.get(server.address).content) == len(BOMB)
    assert [bool(coding_fault({"content-encoding": each})) for each in ("", " identity ", "br")] == [False, False, True]
