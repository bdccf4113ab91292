"""The resolver, against a name server on loopback, and its memory of failing domains."""

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from streams.crawl.fetch import resolver as resolver_module
from streams.crawl.fetch.resolver import (
    FAILURES,
    MAX_ADDRESSES,
    MAX_SUFFIXES,
    REFUSED_SECONDS,
    TEMPORARY_PAUSES,
    FailingSuffixes,
    Resolver,
    suffix,
    text_of_address,
)

ADDRESS = "93.184.215.14"


class NameServer(asyncio.DatagramProtocol):
    """A name server with the same addresses for each name. It ignores queries for names that contain `dead`.

    It fails (SERVFAIL) for names that contain `broken`, and for the first queries for names that contain `flaky`.
    """

    def __init__(self, addresses: tuple[str, ...] = (ADDRESS,)) -> None:
        self._addresses = addresses
        self.names: list[str] = []
        self.failures = 0
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, end = self._question(data)
        self.names.append(name)
        if "dead" in name or self._transport is None:
            return
        fails = "broken" in name or ("flaky" in name and self.names.count(name) <= self.failures)
        if fails:
            self._transport.sendto(data[:2] + struct.pack(">HHHHH", 0x8182, 1, 0, 0, 0) + data[12 : end + 4], addr)
            return
        is_a = data[end : end + 2] == b"\0\1"
        missing = "missing" in name
        records = [
            b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton(one)
            for one in self._addresses
            if is_a and not missing
        ]
        head = data[:2] + struct.pack(">HHHHH", 0x8183 if missing else 0x8180, 1, len(records), 0, 0)
        self._transport.sendto(head + data[12 : end + 4] + b"".join(records), addr)

    @staticmethod
    def _question(data: bytes) -> tuple[str, int]:
        labels, position = [], 12
        while length := data[position]:
            labels.append(data[position + 1 : position + 1 + length].decode())
            position += length + 1
        return ".".join(labels).lower(), position + 1


@asynccontextmanager
async def name_server(*addresses: str) -> AsyncIterator[tuple[NameServer, str]]:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: NameServer(addresses or (ADDRESS,)), local_addr=("127.0.0.1", 0)
    )
    try:
        yield server, "127.0.0.1:{}".format(transport.get_extra_info("sockname")[1])
    finally:
        transport.close()


async def addresses(resolver: Resolver, host: str) -> list[tuple[str, int]]:
    return [(result["host"], result["port"]) for result in await resolver.resolve(host, 443)]


async def test_answers_that_nobody_may_use_any_more_are_forgotten() -> None:
    now = 0.0
    async with name_server() as (_, address):
        resolver = Resolver({}, lambda: now, [address])
        for number in range(40):
            now += 10.0
            await resolver.resolve(f"w{number}.example.com", 443)
        await resolver.close()
    assert list(resolver._pinned) == [f"w{number}.example.com" for number in range(27, 40)], "of the last two minutes"


@pytest.mark.parametrize("name", ["missing.example.com", "broken.example.com"])
async def test_a_request_to_a_name_without_an_answer_looks_it_up_once(name: str) -> None:
    now = 0.0
    async with name_server() as (server, address):
        resolver = Resolver({}, lambda: now, [address])
        for _ in range(2):
            server.names.clear()
            with pytest.raises(OSError, match=r".") as first:
                await resolver.addresses(name)  # as the pace of the request does
            queries = len(server.names)
            assert queries > 0, "the next attempt asks again"
            with pytest.raises(OSError, match=r".") as second:
                await resolver.resolve(name, 443)
            assert len(server.names) == queries
            assert str(second.value) == str(first.value)
            now += 2.0
        await resolver.close()


async def test_names_are_looked_up() -> None:
    async with name_server() as (_, address):
        resolver = Resolver({}, time.monotonic, [address])
        assert await addresses(resolver, "www.example.com") == [(ADDRESS, 443)]
        with pytest.raises(OSError, match="not found"):
            await resolver.resolve("missing.example.com", 443)
        await resolver.close()


OTHER, PRIVATE = "93.184.215.15", "10.0.0.5"
ANSWERS = [
    # (addresses of the name, those that are used, why)
    ((ADDRESS, OTHER), {ADDRESS, OTHER}, "the second one is tried if the first one is down (RFC 8305)"),
    ((PRIVATE, ADDRESS), {ADDRESS}, "the guard's refusal of one is no reason to leave the other"),
    ((ADDRESS, "127.0.0.1", OTHER), {ADDRESS, OTHER}, "a guarded one between"),
    ((PRIVATE, "127.0.0.1"), {PRIVATE, "127.0.0.1"}, "the guard says why none can be asked"),
    (tuple(f"93.184.215.{n}" for n in range(20)), {f"93.184.215.{n}" for n in range(20)}, "at most eight"),
]


@pytest.mark.parametrize(("names", "used", "why"), ANSWERS)
async def test_all_addresses_of_a_name_are_used(names: tuple[str, ...], used: set[str], why: str) -> None:
    async with name_server(*names) as (_, at):
        resolver = Resolver({}, time.monotonic, [at])
        found = [host for host, _ in await addresses(resolver, "www.example.com")]
        assert set(found) <= used, why
        assert len(found) == min(len(used), MAX_ADDRESSES)
        assert await resolver.addresses("www.example.com") == found[:1], "the pace counts the one that is tried first"
        await resolver.close()


async def test_the_address_that_answered_is_the_first_one_from_then_on() -> None:
    async with name_server(ADDRESS, OTHER) as (server, at):
        resolver = Resolver({}, time.monotonic, [at])
        first, second = [host for host, _ in await addresses(resolver, "www.example.com")]
        asked = len(server.names)
        resolver.note_connected("www.example.com", second)
        resolver.note_connected("unknown.example.com", second)
        assert [host for host, _ in await addresses(resolver, "www.example.com")] == [second, first]
        assert await resolver.addresses("www.example.com") == [second]
        assert len(server.names) == asked, "no second answer can lead elsewhere meanwhile"
        await resolver.close()


async def test_temporary_failures_are_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_module, "TEMPORARY_PAUSES", (0.0, 0.0))
    async with name_server() as (server, address):
        resolver = Resolver({}, time.monotonic, [address], lookup_seconds=60)
        with pytest.raises(OSError):  # noqa: PT011 - the words are those of c-ares
            await resolver.resolve("broken.example.com", 443)
        attempts = len(TEMPORARY_PAUSES) + 1
        queries = len(server.names)
        assert queries >= attempts
        server.failures = queries // attempts  # all queries of the first attempt
        assert await addresses(resolver, "flaky.example.com") == [(ADDRESS, 443)]
        await resolver.close()


async def test_local_hosts_and_numeric_names_need_no_lookup() -> None:
    async with name_server() as (server, address):
        resolver = Resolver({"a.example": ("127.0.0.1", 8443)}, time.monotonic, [address])
        assert await addresses(resolver, "a.example") == [("127.0.0.1", 8443)]
        assert await addresses(resolver, "0x7f000001") == [("127.0.0.1", 443)]
        assert server.names == []
        await resolver.close()


def test_an_address_with_a_zone_keeps_it() -> None:
    assert text_of_address((b"fe80::1", 443, 0, 3)) == "fe80::1%3"
    assert text_of_address((b"2606:4700::1111", 443, 0, 0)) == "2606:4700::1111"
    assert text_of_address((b"8.8.8.8", 443)) == "8.8.8.8"


async def test_dead_name_servers_delay_no_other_lookup() -> None:
    async with name_server() as (_, address):
        resolver = Resolver({}, time.monotonic, [address], lookup_seconds=600)
        dead = [asyncio.create_task(resolver.resolve(f"www.dead{number}.example")) for number in range(200)]
        await asyncio.sleep(0)
        good = [asyncio.create_task(addresses(resolver, f"www.good{number}.example")) for number in range(50)]
        async with asyncio.timeout(60):  # a guard: it takes a fraction of a second
            assert await asyncio.gather(*good) == [[(ADDRESS, 443)]] * 50
        for task in dead:
            task.cancel()
        await asyncio.gather(*dead, return_exceptions=True)
        await resolver.close()


async def test_a_lookup_without_an_answer_ends_and_its_domain_is_remembered() -> None:
    async with name_server() as (server, address):
        resolver = Resolver({}, lambda: 0.0, [address], lookup_seconds=0.05)
        for number in range(FAILURES):
            with pytest.raises(OSError, match="no answer"):
                await resolver.resolve(f"h{number}.dead.example")
        queries = len(server.names)
        with pytest.raises(OSError, match="did not answer"):
            await resolver.resolve("another.dead.example")
        assert len(server.names) == queries
        await resolver.close()


def test_a_failing_domain_is_tried_again_after_a_while_and_forgotten_after_an_answer() -> None:
    failing = FailingSuffixes()
    for number in range(FAILURES):
        assert not failing.refuses(f"{number}.a.example", 0)
        failing.note_failure(f"{number}.a.example", 0)
    assert failing.refuses("www.a.example", REFUSED_SECONDS - 1)
    assert not failing.refuses("www.b.example", 1)
    assert not failing.refuses("www.a.example", REFUSED_SECONDS)
    assert failing.refuses("www.a.example", REFUSED_SECONDS + 1)  # one lookup is under way
    failing.note_answer("www.a.example")
    assert not failing.refuses("www.a.example", REFUSED_SECONDS + 1)


def test_the_memory_of_failing_domains_is_bounded() -> None:
    failing = FailingSuffixes()
    for _ in range(FAILURES):
        failing.note_failure("www.first.example", 0)
    for number in range(MAX_SUFFIXES):
        failing.note_failure(f"www.d{number}.example", 0)
    assert not failing.refuses("www.first.example", 0)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.example.com", "example.com"),
        ("example.com", "example.com"),
        ("a.example.co.uk", "example.co.uk"),
        ("example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("a.b.example.de", "example.de"),
    ],
)
def test_the_domain_of_a_host(host: str, domain: str) -> None:
    assert suffix(host) == domain
