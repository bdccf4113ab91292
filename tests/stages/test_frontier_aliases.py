"""URL alias rules that duplicates taught: the frontier fetches no variants, and no page is lost."""

import itertools

import pytest

from schemas import PageSettled
from schemas.ids import page_id
from streams.crawl.frontier.progress import crawl_progress
from streams.crawl.frontier.url_aliases import PROBE_EVERY, probe_interval
from streams.stores.opener import Stores
from streams.stores.protocols import AliasEvidence
from tests.sizes import FULL
from tests.stages.dedup_site import Site as Dedup
from tests.stages.dedup_site import text_of
from tests.stages.frontier_world import CrawlOptions, Site, World, discovered

A, M = "https://a.example", "https://www.a.example"
ITEMS = range(40)
FEW_ITEMS = range(12)
"""Items behind a start page that crashes interrupt. An event of 80 links would be killed, and repeated, too often."""
RULE = "parameter:remove:ref"


def shop(items: range = ITEMS, *, missing: tuple[int, ...] = ()) -> Site:
    """Return a start page that links to each item by two URLs. A missing item has only the longer one."""
    paths = [f"/item{n}" for n in items]
    pages: dict[str, list[str]] = {path: [] for path in paths if path not in [f"/item{n}" for n in missing]}
    pages |= {f"{path}?ref=home": [] for path in paths}
    pages["/"] = [f"{A}{path}" for path in paths for path in (f"{path}?ref=home", path)]
    return Site(links=pages)


def world(probability: float = 0, flaky: float = 0, seed: int = 1, **sites: Site) -> World:
    settings = CrawlOptions(delay_seconds=1, lease_seconds=60, max_attempts=3)
    hosts = {name.replace("_", "."): site for name, site in sites.items()}
    return World(hosts, settings, seed, probability, flaky)


async def teach(web: World, rule: str = RULE, host: str = "a.example", count: int = 10, against: int = 0) -> None:
    for slot in range(count + against):
        found = AliasEvidence(host, rule, slot, f"https://{host}/x?{slot}", f"https://{host}/y", slot < count)
        await web.fingerprints.note_alias_evidence(found, 1)


def fetched(web: World) -> dict[bool, set[str]]:
    """Return the fetched items. The key is True for those fetched by the longer URL."""
    pages = set(web.pages())
    return {longer: {url for url in pages if "item" in url and ("?" in url) == longer} for longer in (False, True)}


def settled(web: World, url: str = f"{A}/item0") -> PageSettled:
    return PageSettled(page_id=page_id(url), url=url, host="a.example", generation=web.now, verdict="changed")


async def test_without_rules_each_url_is_fetched() -> None:
    web = world(a_example=shop())
    web.seed(f"{A}/")
    await web.run()
    assert {longer: len(urls) for longer, urls in fetched(web).items()} == {False: 40, True: 40}


async def test_an_alias_is_not_fetched_once_the_rule_is_believed() -> None:
    web = world(a_example=shop())
    await teach(web)
    web.seed(f"{A}/")
    await web.run()
    assert fetched(web) == {False: {f"{A}/item{n}" for n in ITEMS}, True: set()}
    removed = web.removed.values()
    assert {event.url for event in removed} == {f"{A}/item{n}?ref=home" for n in ITEMS}
    assert {(event.reason, event.canonical_page_id) for event in removed if "item7?" in event.url} == {
        ("duplicate", page_id(f"{A}/item7"))
    }


@pytest.mark.parametrize(("count", "against"), [(4, 0), (40, 1)], ids=["too little evidence", "a counter-example"])
async def test_a_rule_that_is_not_believed_changes_nothing(count: int, against: int) -> None:
    web = world(a_example=shop())
    await teach(web, count=count, against=against)
    web.seed(f"{A}/")
    await web.run()
    assert len(fetched(web)[True]) == 40


async def test_seeds_and_redirect_targets_are_fetched_by_their_own_url() -> None:
    site = shop()
    site.redirects["/old"] = f"{A}/item3?ref=home"
    site.links["/"].append(f"{A}/old")
    web = world(a_example=site)
    await teach(web)
    web.seed(f"{A}/?ref=mail", force=False)
    web.sites["a.example"].links["/?ref=mail"] = site.links["/"]
    await web.run()
    assert f"{A}/?ref=mail" in web.pages()
    assert fetched(web)[True] == {f"{A}/item3?ref=home"}


async def test_an_alias_whose_target_is_missing_is_fetched() -> None:
    web = world(a_example=shop(missing=(3, 8)))
    await teach(web)
    web.seed(f"{A}/")
    await web.run()
    assert fetched(web)[True] == {f"{A}/item3?ref=home", f"{A}/item8?ref=home"}


async def test_no_alias_of_a_page_that_was_removed_on_request_is_fetched() -> None:
    """It would bring the page's content back. Links to the alias come before and after the answer."""
    site = shop()
    site.script["/item3"] = [{"outcome": "refused", "removed_on_request": True}] * 9
    web = world(a_example=site)
    await teach(web)
    web.seed(f"{A}/")
    await web.run()
    web.send(discovered(f"{A}/item3?ref=home", crawl_id="d"))
    await web.run()
    assert fetched(web)[True] == set()
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
    assert (progress.refused, progress.failed) == (1, 0)


async def test_an_alias_whose_target_is_disallowed_is_fetched() -> None:
    site = shop()
    site.robots = "User-agent: *\nDisallow: /item3$\n"
    web = world(a_example=site)
    await teach(web)
    web.seed(f"{A}/")
    await web.run()
    assert fetched(web)[True] == {f"{A}/item3?ref=home"}
    assert f"{A}/item3" not in web.pages()


@pytest.mark.parametrize(
    ("seed", "probability", "flaky"), [(1, 0, 0), *((seed, 0.01, 0.01) for seed in range(2, 8 if FULL else 5))], ids=str
)
async def test_held_urls_are_fetched_when_their_rule_is_retired(seed: int, probability: float, flaky: float) -> None:
    """Through any number of crashes, at any call."""
    web = world(probability, flaky, seed, a_example=shop(FEW_ITEMS, missing=(5,)))
    await teach(web)
    web.seed(f"{A}/")
    await web.run()
    assert fetched(web)[True] == {f"{A}/item5?ref=home"}
    await teach(web, against=1)
    web.send(settled(web))
    await web.run()
    assert fetched(web) == {
        False: {f"{A}/item{n}" for n in FEW_ITEMS},
        True: {f"{A}/item{n}?ref=home" for n in FEW_ITEMS},
    }
    assert bool(web.kills) == bool(probability), "the simulation did not kill as it should"
    assert await web.frontier_store.held("a.example", None, 100) == []
    aliases = {event.url for event in web.removed.values() if event.reason == "duplicate"}
    assert aliases == {f"{A}/item{n}?ref=home" for n in FEW_ITEMS}, "each was announced as an alias before"


async def test_a_retired_rule_ends_at_once_although_the_rules_were_read_a_moment_ago() -> None:
    web = world(a_example=shop())
    await teach(web)
    for _ in range(2):
        web.seed(f"{A}/")
        await web.run()
    await teach(web, against=1)
    web.send(settled(web))
    await web.run()
    assert len(fetched(web)[True]) == len(ITEMS)


async def test_further_links_to_a_held_url_cost_no_writes() -> None:
    site = shop()
    site.links |= {f"/more{n}": site.links["/"] for n in range(20)}
    site.links["/"] = [*site.links["/"], *(f"{A}/more{n}" for n in range(20))]
    web = world(a_example=site)
    await teach(web)
    web.seed(f"{A}/")
    await web.run()
    assert len(web.removed) == len(ITEMS), "once each, of 21 links"


async def test_a_page_of_a_mirror_is_not_fetched_if_the_other_host_has_it() -> None:
    pages = [f"/item{n}" for n in ITEMS]
    one = Site(links={"/": [f"{A}{path}" for path in pages[:10]], **{path: [] for path in pages}})
    other = Site(links={"/": [f"{M}{path}" for path in pages], **{path: [] for path in pages}})
    web = world(a_example=one, www_a_example=other)
    web.seed(f"{A}/")
    await web.run()
    await teach(web, "host:a.example", "www.a.example")
    web.seed(f"{M}/", same_host=True)
    await web.run()
    of_mirror = {url for url in web.pages() if url.startswith(f"{M}/item")}
    assert of_mirror == {f"{M}{path}" for path in pages[10:]}, "the crawl may not go to the other host for these"


@pytest.mark.parametrize("links_first", [True, False])
async def test_some_aliases_of_settled_pages_are_fetched_as_probes(links_first: bool) -> None:
    """The links are found before the pages are settled, or afterwards."""
    web = world(a_example=shop())
    await teach(web, count=10)
    if links_first:
        web.seed(f"{A}/")
    for n in ITEMS:
        web.seed(f"{A}/item{n}")
    await web.run()
    assert fetched(web)[True] == set()
    settle(web)
    web.seed(f"{A}/")
    await web.run()
    names = [f"{A}/item{n}?ref=home" for n in ITEMS]
    assert fetched(web)[True] == {url for url in names if page_id(url).int % probe_interval(10) == 0}
    assert 0 < len(fetched(web)[True]) < len(names) / 2


def settle(web: World, begin: int = 0) -> None:
    """Settle all pages that were fetched."""
    for fetch in web.answers[begin:]:
        if fetch.purpose == "page":
            event = settled(web, fetch.url)
            web.send(event.model_copy(update={"generation": fetch.generation}))


def test_the_more_evidence_the_fewer_probes() -> None:
    rates = [probe_interval(count) for count in range(65)]
    assert rates == sorted(rates)
    assert (rates[5], rates[8], rates[16], rates[32], rates[64]) == (2, 4, 8, 16, 16)
    assert all(later % former == 0 for former, later in itertools.pairwise(PROBE_EVERY))


@pytest.mark.parametrize("seed", range(5 if FULL else 1))
async def test_a_rule_that_is_wrong_for_some_pages_loses_none_of_them(seed: int) -> None:
    """The parameter makes no difference on the pages it was learned from, and does on others."""
    web, dedup = world(0.002, 0.002, seed, a_example=shop()), Dedup()
    web.fingerprints = dedup.stores.fingerprints  # type: ignore[assignment] # memory's
    web.restart()
    differing = {f"{A}/item{n}?ref=home" for n in ITEMS if n % 3 == 0}

    async def deduplicate(begin: int) -> int:
        for fetch in web.answers[begin:]:
            if fetch.purpose == "page":
                own = fetch.url if fetch.url in differing else fetch.url.partition("?")[0]
                await dedup.normalize(
                    fetch.url, text_of(page_id(own).int), fetch.generation // 1_000_000 - 1_700_000_000
                )
        settle(web, begin)
        return len(web.answers)

    for n in range(100, 106):
        for name in (f"{A}/item{n}", f"{A}/item{n}?ref=home"):
            await dedup.normalize(name, text_of(n), n)
    web.seed(f"{A}/")
    await web.run()
    assert not differing & set(web.pages()), "the rule was used"
    done = 0
    while done < len(web.answers):
        done = await deduplicate(done)
        await web.run()
    assert differing <= set(web.pages())


async def test_the_frontier_follows_a_rule_until_dedup_retires_it() -> None:
    """Both stages over one store."""
    web, dedup = world(a_example=shop()), Dedup()
    web.fingerprints = dedup.stores.fingerprints  # type: ignore[assignment] # memory's
    web.restart()

    async def pages(numbers: range, *, alike: bool = True) -> None:
        for n in numbers:
            for name in (f"/item{n}", f"/item{n}?ref=home"):
                text = text_of(n if alike or "?" not in name else 1_000 + n)
                await dedup.normalize(f"{A}{name}", text, n)

    await pages(range(100, 106))
    web.seed(f"{A}/")
    await web.run()
    assert fetched(web) == {False: {f"{A}/item{n}" for n in ITEMS}, True: set()}
    await pages(range(200, 201), alike=False)
    web.send(settled(web))
    await web.run()
    assert fetched(web)[True] == {f"{A}/item{n}?ref=home" for n in ITEMS}
