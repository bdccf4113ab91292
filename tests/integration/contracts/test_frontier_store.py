"""The contract of the frontier's store, in memory and in Cassandra."""

import asyncio
import random
from dataclasses import replace
from itertools import permutations
from uuid import UUID, uuid4

import pytest

from schemas.ids import page_id
from streams.stores.cassandra import CassandraFrontier
from streams.stores.crawl_patterns import MAX_IN_ROW, CrawlPatterns
from streams.stores.host_buckets import bucket_of
from streams.stores.memory import MemoryFrontier
from streams.stores.protocols import (
    CrawlCounts,
    FrontierHost,
    FrontierStore,
    FrontierUrl,
    HeldUrl,
    HostOrder,
    HostRows,
    HostShare,
    PartitionOwner,
    QueueEntry,
    further_part_of,
)
from tests.conftest import fresh_name
from tests.frontier_rows import push, put_host, put_urls
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def frontier(request: pytest.FixtureRequest) -> FrontierStore:
    if request.param == "memory":
        return MemoryFrontier()
    return CassandraFrontier(request.getfixturevalue("cassandra_session"))


def host_name() -> str:
    return f"{fresh_name()}.example"


def a_url(**fields: object) -> FrontierUrl:
    url = FrontierUrl(uuid4(), "https://a.example/", "a.example", "queued", at=1)
    return replace(url, **fields)  # type: ignore[arg-type] # each test knows the fields


async def test_an_unknown_host_and_url_are_none(frontier: FrontierStore) -> None:
    assert await frontier.host(host_name()) is None
    assert await frontier.url(host_name(), uuid4()) is None
    assert await frontier.queued(host_name(), None, 10) == []
    assert await frontier.crawl_counts(fresh_name()) == {}


async def test_a_host_comes_back_as_it_was_written(frontier: FrontierStore) -> None:
    name = host_name()
    state = {"leases": [{"lease_id": uuid4(), "until": 5}], "cursor": None}
    row = FrontierHost(bucket_of(name), name, 17, state, at=9)
    await put_host(frontier, row)
    assert await frontier.host(name) == row
    assert await frontier.host(f"a.{name}") is None


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
async def test_the_latest_write_of_a_host_stands_whole(frontier: FrontierStore, order: tuple[int, ...]) -> None:
    name = host_name()
    for at in order:
        await put_host(frontier, FrontierHost(bucket_of(name), name, None if at == 3 else at, {"version": at}, at))
    assert await frontier.host(name) == FrontierHost(bucket_of(name), name, None, {"version": 3}, 3)


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
async def test_the_latest_write_of_a_share_stands(frontier: FrontierStore, order: tuple[int, ...]) -> None:
    host, crawl = host_name(), fresh_name()
    assert await frontier.share(host, crawl) is None
    for at in order:
        await frontier.put_share(host, crawl, HostShare(at == 3, at, 4 - at), at)
    assert await frontier.share(host, crawl) == HostShare(seeded=True, scheduled=3, strangers=1)
    assert await frontier.share(host, fresh_name()) is None


async def test_active_hosts_are_those_for_which_something_waits(frontier: FrontierStore) -> None:
    bucket = random.randrange(1_000, 1_000_000_000)
    waiting, idle, was_idle, elsewhere = (host_name() for _ in range(4))
    await put_host(frontier, FrontierHost(bucket, waiting, 5, {}, 1))
    await put_host(frontier, FrontierHost(bucket, idle, 5, {}, 1))
    await put_host(frontier, FrontierHost(bucket, idle, None, {}, 2))
    await put_host(frontier, FrontierHost(bucket, was_idle, None, {}, 1))
    await put_host(frontier, FrontierHost(bucket, was_idle, 0, {}, 2))
    await put_host(frontier, FrontierHost(bucket + 1, elsewhere, 5, {}, 1))
    assert sorted(await frontier.active_hosts([bucket, bucket + 2])) == sorted([(waiting, 5), (was_idle, 0)])
    far_away = FrontierHost(bucket + 511, host_name(), 7, {}, 1)
    await put_host(frontier, far_away)
    found = await frontier.active_hosts(range(bucket, bucket + 512))
    assert sorted(found) == sorted([(waiting, 5), (was_idle, 0), (elsewhere, 5), (far_away.host, 7)])
    assert await frontier.active_hosts([]) == []


async def test_the_owner_with_the_highest_epoch_stands(frontier: FrontierStore) -> None:
    partition = random.randrange(1_000, 1_000_000_000)
    assert partition not in await frontier.owners()
    first, second = PartitionOwner(partition, "a", 5), PartitionOwner(partition, "b", 6)
    for owner in (first, second, first):
        await frontier.put_owner(owner)
    assert (await frontier.owners())[partition] == second


async def test_a_queue_is_in_the_order_of_time_and_then_of_pages(frontier: FrontierStore) -> None:
    name, now = host_name(), 1_800_000_000_000_000
    entries = [QueueEntry(now + n // 3, uuid4()) for n in range(30)]
    shuffled = random.Random(1).sample(entries, len(entries))
    await asyncio.gather(*(push(frontier, name, [entry], 1) for entry in shuffled))
    assert await frontier.queued(name, None, 100) == sorted(entries)


async def test_a_queue_is_read_behind_the_cursor(frontier: FrontierStore) -> None:
    name = host_name()
    entries = sorted(QueueEntry(n // 2, uuid4()) for n in range(10))
    for entry in entries:
        await push(frontier, name, [entry], 1)
    read, cursor = [], None
    while page := await frontier.queued(name, cursor, 3):
        read += page
        cursor = page[-1]
    assert read == entries


async def test_pushed_twice_is_there_once(frontier: FrontierStore) -> None:
    name, entry = host_name(), QueueEntry(1, uuid4())
    await push(frontier, name, [entry], 1)
    await push(frontier, name, [entry], 2)
    assert await frontier.queued(name, None, 10) == [entry]


async def test_many_entries_are_pushed_together(frontier: FrontierStore) -> None:
    name = host_name()
    entries = [QueueEntry(n, uuid4()) for n in range(1_100)]
    await push(frontier, name, entries, 1)
    assert await frontier.queued(name, None, 2_000) == entries
    await push(frontier, name, [], 2)


async def test_what_the_cursor_passed_can_be_trimmed_and_nothing_else(frontier: FrontierStore) -> None:
    name = host_name()
    entries = sorted(QueueEntry(n // 2, uuid4()) for n in range(10))
    for entry in entries:
        await push(frontier, name, [entry], 1)
    await frontier.trim(name, entries[4], 2)
    assert await frontier.queued(name, None, 10) == entries[5:]


async def test_a_url_comes_back_as_it_was_written(frontier: FrontierStore) -> None:
    url = a_url(position=7, attempt=2, max_depth=0, crawl_id="c", forced=True, etag='"x"', generation=2**60)
    await put_urls(frontier, [url])
    assert await frontier.url(url.host, url.page_id) == url


def long_patterns() -> tuple[str, ...]:
    return tuple(f"-/{fresh_name()}/{number}/*" for number in range(MAX_IN_ROW // 16))


async def test_urls_of_one_crawl_name_patterns_that_are_stored_once(
    frontier: MemoryFrontier | CassandraFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns = long_patterns()
    urls = [a_url(max_depth=3, same_host=True, patterns=patterns, depth=depth) for depth in range(3)]
    other = a_url(patterns=patterns[1:])
    written: list[bytes] = []
    put_patterns = frontier.put_patterns

    async def count(patterns_id: bytes, packed: bytes) -> None:
        written.append(patterns_id)
        await put_patterns(patterns_id, packed)

    monkeypatch.setattr(frontier, "put_patterns", count)
    for url in (*urls, other, a_url(max_pages=9, patterns=patterns[:2])):
        await put_urls(frontier, [url])
        frontier._patterns = CrawlPatterns(frontier) if url is other else frontier._patterns  # as another worker
    assert len(written) == len(set(written)) == 2
    assert [await frontier.url(url.host, url.page_id) for url in (*urls, other)] == [*urls, other]
    assert patterns[0].encode() not in await frontier._patterns.pack(urls[0])


async def test_without_its_patterns_a_url_is_fetched_and_leads_nowhere(
    frontier: MemoryFrontier | CassandraFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = a_url(max_depth=3, patterns=long_patterns())

    async def lose(patterns_id: bytes, packed: bytes) -> None:
        """A backup without them was restored."""

    with monkeypatch.context() as patched:
        patched.setattr(frontier, "put_patterns", lose)
        await put_urls(frontier, [url])
    read = await frontier.url(url.host, url.page_id)
    assert read
    assert replace(read, unread_limits=None) == replace(url, max_depth=0, patterns=())
    await put_urls(frontier, [replace(read, at=read.at + 1, outcome="ok")])
    frontier._patterns = CrawlPatterns(frontier)
    await put_urls(frontier, [a_url(patterns=url.patterns)])  # its crawl goes on, or a backup with them is restored
    assert await frontier.url(url.host, url.page_id) == replace(url, at=url.at + 1, outcome="ok"), "nothing was made up"


async def test_rows_of_a_host_are_written_and_read_together(frontier: FrontierStore) -> None:
    name = host_name()
    urls = [a_url(page_id=uuid4(), host=name, position=n) for n in range(700)]
    entries = [QueueEntry(url.position, url.page_id) for url in urls]
    state = FrontierHost(bucket_of(name), name, 5, {"failures": 1}, at=9)
    await frontier.write(HostRows(name, state, urls, entries, at=1))
    assert await frontier.host(name) == state
    assert await frontier.queued(name, None, 1_000) == entries
    found = await frontier.urls(name, [*(url.page_id for url in urls), uuid4()])
    assert found == {url.page_id: url for url in urls}
    assert {url.part for url in found.values()} == {0}
    assert await frontier.url(f"a.{name}", urls[0].page_id) is None, "a URL is found by its own host"
    await frontier.write(HostRows(name))
    assert name not in dict(await frontier.active_hosts([bucket_of(name)])), "the list of due hosts is another write"


async def test_urls_in_a_further_part_of_a_host_are_found_where_they_are_looked_for(frontier: FrontierStore) -> None:
    name = host_name()
    first = a_url(page_id=uuid4(), host=name, part=0)
    further = [replace(first, page_id=page_id, part=further_part_of(page_id)) for page_id in (uuid4(), uuid4())]
    pages = [first.page_id, *(url.page_id for url in further)]
    state = FrontierHost(bucket_of(name), name, 5, {}, at=9)
    await frontier.write(HostRows(name, state, [first, *further], [QueueEntry(1, pages[1])], at=1))
    assert await frontier.host(name) == state
    assert await frontier.queued(name, None, 9) == [QueueEntry(1, pages[1])]
    found = await frontier.urls(name, pages)
    assert [found[page].part for page in pages] == [0, further[0].part, further[1].part]
    assert await frontier.urls(name, pages, further=False) == {first.page_id: first}
    assert await frontier.url(name, pages[2]) == further[1]


async def test_the_urls_of_a_part_are_listed_by_page_behind_a_page(frontier: FrontierStore) -> None:
    name = host_name()
    urls = [
        a_url(page_id=page_id(f"https://{name}/{n}"), url=f"https://{name}/{n}", host=name, part=0) for n in range(7)
    ]
    other = a_url(page_id=(far := page_id(f"https://{name}/far")), host=name, part=further_part_of(far))
    await frontier.write(HostRows(name, urls=[*urls, other]))
    listed: list[FrontierUrl] = []
    while found := await frontier.urls_of_part(name, 0, listed[-1].page_id if listed else UUID(int=0), 3):
        assert len(found) <= 3
        listed += found
    assert sorted(url.url for url in listed) == [url.url for url in urls]
    assert len({url.page_id for url in listed}) == len(listed) == len(urls)
    assert await frontier.urls_of_part(name, further_part_of(far), UUID(int=0), 3) == [other]


async def test_of_two_rows_of_a_url_in_two_parts_the_later_one_counts(frontier: FrontierStore) -> None:
    """A worker that lost its partition may write a URL that it takes for new."""
    name, page = host_name(), uuid4()
    versions = [a_url(page_id=page, host=name, at=at, part=part) for at, part in ((2, further_part_of(page)), (1, 0))]
    for url in versions:
        await frontier.write(HostRows(name, urls=[url]))
    assert await frontier.url(name, page) == versions[0]


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
async def test_the_latest_write_of_a_url_stands_whole(frontier: FrontierStore, order: tuple[int, ...]) -> None:
    page_id = uuid4()
    versions = {at: a_url(page_id=page_id, at=at, outcome=f"of {at}", etag=None if at == 3 else "old") for at in order}
    for at in order:
        await put_urls(frontier, [versions[at]])
    assert await frontier.url("a.example", page_id) == versions[3]


async def test_a_crawls_states_are_written_with_the_counts_of_their_owner(frontier: FrontierStore) -> None:
    crawl, other = fresh_name(), fresh_name()
    pages = [UUID(int=n << 64 | n) for n in range(300)]
    assert await frontier.owner_counts(crawl, 3, "0/1") == CrawlCounts()
    first = CrawlCounts({"queued": 300}, at=5)
    for _ in range(2):
        await frontier.put_states(crawl, 3, dict.fromkeys(pages, "queued"), "0/1", first)
    await frontier.put_states(crawl, 15, {pages[0]: "failed"}, "1/2", CrawlCounts({"failed": 1, "queued": -1}, at=1))
    await frontier.put_states(other, 3, {pages[0]: "seen"}, "0/1", CrawlCounts({"seen": 1}, at=1))
    assert await frontier.owner_counts(crawl, 3, "0/1") == first
    assert await frontier.states(crawl, 3, [*pages, uuid4()]) == dict.fromkeys(pages, "queued")
    assert await frontier.states(crawl, 3, []) == {}
    assert await frontier.crawl_counts(crawl) == {"queued": 299, "failed": 1}
    assert await frontier.crawl_counts(other) == {"seen": 1}


async def test_the_latest_states_and_counts_stand(frontier: FrontierStore) -> None:
    crawl, page = fresh_name(), uuid4()
    later = CrawlCounts({"settled": 1}, at=7)
    await frontier.put_states(crawl, 0, {page: "settled"}, "0/1", later)
    await frontier.put_states(crawl, 0, {page: "queued"}, "0/1", CrawlCounts({"queued": 1}, at=6))
    assert await frontier.states(crawl, 0, [page]) == {page: "settled"}
    assert await frontier.owner_counts(crawl, 0, "0/1") == later
    assert await frontier.crawl_counts(crawl) == {"settled": 1}


def held_urls(host: str) -> list[HeldUrl]:
    """Return the held URLs of three targets, in the order of the store."""
    targets = sorted(page_id(f"https://{host}/{number}") for number in range(3))
    return [HeldUrl(host, target, slot, f"{{{slot}}}", at=5) for target in targets for slot in (0, 7, 15)]


async def test_held_urls_are_found_by_host_and_by_target(frontier: FrontierStore) -> None:
    host = host_name()
    rows = held_urls(host)
    for held in (*reversed(rows), rows[4]):
        await frontier.hold(held)
    assert await frontier.held(host, None, 100) == rows
    assert await frontier.held(host, None, 4) == rows[:4]
    assert await frontier.held(host, rows[3], 4) == rows[4:8]
    assert await frontier.held_for(host, rows[3].target) == rows[3:6]
    assert await frontier.held_for(host, uuid4()) == []
    assert await frontier.held(host_name(), None, 100) == []


async def test_a_released_url_stays_away_until_it_is_held_anew(frontier: FrontierStore) -> None:
    host = host_name()
    held = held_urls(host)[0]
    await frontier.hold(held)
    for _ in range(2):
        await frontier.release(held)
    await frontier.hold(held)
    assert await frontier.held(host, None, 9) == [], "a copy of the event that held it comes late"
    later = replace(held, discovered="{later}", at=6)
    await frontier.hold(later)
    await frontier.release(held)
    assert await frontier.held(host, None, 9) == [later]


async def test_the_latest_order_for_a_host_stands(frontier: FrontierStore) -> None:
    name = host_name()
    for order in (HostOrder(name, blocked=True, note="a note", at=2), HostOrder(name, delay_seconds=5.5, at=1)):
        await frontier.put_order(order)
    assert [order for order in await frontier.orders() if order.host == name] == [
        HostOrder(name, blocked=True, note="a note", at=2)
    ]
    assert await frontier.order(name) == HostOrder(name, blocked=True, note="a note", at=2)
    assert await frontier.order(host_name()) is None
