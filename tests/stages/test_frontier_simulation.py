"""The frontier in a simulated web, while its process is killed again and again."""

import itertools
from collections import Counter

import pytest

from schemas.ids import page_id
from streams.crawl.frontier.progress import crawl_progress
from streams.stores.host_buckets import bucket_of
from streams.stores.opener import Stores
from streams.stores.protocols import CRAWL_BUCKETS
from tests.sizes import FULL
from tests.stages.frontier_world import SECOND, CrawlOptions, Site, World

HOSTS, PAGES, DELAY_SECONDS = 20 if FULL else 10, 50, 1.0
SETTINGS = CrawlOptions(delay_seconds=DELAY_SECONDS, lease_seconds=60, in_flight=12, max_attempts=4, max_depth=100)


def web() -> dict[str, Site]:
    """Return hosts of 50 pages, each linked from the one before. Each second host has private pages."""
    sites = {}
    for h in range(HOSTS):
        site = Site(robots="User-agent: *\nDisallow: /private/\n" if h % 2 else None)
        paths = [f"/{'private/' if n % 4 == 3 else ''}{n}" for n in range(PAGES)]
        public = [n for n in range(PAGES) if n % 4 != 3 or not h % 2]
        for n, path in enumerate(paths):
            after = [f"https://h{h}.example{paths[m]}" for m in range(n + 1, min(n + 6, PAGES))]
            elsewhere = [f"https://h{(h + 1) % HOSTS}.example{paths[0]}", f"https://h{h}.example{paths[max(n - 1, 0)]}"]
            site.links[path] = after + elsewhere
        site.script = {paths[n]: [{"outcome": "server_error", "retryable": True}] * (1 + n % 3) for n in public[5::10]}
        sites[f"h{h}.example"] = site
    return sites


def allowed(sites: dict[str, Site]) -> set[str]:
    return {
        f"https://{host}{path}"
        for host, site in sites.items()
        for path in site.links
        if not (site.robots and path.startswith("/private/"))
    }


async def crawl_counts_of_rows(world: World, crawl_id: str) -> dict[str, int]:
    """Count the states of a crawl's URLs in the store, row by row."""
    rows = [rows for (crawl, _), rows in world.frontier_store._states.items() if crawl == crawl_id]
    return dict(Counter(state for of_bucket in rows for _, state in of_bucket.values()))


@pytest.mark.parametrize(
    ("seed", "kill_probability", "flaky"),
    [
        pytest.param(1, 0.0, 0.0, marks=pytest.mark.night),
        pytest.param(2, 0.002, 0.0, marks=pytest.mark.night),
        pytest.param(3, 0.0, 0.01, marks=pytest.mark.night),
        (4, 0.004, 0.01),
    ],
    ids=lambda value: str(value),
)
async def test_every_allowed_page_is_fetched_and_each_delay_is_kept(
    seed: int, kill_probability: float, flaky: float
) -> None:
    world = World(web(), SETTINGS, seed, kill_probability, flaky)
    world.seed("https://h0.example/0")
    await world.run()
    assert bool(world.kills) == bool(kill_probability), "the simulation did not kill as it should"
    await assert_complete(world)


async def assert_complete(world: World) -> None:
    """Assert that a crawl of `web()` has fetched each allowed page, politely, and that its counts are right."""
    sites = world.sites
    fetched = Counter(url for requests in world.fetches.values() for _, _, url in requests)
    pages = {url for url in fetched if not url.endswith("/robots.txt")}
    assert pages == allowed(sites)
    for host, requests in world.fetches.items():
        for (_, end, url), (begin, _, following) in itertools.pairwise(sorted(requests)):
            assert begin - end >= DELAY_SECONDS * SECOND * 0.999, f"{host}: {following} too soon after {url}"
        assert requests[0][2].endswith("/robots.txt"), f"{host} was asked for a page before its robots.txt"

    progress = await crawl_progress(Stores(frontier=world.frontier_store), "c")
    assert progress.pending == 0
    assert progress.digesting == len(pages)
    private = {page_id(f"https://{host}{path}"): host for host, s in sites.items() if s.robots for path in s.links
               if path.startswith("/private/")}  # fmt: skip
    assert await crawl_counts_of_rows(world, "c") == await world.frontier_store.crawl_counts("c")
    assert not world.removed, "what was never fetched needs no removal"
    rows = [await world.frontier_store.url(host, page) for page, host in private.items()]
    assert {url.outcome for url in rows if url} <= {"disallowed"}, "some were queued before robots.txt was known"
    states = [
        await world.frontier_store.states("c", bucket_of(host) % CRAWL_BUCKETS, [page])
        for page, host in private.items()
    ]
    found = [state for by_page in states for state in by_page.values()]
    assert found == ["disallowed"] * progress.disallowed
