"""A reader who may not see a private site learns nothing by it of pages that are not fetched, nor of their hosts."""

from typing import Any

import pytest

from schemas import LinkFound
from schemas.ids import page_id
from streams.crawl.frontier.hosts.host_state import CrawlShare, Host
from streams.crawl.frontier.hosts.robots_state import Robots
from streams.crawl.host_quality import HostRecord
from streams.robot_name import ProductToken
from streams.seen.stores import SeenStores
from streams.stores.host_buckets import bucket_of
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import EVERYTHING, FrontierUrl, HostRows, Transition, Visible
from tests.unit.ledger.events import history

NOBODY = Visible((), ("intern.example.net",))
"""A person without a key of the private site."""
SECRET, PUBLIC = "https://intern.example.net/plan", "https://www.example.com/news"
HOST = "guessed.example.org"
URL = f"https://{HOST}/report"
ROBOT = ProductToken("riffle")


def linked_from(*referrers: str) -> Transition:
    """A row of the ledger with pages that link to the page."""
    link = LinkFound(
        target_page_id=page_id(URL), target_url=URL, source_page_id=page_id(PUBLIC), source_url=PUBLIC, generation=1
    )
    (step,) = history(link)
    data = {"page_id": str(page_id(URL)), "url": URL, "why": "link", "referrers": list(referrers)}
    return Transition(page_id(URL), step.event_id, step.topic, step.source, 5, step.outcome, data)


def found_on(referrer: str) -> FrontierUrl:
    return FrontierUrl(page_id(URL), URL, HOST, "queued", 1, why="link", referrer=referrer, discovered_at=1)


@pytest.mark.parametrize(
    ("first", "later", "is_known"),
    [
        (PUBLIC, [], True),
        (SECRET, [], False),
        (SECRET, [linked_from(SECRET)], False),
        (SECRET, [linked_from(SECRET, PUBLIC)], True),
        (SECRET, [linked_from(PUBLIC)], True),
    ],
)
async def test_a_page_is_known_when_a_visible_page_links_to_it(
    first: str, later: list[Transition], is_known: bool
) -> None:
    stores = memory_stores()
    await stores.frontier.write(HostRows(HOST, urls=[found_on(first)]))
    for step in later:
        await stores.ledger.record(step)
    seen = SeenStores(stores)
    found = await seen.page(page_id(URL), URL, visible=NOBODY)
    assert (found is not None) == is_known
    assert "intern.example.net" not in str(found)
    assert await seen.page(page_id(URL), URL, visible=EVERYTHING) is not None


async def with_host(**known: Any) -> Stores:
    """Stores whose frontier knows a host whose robots.txt disallows everything."""
    stores = memory_stores()
    ref = await stores.blobs.put(b"User-agent: *\nDisallow: /")
    host = Host(bucket_of(HOST), HOST, robots=Robots(status="rules", ref=ref), **known)
    await stores.frontier.write(HostRows(HOST, host.to_row(None, 1)))
    return stores


REASON = f"robots.txt of {HOST} disallows it"


@pytest.mark.parametrize(
    ("known", "linked_from", "is_seen"),
    [
        ({}, [], False),
        ({}, [SECRET], False),
        ({}, [SECRET, PUBLIC], True),
        ({"crawls": {"c": CrawlShare(seeded=True)}}, [], True),
        ({"crawls": {"c": CrawlShare(scheduled=1, strangers=1)}}, [SECRET], False),
        ({"record": HostRecord(settled=1)}, [SECRET], True),
        ({"record": HostRecord(of_strangers=1)}, [SECRET], True),
    ],
)
async def test_a_host_is_known_when_something_visible_of_it_is(
    known: dict[str, Any], linked_from: list[str], is_seen: bool
) -> None:
    stores = await with_host(**known)
    for source in linked_from:
        await stores.host_links.add(HOST, source.split("/")[2], source, 1)
    for visible, expected in ((NOBODY, is_seen), (EVERYTHING, True)):
        found = await SeenStores(stores).in_frontier(URL, page_id(URL), ROBOT, 1, visible=visible)
        assert (found.host is not None, found.left_out) == (expected, REASON if expected else "")


async def test_a_url_of_any_host_may_be_refused_by_its_own_form() -> None:
    url = f"https://{HOST}/photo.jpg"
    for stores in (await with_host(), memory_stores()):
        found = await SeenStores(stores).in_frontier(url, page_id(url), ROBOT, 1, visible=NOBODY)
        assert found.host is None
        assert found.left_out
