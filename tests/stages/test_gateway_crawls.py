"""Crawls by the API: what a key may begin, what it is told, and that nothing is begun twice."""

import asyncio
from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas import Event, PageDiscovered
from schemas.ids import page_id
from streams.crawl.cancelled import SHELF
from streams.errors import StoreUnavailable
from streams.gateway.access.clients import make_key
from streams.stores.memory import MemoryBlobs, MemoryPages
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Chunked, Deduplicated, Indexed, PageRecord, Removed
from streams.stores.protocols import CRAWL_BUCKETS, ApiKey, CrawlCounts, CrawlState, Site
from streams.writing import crawls as writing_crawls
from streams.writing import searchable
from tests.stages.gateway_fakes import NOW, Dead, client, gateway

CRAWLS = "/api/v1/crawls"
DOCS = "docs.example"
SEED = f"https://{DOCS}/guide"
NOW_MICROS = int(NOW.timestamp() * 1e6)
LONG_AGO = (searchable.TOO_LONG_SECONDS + 1) * 1_000_000


class Sent:
    """A publisher that keeps what is sent. While `down`, Kafka does not answer."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.down = False

    async def send_ahead(self, events: Iterable[Event], cause: str | None = None) -> None:
        if self.down:
            raise StoreUnavailable("Kafka does not answer")
        self.events += events

    async def __call__(self, event: Event, cause: str | None = None) -> None:
        await self.send_ahead([event], cause)


async def key_of(stores: Stores, number: int = 1, **fields: Any) -> dict[str, str]:
    """The header of a new key that may write pages of DOCS."""
    given = {"scopes": ("write", "pages"), "hosts": (DOCS,), **fields}
    text, key = make_key(ApiKey("", "test", b"", **given), bytes([number]) * 38)
    await stores.api_keys.put(key, 1)
    return {"Authorization": f"Bearer {text}"}


@pytest.fixture
def stores() -> Stores:
    return memory_stores()


async def test_a_crawl_sends_its_seeds_and_is_found_again(stores: Stores) -> None:
    sent, key = Sent(), await key_of(stores)
    wanted = {"seeds": [SEED, DOCS, SEED], "depth": 3, "max_pages": 50, "include": ["/guide*"]}
    async with client(gateway(stores, writes=sent)) as web:
        made = await web.post(CRAWLS, json=wanted, headers=key)
        found = await web.get(made.headers["Location"], headers=key)
        listed = await web.get(CRAWLS, headers=key)
    assert made.status_code == 201
    first, second = sent.events
    assert isinstance(first, PageDiscovered)
    assert (first.url, first.page_id, first.why, first.max_depth) == (SEED, page_id(SEED), "seed", 3)
    assert (first.max_pages, first.same_host, first.patterns, first.force) == (50, True, ("+/guide*",), True)
    assert first.crawl_id == made.json()["id"] == getattr(second, "crawl_id", "")
    assert found.json()["state"] == "queued"
    assert [each["url"] for each in found.json()["seeds"]] == [SEED, f"https://{DOCS}/"]
    assert [each["id"] for each in listed.json()["crawls"]] == [first.crawl_id]


STATES = [
    ({}, "queued", "0 addresses: none is finished."),
    ({"queued": 2, "settled": 1}, "running", "3 addresses: 1 fetched, 2 waiting."),
    ({"fetched": 1}, "running", "1 address: 1 waiting."),
    ({"deferred": 1, "settled": 1}, "waiting", "2 addresses: 1 fetched, 1 waiting."),
    ({"settled": 2, "disallowed": 1}, "done", "3 addresses: 2 fetched, 1 forbidden by robots.txt."),
]


@pytest.mark.parametrize(("counts", "state", "says"), STATES)
async def test_the_state_follows_from_the_counts_of_the_frontier(
    stores: Stores, counts: Any, state: str, says: str
) -> None:
    key = await key_of(stores)
    async with client(gateway(stores, writes=Sent())) as web:
        crawl = (await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)).json()
        await stores.frontier.put_states(crawl["id"], 0, {}, "worker", CrawlCounts(counts, 1))
        found = (await web.get(crawl["self"], headers=key)).json()
    assert (found["state"], found["says"]) == (state, says)
    assert found["counts"]["discovered"] == sum(counts.values())


async def crawled(stores: Stores, crawl_id: str, *pages: UUID) -> None:
    """The frontier has the result of these pages, which dedup found to be the first with their texts."""
    for number, each in enumerate(pages):
        states: dict[UUID, CrawlState] = {each: "settled"}
        counts = CrawlCounts({"settled": 1}, 1)
        await stores.frontier.put_states(crawl_id, number % CRAWL_BUCKETS, states, f"worker {number}", counts)
        unique = {"url": SEED, "generation": 5, "verdict": "unique", "document_generation": 5, "at": NOW_MICROS}
        await stores.pages.put(each, Deduplicated.of_row(unique), 5)


@pytest.mark.parametrize(
    ("part", "row"),
    [
        (Indexed, {"generation": 5}),
        (Removed, {"generation": 6, "reason": "gone"}),
        (Chunked, {"generation": 5, "refused": "it has no sentence"}),
        (Deduplicated, {"generation": 5, "verdict": "near", "document_generation": 5, "at": NOW_MICROS}),
        (Deduplicated, {"generation": 5, "verdict": "unique", "document_generation": 5, "at": NOW_MICROS - LONG_AGO}),
    ],
    ids=["indexed", "removed", "without statements", "a duplicate", "failed long ago"],
)
async def test_a_crawl_is_done_when_none_of_its_pages_waits_for_the_index(stores: Stores, part: Any, row: Any) -> None:
    key = await key_of(stores)
    async with client(gateway(stores, writes=Sent())) as web:
        crawl = (await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)).json()
        await crawled(stores, crawl["id"], page_id(SEED))
        before = [(await web.get(path, headers=key)).json() for path in (crawl["self"], CRAWLS)]
        await stores.pages.put(page_id(SEED), part.of_row({"url": SEED, **row}), 6)
        after = (await web.get(crawl["self"], headers=key)).json()
    assert (before[0]["state"], before[1]["crawls"][0]["state"], after["state"]) == ("running", "running", "done")


async def test_each_page_of_a_crawl_is_looked_at_once(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searchable, "MAX_LOOKED", 7)
    pages, key = [uuid4() for _ in range(3 * CRAWL_BUCKETS)], await key_of(stores)
    read: list[UUID] = []

    class Counted(MemoryPages):
        async def get(self, page_id: UUID) -> PageRecord:
            read.append(page_id)
            return await super().get(page_id)

    stores.pages = Counted(MemoryBlobs())
    async with client(gateway(stores, writes=Sent())) as web:
        crawl = (await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)).json()
        await crawled(stores, crawl["id"], *pages)
        for each in pages[:-1]:
            await stores.pages.put(each, Indexed.of_row({"url": SEED, "generation": 5}), 6)
        states = [(await web.get(crawl["self"], headers=key)).json()["state"] for _ in range(40)]
        assert set(states) == {"running"}, "one page waits"
        await stores.pages.put(pages[-1], Indexed.of_row({"url": SEED, "generation": 5}), 6)
        done = [(await web.get(crawl["self"], headers=key)).json()["state"] for _ in range(4)]
    looked = [each for each in read if each != page_id(SEED)]
    assert done[-1] == "done"
    assert set(looked) == set(pages)
    assert max(looked.count(each) for each in pages[:-1]) == 1


async def test_a_list_looks_at_the_pages_of_some_crawls(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing_crawls, "LOOKED_CRAWLS", 2)
    key = await key_of(stores)
    async with client(gateway(stores, writes=Sent())) as web:
        for number in range(5):
            crawl = (await web.post(CRAWLS, json={"seeds": [f"{SEED}{number}"]}, headers=key)).json()
            await crawled(stores, crawl["id"], page_id(SEED))
        await stores.pages.put(page_id(SEED), Indexed.of_row({"url": SEED, "generation": 5}), 6)
        states = [[each["state"] for each in (await web.get(CRAWLS, headers=key)).json()["crawls"]] for _ in range(3)]
    assert [each.count("done") for each in states] == [2, 4, 5]


async def test_pages_that_a_crawl_finds_later_are_looked_at_too(stores: Stores) -> None:
    key, other = await key_of(stores), page_id(f"{SEED}/2")
    async with client(gateway(stores, writes=Sent())) as web:
        crawl = (await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)).json()
        await crawled(stores, crawl["id"], page_id(SEED))
        await stores.pages.put(page_id(SEED), Indexed.of_row({"url": SEED, "generation": 5}), 6)
        first = (await web.get(crawl["self"], headers=key)).json()["state"]
        await crawled(stores, crawl["id"], page_id(SEED), other)
        second = (await web.get(crawl["self"], headers=key)).json()["state"]
    assert (first, second) == ("done", "running")


async def test_a_cancelled_crawl_is_named_to_the_frontier(stores: Stores) -> None:
    key, other = await key_of(stores), await key_of(stores, 2)
    async with client(gateway(stores, writes=Sent())) as web:
        crawl = (await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)).json()
        foreign = await web.delete(crawl["self"], headers=other)
        assert not await stores.notes.of_shelf(SHELF)
        first, again = [await web.delete(crawl["self"], headers=key) for _ in range(2)]
    assert (foreign.status_code, foreign.json()["type"]) == (404, "urn:riffle:problem:unknown-crawl")
    assert set(await stores.notes.of_shelf(SHELF)) == {crawl["id"]}
    assert first.json()["state"] == "cancelled"
    assert first.json() == again.json()


REFUSED = [
    ("no key", {}, {"seeds": [SEED]}, 401, "key-needed"),
    ("no scope", {"scopes": ("search", "pages")}, {"seeds": [SEED]}, 403, "scope-missing"),
    ("no domain", {"hosts": ()}, {"seeds": [SEED]}, 403, "not-writable"),
    ("a foreign host", {}, {"seeds": ["https://other.example/"]}, 403, "not-writable"),
    ("a host that ends alike", {}, {"seeds": [f"https://evil{DOCS}/"]}, 403, "not-writable"),
    ("one foreign seed", {}, {"seeds": [SEED, "https://other.example/"]}, 403, "not-writable"),
    ("credentials", {}, {"seeds": [f"https://user:word@{DOCS}/"]}, 400, "invalid-body"),
    ("a host in the user's place", {}, {"seeds": [f"https://{DOCS}@evil.example/"]}, 400, "invalid-body"),
    ("another scheme", {"hosts": ("*",)}, {"seeds": ["file:///etc/passwd"]}, 400, "invalid-body"),
    ("a private address", {"hosts": ("*",)}, {"seeds": ["http://169.254.169.254/latest"]}, 400, "invalid-body"),
    ("no seed", {}, {"seeds": []}, 400, "invalid-body"),
    ("too many seeds", {}, {"seeds": [SEED] * 101}, 400, "invalid-body"),
    ("too deep", {}, {"seeds": [SEED], "depth": 21}, 400, "invalid-body"),
    ("a misspelt field", {}, {"seeds": [SEED], "dept": 1}, 400, "invalid-body"),
    ("other hosts", {}, {"seeds": [SEED], "any_host": True}, 400, "invalid-body"),
    ("a long pattern", {}, {"seeds": [SEED], "include": ["x" * 300]}, 400, "invalid-body"),
    ("more than its quota", {"writes_per_day": 99}, {"seeds": [SEED]}, 429, "quota-spent"),
    ("no object", {}, [SEED], 400, "invalid-body"),
    ("a long body", {}, {"seeds": [SEED], "include": ["x" * 70_000]}, 413, "too-large"),
]


@pytest.mark.parametrize(
    ("fields", "wanted", "status", "kind"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
async def test_a_crawl_that_is_not_begun(stores: Stores, fields: Any, wanted: Any, status: int, kind: str) -> None:
    sent = Sent()
    key = {} if kind == "key-needed" else await key_of(stores, **fields)
    async with client(gateway(stores, writes=sent)) as web:
        answer = await web.post(CRAWLS, json=wanted, headers=key)
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:riffle:problem:{kind}"), answer.text
    assert answer.json()["detail"]
    assert not sent.events


async def test_a_key_of_a_site_crawls_the_hosts_of_the_site(stores: Stores) -> None:
    await stores.api_keys.put_site(Site("docs", "Docs", (DOCS,)), 1)
    key, sent = await key_of(stores, hosts=(), site="docs"), Sent()
    async with client(gateway(stores, writes=sent)) as web:
        own = await web.post(CRAWLS, json={"seeds": [f"https://deep.{DOCS}/"]}, headers=key)
        other = await web.post(CRAWLS, json={"seeds": ["https://other.example/"]}, headers=key)
    assert (own.status_code, other.status_code, len(sent.events)) == (201, 403, 1)


async def test_the_quota_pays_for_the_pages_of_each_host_until_the_next_day(stores: Stores) -> None:
    key, wanted = await key_of(stores, writes_per_day=250), {"seeds": [SEED, f"https://b.{DOCS}/"]}
    async with client(gateway(stores, writes=Sent())) as web:
        answers = [await web.post(CRAWLS, json=wanted, headers=key) for _ in range(2)]
    assert [each.status_code for each in answers] == [201, 429]
    assert answers[1].json()["detail"] == "200 pages are asked for, and 50 of 250 are left today."
    assert int(answers[1].headers["Retry-After"]) > 0


REPEATED = [
    ("the same", {"seeds": [SEED]}, 201, ""),
    ("another body", {"seeds": [SEED], "depth": 1}, 422, "urn:riffle:problem:repeated-otherwise"),
]


@pytest.mark.parametrize(("wanted", "status", "kind"), [row[1:] for row in REPEATED], ids=[row[0] for row in REPEATED])
async def test_a_repetition_with_an_idempotency_key(stores: Stores, wanted: Any, status: int, kind: str) -> None:
    sent, key = Sent(), {**await key_of(stores, writes_per_day=150), "Idempotency-Key": "monday"}
    async with client(gateway(stores, writes=sent)) as web:
        first = await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)
        second = await web.post(CRAWLS, json=wanted, headers=key)
    assert (first.status_code, second.status_code, second.json().get("type", "")) == (201, status, kind)
    assert len(sent.events) == 1
    if status == 201:
        assert second.content == first.content
        assert second.headers["Location"] == first.headers["Location"]


async def test_an_idempotency_key_is_of_its_client_alone(stores: Stores) -> None:
    keys = [{**await key_of(stores, number), "Idempotency-Key": "monday"} for number in (1, 2)]
    async with client(gateway(stores, writes=Sent())) as web:
        made = [(await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)).json()["id"] for key in keys]
    assert made[0] != made[1]


async def test_a_repetition_after_a_failure_begins_the_same_crawl_and_pays_once(stores: Stores) -> None:
    sent, key = Sent(), {**await key_of(stores, writes_per_day=150), "Idempotency-Key": "monday"}
    sent.down = True
    async with client(gateway(stores, writes=sent)) as web:
        failed = await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)
        sent.down = False
        made = await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)
        listed = (await web.get(CRAWLS, headers=key)).json()["crawls"]
    assert (failed.status_code, failed.json()["type"]) == (503, "urn:riffle:problem:unavailable")
    assert made.status_code == 201, made.text
    assert [each["id"] for each in listed] == [made.json()["id"]]


async def test_two_requests_at_once_with_one_key_begin_one_crawl(stores: Stores) -> None:
    sent, key = Sent(), {**await key_of(stores), "Idempotency-Key": "monday"}
    async with client(gateway(stores, writes=sent)) as web:
        answers = await asyncio.gather(*(web.post(CRAWLS, json={"seeds": [SEED]}, headers=key) for _ in range(5)))
    assert {each.status_code for each in answers} <= {201, 409}
    assert len({each.json()["id"] for each in answers if each.status_code == 201}) == 1
    assert len(sent.events) == 1


async def test_stores_that_do_not_answer_are_a_problem_with_advice(stores: Stores) -> None:
    key = await key_of(stores)
    stores.notes = Dead()
    async with client(gateway(stores, writes=Sent())) as web:
        answer = await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
