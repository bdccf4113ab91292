"""Keys of the API, buckets of work units that gateways share, and whose pages a client may see."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from streams.errors import InvalidQuery
from streams.gateway.access.bucket import Allowance, Bucket, Spending, cost_of_search
from streams.gateway.access.clients import (
    ID_BYTES,
    SECRET_BYTES,
    address_of,
    fault_of,
    given_key,
    hash_person,
    limit,
    make_key,
    person_of,
    read_key,
)
from streams.gateway.access.limiter import Limiter
from streams.search.request import Parameters, parse
from streams.seen.sites import visible_to
from streams.seen.stores import shows
from streams.stores.memory import MemoryNotes
from streams.stores.opener import memory_stores
from streams.stores.protocols import ApiKey, Site, Visible

NOW = 20_000 * 86_400.0


@given(st.binary(min_size=ID_BYTES + SECRET_BYTES, max_size=ID_BYTES + SECRET_BYTES))
def test_a_key_is_read_as_it_was_made_and_its_secret_is_not_stored(random: bytes) -> None:
    text, stored = make_key(ApiKey("", "a program", b""), random)
    read = read_key(text)
    assert read is not None
    assert (read.id, fault_of(read, stored, 0)) == (stored.id, "")
    assert read.secret.encode() not in stored.digest
    assert fault_of(replace(read, secret=read.secret[::-1] + "x"), stored, 0) == "The key is not known."


def test_a_refused_key_says_why() -> None:
    text, key = make_key(ApiKey("", "a program", b"", expires=100), bytes(38))
    read = read_key(text)
    assert read is not None
    assert fault_of(read, key, 99) == ""
    assert fault_of(read, key, 100) == "The key has expired."
    assert fault_of(read, replace(key, revoked=5), 1) == "The key was revoked."
    assert fault_of(read, None, 1) == "The key is not known."


@pytest.mark.parametrize("text", ["", "rfl", "rfl_x_y", "rfl_" + "0" * 12 + "_" + "é" * 43, "x" * 10_000])
def test_a_text_that_is_no_key(text: str) -> None:
    assert read_key(text) is None


def test_a_bucket_gives_a_burst_and_then_its_rate() -> None:
    minute, bucket, begun = Allowance(per_window=60), Bucket.full(Allowance(per_window=60), NOW), 0
    for tenth in range(1_200):  # two minutes, ten requests a second
        if bucket.admit(minute, NOW + tenth / 10).allowed:
            bucket.spend(1)
            begun += 1
    assert 60 + 110 <= begun <= 60 + 121


def test_a_refused_request_says_when_to_come_back() -> None:
    allowance = Allowance(per_window=60, per_day=100)
    bucket = Bucket.full(allowance, NOW)
    bucket.spend(70)
    verdict = bucket.admit(allowance, NOW)
    assert (verdict.allowed, verdict.retry_after) == (False, 12)
    assert bucket.admit(allowance, NOW + 12).allowed
    bucket.spend(30)
    assert bucket.admit(allowance, NOW + 60).retry_after == 86_400 - 60
    assert bucket.admit(allowance, NOW + 86_400).allowed, "a new day"
    assert verdict.headers() == {
        "RateLimit-Policy": '"minute";q=60;w=60, "day";q=100;w=86400',
        "RateLimit": '"minute";r=0;t=70, "day";r=30;t=86400',
    }
    assert Bucket.full(Allowance(), NOW).admit(Allowance(), NOW).headers() == {}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5), st.floats(0, 3)), max_size=60))
def test_no_exchange_of_rows_loses_or_doubles_work(steps: list[tuple[int, int, float]]) -> None:
    """Three gateways, which exchange rows after each step and see some of them twice: together they know all work."""
    allowance, now = Allowance(per_window=600, per_day=10_000), NOW
    gateways = [Bucket.full(allowance, now) for _ in range(3)]
    rows: dict[str, Spending] = {}
    for number, cost, seconds in steps:
        now += seconds
        bucket = gateways[number]
        bucket.admit(allowance, now)
        bucket.spend(cost)
        rows[str(number)] = bucket.row()
        for other, each in enumerate(gateways):
            each.admit(allowance, now)
            for _ in range(2):
                each.merge({name: row for name, row in rows.items() if name != str(other)}, first=False)
    for bucket in gateways:
        assert bucket.spent + sum(bucket.others.values()) == sum(cost for _, cost, _ in steps)
        assert bucket.tokens <= allowance.per_window


async def test_gateways_share_a_budget_through_the_store() -> None:
    clock, stores, allowance = [NOW], memory_stores(), Allowance(per_window=10)
    gateways = [Limiter(stores, lambda: clock[0], gateway=name, sync_seconds=0.0) for name in ("one", "two")]
    for _ in range(10):
        assert (await gateways[0].admit("client", allowance)).allowed
    await gateways[0].close()
    assert not (await gateways[1].admit("client", allowance)).allowed, "the other gateway knows"
    clock[0] += 6.5
    assert (await gateways[1].admit("client", allowance)).allowed, "one unit has flowed into the bucket"
    assert (await gateways[1].admit("other", allowance)).allowed


class _Away(MemoryNotes):
    async def of_shelf(self, shelf: str) -> dict[str, bytes]:
        await asyncio.Event().wait()
        raise AssertionError


async def test_without_the_store_a_gateway_limits_by_itself() -> None:
    stores = memory_stores()
    stores.notes = _Away()
    limiter = Limiter(stores, lambda: NOW)
    verdicts = [(await limiter.admit("client", Allowance(per_window=3))).allowed for _ in range(3)]
    assert verdicts == [True, True, True]
    assert not (await limiter.admit("client", Allowance(per_window=3))).allowed
    client = limiter._clients.get("client")
    assert client is not None
    assert client.sync is not None
    client.sync.cancel()


def request(address: str = "192.0.2.1", **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": raw, "client": (address, 1)})


ADDRESSES = [
    ("192.0.2.1", "", "192.0.2.1", "no proxy"),
    ("192.0.2.1", "198.51.100.7", "192.0.2.1", "a header of somebody who is no proxy"),
    ("10.0.0.1", "198.51.100.7", "198.51.100.7", "a proxy"),
    ("10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7", "the client's own lie stands before it"),
    ("10.0.0.1", "198.51.100.7, 10.0.0.2", "198.51.100.7", "two proxies"),
    ("10.0.0.1", "rubbish", "rubbish", "counts as one client"),
    ("10.0.0.1", "203.0.113.9\n198.51.100.7", "198.51.100.7", "the client's own line stands above the proxy's"),
    ("10.0.0.1", "203.0.113.9\n198.51.100.7\n10.0.0.2", "198.51.100.7", "each proxy adds a line"),
    ("10.0.0.1", "198.51.100.7:1234", "198.51.100.7", "a port is no part of the address"),
    ("10.0.0.1", "[2001:db8::1]:80", "2001:db8::1", "a port behind brackets"),
    ("10.0.0.1", "[2001:db8::1]", "2001:db8::1", "brackets alone"),
    ("10.0.0.1", "2001:db8::1", "2001:db8::1", "an IPv6 address has no port without brackets"),
    ("10.0.0.1", "198.51.100.7, 10.0.0.2:443", "198.51.100.7", "a proxy with its port"),
    ("10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7", "IPv4 that is written as IPv6"),
    ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7", "a proxy that is written as IPv6"),
    ("10.0.0.1", "[", "[", "no address"),
    ("10.0.0.1", "rubbish:80", "rubbish:80", "no address with a port"),
]


@pytest.mark.parametrize(("peer", "forwarded", "client", "why"), ADDRESSES)
def test_the_address_of_a_client(peer: str, forwarded: str, client: str, why: str) -> None:
    lines = [(b"x-forwarded-for", line.encode()) for line in forwarded.split("\n")]
    asked = Request({"type": "http", "headers": lines, "client": (peer, 1)})
    for network in ("10.0.0.0/8", "::ffff:10.0.0.0/104"):
        assert address_of(asked, [network]) == client, why


PEOPLE = [
    # one address, another one, length of the network, are they one person
    ("192.0.2.1", "192.0.2.1", 64, True),
    ("192.0.2.1", "192.0.2.2", 64, False),
    ("192.0.2.1", "::ffff:192.0.2.1", 64, True),  # IPv4 that is written as IPv6
    ("2001:db8::1", "2001:db8::ffff:1", 64, True),
    ("2001:db8::1", "2001:db8:0:1::1", 64, False),
    ("2001:db8::1", "2001:db8:0:ff::1", 56, True),  # one home
    ("2001:db8::1", "2001:db8:0:100::1", 56, False),
    ("rubbish", "rubbish", 64, True),
]


@pytest.mark.parametrize(("one", "other", "bits", "are_one"), PEOPLE)
@pytest.mark.parametrize("agents", [("a", "a"), ("a", "b")])
def test_one_network_is_one_person_whatever_its_user_agent(
    one: str, other: str, bits: int, are_one: bool, agents: tuple[str, str]
) -> None:
    people = [
        person_of(
            Request({"type": "http", "headers": [(b"user-agent", agent.encode())], "client": (address, 1)}), (), bits
        )
        for address, agent in zip((one, other), agents, strict=True)
    ]
    assert (people[0] == people[1]) == are_one


def test_people_are_hashed_with_a_key_of_the_day() -> None:
    assert hash_person("192.0.2.1", 1, b"s") == hash_person("192.0.2.1", 1, b"s")
    assert hash_person("192.0.2.1", 1, b"s") != hash_person("192.0.2.1", 2, b"s")
    assert hash_person("192.0.2.1", 1, b"s") != hash_person("192.0.2.1", 1, b"t")


def test_a_key_comes_as_bearer_or_as_password_and_from_other_programs_by_its_name() -> None:
    named = {"path": "/searxng/search", "type": "http", "headers": [(b"x-api-key", b"rfl_a_b")]}
    assert given_key(Request(named)) == "rfl_a_b"
    assert given_key(Request({**named, "path": "/api/v1/search"})) == "", "an answer that a cache may keep"
    assert given_key(request(authorization="Bearer rfl_a_b")) == "rfl_a_b"
    assert given_key(request(authorization="Basic eDpyZmxfYV9i")) == "rfl_a_b"
    assert given_key(request(authorization="Basic %%%")) == ""
    assert given_key(request()) == ""


COSTS = [(1, 10, 0, False, 1), (1, 50, 0, False, 1), (6, 10, 0, False, 2), (10, 50, 0, False, 10), (1, 10, 4, True, 4)]


@pytest.mark.parametrize(("page", "per_page", "operators", "reranks", "cost"), COSTS)
def test_a_search_costs_what_it_asks_for(page: int, per_page: int, operators: int, reranks: bool, cost: int) -> None:
    assert cost_of_search(page, per_page, operators, reranks=reranks) == cost


@pytest.mark.parametrize(
    ("own", "private", "hidden"),
    [
        pytest.param(["a.example"], ["intern.a.example"], ("intern.a.example",), id="below a host of the site"),
        pytest.param(["a.example"], ["a.example"], (), id="a host that both name"),
        pytest.param(["docs.intern.a.example"], ["intern.a.example"], (), id="the site's host is the narrower one"),
        pytest.param(["a.example", "intern.a.example"], ["intern.a.example"], (), id="named besides its domain"),
        pytest.param(["a.example"], ["b.example"], ("b.example",), id="elsewhere"),
    ],
)
@pytest.mark.parametrize("is_private", [False, True])
def test_a_private_site_is_hidden_from_wider_sites(
    own: list[str], private: list[str], hidden: tuple[str, ...], is_private: bool
) -> None:
    sites = {
        "own": Site("own", "", tuple(own), is_private=is_private),
        "other": Site("other", "", tuple(private), is_private=True),
    }
    visible = visible_to(sites["own"], sites)
    assert (visible.only, visible.hidden) == (tuple(own), hidden)
    assert shows(visible, f"https://{own[0]}/")
    assert not any(shows(visible, f"https://{host}/") for host in hidden)


def test_a_client_of_a_site_sees_its_pages_only() -> None:
    visible = Visible((), (), only=("docs.example",))
    assert shows(visible, "https://docs.example/a")
    assert shows(visible, "https://v2.docs.example/a")
    assert not shows(visible, "https://notdocs.example/a")
    assert limit(Parameters(), visible).include == ("docs.example",)
    assert limit(Parameters(include=("v2.docs.example",)), visible).include == ("v2.docs.example",)
    with pytest.raises(InvalidQuery, match=r"other\.example is not a domain of this site"):
        limit(Parameters(include=("docs.example", "other.example")), visible)
    others = Visible((), ("docs.example",))
    assert not shows(others, "https://docs.example/a")
    request = parse("x", limit(Parameters(exclude=("a.example",)), others), visible=others)
    assert (request.exclude, request.visible.hidden) == (("a.example",), ("docs.example",))
