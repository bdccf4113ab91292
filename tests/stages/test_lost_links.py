"""The links of a page that is gone no longer count: with redeliveries, in any order, and with several workers."""

from dataclasses import replace
from typing import Any

import pytest

from schemas import Event, LinkFound, PageRemoved
from schemas.ids import page_id
from streams.crawl.domains import may_be_one_owner
from streams.crawl.urls import host_of
from streams.links.agent import LinksAgent, round_down
from streams.links.ranking import rank_hosts
from streams.runtime.agent import Delivery
from streams.stores.memory import MemoryHostLinks, MemoryPages
from streams.stores.page_record import Removed
from streams.stores.protocols import HostRank, LinkGroup
from tests.stages.test_links_stage import link

HUB = "https://hub.example/page"
SOURCE = "https://a.example/1"


def envelope_of(event: Event) -> Delivery:
    return Delivery(event, link(HUB).envelope, event.topic, 0, 0)


class Web:
    """The workers of the links stage: one for each key, as partitions have them."""

    def __init__(self) -> None:
        self.links = MemoryHostLinks()
        self.pages = MemoryPages(links=self.links)
        self._workers = {name: LinksAgent(self.links, self.pages) for name in ("hosts", "pages")}

    async def find(self, source: str, *targets: str, at: int = 1, **fields: Any) -> None:
        first, *more = targets
        found = link(source, first, generation=at, more=[{"target_url": url} for url in more], **fields)
        event = found.event
        assert isinstance(event, LinkFound)
        if not may_be_one_owner(host_of(source), host_of(first)):  # the stage that reads the page stores its edges
            await self.links.put_links_of(page_id(source), LinkGroup.of(event))
            found = replace(found, event=event.model_copy(update={"is_recorded": True}))
        await self._workers["hosts"].handle(found)

    async def remove(self, url: str, reason: str = "gone", at: int = 2) -> list[LinkFound]:
        """A page is removed: the index stage has its record. Returns the events of lost links."""
        removed = Removed.of_row({"url": url, "generation": at, "reason": reason})
        await self.pages.put(page_id(url), removed, at)
        event = PageRemoved.model_validate({"page_id": page_id(url), "url": url, "generation": at, "reason": reason})
        outputs = await self._workers["pages"].handle(envelope_of(event))
        return [event for event in outputs if isinstance(event, LinkFound)]

    async def lose(self, url: str, reason: str = "gone", at: int = 2) -> None:
        for event in await self.remove(url, reason, at):
            await self._workers["hosts"].handle(envelope_of(event))

    async def take(self, events: list[LinkFound]) -> None:
        for event in events:
            await self._workers["hosts"].handle(envelope_of(event))

    async def state(self, *targets: str) -> tuple[Any, ...]:
        """Return all that is stored of some linked pages and their hosts."""
        hosts = {host_of(url) for url in targets}
        return (
            {host: await self.links.sources(host, 99) for host in hosts},
            {url: await self.links.page_links(host_of(url), page_id(url), 99) for url in targets},
            {host: rank.in_links for host, rank in (await self.links.ranks(hosts)).items()},
        )

    async def sources(self, url: str = HUB) -> dict[str, str]:
        return await self.links.sources(host_of(url), 99)


@pytest.mark.parametrize("reason", ["gone", "noindex", "refused", "blocked", "request", "unsupported", "duplicate"])
async def test_links_of_a_removed_page_count_no_more(reason: str) -> None:
    stays = reason == "duplicate"  # the page is still there
    web = Web()
    await web.find(SOURCE, HUB, "https://hub.example/other")
    await web.find(SOURCE, "https://third.example/")
    await web.find("https://b.example/", HUB)
    for _ in range(2):  # a redelivery
        await web.lose(SOURCE, reason)
    assert ("a.example" in await web.sources()) is stays
    assert ("a.example" in await web.sources("https://third.example/")) is stays
    assert {row.source_url for row in await web.links.page_links(host_of(HUB), page_id(HUB), 9)} == {
        "https://b.example/",
        *([SOURCE] if stays else []),
    }
    counts = await web.links.ranks(["hub.example", "third.example"])
    assert [counts[host].in_links for host in sorted(counts)] == ([2, 1] if stays else [1, 0])


async def test_the_rank_falls_back() -> None:
    web, without = Web(), Web()
    for graph in (web, without):
        await graph.find("https://b.example/", HUB)
    await web.find(SOURCE, HUB)
    await web.find(SOURCE, "https://lone.example/")

    async def rank(graph: Web) -> float:
        await rank_hosts(graph.links, anew=True, private=(), progress=lambda step, hosts: None)
        return (await graph.links.ranks(["hub.example"]))["hub.example"].rank or 0

    before = await rank(web)
    await web.lose(SOURCE)
    after, expected = await rank(web), await rank(without)
    assert before > after > 0
    assert after == pytest.approx(expected)
    assert (await web.links.ranks(["lone.example"]))["lone.example"] == HostRank(0, 1.0)


async def test_another_page_of_the_host_takes_the_place() -> None:
    web = Web()
    await web.find(SOURCE, HUB)
    for path in ("2", "3", "4"):
        await web.find(f"https://a.example/{path}", HUB)
    await web.lose(SOURCE, at=100)
    others = {f"https://a.example/{path}" for path in ("2", "3", "4")}
    assert set(await web.sources()) == {"a.example"}
    assert set((await web.sources()).values()) <= others
    assert (await web.links.ranks(["hub.example"]))["hub.example"].in_links == 1
    for url in sorted(others):
        await web.lose(url, at=100)
    assert await web.sources() == {}
    assert (await web.links.ranks(["hub.example"]))["hub.example"].in_links == 0


async def test_a_page_of_another_host_of_the_domain_takes_the_place() -> None:
    """A domain has one row, under the host that was found first. Its other hosts have the link as well."""
    web = Web()
    await web.find("https://www.blog.com/1", HUB)
    await web.find("https://blog.com/2", HUB)
    await web.find("https://other.com/2", HUB)
    for _ in range(2):  # a redelivery
        await web.lose("https://www.blog.com/1", at=100)
        assert await web.sources() == {"blog.com": "https://blog.com/2", "other.com": "https://other.com/2"}
        assert (await web.links.ranks(["hub.example"]))["hub.example"].in_links == 2
    await web.lose("https://blog.com/2", at=100)
    assert set(await web.sources()) == {"other.com"}
    assert (await web.links.ranks(["hub.example"]))["hub.example"].in_links == 1


async def test_the_row_of_a_domain_moves_between_its_hosts_and_back() -> None:
    web = Web()
    for at, url in enumerate(["https://blog.com/3", "https://www.blog.com/1", "https://blog.com/2"], 1):
        await web.find(url, HUB, at=at)
    await web.lose("https://blog.com/3", at=30)
    assert await web.sources() == {"blog.com": "https://blog.com/2"}, "the same host first"
    await web.find("https://blog.com/3", HUB, at=31)
    await web.lose("https://blog.com/2", at=40)
    await web.lose("https://blog.com/3", at=50)
    assert await web.sources() == {"www.blog.com": "https://www.blog.com/1"}
    for at in (49, 52):  # before and after the row of this host was deleted
        await web.find("https://blog.com/2", HUB, at=at)
    await web.lose("https://www.blog.com/1", at=60)
    assert await web.sources() == {"blog.com": "https://blog.com/2"}


async def test_a_page_that_comes_back_counts_again() -> None:
    web = Web()
    for at in (1, 3, 5):
        await web.find(SOURCE, HUB, at=at)
        assert set(await web.sources()) == {"a.example"}
        await web.lose(SOURCE, at=at + 1)
        assert await web.sources() == {}
    assert await web.links.page_links(host_of(HUB), page_id(HUB), 9) == []


@pytest.mark.parametrize("order", ["found lost found", "found lost lost", "found back lost", "back found lost"])
async def test_the_order_of_events_does_not_matter(order: str) -> None:
    """Found is of generation 1, lost of 2, back of 3. An event comes late, or twice."""
    web, expected = Web(), Web()
    await web.find(SOURCE, HUB)
    lost = await web.remove(SOURCE)
    web.links = web.pages.__dict__["_links"] = MemoryHostLinks()
    web.__dict__["_workers"] = {name: LinksAgent(web.links, web.pages) for name in ("hosts", "pages")}
    acts = {
        "found": lambda: web.find(SOURCE, HUB),
        "lost": lambda: web.take(lost),
        "back": lambda: web.find(SOURCE, HUB, at=3),
    }
    for name in order.split():
        await acts[name]()
    await expected.find(SOURCE, HUB, at=3 if "back" in order else 1)
    if "back" not in order:
        await expected.lose(SOURCE)
    found, wanted = await web.state(HUB), await expected.state(HUB)
    assert found[:2] == wanted[:2]
    assert found[2].get("hub.example", 0) == wanted[2].get("hub.example", 0)


async def test_a_link_that_comes_after_its_loss_is_not_stored_though_the_page_was_read_a_moment_ago() -> None:
    web = Web()
    await web.find(SOURCE, "https://third.example/")
    await web.links.put_links_of(page_id(SOURCE), group := LinkGroup((HUB,), 1, True))
    await web.lose(SOURCE)
    await web.find(SOURCE, *group.urls)
    assert await web.sources() == {}


PLATFORM_ROWS = [
    ((), "only another blog links to it"),
    (("https://other.example/",), "and a site"),
]


@pytest.mark.parametrize(("others", "why"), PLATFORM_ROWS, ids=[row[-1] for row in PLATFORM_ROWS])
async def test_the_row_of_two_names_of_a_platform_is_taken_back(others: tuple[str, ...], why: str) -> None:
    """An older list of suffixes had them as two witnesses. The third blog's row stays, and counts no more."""
    web, blog = Web(), "https://you.github.io/page"
    for name in ("me", "third"):
        await web.links.add("you.github.io", f"{name}.github.io", f"https://{name}.github.io/", at=1, in_links=2)
        await web.find(f"https://{name}.github.io/", blog)
    for url in others:
        await web.find(url, blog)
    for _ in range(2):  # a redelivery
        await web.lose("https://me.github.io/")
        assert set(await web.sources(blog)) == {"third.github.io", *map(host_of, others)}, why
        assert (await web.links.ranks(["you.github.io"]))["you.github.io"].in_links == len(others)


async def test_a_page_without_links_to_other_domains_loses_none() -> None:
    web = Web()
    await web.find("https://a.hub.example/", HUB)
    assert await web.remove("https://a.hub.example/") == []
    assert await web.remove("https://unknown.example/") == []


async def test_counts_stay_those_of_all_domains() -> None:
    web = Web()
    for number in range(23):
        await web.find(f"https://s{number}.example/", HUB)
    for number in range(23, 0, -1):
        assert (await web.links.ranks(["hub.example"]))["hub.example"].in_links == round_down(number)
        await web.lose(f"https://s{number - 1}.example/")
    assert await web.sources() == {}
