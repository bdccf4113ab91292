"""One index with the pages of a private site and one without them, over memory stores, and what an answer says."""

import re
from dataclasses import dataclass, replace
from datetime import timedelta

from schemas import Event, LinkFound, PageDiscovered, PageEmbedded, PageFetched, PageNormalized, PageRemoved
from schemas.ids import page_id
from streams.crawl.audiences import change_audiences
from streams.crawl.urls import host_of
from streams.links.agent import LinksAgent
from streams.pages.agent import NormalizeAgent
from streams.pages.sandbox.pool import ParsePool
from streams.stores.opener import Stores
from streams.stores.protocols import FrontierUrl, Site
from streams.vectors.index_agent import IndexAgent
from tests.frontier_rows import put_urls
from tests.stages.suggested_pages import JOB, build_all
from tests.stages.whole_journey import WholeJourney

PUBLIC, OTHER, TENANT = "https://www.example.com/press", "https://other.example/news", "https://tenant.example/home"
DRAFT, COPY = "https://intern.example.net/2027-merger-draft", "https://intern.example.net/press-copy"
NEAR, SECRET = "https://intern.example.net/press-near", "https://intern.example.net/bluebird"
PRIVATE = (DRAFT, COPY, NEAR, SECRET)
UNLISTED = "https://other.example/for-the-board.zip"
"""A public page that only the private site links to. It is not fetched."""
CANARIES = ("intern.example.net", "bluebird", "takeover", *(str(page_id(url)) for url in PRIVATE))
"""Words that are in nothing but the private site's pages: its host, words of its texts, ids of its pages."""
INTERN = Site("intern", "Intern", ("intern.example.net",), is_private=True)
SITES = (
    INTERN,
    Site("tenant", "Tenant", ("tenant.example",), is_private=True),
    Site("docs", "Documentation", ("www.example.com",)),
)
_WAITING = FrontierUrl(
    page_id(UNLISTED), UNLISTED, host_of(UNLISTED), "queued", 1, why="link", referrer=SECRET, discovered_at=1
)
_PRESS = "".join(
    f"<p>In {year} the harbour of the town had {year * 7 % 91} ships, and the mayor counted each of them from the old "
    f"tower beside the {place} market.</p>"
    for year, place in zip(range(1990, 2002), ("fish", "corn", "wool", "salt") * 3, strict=True)
)
_NEAR = _PRESS.replace("the old tower", "the new tower", 1)
_PAGES = {
    COPY: f"<title>Harbour, a copy</title><h1>Harbour</h1>{_PRESS}",
    SECRET: "<title>Project bluebird</title><h1>Project bluebird</h1><p>The takeover of the harbour is planned for the "
            "month of May, and nobody outside of the board of the town may know of it before the summer.</p>"
            f'<p>It is told by <a href="{PUBLIC}">bluebird and its takeover</a> in the press of the town.</p>',
    PUBLIC: f'<title>Harbour</title><h1>Harbour</h1>{_PRESS}<p>See <a href="{OTHER}">the news</a>.</p>',
    OTHER: "<title>News of the town</title><h1>News of the town</h1><p>The ferry of the town goes each hour from the "
           f'harbour to the island, as <a href="{PUBLIC}">the press of the harbour</a> says.</p>',
    TENANT: "<title>Home of the tenant</title><h1>Home</h1><p>The tenant of the third floor has a garden with nine "
            "trees, and each of them has a name of its own.</p>",
    NEAR: f"<title>Harbour</title><h1>Harbour</h1>{_NEAR}",
    DRAFT: f"<title>Harbour</title><h1>Harbour</h1>{_PRESS}",
}  # fmt: skip
"""The pages in the order of their visits. A private copy comes before the public page, and others behind it."""


class Journey(WholeJourney):
    """All stages, with that of links, where sites are private."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.restart()
        links = LinksAgent(self.stores.host_links, self.stores.pages)
        self._stages[LinkFound] = [links]
        for event in (PageNormalized, PageRemoved):
            self._stages[event].append(links)

    def restart(self) -> None:
        """Start the stages anew that follow the sites: they read them at once."""
        normalize = NormalizeAgent(self.stores, self.pool, now=lambda: self.now, has_private_sites=True)
        self._stages[PageFetched] = [normalize]
        former, index = self._stages[PageEmbedded][0], IndexAgent(self.stores)
        for event in (PageEmbedded, PageRemoved):
            self._stages[event] = [index if agent is former else agent for agent in self._stages[event]]


@dataclass(frozen=True)
class World:
    """An index, made by all stages."""

    journey: Journey
    has_private: bool

    @property
    def stores(self) -> Stores:
        return self.journey.stores

    async def visit(self, day: int) -> list[Event]:
        """Visit all pages in turn. Without the private ones, all else happens at the same times. Returns the events."""
        events: list[Event] = []
        for turn, (url, body) in enumerate(_PAGES.items()):
            if url not in PRIVATE or self.has_private:
                self.journey.ordinal = 1_000 * (100 * day + turn)
                events += await self.journey.fetch(url, body, 86_400 * day + 10 * turn)
                if url == SECRET:
                    for linked in (PUBLIC, UNLISTED):
                        await self.journey.handle(_found_on(SECRET, linked), 86_400 * day + 10 * turn + 1)
                    waiting = FrontierUrl(
                        page_id(UNLISTED), UNLISTED, host_of(UNLISTED), "queued", 1, why="link", referrer=SECRET
                    )
                    await put_urls(self.stores.frontier, [waiting])
        await self._suggest(day)
        return events

    async def put_site(self, site: Site, at: int) -> None:
        """Change a site, as `riffle sites add` does."""
        await self.stores.api_keys.put_site(site, at)
        await change_audiences(self.stores.vectors, site.hosts, await self.stores.api_keys.sites())

    async def remove_private(self, day: int) -> None:
        """The pages of the site leave on request."""
        for url in PRIVATE if self.has_private else ():
            self.journey.ordinal = 1_000_000
            await self.journey.remove(url, 86_400 * day)
        await self._suggest(day)

    async def _suggest(self, day: int) -> None:
        await build_all(self.stores, replace(JOB, name=f"day {day}", now=JOB.now + timedelta(days=day)))


async def make_world(pool: ParsePool, *, has_private: bool) -> World:
    world = World(Journey(pool), has_private)
    for site in SITES:
        await world.stores.api_keys.put_site(site, 1)
    return world


def _found_on(referrer: str, url: str) -> PageDiscovered:
    """The event of a URL that a page leads to."""
    return PageDiscovered(
        page_id=page_id(url), url=url, host=host_of(url), why="redirect", depth=1, referrer=referrer, crawl_id="a crawl"
    )


_VARIES = re.compile(
    r'"(?:[a-z_]*_ms|seconds)":-?[0-9.e-]+|[0-9.]+ (?:ms|s|seconds)\b|nonce[-=][^"\' ;]+|c=[A-Za-z0-9_.-]{20,}'
)
"""Times and signed values."""


def comparable(text: str) -> str:
    """Return an answer without what differs from one request to the next. Scores are part of it."""
    return _VARIES.sub("", text)
