"""A page that moves keeps the age of its text: below one registrable domain, and only while the redirect is there."""

import pytest

from schemas import PageDiscovered, PageFetched
from schemas.ids import page_id
from streams.crawl.urls import host_of
from streams.ledger.agent import LedgerAgent
from streams.stores.page_record import Fetched
from tests.stages.dedup_site import NOW, SECOND, Site, delivery, text_of

OLD, NEW, OTHER_HOST = "https://site.example/old", "https://site.example/new", "https://docs.site.example/new"
COPY, STRANGER = "https://copy.example/1", "https://thief.example/1"


async def redirect(site: Site, source: str, target: str, at: int, *, discovered: bool = True) -> None:
    """A page's answer is a redirect: it leaves the index, and its target is discovered."""
    moved = PageFetched(
        page_id=page_id(source),
        url=source,
        host=host_of(source),
        outcome="redirect",
        redirect_to=target,
        generation=NOW + at * SECOND,
    )
    await site.stores.pages.put(moved.page_id, Fetched.of_event(moved), moved.generation)
    if discovered:
        found = PageDiscovered(
            page_id=page_id(target), url=target, host=host_of(target), why="redirect", depth=1, referrer=source
        )
        await LedgerAgent(site.stores.ledger, max_gathering_seconds=0).handle(delivery(found, moved.generation))


@pytest.mark.parametrize(
    ("what", "target", "winner"),
    [
        ("moved", NEW, NEW),
        ("moved to another host of the domain", OTHER_HOST, OTHER_HOST),
        ("moved twice", NEW, NEW),
        ("its removal is still on the way", NEW, NEW),
        ("an open redirect to a stranger", STRANGER, COPY),
        ("the redirect is there no more", NEW, COPY),
        ("only said to be a redirect", NEW, COPY),
        ("another text", NEW, COPY),
        ("a circle", NEW, NEW),
    ],
)
async def test_the_age_of_a_page_that_moved(what: str, target: str, winner: str) -> None:
    site, text = Site(), text_of(1)
    await site.normalize(OLD, text_of(2) if what == "another text" else text, 0)
    await site.normalize(COPY, text, 10)
    last = "https://site.example/between" if what == "moved twice" else OLD
    if what == "moved twice":
        await redirect(site, OLD, last, 20)
    if what != "only said to be a redirect":
        await redirect(site, last, target, 20)
    if what == "a circle":
        await redirect(site, target, last, 20)
    if what != "its removal is still on the way":
        await site.agent.handle(site.removed(OLD, "gone", 21))
    if what == "the redirect is there no more":
        await redirect(site, OLD, "https://site.example/elsewhere", 25, discovered=False)
    arriving = await site.normalized(target, text, 30)
    await site.agent.handle(arriving)
    if what == "its removal is still on the way":
        await site.agent.handle(site.removed(OLD, "gone", 21))
    assert await site.representative_of(COPY) == winner
    state = site.state()
    await site.agent.handle(arriving)  # a redelivery
    assert site.state() == state


async def test_a_moved_page_keeps_its_age_at_its_later_visits_and_moves() -> None:
    site, text = Site(), text_of(1)
    await site.normalize(OLD, text, 0)
    await site.normalize(COPY, text, 10)
    await redirect(site, OLD, NEW, 20)
    await site.agent.handle(site.removed(OLD, "gone", 21))
    await site.normalize(NEW, text, 30)
    await site.normalize(NEW, text, 50)
    assert await site.representative_of(COPY) == NEW
    await redirect(site, NEW, OTHER_HOST, 60)
    await site.agent.handle(site.removed(NEW, "gone", 61))
    await site.normalize(OTHER_HOST, text, 70)
    assert await site.representative_of(COPY) == OTHER_HOST
