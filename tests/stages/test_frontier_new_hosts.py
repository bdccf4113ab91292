"""URLs of a host whose first URL this worker itself stored: nothing is read to know which of them are known."""

from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from schemas import PageFetched
from schemas.ids import page_id
from streams.crawl.frontier.hosts.host_memory import NewHosts
from streams.errors import StoreUnavailable
from streams.settings import CrawlSettings
from tests.stages.frontier_world import SECOND, START, Site, World, discovered

A = "https://a.example"
PAGES = 30


async def new_world(*, claimed_seconds_ago: int = 3) -> tuple[World, Counter[str]]:
    """Return a world with one host, and counts of what the store read, after the worker has claimed its partition."""
    urls = [f"{A}/{n}" for n in range(PAGES)]
    site = Site(links={f"/{n}": [*urls, f"https://other.example/{n}"] for n in range(PAGES)})
    web = World({"a.example": site}, CrawlSettings(delay_seconds=1, lease_seconds=60), seed=1, kill_probability=0)
    reads = count_reads(web)
    await web._act()
    web.now += claimed_seconds_ago * SECOND
    return web, reads


def count_reads(web: World) -> Counter[str]:
    reads: Counter[str] = Counter()
    store = web.frontier_store
    for name in ("urls", "host", "queued"):
        read = getattr(store, name)

        async def counted(*args: Any, read: Any = read, name: str = name, **fields: Any) -> Any:
            reads[name] += len(args[1]) if name == "urls" else 1
            return await read(*args, **fields)

        setattr(store, name, counted)
    return reads


async def crawl(web: World) -> None:
    web.seed(f"{A}/0", same_host=True)
    await web.run()
    assert sorted(web.pages()) == sorted(f"{A}/{n}" for n in range(PAGES))


async def test_no_url_of_a_new_host_is_read() -> None:
    web, reads = await new_world()
    await crawl(web)
    assert reads == {"host": 2}, "once for the host, and once for the other one that pages link to"


async def test_urls_are_read_if_a_former_owner_may_still_write() -> None:
    web, reads = await new_world(claimed_seconds_ago=1)
    await crawl(web)
    assert reads["urls"] >= PAGES


async def test_the_next_worker_reads_the_urls_and_fetches_none_again() -> None:
    web, reads = await new_world()
    await crawl(web)
    web.restart()
    await web._act()
    web.now += 3 * SECOND
    web.send(discovered(f"{A}/0", more_urls=tuple(f"{A}/{n}" for n in range(1, PAGES)), crawl_id="c"))
    await web.run()
    assert reads["urls"] == PAGES
    assert len(web.pages()) == PAGES


async def test_urls_are_read_after_another_worker_owned_the_host() -> None:
    web, reads = await new_world()
    await crawl(web)
    first = web.agent
    await first.assigned(frozenset())
    web.restart()
    web.send(discovered(f"{A}/new", crawl_id="c"))
    await web.run()
    assert len(web.pages()) == PAGES + 1
    web.agent = first
    await first.assigned(frozenset({0}))
    await web._act()
    web.now += 3 * SECOND
    reads.clear()
    web.send(discovered(f"{A}/new", crawl_id="d"))
    await web.run()
    assert reads["urls"] == 1
    assert len(web.pages()) == PAGES + 1


async def test_urls_are_read_after_a_write_that_may_have_been_done() -> None:
    web, reads = await new_world()
    write = web.frontier_store.write

    async def write_and_fail(rows: Any) -> None:
        await write(rows)
        web.frontier_store.write = write  # type: ignore[method-assign]  # of this object only
        raise StoreUnavailable("the answer was lost")

    web.frontier_store.write = write_and_fail  # type: ignore[method-assign]  # of this object only
    await crawl(web)
    assert reads["urls"] > 0


async def test_an_imported_page_of_a_new_host_is_known_to_the_next_worker() -> None:
    web, _ = await new_world()
    imported = PageFetched(
        page_id=page_id(f"{A}/0"), url=f"{A}/0", host="a.example", outcome="ok", generation=START, source="warc"
    )
    web.send(imported)
    await web.run()
    web.restart()
    await web._act()
    web.now += 3 * SECOND
    web.send(discovered(f"{A}/0", crawl_id="c"))
    await web.run()
    assert web.pages() == []


def test_the_memory_of_new_hosts_is_bounded_and_forgets_the_oldest() -> None:
    hosts = NewHosts(most=6)
    for name in ("a", "b", "c"):
        hosts.begin(name)
        hosts.add(name, UUID(int=1))
    assert hosts.has_no("a", UUID(int=2)), "so b is the oldest"
    assert not hosts.has_no("a", UUID(int=1))
    hosts.add("c", UUID(int=2))
    assert [hosts.has_no(name, UUID(int=9)) for name in ("a", "b", "c")] == [True, False, True]
    hosts.clear()
    assert not hosts.has_no("a", UUID(int=9))


def test_new_hosts_without_a_url_are_bounded_too() -> None:
    hosts = NewHosts(most=3)
    for name in ("a", "b", "c", "d"):
        hosts.begin(name)
    assert [hosts.has_no(name, UUID(int=1)) for name in ("a", "b", "c", "d")] == [False, True, True, True]
    hosts.forget("b")
    hosts.begin("e")
    assert [hosts.has_no(name, UUID(int=1)) for name in ("c", "d", "e")] == [True, True, True]


@pytest.mark.parametrize("again", [False, True])
def test_a_host_that_begins_again_has_no_url(again: bool) -> None:
    hosts = NewHosts()
    hosts.begin("a")
    hosts.add("a", UUID(int=1))
    if again:
        hosts.begin("a")
    assert hosts.has_no("a", UUID(int=1)) == again
