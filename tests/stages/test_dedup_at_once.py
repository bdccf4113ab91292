"""The dedup stage when events come again, when it is cut off, and when several workers decide at once."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import pytest

from schemas import Event, PageDeduplicated, PageNormalized, PageRemoved
from schemas.ids import page_id
from streams.dedup.agent import DedupAgent
from streams.runtime.agent import Delivery
from streams.stores.opener import Stores
from tests.stages.dedup_site import (
    NEAR,
    NOW,
    SECOND,
    TEXT,
    A,
    B,
    C,
    Site,
    cut_off,
    edited,
    later,
    text_of,
    told,
)


async def test_redelivery_writes_and_says_the_same() -> None:
    site = Site()
    deliveries = [await site.normalized(url, TEXT, at) for at, url in enumerate((C, B, A))]
    deliveries.append(site.removed(A, "gone", 10))
    for one in deliveries:
        first = await site.agent.handle(one)
        state = site.state()
        assert await site.agent.handle(one) == first
        assert site.state() == state


# (what happened before, the event that is cut off, the leaders of A, B and C afterwards, what is said)
CUT_OFF: dict[str, tuple[list[tuple[str, str]], tuple[str, str], list[str | None], list[str]]] = {
    "a better page comes": (
        [(C, TEXT), (B, NEAR)],
        (A, TEXT),
        [A, A, A],
        [f"{A} unique", f"{A} settled changed", f"{B} removed duplicate", f"{C} removed duplicate"],
    ),
    "a duplicate comes": (
        [(A, TEXT), (B, TEXT)],
        (C, NEAR),
        [A, A, A],
        [f"{C} near", f"{C} removed duplicate", f"{C} settled duplicate"],
    ),
    "the leader changes": (
        [(A, TEXT), (B, TEXT), (C, NEAR)],
        (A, text_of(8)),
        [A, B, B],
        [f"{A} unique", f"{A} settled changed", f"{B} unique", f"{C} removed duplicate"],
    ),
    "the leader becomes a duplicate of another": (
        [(A, text_of(8)), (B, TEXT), (C, TEXT)],
        (B, text_of(8)),
        [A, A, C],
        [f"{B} exact", f"{B} removed duplicate", f"{B} settled duplicate", f"{C} unique"],
    ),
    "the leader is gone": (
        [(A, TEXT), (B, NEAR), (C, TEXT)],
        (A, "gone"),
        [None, B, B],
        [f"{B} unique", f"{C} removed duplicate"],
    ),
}


@pytest.mark.parametrize("case", CUT_OFF)
async def test_a_crash_at_any_call_is_repaired_when_the_event_comes_again(case: str) -> None:
    before, (url, last), leaders, said = CUT_OFF[case]
    budget, crashed = 0, True
    while crashed:
        site, left = Site(), [budget]
        for at, (known, text) in enumerate(before):
            await site.say(known, text, at)
        one = site.removed(url, last, 10) if last == "gone" else await site.normalized(url, last, 10)
        crashed = await cut_off(site.stores, one, left)
        assert told(await site.agent.handle(one)) == said, f"after a crash at call {budget}"
        found = [await site.leader(page) if page != url or last != "gone" else None for page in (A, B, C)]
        assert found == leaders, f"after a crash at call {budget}"
        budget += 1
    assert budget > 10


async def test_a_promoted_page_says_the_same_when_its_own_event_comes_again() -> None:
    site = Site()
    await site.say(A, TEXT)
    own = await site.normalized(B, TEXT, 1)
    await site.agent.handle(own)
    promoted = await site.agent.handle(site.removed(A, "gone", 2))
    again = await site.agent.handle(own)
    assert told(again) == [f"{B} unique", f"{B} settled changed"]
    assert isinstance(promoted[0], PageDeduplicated)
    assert isinstance(again[0], PageDeduplicated)
    assert again[0].generation == promoted[0].generation


@pytest.mark.parametrize("microseconds", [1, 2, 1_000, 60 * SECOND])
async def test_a_replay_that_makes_a_duplicate_unique_is_newer_than_its_removal(microseconds: int) -> None:
    """A new version of the normalizer finds another text in the same fetch."""
    site, index = Site(), Index()
    other = await site.normalized(B, text_of(5), 1)
    for one in (await site.normalized(A, TEXT), await site.normalized(B, TEXT, 1), later(other, microseconds)):
        index.hear(await site.agent.handle(one))
    assert set(index.pages) == {page_id(A), page_id(B)}


async def heard(site: Site, *deliveries: Delivery) -> set[str]:
    """The pages that the index holds after these, one behind the other."""
    index = Index()
    for one in deliveries:
        index.hear([one.event])
        index.hear(await site.agent.handle(one))
    return {url for url in (A, B, C) if page_id(url) in index.pages}


@pytest.mark.parametrize("reason", ["noindex", "refused", "gone"])
async def test_a_removal_of_a_fetch_that_was_replayed_takes_the_page_out(reason: str) -> None:
    """A newer normalizer finds that the very bytes which an older one took are not to be indexed."""
    site = Site()
    own = await site.normalized(A, TEXT, 1)
    removal = site.removed(A, reason, 1)
    again = later(removal, 10)
    assert await heard(site, own, later(own, 5), removal) == set()
    assert await heard(site, own, later(own, 20), again) == set()
    first = await site.agent.handle(again)
    assert await site.agent.handle(again) == first


async def test_a_removal_of_a_fetch_takes_out_a_page_that_was_promoted_since() -> None:
    site = Site()
    pages = [await site.normalized(url, TEXT, at) for at, url in enumerate((A, B))]
    assert await heard(site, *pages, site.removed(A, "gone", 5), later(site.removed(B, "noindex", 1), 10)) == set()


async def refused(site: Site, url: str, at: int, reason: str) -> None:
    """The index stage has recorded a removal."""
    record = {"generation": NOW + at * SECOND, "reason": reason}
    await site.stores.pages.put(page_id(url), "removed", record, NOW + at * SECOND)


async def test_a_page_that_was_refused_by_mistake_comes_back_by_a_replay() -> None:
    site = Site()
    await refused(site, A, 1, "refused")
    own = later(await site.normalized(A, TEXT, 1), 60 * SECOND)
    removal, other = site.removed(A, "refused", 1), await site.normalized(B, TEXT, 2)
    assert await heard(site, other, removal, own) == {A}


@pytest.mark.parametrize(
    ("at", "reason", "why"),
    [
        (5, "gone", "it was gone when it was fetched again"),
        (1, "request", "somebody asked for it: no replay brings it back"),
        (5, "request", "somebody asked for it later"),
    ],
)
async def test_a_removed_page_is_not_brought_back_by_an_older_fetch(at: int, reason: str, why: str) -> None:
    site = Site()
    own = await site.normalized(A, TEXT, 1)
    await site.agent.handle(own)
    await site.say(B, TEXT, 2)
    await site.agent.handle(site.removed(A, reason, at))
    before = site.state()
    assert await site.agent.handle(later(own, 60 * SECOND)) == [], why
    assert site.state() == before
    assert await site.leader(B) == B


async def test_what_comes_late_never_brings_back_the_text_of_before_a_replay() -> None:
    site = Site()
    own, mended = await site.normalized(A, TEXT, 1), later(await site.normalized(A, NEAR, 1), 10)
    await site.agent.handle(mended)
    (found, *_) = await site.agent.handle(own)
    assert isinstance(found, PageDeduplicated)
    assert isinstance(mended.event, PageNormalized)
    assert found.document_ref == mended.event.document_ref


async def test_hundreds_of_replays_are_never_taken_for_a_later_fetch() -> None:
    site = Site()
    own = await site.normalized(A, TEXT)
    for number in range(300):
        assert await site.agent.handle(later(own, number)), number
    assert await site.say(A, TEXT, 1)


class _Slow:
    """A store where every call yields a random number of times, so that handlers interleave in all orders."""

    def __init__(self, inner: Any, chance: random.Random) -> None:
        self._inner, self._chance = inner, chance

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*args: Any) -> Any:
            for _ in range(self._chance.randrange(8)):
                await asyncio.sleep(0)
            return await method(*args)

        return call


@pytest.mark.parametrize("seed", range(30))
async def test_near_duplicates_that_pass_at_once_agree(seed: int) -> None:
    site, chance = Site(), random.Random(seed)
    texts = [TEXT, NEAR, edited(TEXT, 5, 2), text_of(5), text_of(5)]
    urls = [f"https://{name}.test/" + "x" * number for number, name in enumerate("abcde")]
    pairs = list(zip(urls, texts, strict=True))
    chance.shuffle(pairs)
    deliveries = [await site.normalized(url, text, at) for at, (url, text) in enumerate(pairs)]
    stores = site.stores
    slow = Stores(
        blobs=stores.blobs,
        pages=_Slow(stores.pages, chance),
        ledger=stores.ledger,
        fingerprints=_Slow(stores.fingerprints, chance),
    )
    outputs = await asyncio.gather(*(DedupAgent(slow).handle(one) for one in deliveries))
    leaders = [await site.leader(url) for url in urls]
    assert leaders == [urls[0], urls[0], urls[0], urls[3], urls[3]]
    removed = {event.url for events in outputs for event in events if isinstance(event, PageRemoved)}
    assert removed == {urls[1], urls[2], urls[4]}


def _at_any_time(chance: random.Random) -> Callable[..., Awaitable[Any]]:
    """Work in a thread, ready after a random number of steps of the loop: a seed always gives the same history."""

    async def ready(function: Callable[..., Any], *arguments: Any) -> Any:
        for _ in range(chance.choice([0, 0, 1, 5, 20, 60])):
            await asyncio.sleep(0)
        return function(*arguments)

    return ready


class Index:
    """What the index stage would hold, by its rule: generations decide, and a removal wins a tie."""

    def __init__(self) -> None:
        self.pages: dict[UUID, int] = {}
        self._removed: dict[UUID, int] = {}

    def hear(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, PageRemoved):
                self._remove(event)
            elif isinstance(event, PageDeduplicated) and event.verdict == "unique":
                newest = max(self.pages.get(event.page_id, 0), self._removed.get(event.page_id, -1) + 1)
                if event.generation >= newest:
                    self.pages[event.page_id] = event.generation

    def _remove(self, event: PageRemoved) -> None:
        if event.generation >= max(self.pages.get(event.page_id, 0), self._removed.get(event.page_id, 0)):
            self._removed[event.page_id] = event.generation
            self.pages.pop(event.page_id, None)


@pytest.mark.parametrize("seed", [*range(25), 762, 1732])
async def test_whatever_happens_at_once_the_index_holds_the_leaders_alone(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages change, vanish, come back and are delivered twice, all of one or two groups, through workers at once."""
    site, chance, index = Site(), random.Random(seed), Index()
    monkeypatch.setattr(asyncio, "to_thread", _at_any_time(chance))
    urls = [f"https://{name}.test/" + "x" * number for number, name in enumerate("abcdefg")]
    texts = [edited(text_of(group), count, group) for group in (1, 2) for count in (1, 4, 10, 22)]
    happenings = [(chance.choice(urls), chance.choice([*texts, "gone"]), at) for at in range(1, 17)]
    slow = Stores(
        blobs=site.stores.blobs,
        pages=_Slow(site.stores.pages, chance),
        ledger=site.stores.ledger,
        fingerprints=_Slow(site.stores.fingerprints, chance),
    )

    async def life(url: str) -> None:
        for where, what, at in happenings:
            if where != url:
                continue
            one = site.removed(url, what, at) if what == "gone" else await site.normalized(url, what, at)
            index.hear([one.event])
            for again in chance.choice([[], [], [], [one], [later(one, 1_000)], [one, later(one, 9)]]):
                index.hear(await DedupAgent(slow).handle(one))
                one = again
            index.hear(await DedupAgent(slow).handle(one))

    await asyncio.gather(*(life(url) for url in urls))
    known = [page for url in urls if (page := await site.stores.fingerprints.get(page_id(url)))]
    leaders = {page.page_id for page in known if page.canonical == page.page_id}
    assert {page.canonical for page in known} <= leaders
    assert set(index.pages) == leaders


@pytest.mark.parametrize("then", [text_of(40), TEXT, "gone"], ids=["other text", "the text of its group", "gone"])
@pytest.mark.parametrize("case", CUT_OFF)
async def test_news_of_other_pages_are_told_even_when_the_next_fetch_overtakes(case: str, then: str) -> None:
    """An event fails anywhere, waits in the retry topic, and comes again when its page was fetched anew meanwhile."""
    before, (url, last), _, _ = CUT_OFF[case]
    budget, crashed = 0, True
    while crashed:
        site, index, left = Site(), Index(), [budget]

        async def said(what: str, at: int, url: str = url, site: Site = site, index: Index = index) -> Delivery:
            one = site.removed(url, what, at) if what == "gone" else await site.normalized(url, what, at)
            index.hear([one.event])
            return one

        for at, (known, text) in enumerate(before):
            index.hear(await site.agent.handle(await said(text, at, known)))
        failing = await said(last, 10)
        crashed = await cut_off(site.stores, failing, left)
        for one in (await said(then, 20), failing, await said(then, 30)):
            index.hear(await site.agent.handle(one))
        pages = [page for known in (A, B, C) if (page := await site.stores.fingerprints.get(page_id(known)))]
        leaders = {page.url for page in pages if page.canonical == page.page_id}
        assert {page.url for page in pages if page.page_id in index.pages} == leaders, f"cut off at call {budget}"
        budget += 1
    assert budget > 10


@pytest.mark.parametrize("first", range(16, 26))
async def test_news_are_told_even_when_a_removal_fails_on_top_of_a_failed_fetch(first: int) -> None:
    second, crashed = 0, True
    while crashed:
        site, index = Site(), Index()
        for at, known in enumerate((A, B, C)):
            index.hear(await site.agent.handle(await site.normalized(known, TEXT, at)))
        changed, gone = await site.normalized(A, text_of(8), 10), site.removed(A, "gone", 11)
        index.hear([changed.event])
        await cut_off(site.stores, changed, [first])
        index.hear([gone.event])
        crashed = await cut_off(site.stores, gone, [second])
        for one in (changed, gone):
            index.hear(await site.agent.handle(one))
        assert set(index.pages) == {page_id(await site.leader(B))}, f"cut off at calls {first} and {second}"
        second += 1
    assert second > 3
