"""A page that moves keeps the age of its text: below one registrable domain, and only while the redirect is there."""

import random

import pytest

from schemas import PageFetched
from schemas.ids import page_id
from streams.crawl.domains import registrable_domain
from streams.crawl.urls import host_of
from streams.dedup.fingerprinting import fingerprint
from streams.dedup.first_sight import site_sight
from streams.stores.page_record import Fetched, Moved
from tests.sizes import FULL
from tests.stages.dedup_site import NOW, SECOND, Site, text_of

OLD, NEW, OTHER_HOST = "https://site.example/old", "https://site.example/new", "https://docs.site.example/new"
COPY, STRANGER = "https://copy.example/1", "https://thief.example/1"


async def redirect(site: Site, source: str, target: str, at: int, *, noted: bool = True) -> None:
    """A page's answer is a redirect: it leaves the index, and the record of its target names it."""
    moved = PageFetched(
        page_id=page_id(source),
        url=source,
        host=host_of(source),
        outcome="redirect",
        redirect_to=target,
        generation=NOW + at * SECOND,
    )
    await site.stores.pages.put(moved.page_id, Fetched.of_event(moved), moved.generation)
    if noted:
        part = Moved(url=target, generation=moved.generation, source=source)
        await site.stores.pages.put(page_id(target), part, moved.generation)


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
        await redirect(site, OLD, "https://site.example/elsewhere", 25, noted=False)
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


PAGES = [f"https://{host}/{n}" for host in ("a.test", "www.a.test", "b.test", "c.test") for n in range(2)]


def first_allowed(seen: dict[str, int], given: set[tuple[str, str]], domain: str) -> int:
    """Return the first sight of a text at a domain, or at a domain that gave its age to it, also over others."""
    known, waiting = {domain}, [domain]
    while waiting:
        heir = waiting.pop()
        found = {giver for giver, target in given if target == heir} - known
        known, waiting = known | found, [*waiting, *found]
    return min(seen[one] for one in known if one in seen)


@pytest.mark.parametrize("seed", range(12 if FULL else 3))
async def test_no_circle_of_moves_makes_a_text_older_than_it_is(seed: int) -> None:
    """Pages of three domains move to each other and name each other, back and forth.

    A domain has the age of a text only from the pages below it, or from a domain whose page named one of its pages as
    canonical, if that page names itself, too. A redirect to another domain gives nothing.
    """
    chance, site = random.Random(seed), Site()
    seen: dict[int, dict[str, int]] = {0: {}, 1: {}}
    links: set[tuple[str, str]] = set()
    agreed: set[str] = set()
    texts = [text_of(1), text_of(2)]
    for at in range(10, 400, 10):
        page, other, number = chance.choice(PAGES), chance.choice(PAGES), chance.randrange(2)
        if chance.random() < 0.35 and page != other:
            await redirect(site, page, other, at)
            await site.agent.handle(site.removed(page, "gone", at + 1))
            page = other if chance.random() < 0.7 else page
            at += 2
        canonical = chance.choice((other, other, page)) if chance.random() < 0.4 else None
        seen[number].setdefault(registrable_domain(host_of(page)), at)
        links |= {(page, canonical)} if canonical else set()
        agreed |= {page} if canonical == page else set()
        pairs = {
            (registrable_domain(host_of(one)), registrable_domain(host_of(to))) for one, to in links if to in agreed
        }
        given = {(giver, heir) for giver, heir in pairs if giver != heir}
        await site.normalize(page, texts[number], at, canonical)
        await _check_ages(site, texts, seen, given)


async def _check_ages(
    site: Site, texts: list[str], seen: dict[int, dict[str, int]], given: set[tuple[str, str]]
) -> None:
    sketches = {fingerprint(text).sketch: number for number, text in enumerate(texts)}
    for url in PAGES:
        row = await site.stores.fingerprints.get(page_id(url))
        if row and row.sketch in sketches:
            allowed = first_allowed(seen[sketches[row.sketch]], given, registrable_domain(host_of(url)))
            assert (site_sight(row).at - NOW) // SECOND >= allowed, url
