"""The frontier stage over memory stores, in a simulated web with its own clock."""

import itertools
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas import Event, PageDeduplicated, PageFetched, PageSettled
from schemas.ids import page_id
from streams.crawl.frontier.progress import CrawlProgress, crawl_progress
from streams.crawl.urls import host_of
from streams.errors import PoisonError
from streams.maintenance.frontier_hosts import read_in_frontier
from streams.robot_name import ROBOT, ProductToken
from streams.stores.opener import Stores
from tests.frontier_rows import stored_url
from tests.stages.frontier_world import SECOND, START, CrawlOptions, Site, World, delivery, discovered

A, B = "https://a.example", "https://b.example"


def chain(n: int, base: str = A) -> dict[str, list[str]]:
    """Return pages /0 to /n-1, each with a link to the next."""
    return {f"/{i}": [f"{base}/{i + 1}"] if i + 1 < n else [] for i in range(n)}


def star(n: int) -> dict[str, list[str]]:
    """Return a page / with links to n others."""
    return {"/": [f"{A}/{i}" for i in range(n)], **{f"/{i}": [] for i in range(n)}}


def world(**sites: Site) -> World:
    settings = CrawlOptions(delay_seconds=1, lease_seconds=60, max_attempts=3)
    return World({f"{name}.example": site for name, site in sites.items()}, settings, seed=1, kill_probability=0)


async def progress(of: World, crawl_id: str = "c") -> CrawlProgress:
    return await crawl_progress(Stores(frontier=of.frontier_store), crawl_id)


def gaps(of: World, host: str) -> list[float]:
    """Return the seconds between the end of each request and the beginning of the next."""
    return [(begin - end) / SECOND for (_, end, _), (begin, _, _) in itertools.pairwise(sorted(of.fetches[host]))]


async def test_robots_comes_first_and_then_page_by_page() -> None:
    web = world(a=Site(links=chain(3)))
    web.seed(f"{A}/0")
    await web.run()
    assert [url for *_, url in sorted(web.fetches["a.example"])] == [f"{A}/robots.txt", f"{A}/0", f"{A}/1", f"{A}/2"]
    assert min(gaps(web, "a.example")) >= 1


async def test_a_page_with_many_links_is_fetched_once() -> None:
    web = world(a=Site(links={"/": [f"{A}/", f"{A}/1", f"{A}/1"], "/1": [f"{A}/", f"{A}/1"]}))
    web.seed(f"{A}/")
    await web.run()
    assert web.pages() == [f"{A}/", f"{A}/1"]


async def test_a_forced_seed_is_fetched_again_and_its_links_are_not() -> None:
    web = world(a=Site(links=chain(2)))
    web.seed(f"{A}/0")
    await web.run()
    web.seed(f"{A}/0", crawl_id="d")
    await web.run()
    assert web.pages() == [f"{A}/0", f"{A}/1", f"{A}/0"]
    assert (await progress(web, "d")).discovered == 1


async def test_a_known_seed_without_force_ends_its_crawl_at_once() -> None:
    web = world(a=Site(links=chain(1)))
    web.seed(f"{A}/0")
    await web.run()
    web.seed(f"{A}/0", crawl_id="d", force=False)
    await web.run()
    assert web.pages() == [f"{A}/0"]
    assert await progress(web, "d") == CrawlProgress(discovered=1, seen=1)


@pytest.mark.parametrize(("max_depth", "pages"), [(0, 1), (1, 2), (None, 5)])
async def test_the_depth_of_a_crawl(max_depth: int | None, pages: int) -> None:
    web = world(a=Site(links=chain(5)))
    web.seed(f"{A}/0", max_depth=max_depth)
    await web.run()
    assert len(web.pages()) == pages


async def test_the_budget_of_a_host() -> None:
    web = world(a=Site(links=star(20)), b=Site(links={"/": []}))
    web.sites["a.example"].links["/"].append(f"{B}/")
    web.seed(f"{A}/", max_pages=4)
    await web.run()
    assert len([url for url in web.pages() if url.startswith(A)]) == 4
    assert f"{B}/" in web.pages(), "the budget is each host's own"
    assert (await progress(web)).pending == 0


async def test_a_crawl_may_stay_on_the_seeds_hosts() -> None:
    web = world(a=Site(links={"/": [f"{B}/", "https://c.example/"]}), b=Site(links={"/": []}), c=Site(links={"/": []}))
    web.seed(f"{A}/", same_host=True)
    web.seed(f"{B}/", same_host=True)
    await web.run()
    assert sorted(web.pages()) == [f"{A}/", f"{B}/"]


TWINS = [
    ("https://a.example/", "https://www.a.example/1", True, "with www. behind a seed without it"),
    ("https://www.a.example/", "https://a.example/1", True, "without www. behind a seed with it"),
    ("https://a.example/", "https://shop.a.example/1", False, "another host of the same domain"),
    ("https://a.example/", "https://www.b.example/1", False, "another domain"),
    ("https://a.example/", "https://www.www.a.example/1", False, "www. twice"),
]


@pytest.mark.parametrize(("start", "linked", "fetched", "why"), TWINS, ids=[row[3] for row in TWINS])
async def test_www_and_the_bare_name_are_one_site(start: str, linked: str, fetched: bool, why: str) -> None:
    """https://github.com/SparkDevNetwork/Rock/issues/3029"""
    further = linked.replace("/1", "/2")
    host, other = host_of(start), host_of(linked)
    sites = {host: Site(links={"/": [linked]}), other: Site(links={"/1": [further], "/2": []})}
    for kill in (0.0, 0.02):
        web = World(sites, CrawlOptions(), seed=1, kill_probability=kill)
        web.seed(start, same_host=True)
        await web.run()
        assert set(web.pages()) == ({start, linked, further} if fetched else {start}), why


@pytest.mark.parametrize("seeds", [[f"{A}/"], [f"{A}/", "https://own.corp/x"]])
async def test_a_host_without_a_public_suffix_needs_a_seed_of_its_own(seeds: list[str]) -> None:
    sites = {"a.example": Site(links={"/": ["https://own.corp/", "https://nobody.corp/"]})}
    corp = {name: Site(links={"/": [], "/x": []}) for name in ("own.corp", "nobody.corp")}
    web = World({**sites, **corp}, CrawlOptions(delay_seconds=1), seed=1, kill_probability=0)
    for url in seeds:
        web.seed(url)
    await web.run()
    assert sorted(web.pages()) == sorted([*seeds, *(["https://own.corp/"] if len(seeds) > 1 else [])])


async def test_the_target_of_a_redirected_seed_is_a_host_of_the_crawl() -> None:
    web = world(a=Site(redirects={"/": f"{B}/0"}), b=Site(links=chain(2, B)))
    web.seed(f"{A}/", same_host=True)
    await web.run()
    assert web.pages() == [f"{A}/", f"{B}/0", f"{B}/1"]
    assert (await progress(web)).redirected == 1


async def test_redirects_in_a_row_are_bounded() -> None:
    web = world(a=Site(redirects={f"/{n}": f"{A}/{n + 1}" for n in range(20)}))
    web.seed(f"{A}/0")
    await web.run()
    assert len(web.pages()) == 6, "the seed, and five hops"


async def test_redirects_in_a_circle_end() -> None:
    web = world(a=Site(redirects={"/0": f"{A}/1", "/1": f"{A}/0", "/2": f"{A}/2"}))
    web.seed(f"{A}/0")
    web.seed(f"{A}/2")
    await web.run()
    assert len(web.pages()) <= 8


async def test_robots_refuses_with_a_reason() -> None:
    web = world(a=Site(robots="User-agent: RiffleBot\nDisallow: /1", links=star(3)))
    web.seed(f"{A}/")
    await web.run()
    assert sorted(web.pages()) == [f"{A}/", f"{A}/0", f"{A}/2"]
    assert not web.removed, "it was never fetched, so nothing is to be removed"
    assert await stored_url(web.frontier_store, f"{A}/1") is None, "a site may forbid more URLs than it has pages"
    reason = (await read_in_frontier(web.frontier_store, web.blobs, ROBOT, f"{A}/1", web.now)).left_out
    assert reason == "robots.txt of a.example disallows it"
    assert not (
        await read_in_frontier(web.frontier_store, web.blobs, ProductToken("otherbot"), f"{A}/3", web.now)
    ).left_out
    assert await progress(web) == CrawlProgress(discovered=4, digesting=3, disallowed=1)
    [origin] = web.origins
    assert (origin.robots, bool(origin.robots_ref)) == ("rules", True)


async def test_the_delay_that_robots_asks_for() -> None:
    web = world(a=Site(robots="User-agent: *\nCrawl-delay: 5", links=star(4)))
    web.seed(f"{A}/")
    await web.run()
    assert min(gaps(web, "a.example")[1:]) >= 5


async def test_redirects_of_robots_are_followed() -> None:
    away = Site(robots="User-agent: *\nDisallow: /1", links={})
    web = world(a=Site(redirects={"/robots.txt": f"{B}/robots.txt"}, links=star(2)), b=away)
    web.seed(f"{A}/")
    await web.run()
    assert sorted(web.pages()) == [f"{A}/", f"{A}/0"]


async def test_a_redirected_robots_is_recorded_under_the_hosts_own() -> None:
    web = world(a=Site(redirects={"/robots.txt": f"{B}/page"}, links={"/": []}), b=Site(links={}))
    fetched: list[PageFetched] = []
    handle = web.agent.handle

    async def note(delivery: Any) -> Any:
        if isinstance(delivery.event, PageFetched) and delivery.event.purpose == "robots":
            fetched.append(delivery.event)
        return await handle(delivery)

    web.agent.handle = note  # type: ignore[method-assign] # notes each answer, changes nothing
    web.seed(f"{A}/")
    await web.run()
    assert {event.url for event in fetched if event.host == "a.example"} == {f"{A}/robots.txt", f"{B}/page"}
    assert {event.page_id for event in fetched if event.host == "a.example"} == {page_id(f"{A}/robots.txt")}


async def test_robots_with_endless_redirects_allows_all() -> None:
    web = world(a=Site(redirects={"/robots.txt": f"{A}/robots.txt"}, links={"/": []}))
    web.seed(f"{A}/")
    await web.run()
    assert web.pages() == [f"{A}/"]
    assert len(web.fetches["a.example"]) == 7, "six for robots.txt, and the page"


async def test_no_page_is_fetched_while_robots_fails() -> None:
    failure = {"outcome": "server_error", "retryable": True}
    web = world(a=Site(script={"/robots.txt": [failure, failure]}, links={"/": []}))
    web.seed(f"{A}/")
    await web.run()
    assert [url for *_, url in sorted(web.fetches["a.example"])] == [f"{A}/robots.txt"] * 3 + [f"{A}/"]


async def test_a_host_that_is_down_is_deferred() -> None:
    web = world(a=Site(down=True))
    web.seed(f"{A}/")
    web.seed(f"{A}/1")
    await web.run()
    assert web.pages() == []
    assert await progress(web) == CrawlProgress(discovered=2, deferred=2)
    assert not web.removed
    assert (web.origins[-1].robots, bool(web.origins[-1].blocked_until)) == ("unreachable", True)


async def test_robots_is_read_again_after_its_time() -> None:
    web = world(a=Site(links={"/": []}))
    web.seed(f"{A}/")
    await web.run()
    web.now += 25 * 3_600 * SECOND
    web.seed(f"{A}/")
    await web.run()
    assert [url for *_, url in sorted(web.fetches["a.example"])] == [f"{A}/robots.txt", f"{A}/"] * 2


async def test_a_failure_is_tried_again_with_longer_waits_and_then_given_up() -> None:
    failure = {"outcome": "server_error", "retryable": True}
    web = world(a=Site(script={"/": [failure] * 9}, links={"/": []}))
    web.seed(f"{A}/")
    await web.run()
    assert web.pages() == [f"{A}/"] * 3
    waits = gaps(web, "a.example")[1:]
    assert waits == sorted(waits)
    assert await progress(web) == CrawlProgress(discovered=1, failed=1)


@pytest.mark.parametrize(
    "answer",
    [{"outcome": "rate_limited", "retryable": True}, {"outcome": "refused", "status": 403}, {"outcome": "ok"}],
    ids=lambda answer: answer["outcome"],
)
async def test_retry_after_holds_for_the_whole_host(answer: dict[str, Any]) -> None:
    busy = {**answer, "headers": {"retry-after": "120"}}
    web = world(a=Site(script={"/0": [busy]}, links=star(3)))
    web.seed(f"{A}/")
    await web.run()
    again = [f"{A}/0"] if answer.get("retryable") else []
    assert sorted(web.pages()) == sorted([f"{A}/", f"{A}/0", *again, f"{A}/1", f"{A}/2"])
    assert max(gaps(web, "a.example")) >= 120


async def test_a_page_without_an_answer_is_fetched_again() -> None:
    web = world(a=Site(script={"/": [None, None]}, links={"/": []}))
    web.seed(f"{A}/")
    await web.run()
    assert web.pages() == [f"{A}/"] * 3
    assert web.answers[-1].attempt == 1, "only an answer counts as an attempt"
    assert (await progress(web)).digesting == 1


async def test_a_page_that_was_there_and_is_gone_is_removed() -> None:
    web = world(a=Site(links=chain(2)))
    web.seed(f"{A}/0")
    await web.run()
    del web.sites["a.example"].links["/0"]
    web.seed(f"{A}/0")
    web.seed(f"{A}/never-there")
    await web.run()
    [removed] = web.removed.values()
    assert (removed.url, removed.reason) == (f"{A}/0", "gone")


async def test_a_page_that_moved_is_removed_and_its_new_url_is_fetched() -> None:
    web = world(a=Site(links={"/old": [], "/new": []}))
    web.seed(f"{A}/old")
    await web.run()
    web.sites["a.example"].redirects["/old"] = f"{A}/new"
    web.seed(f"{A}/old")
    await web.run()
    assert web.pages() == [f"{A}/old", f"{A}/old", f"{A}/new"]
    assert [(removed.url, removed.detail) for removed in web.removed.values()] == [(f"{A}/old", f"moved to {A}/new")]


async def test_a_seed_that_breaks_a_url_rule_is_announced() -> None:
    web = world(a=Site())
    web.seed(f"{A}/film.mp4")
    await web.run()
    assert web.fetches == {}
    [removed] = web.removed.values()
    assert ".mp4 is not a page" in (removed.detail or "")
    assert await progress(web) == CrawlProgress(discovered=1, refused=1)


async def test_lost_partitions_are_not_scheduled_and_their_next_owner_continues() -> None:
    web = world(a=Site(links=chain(4)))
    web.seed(f"{A}/0")
    await web.run(hours=3 / 3_600)
    before = web.pages()
    assert 0 < len(before) < 4
    await web.agent.assigned(frozenset())
    await web.run()
    assert web.pages() == before
    assert web.agent.state.hosts.leased == 0
    web.restart()
    await web.run()
    assert sorted(web.pages()) == [f"{A}/{n}" for n in range(4)]


async def test_idle_hosts_are_forgotten() -> None:
    web = world(a=Site(links=star(3)))
    web.seed(f"{A}/")
    await web.run()
    hosts = web.agent.state.hosts
    assert (hosts._live, hosts._partition_of, len(hosts.due), hosts.leased) == ({}, {}, 0, 0)
    assert await web.frontier_store.active_hosts(range(4_096)) == []


@pytest.mark.parametrize(
    "event",
    [
        discovered("https://a.example/%7e"),
        discovered("https://a.example/").model_copy(update={"host": "b.example"}),
        discovered("https://a.example/").model_copy(update={"page_id": uuid4()}),
        discovered("https://127.0.0.1/"),
    ],
    ids=["not canonical", "another host", "another page id", "an address"],
)
async def test_a_url_that_is_not_canonical_is_poison(event: Event) -> None:
    with pytest.raises(PoisonError):
        await world(a=Site()).agent.handle(delivery(event, uuid4(), START))


def settled(url: str, generation: int) -> PageSettled:
    host = url.removeprefix("https://").partition("/")[0]
    return PageSettled(page_id=page_id(url), url=url, host=host, generation=generation, verdict="changed", crawl_id="c")


def fetched(url: str, generation: int, **fields: Any) -> PageFetched:
    host = url.removeprefix("https://").partition("/")[0]
    values = {"outcome": "ok", "crawl_id": "c", "source": "html", **fields}
    return PageFetched(page_id=page_id(url), url=url, host=host, generation=generation, **values)


def deduplicated(url: str, generation: int, settles: str | None = "changed") -> PageDeduplicated:
    event = settled(url, generation)
    decided = {"document_ref": "d", "verdict": "unique", "canonical_page_id": event.page_id, "settles": settles}
    return PageDeduplicated.following(event, **decided)


async def test_a_decision_that_another_page_led_to_settles_nothing() -> None:
    web = world(a=Site(links={"/": []}))
    assert await web.agent.handle(delivery(deduplicated(f"{A}/", 7, settles=None), uuid4(), START)) == []
    assert await stored_url(web.frontier_store, f"{A}/") is None


@pytest.mark.parametrize("settle", [settled, deduplicated])
@pytest.mark.parametrize("order", ["fetched first", "settled first"])
async def test_an_import_is_settled_in_either_order(order: str, settle: Callable[[str, int], Event]) -> None:
    web = world(a=Site(links={"/": []}))
    events: list[Event] = [fetched(f"{A}/", 7), settle(f"{A}/", 7)]
    for event in events if order == "fetched first" else reversed(events):
        await web.agent.handle(delivery(event, uuid4(), START))
    assert await progress(web) == CrawlProgress(discovered=1, fetched=1)
    web.seed(f"{A}/", force=False)
    await web.run()
    assert web.pages() == [], "an imported page is known"


async def test_progress_follows_a_page() -> None:
    web = world(a=Site(links={"/": []}))
    assert await progress(web) == CrawlProgress()
    web.seed(f"{A}/")
    await web.run()
    assert await progress(web) == CrawlProgress(discovered=1, digesting=1)
    await web.agent.handle(delivery(settled(f"{A}/", web.answers[-1].generation), uuid4(), web.now))
    done = await progress(web)
    assert done == CrawlProgress(discovered=1, fetched=1)
    assert done.done


def all_rows(of: World) -> Any:
    store = of.frontier_store
    return repr((store._hosts, dict(store._queues), store._urls, dict(store._states), dict(store._counts)))


async def test_a_redelivery_changes_nothing_and_sends_the_same_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event of a crawl is delivered twice, also events of robots, failures, redirects and removals."""
    failure = {"outcome": "server_error", "retryable": True}
    site = Site(robots="User-agent: *\nDisallow: /2", links=star(4), redirects={"/3": f"{A}/4"})
    site.script = {"/0": [failure], "/robots.txt": [failure]}
    web = world(a=site)
    await web.agent.dispatcher.visit_due()  # all hosts are read, so no visit comes between the two deliveries of a seed
    kinds = set()
    handle = web.agent.handle

    async def twice(event: Any) -> Any:
        first = await handle(event)
        before = all_rows(web)
        assert list(await handle(event)) == list(first)
        assert all_rows(web) == before
        kinds.add((event.topic, getattr(event.event, "outcome", "")))
        return first

    monkeypatch.setattr(web.agent, "handle", twice)
    web.seed(f"{A}/")
    await web.run()
    assert len(kinds) >= 4, kinds
    assert sorted(set(web.pages())) == sorted([f"{A}/", f"{A}/0", f"{A}/1", f"{A}/3", f"{A}/4"])


async def test_an_answer_to_an_expired_lease_still_counts() -> None:
    web = world(a=Site(script={"/": [None]}, links={"/": []}))
    web.seed(f"{A}/")
    await web.run(hours=10 / 3_600)
    [lease] = next(iter(web.agent.state.hosts._live.values())).host.leases.values()
    web.now = lease.until + 1
    await web.agent.dispatcher.visit_due()
    late = fetched(f"{A}/", web.now, lease_id=lease.lease_id, source="crawl")
    await web.agent.handle(delivery(late, UUID(int=9), web.now))
    url = await stored_url(web.frontier_store, f"{A}/")
    assert url
    assert (url.state, url.outcome) == ("done", "ok")


async def test_nothing_is_scheduled_while_a_later_stage_is_too_far_behind() -> None:
    web = world(a=Site(links=chain(2)))
    web.seed(f"{A}/0")
    behind = ["embed"]
    web.agent.later_stage_behind = lambda: behind[0]
    await web.run(hours=0.05)
    assert web.fetches["a.example"] == []
    behind[0] = ""
    await web.run()
    assert web.pages() == [f"{A}/0", f"{A}/1"]
