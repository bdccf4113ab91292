"""The links stage: each pair of hosts is a row once, also if events come twice or a store fails between two writes."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from schemas import Envelope, LinkFound, PageDiscovered, PageNormalized
from schemas.ids import event_id, page_id
from streams.crawl.domains import may_be_one_owner
from streams.errors import PoisonError, StoreUnavailable
from streams.links.agent import LinksAgent, build, is_written
from streams.links.known_sources import MAX_SOURCES, KnownSources
from streams.runtime.agent import Delivery
from streams.settings import Settings
from streams.stores.memory import MemoryHostLinks, MemoryPages
from streams.stores.opener import memory_stores
from streams.stores.page_record import PageRecord
from streams.stores.protocols import HostRank, LinkGroup

TARGET = "https://target.example/page"


def link(source_url: str, target_url: str = TARGET, **fields: Any) -> Delivery:
    """The event of one page's links to a host."""
    event = LinkFound.model_validate(
        {
            "target_page_id": page_id(target_url),
            "target_url": target_url,
            "target_host": target_url.removeprefix("https://").partition("/")[0],
            "source_page_id": page_id(source_url),
            "source_url": source_url,
            "generation": 1,
            **fields,
        }
    )
    envelope = Envelope(
        id=event_id(event.event_type(), source_url, event.key()),
        type=event.event_type(),
        source="/riffle/normalize",
        time=datetime(2024, 5, 1, tzinfo=UTC),
    )
    return Delivery(event, envelope, event.topic, 0, 0)


class Counting(MemoryHostLinks):
    """A store that counts its calls. The call number `dies_at` raises, before it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.dies_at = -1

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) == self.dies_at:
            raise StoreUnavailable("the store is down")

    async def sources(self, host: str, limit: int) -> dict[str, str]:
        self._call("sources")
        return await super().sources(host, limit)

    async def add(self, *args: Any) -> None:
        self._call("add")
        await super().add(*args)


@pytest.fixture
async def links() -> Counting:
    return Counting()


async def in_links(links: MemoryHostLinks, host: str = "target.example") -> int:
    return (await links.ranks([host])).get(host, HostRank()).in_links


async def test_hosts_that_link_to_a_host_are_counted_once_each(links: Counting) -> None:
    agent = LinksAgent(links, MemoryPages())
    for source in ("a.example/1", "a.example/2", "b.example/", "a.example/1"):
        assert await agent.handle(link(f"https://{source}")) == ()
    found = await links.sources("target.example", 10)
    assert found == {"a.example": "https://a.example/1", "b.example": "https://b.example/"}
    assert await in_links(links) == 2


async def test_the_same_event_twice_is_stored_once_also_by_another_worker(links: Counting) -> None:
    for agent in (LinksAgent(links, MemoryPages()), LinksAgent(links, MemoryPages())):
        for _ in range(2):
            await agent.handle(link("https://a.example/"))
    assert links.calls.count("add") == 1
    assert await in_links(links) == 1


@pytest.mark.parametrize("dies_at", [1, 2])
async def test_a_crash_at_any_store_call_and_the_event_again_give_the_same_rows(links: Counting, dies_at: int) -> None:
    links.dies_at = dies_at
    with pytest.raises(StoreUnavailable):
        await LinksAgent(links, MemoryPages()).handle(link("https://a.example/"))
    restarted = LinksAgent(links, MemoryPages())
    await restarted.handle(link("https://a.example/"))
    await restarted.handle(link("https://b.example/"))
    assert set(await links.sources("target.example", 10)) == {"a.example", "b.example"}
    assert await in_links(links) == 2


async def test_a_failed_write_is_tried_again_by_the_same_worker(links: Counting) -> None:
    agent = LinksAgent(links, MemoryPages())
    links.dies_at = 2
    with pytest.raises(StoreUnavailable):
        await agent.handle(link("https://a.example/"))
    await agent.handle(link("https://a.example/"))
    assert set(await links.sources("target.example", 10)) == {"a.example"}


@pytest.mark.parametrize(
    ("arrived", "why"),
    [
        (link("https://target.example/other"), "its own host"),
        (link("https://www.target.example/"), "the same site"),
        (link("https://docs.target.example/"), "a subdomain"),
        (link("https://a.example/", nofollow=True), "nofollow"),
    ],
)
async def test_some_links_do_not_count(links: Counting, arrived: Delivery, why: str) -> None:
    await LinksAgent(links, MemoryPages()).handle(arrived)
    assert not links.calls, why


async def test_one_followed_link_of_several_is_enough(links: Counting) -> None:
    more = [{"target_url": "https://target.example/2", "nofollow": False}]
    await LinksAgent(links, MemoryPages()).handle(link("https://a.example/", nofollow=True, more=more))
    assert await in_links(links) == 1


async def test_events_of_earlier_versions_name_no_host(links: Counting) -> None:
    await LinksAgent(links, MemoryPages()).handle(link("https://a.example/", target_host=""))
    assert await in_links(links) == 1


async def test_a_host_has_a_bounded_number_of_rows(links: Counting) -> None:
    agent = LinksAgent(links, MemoryPages(), max_sources=5)
    for number in [*range(20), *range(20)]:
        await agent.handle(link(f"https://h{number}.example/"))
    assert len(await links.sources("target.example", 100)) == 5
    assert links.calls.count("add") == 5
    assert await in_links(links) == 5


async def test_a_known_link_costs_no_call(links: Counting) -> None:
    agent = LinksAgent(links, MemoryPages())
    for number in range(100):
        await agent.handle(link(f"https://a.example/{number}"))
    assert links.calls == ["sources", "add"]


class CountedPages(MemoryPages):
    """Records, with the number of reads."""

    reads = 0

    async def get_with_links(self, page_id: UUID) -> tuple[PageRecord, list[LinkGroup]]:
        self.reads += 1
        return await super().get_with_links(page_id)


async def test_links_of_a_page_to_several_hosts_that_come_at_once_share_a_read_of_its_record(links: Counting) -> None:
    pages = CountedPages()
    agent = LinksAgent(links, pages)
    hosts = [f"h{number}.example" for number in range(5)]
    source = "https://a.example/"
    hashes = {"document_ref": "0" * 64, "content_hash": "0" * 64}
    read = PageNormalized(page_id=page_id(source), url=source, host="a.example", generation=1, **hashes)
    arrived = [*(link(source, f"https://{host}/") for host in hosts), replace(link(source), event=read)]
    await asyncio.gather(*map(agent.handle, arrived))
    assert pages.reads == 1, "with the look for its former links"
    assert {host: await in_links(links, host) for host in hosts} == dict.fromkeys(hosts, 1)


async def test_an_assignment_forgets_what_another_worker_may_have_changed(links: Counting) -> None:
    agent = LinksAgent(links, MemoryPages())
    await agent.handle(link("https://a.example/"))
    await LinksAgent(links, MemoryPages()).handle(link("https://b.example/"))
    await agent.assigned(frozenset({0}))
    await agent.handle(link("https://c.example/"))
    assert await in_links(links) == 3


@pytest.mark.parametrize("is_other_worker", [False, True])
async def test_subdomains_of_one_owner_are_one_source(links: Counting, is_other_worker: bool) -> None:
    """Anyone can make any number of subdomains. A worker that starts reads the sources from the store."""
    agent = LinksAgent(links, MemoryPages())
    for source in ("a.owner.example", "b.owner.example", "other.example"):
        await agent.handle(link(f"https://{source}/"))
        agent = LinksAgent(links, MemoryPages()) if is_other_worker else agent
    assert await in_links(links) == 2


async def test_an_event_about_no_link_is_poison(links: Counting) -> None:
    seen = PageDiscovered(page_id=page_id(TARGET), url=TARGET, host="target.example", why="link", depth=1)
    delivery = Delivery(seen, link(TARGET).envelope, seen.topic, 0, 0)
    with pytest.raises(PoisonError, match="PageDiscovered is not about links"):
        await LinksAgent(links, MemoryPages()).handle(delivery)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("a.example", "a.example", True),
        ("www.a.example", "a.example", True),
        ("www.a.example", "docs.a.example", True),
        ("a.farm.example", "b.farm.example", True),  # one owner can make any number of these
        ("a.example", "b.example", False),
        ("a.example", "ba.example", False),
        ("a.github.io", "b.github.io", False),  # sites of two people on a platform
    ],
)
def test_links_within_a_site(first: str, second: str, same: bool) -> None:
    assert may_be_one_owner(first, second) is may_be_one_owner(second, first) is same


def test_counts_that_are_written() -> None:
    assert [number for number in range(1, 1_001) if is_written(number)] == [
        *range(1, 10),
        *range(10, 100, 10),
        *range(100, 1_001, 100),
    ]
    assert is_written(MAX_SOURCES), "the count of a full host"


def test_the_memory_is_bounded() -> None:
    known = KnownSources(max_sources=10, max_remembered=30)
    for number in range(100):
        known.load(f"h{number}.example", [f"s{n}.example" for n in range(number % 12)])
        assert known.number_of(f"h{number}.example", "new.example") == (None if number % 12 >= 10 else number % 12 + 1)
    assert sum(known.knows(f"h{number}.example") for number in range(100)) < 15
    assert known.knows("h99.example")
    assert not known.knows("h0.example")


async def test_the_stage_is_built_from_its_stores() -> None:
    stores = memory_stores()
    await (await build(Settings(), stores)).handle(link("https://a.example/"))
    assert await stores.host_links.ranks(["target.example"]) == {"target.example": HostRank(1)}
