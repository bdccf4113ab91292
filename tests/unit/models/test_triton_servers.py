"""Several Triton servers behind one name: all of them are asked, also those that come later.

The servers are gRPC servers that answer one call of Triton's protocol. The name is served by a small DNS server, as a
headless service of Kubernetes would be: one address for each pod, one port for all.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc

from streams.errors import StoreUnavailable
from streams.models import triton_connection
from streams.models.triton_connection import TritonConnection
from streams.settings import TritonSettings

CONNECTION_AGE_MS = 300
CALLS = 12
TRIES = 100
PAUSE_SECONDS = 0.1


class Server(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]  # generated without types
    """A server that describes any model, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def ModelConfig(self, request: Any, context: Any) -> Any:
        self.asked += 1
        answer = service_pb2.ModelConfigResponse()
        answer.config.name = request.name
        return answer


@asynccontextmanager
async def serving(address: str, port: int = 0) -> AsyncIterator[tuple[Server, int]]:
    """A server at an address, and its port. Its connections end after a while, as with the chart's Triton."""
    server, servicer = grpc.aio.server(options=[("grpc.max_connection_age_ms", CONNECTION_AGE_MS)]), Server()
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port(f"{address}:{port}")
    await server.start()
    try:
        yield servicer, port
    finally:
        await server.stop(None)


class Names(asyncio.DatagramProtocol):
    """A DNS server: every name has these IPv4 addresses."""

    def __init__(self, addresses: list[str]) -> None:
        self.addresses = addresses

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        (kind,) = struct.unpack("!H", data[end - 4 : end - 2])
        addresses = self.addresses if kind == 1 else []
        header = data[:2] + struct.pack("!HHHHH", 0x8580, 1, len(addresses), 0, 0)
        records = [b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(each) for each in addresses]
        self._transport.sendto(header + data[12:end] + b"".join(records), sender)  # type: ignore[attr-defined]  # it is connected


async def ask_until(connection: TritonConnection, condition: Callable[[], bool]) -> None:
    for _ in range(TRIES):
        await connection.config("sbert")
        if condition():
            return
        await asyncio.sleep(PAUSE_SECONDS)
    raise AssertionError("the servers that answer did not change")


async def test_every_server_of_a_list_gets_its_share() -> None:
    async with serving("127.0.0.1") as (one, first), serving("127.0.0.1") as (two, second):
        connection = TritonConnection(TritonSettings(url=f"ipv4:127.0.0.1:{first},127.0.0.1:{second}"))
        await ask_until(connection, lambda: one.asked > 0 and two.asked > 0)
        before = one.asked, two.asked
        for _ in range(CALLS):
            await connection.config("sbert")
        assert min(one.asked - before[0], two.asked - before[1]) >= CALLS // 3
        await connection.close()


async def test_a_server_that_is_added_to_the_name_is_found_and_a_removed_one_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = ("grpc.dns_min_time_between_resolutions_ms", CONNECTION_AGE_MS // 3)
    monkeypatch.setattr(triton_connection, "CHANNEL_OPTIONS", (*triton_connection.CHANNEL_OPTIONS, quick))
    transport, names = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Names(["127.0.0.1"]), local_addr=("127.0.0.1", 0)
    )
    resolver = "{}:{}".format(*transport.get_extra_info("sockname"))
    async with serving("127.0.0.1") as (one, port), serving("127.0.0.2", port) as (two, _):
        connection = TritonConnection(TritonSettings(url=f"dns://{resolver}/triton.search.svc:{port}"))
        for _ in range(CALLS):
            await connection.config("sbert")
        assert (one.asked, two.asked) == (CALLS, 0)
        names.addresses = ["127.0.0.1", "127.0.0.2"]
        await ask_until(connection, lambda: two.asked > 0)
        names.addresses = ["127.0.0.2"]
        last_asked, answers_of_others = one.asked, 0

        def is_left() -> bool:
            nonlocal last_asked, answers_of_others
            answers_of_others = answers_of_others + 1 if one.asked == last_asked else 0
            last_asked = one.asked
            return answers_of_others == CALLS

        await ask_until(connection, is_left)
        await connection.close()
    transport.close()


async def test_a_server_that_stops_costs_no_request() -> None:
    async with serving("127.0.0.1") as (one, first):
        async with serving("127.0.0.1") as (two, second):
            connection = TritonConnection(TritonSettings(url=f"ipv4:127.0.0.1:{first},127.0.0.1:{second}"))
            await ask_until(connection, lambda: one.asked > 0 and two.asked > 0)
        before = one.asked
        for _ in range(CALLS):
            await connection.config("sbert")
        assert one.asked - before == CALLS
        await connection.close()


async def test_without_any_server_the_error_names_the_address() -> None:
    connection = TritonConnection(TritonSettings(url="ipv4:127.0.0.1:1,127.0.0.2:1", timeout_seconds=1))
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.2:1.*RIFFLE_TRITON__URL"):
        await connection.config("sbert")
    await connection.close()
