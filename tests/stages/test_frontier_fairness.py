"""The order within a host, and the shares of its budget: what strangers link to never displaces a site's own pages."""

from collections.abc import Callable
from typing import Any

import pytest

from schemas import PageSettled
from schemas.ids import page_id
from streams.crawl.frontier import decisions
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.policy import Policy
from streams.crawl.frontier.scheduling.change_hints import ChangeHints
from streams.crawl.frontier.scheduling.ordering import (
    MAX_DOMAINS,
    MAX_WAITING,
    MIN_GAP_MICROS,
    Turns,
    gained_hops,
    head_start,
    max_waiting,
)
from streams.crawl.host_quality import FULL_RANK, judge_host
from streams.maintenance.frontier_hosts import view_host
from streams.stores.host_buckets import bucket_of
from tests.frontier_rows import put_host
from tests.sizes import FULL
from tests.stages.frontier_world import SECOND, START, CrawlOptions, Site, World, discovered

EVIL, VICTIM = "https://evil.example", "https://victim.example"


def web(junk: int, linkers: int = 1) -> dict[str, Site]:
    """Return a site of 20 pages, and strangers that each link to as many invented addresses of it."""
    own = {f"/page{n}": list[str]() for n in range(20)}
    invented = {f"/?junk={n}": list[str]() for n in range(junk * linkers)}
    victim = Site(links={"/": [f"{VICTIM}{path}" for path in own], **own, **invented})
    sites = {"victim.example": victim}
    for n in range(linkers):
        links = [f"{VICTIM}/?junk={junk * n + m}" for m in range(junk)]
        sites[f"evil{n or ''}.example"] = Site(links={"/": links})
    return sites


async def crawl(sites: dict[str, Site], seeds: list[str], **settings: int) -> list[str]:
    """Return what was fetched of the victim, in its order."""
    world = World(sites, CrawlOptions(delay_seconds=1, **settings), 1, 0, 0)
    for url in seeds:
        world.seed(url)
    await world.run()
    return [url for _, _, url in sorted(world.fetches["victim.example"]) if not url.endswith("/robots.txt")]


@pytest.mark.parametrize("order", [1, -1], ids=["the stranger first", "the site first"])
async def test_links_of_a_stranger_spend_a_fifth_of_a_budget_and_come_last(order: int) -> None:
    fetched = await crawl(web(50), [f"{EVIL}/", f"{VICTIM}/"][::order], max_pages_per_host=30)
    own = [url for url in fetched if "junk" not in url]
    assert len(own) == 21
    assert len(fetched) - len(own) == 6
    assert len([url for url in fetched[:22] if "junk" in url]) <= 2, "only until the site's own links were known"


async def test_linking_domains_take_turns() -> None:
    sites = web(40, linkers=3)
    fetched = await crawl(sites, ["https://evil.example/", "https://evil1.example/", "https://evil2.example/"])
    numbers = [int(url.rpartition("=")[2]) // 40 for url in fetched if "junk" in url]
    first = numbers[3:33]
    assert all(first.count(linker) >= 7 for linker in range(3))


@pytest.mark.parametrize(("rank", "least", "most"), [(FULL_RANK, 17, 24), (1.0, 8, 12)], ids=["many", "a new host"])
async def test_a_site_that_many_link_to_gets_more_turns(rank: float, least: int, most: int) -> None:
    sites = web(40, linkers=3)
    world = World(sites, CrawlOptions(delay_seconds=1), 1, 0, 0)
    await world.host_links.put_ranks({"evil1.example": rank})
    for url in ("https://evil.example/", "https://evil1.example/", "https://evil2.example/"):
        world.seed(url)
    await world.run()
    found = [url for _, _, url in sorted(world.fetches["victim.example"]) if "junk" in url]
    numbers = [int(url.rpartition("=")[2]) // 40 for url in found]
    assert least <= numbers[3:33].count(1) <= most
    assert len(numbers) == 120, "all are fetched in the end"


@pytest.mark.parametrize(("rank", "fetched"), [(1.0, 10), (FULL_RANK, 18)], ids=["a new host", "linked by many"])
async def test_a_host_that_many_link_to_has_a_larger_budget(rank: float, fetched: int) -> None:
    world = World(web(0), CrawlOptions(delay_seconds=1, max_pages_per_host=10), 1, 0, 0)
    await world.host_links.put_ranks({"victim.example": rank})
    world.seed(f"{VICTIM}/")
    await world.run()
    assert len([url for _, _, url in world.fetches["victim.example"] if not url.endswith("/robots.txt")]) == fetched


async def test_a_page_that_a_stranger_linked_first_is_an_own_page_once_its_site_links_to_it() -> None:
    sites = web(0)
    sites["evil.example"] = Site(links={"/": [f"{VICTIM}/page{n}" for n in range(20)]})
    fetched = await crawl(sites, [f"{EVIL}/", f"{VICTIM}/"], max_pages_per_host=21)
    assert len(set(fetched)) == len(fetched) == 21


async def own_order(world: World, **fields: Any) -> list[str]:
    """Return the own pages of the victim, in the order in which they are fetched, after an event about all of them."""
    own = [f"{VICTIM}/page{n}" for n in range(20)]
    world.send(discovered(own[0], more_urls=tuple(own[1:]), referrer=f"{VICTIM}/", crawl_id="c", **fields))
    await world.run()
    return [url for url in world.pages() if url in own]


async def test_pages_come_by_the_priority_of_their_sitemap() -> None:
    priorities = tuple(100 - 5 * n for n in range(20))[::-1]
    order = await own_order(World(web(0), CrawlOptions(), 1, 0, 0), why="sitemap", priorities=priorities)
    assert order == [f"{VICTIM}/page{n}" for n in range(19, -1, -1)]


async def test_pages_with_links_of_other_sites_come_first() -> None:
    world = World(web(0), CrawlOptions(), 1, 0, 0)
    for n in (7, 13):
        world.send(discovered(f"{VICTIM}/page{n}", referrer=f"{EVIL}/{n}", crawl_id="c", depth=2))
        world.now += 1  # an event's id has its time
    order = await own_order(world)
    assert set(order[:2]) == {f"{VICTIM}/page7", f"{VICTIM}/page13"}
    assert order[2:4] == [f"{VICTIM}/page0", f"{VICTIM}/page1"]


@pytest.mark.parametrize(("found", "first"), [(4.0, 12), (0.0, 0)], ids=["true intervals", "false ones"])
async def test_pages_that_change_daily_come_first_where_stated_intervals_are_true(found: float, first: int) -> None:
    world = World(web(0), CrawlOptions(), 1, 0, 0)
    host = Host(bucket_of("victim.example"), "victim.example", hints=ChangeHints(expected=4.0, found=found))
    await put_host(world.frontier_store, host.to_row(None, 1))
    stated = tuple(3_600 if n == 12 else 7 * 86_400 for n in range(20))
    order = await own_order(world, why="sitemap", change_seconds=stated)
    assert order[0] == f"{VICTIM}/page{first}"


@pytest.mark.parametrize(
    ("depth", "fields", "linked", "changing", "seconds"),
    [
        (0, {}, False, False, 3_600),
        (1, {}, False, False, 3_600),
        (4, {}, False, False, 3_240),
        (4, {"priorities": (50,)}, False, False, 3_240),
        (4, {"priorities": (100,)}, False, False, 3_840),
        (4, {"priorities": (0,)}, False, False, 2_640),
        (1, {}, True, False, 4_200),
        (1, {"priorities": (100,)}, True, True, 5_400),
        (100, {}, False, False, 1_200),
        (100, {"priorities": (0,)}, False, False, 1_200),
    ],
)
def test_the_head_start(depth: int, fields: Any, linked: bool, changing: bool, seconds: int) -> None:
    event = discovered(f"{VICTIM}/a", depth=depth, **fields)
    gained = gained_hops(event, is_linked=linked, is_changing=changing)
    assert head_start(depth, gained) == seconds * SECOND


def flood(world: World, domains: int, links: int) -> None:
    """So many linking domains each send as many links to invented addresses of the victim, at once."""
    for n in range(domains):
        first, *more = [f"{VICTIM}/?junk={links * n + m}" for m in range(links)]
        where = {"referrer": f"https://evil{n}.example/", "crawl_id": "c", "depth": 2}
        world.send(discovered(first, more_urls=tuple(more), **where))


@pytest.mark.parametrize("domains", [1, 100, pytest.param(1_000, marks=pytest.mark.night)])
async def test_links_of_any_number_of_domains_delay_no_page_of_the_site(domains: int) -> None:
    world = World(web(0), CrawlOptions(delay_seconds=10), 1, 0, 0)
    flood(world, domains, links=max(2_000 // domains, 20) if domains > 1 else 1_000)
    await world.run(hours=2)
    begin = world.now
    own = [f"{VICTIM}/page{n}" for n in range(20)]
    world.send(discovered(own[0], more_urls=tuple(own[1:]), referrer=f"{VICTIM}/", crawl_id="c"))
    await world.run(hours=1)
    since = [url for at, _, url in sorted(world.fetches["victim.example"]) if at >= begin]
    assert sorted(since[:20]) == sorted(own)


@pytest.mark.parametrize("domains", [1, 100, pytest.param(1_000, marks=pytest.mark.night)])
async def test_any_number_of_domains_together_spends_a_fifth_of_a_budget(domains: int) -> None:
    world = World(web(0), CrawlOptions(delay_seconds=1, max_pages_per_host=50), 1, 0, 0)
    flood(world, domains, links=20)
    world.seed(f"{VICTIM}/")
    await world.run()
    fetched = [url for url in world.pages() if url.startswith(VICTIM)]
    assert len(fetched) == len(set(fetched)) == 31
    assert len([url for url in fetched if "junk" in url]) == 10


def test_the_waiting_urls_of_a_domain_are_bounded_and_harm_no_other_domain() -> None:
    turns = Turns()
    places = [turns.next("evil.example", 0, SECOND) for _ in range(MAX_WAITING)]
    assert 2 * MAX_WAITING / 3 - 1 <= len([place for place in places if place is not None]) <= 2 * MAX_WAITING / 3 + 1
    assert [turns.next("good.example", 0, SECOND) for _ in range(50)] == [n * SECOND for n in range(50)]


NAMES: dict[str, Callable[[int], str]] = {
    "one domain": lambda n: "evil.example",
    "64 domains": lambda n: f"evil{n % 64}.example",
    "65 domains": lambda n: f"evil{n % 65}.example",
    "1,000 domains": lambda n: f"evil{n % 1_000}.example",
    "a new domain for each link": lambda n: f"evil{n}.example",
    "one that grows to many": lambda n: f"evil{n if n > 4_000 else 0}.example",
}


@pytest.mark.parametrize("gap", [0, SECOND, 30 * SECOND], ids=["no delay", "a second", "30 seconds"])
@pytest.mark.parametrize("name", NAMES)
def test_strangers_get_a_fifth_of_the_requests_in_the_long_run_whatever_their_number(name: str, gap: int) -> None:
    """Ten links for each request of the host. The first ones may fill the queue."""
    turns, now, taken = Turns(), START, 0
    delay = max(gap, MIN_GAP_MICROS)
    for n in range(12_000 if FULL else 6_000):
        now = START + n * delay // 10
        taken += turns.next(NAMES[name](n), now, gap) is not None
        if n % 1_000 == 0:
            turns = Turns(turns.row())
        assert len(turns.last) <= 2 * MAX_DOMAINS
        assert taken <= max_waiting(delay) + 2 * MAX_DOMAINS + (now - START) / delay / 5 + 1
    assert turns.next("good.example", now + delay * 5 * 2 * MAX_DOMAINS, gap) is not None, "others have their turns"


@pytest.mark.parametrize("domains", [3, 63, 1_000])
def test_a_domain_gets_places_beside_many_that_send_more_links_than_it_may(domains: int) -> None:
    turns, taken = Turns(), 0
    for n in range(20_000):
        now = START + n * SECOND // 10
        turns.next(f"evil{n % domains}.example", now, SECOND)
        if n % 100 == 0 and n > 10_000:
            taken += turns.next("good.example", now, SECOND) is not None
    fair = 1_000 / 5 / (domains + 1)
    assert taken >= min(fair, 100) / 2


async def test_the_queue_of_a_host_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty events bring 200 links each. At most 1,000 URLs wait, and those of one event, also after a restart.

    By day there is half of everything.
    """
    links = 200 if FULL else 100
    monkeypatch.setattr(decisions, "MAX_QUEUED", 5 * links)
    world = World(web(25 * links), CrawlOptions(delay_seconds=1 if FULL else 2), 1, 0, 0)
    most = 0
    for wave in range(30):
        numbers = range(links * wave, min(links * (wave + 1), 25 * links))
        first, *more = [f"{VICTIM}/?junk={number}" for number in numbers] or ["-"]
        if first != "-":
            world.send(discovered(first, more_urls=tuple(more), referrer=f"{VICTIM}/", crawl_id="c"))
        if wave == 12:
            world.restart()
        await world.run(hours=20 / 3_600)
        view = await view_host(world.frontier_store, "victim.example", world.now)
        assert view
        most = max(most, view.waiting)
    assert 4.5 * links <= most <= 6 * links
    world.seed(f"{VICTIM}/page3")
    await world.run()
    assert f"{VICTIM}/page3" in world.pages(), "a person's seed has a place"
    view = await view_host(world.frontier_store, "victim.example", world.now)
    assert view
    assert view.waiting == 0
    live = world.in_memory("victim.example")
    assert live
    assert live.host.queued == 0
    world.send(discovered(f"{VICTIM}/page4", referrer=f"{VICTIM}/", crawl_id="c"))
    await world.run()
    assert world.pages()[-1] == f"{VICTIM}/page4", "there is room again"


def test_the_budget_of_a_host_follows_its_pages() -> None:
    policy = Policy.of(CrawlOptions(max_pages_per_host=1_000))
    good, bad, new = (Host(0, "a.example") for _ in range(3))
    for _ in range(200):
        good.count_settled(is_unique=True, quality=0.95)
        bad.count_settled(is_unique=False, quality=None)
    assert new.page_limit(None, policy) == 1_000
    assert good.page_limit(None, policy) > 1_800
    assert bad.page_limit(None, policy) < 200
    assert bad.page_limit(70, policy) == 70, "the number of a crawl holds as it is"
    read = Host.from_row(bad.to_row(None, 1))
    assert read.record == bad.record


def settled(url: str, verdict: str) -> PageSettled:
    quality = 0.9 if verdict == "changed" else None
    return PageSettled.model_validate(
        {"page_id": page_id(url), "url": url, "host": "victim.example", "verdict": verdict, "quality": quality,
         "generation": START + 10**12}
    )  # fmt: skip


@pytest.mark.parametrize("junk", [0, 200])
async def test_copies_that_a_stranger_leads_to_lower_no_budget(junk: int) -> None:
    """The victim answers any query with the same page, as most hosts do: the junk ends as duplicates."""
    world = World(web(junk), CrawlOptions(delay_seconds=1), 1, 0, 0)
    for url in (f"{EVIL}/", f"{VICTIM}/"):
        world.seed(url)
    await world.run()
    pages = [url for url in world.pages() if url.startswith(VICTIM)]
    assert len(pages) == 21 + junk
    for url in pages:
        world.send(settled(url, "duplicate" if "junk" in url else "changed"))
        world.now += 1
    await world.run()
    live = world.in_memory("victim.example")
    assert live
    record = live.host.record
    assert (record.settled, record.unique, record.of_strangers) == (21, 21, junk)
    assert judge_host(record).budget_factor > 1.5
