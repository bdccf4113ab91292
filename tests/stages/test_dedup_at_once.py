"""The dedup stage under redelivery, crashes, and several workers at once."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas import Event, PageDeduplicated, PageNormalized, PageRemoved, PageSettled
from schemas.ids import page_id
from streams.dedup.agent import DedupAgent
from streams.dedup.sandbox_tasks import TASKS
from streams.runtime.agent import Delivery
from streams.stores.opener import Stores
from streams.stores.page_record import Indexed, Removed
from tests.inline_sandbox import InlineSandbox
from tests.sizes import FULL, size
from tests.stages.dedup_site import (
    BY_THE_MODEL,
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
    summary,
    text_of,
    variants_of,
)


async def test_a_redelivery_writes_and_publishes_the_same() -> None:
    site = Site()
    deliveries = [await site.normalized(url, TEXT, at) for at, url in enumerate((C, B, A))]
    deliveries.append(site.removed(A, "gone", 10))
    for one in deliveries:
        first = await site.agent.handle(one)
        state = site.state()
        assert await site.agent.handle(one) == first
        assert site.state() == state


REMOVALS = ("gone", "request")
"""Reasons of removals. All other events of the table below are texts."""
# (events before, the event that crashes, the representatives of A, B and C afterwards, the published events)
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
        [f"{C} near", f"{C} settled duplicate", f"{C} removed duplicate"],
    ),
    "the representative changes": (
        [(A, TEXT), (B, TEXT), (C, NEAR)],
        (A, text_of(8)),
        [A, B, B],
        [f"{A} unique", f"{A} settled changed", f"{B} unique", f"{C} removed duplicate"],
    ),
    "the representative becomes a duplicate of another": (
        [(A, text_of(8)), (B, TEXT), (C, TEXT)],
        (B, text_of(8)),
        [A, A, C],
        [f"{B} exact", f"{B} settled duplicate", f"{B} removed duplicate", f"{C} unique"],
    ),
    "the representative is gone": (
        [(A, TEXT), (B, NEAR), (C, TEXT)],
        (A, "gone"),
        [None, B, B],
        [f"{B} unique", f"{C} removed duplicate"],
    ),
    "the representative is removed on request": (
        [(A, TEXT), (B, NEAR), (C, TEXT)],
        (A, "request"),
        [None, B, B],
        [f"{B} unique", f"{C} removed duplicate"],
    ),
    "the representative is fetched again, unchanged": (
        [(A, TEXT), (B, TEXT), (C, NEAR)],
        (A, TEXT),
        [A, A, A],
        [f"{A} unique", f"{A} settled unchanged"],
    ),
    "a duplicate changes": (
        [(A, TEXT), (B, TEXT), (C, TEXT)],
        (B, text_of(8)),
        [A, B, A],
        [f"{B} unique", f"{B} settled changed"],
    ),
}


@pytest.mark.parametrize("case", CUT_OFF)
async def test_a_crash_at_any_call_is_repaired_by_the_redelivery(case: str) -> None:
    before, (url, last), representatives, published = CUT_OFF[case]
    budget, crashed = 0, True
    while crashed:
        site, left = Site(), [budget]
        for at, (known, text) in enumerate(before):
            await site.normalize(known, text, at)
        one = site.removed(url, last, 10) if last in REMOVALS else await site.normalized(url, last, 10)
        crashed = await cut_off(site.stores, one, left)
        assert summary(await site.agent.handle(one)) == published, f"after a crash at call {budget}"
        found = [
            await site.representative_of(page) if page != url or last not in REMOVALS else None for page in (A, B, C)
        ]
        assert found == representatives, f"after a crash at call {budget}"
        budget += 1
    assert budget >= 8


async def test_a_fetch_that_was_lost_counts_as_none_whatever_it_stored() -> None:
    """Its event is a dead letter. The next fetch has the same document, which no stage behind has seen."""
    budget, crashed = 0, True
    while crashed:
        site, left = Site(), [budget]
        await site.normalize(A, TEXT)
        about = {"url": A, "generation": NOW, "statements_ref": "s", **BY_THE_MODEL}
        await site.stores.pages.put(page_id(A), Indexed.of_row(about), NOW)
        crashed = await cut_off(site.stores, await site.normalized(A, text_of(8), 10), left)
        if crashed:
            assert (await site.normalize(A, text_of(8), 20))[0] == f"{A} unique", f"after a crash at call {budget}"
        budget += 1
    assert budget > 5


async def test_a_first_fetch_that_was_lost_leaves_nothing_that_leads_astray() -> None:
    """Its event is a dead letter: the fingerprint may be there without a record. The next fetch has another text."""
    budget, crashed = 0, True
    while crashed:
        site, left = Site(), [budget]
        crashed = await cut_off(site.stores, await site.normalized(A, TEXT), left)
        if crashed:
            found = [(await site.normalize(url, text, at))[0] for url, text, at in ((A, text_of(8), 10), (B, TEXT, 11))]
            assert found == [f"{A} unique", f"{B} unique"], f"after a crash at call {budget}"
            assert (await site.normalize(C, text_of(8), 12))[0] == f"{C} exact"
            assert [await site.representative_of(url) for url in (A, B, C)] == [A, B, A]
        budget += 1
    assert budget > 5


async def test_a_promoted_page_publishes_the_same_when_its_own_event_comes_again() -> None:
    site = Site()
    await site.normalize(A, TEXT)
    own = await site.normalized(B, TEXT, 1)
    await site.agent.handle(own)
    promoted = await site.agent.handle(site.removed(A, "gone", 2))
    again = await site.agent.handle(own)
    assert summary(again) == [f"{B} unique", f"{B} settled changed"]
    assert isinstance(promoted[0], PageDeduplicated)
    assert isinstance(again[0], PageDeduplicated)
    assert again[0].generation == promoted[0].generation


@pytest.mark.parametrize("microseconds", [1, 2, 1_000, 60 * SECOND])
async def test_a_replay_that_makes_a_duplicate_unique_is_newer_than_its_removal(microseconds: int) -> None:
    """A new version of the normalizer finds another text in the same fetch."""
    site, index = Site(), Index()
    other = await site.normalized(B, text_of(5), 1)
    for one in (await site.normalized(A, TEXT), await site.normalized(B, TEXT, 1), later(other, microseconds)):
        index.apply(await site.agent.handle(one))
    assert set(index.pages) == {page_id(A), page_id(B)}


async def index_after(site: Site, *deliveries: Delivery) -> set[str]:
    """The pages in the index after these events, one after the other."""
    index = Index()
    for one in deliveries:
        index.apply([one.event])
        index.apply(await site.agent.handle(one))
    return {url for url in (A, B, C) if page_id(url) in index.pages}


@pytest.mark.parametrize("reason", ["noindex", "refused", "gone"])
async def test_a_removal_of_a_fetch_that_was_replayed_takes_the_page_out(reason: str) -> None:
    """A newer normalizer refuses the bytes that an older one accepted."""
    site = Site()
    own = await site.normalized(A, TEXT, 1)
    removal = site.removed(A, reason, 1)
    again = later(removal, 10)
    assert await index_after(site, own, later(own, 5), removal) == set()
    assert await index_after(site, own, later(own, 20), again) == set()
    first = await site.agent.handle(again)
    assert await site.agent.handle(again) == first


async def test_a_removal_of_a_fetch_takes_out_a_page_that_was_promoted_since() -> None:
    site = Site()
    pages = [await site.normalized(url, TEXT, at) for at, url in enumerate((A, B))]
    assert (
        await index_after(site, *pages, site.removed(A, "gone", 5), later(site.removed(B, "noindex", 1), 10)) == set()
    )


async def refused(site: Site, url: str, at: int, reason: str) -> None:
    """Record a removal, as the index stage does."""
    record = {"generation": NOW + at * SECOND, "reason": reason}
    await site.stores.pages.put(page_id(url), Removed.of_row(record), NOW + at * SECOND)


async def test_a_page_that_was_refused_by_mistake_comes_back_by_a_replay() -> None:
    site = Site()
    await refused(site, A, 1, "refused")
    own = later(await site.normalized(A, TEXT, 1), 60 * SECOND)
    removal, other = site.removed(A, "refused", 1), await site.normalized(B, TEXT, 2)
    assert await index_after(site, other, removal, own) == {A}


@pytest.mark.parametrize(
    ("at", "reason", "verdicts", "why"),
    [
        (5, "gone", ["unchanged"], "it was gone when it was fetched again"),
        (1, "request", ["refused"], "after a removal on request no replay brings it back"),
        (5, "request", ["refused"], "the removal on request came later"),
    ],
)
async def test_a_removed_page_is_not_brought_back_by_an_older_fetch(
    at: int, reason: str, verdicts: list[str], why: str
) -> None:
    site = Site()
    own = await site.normalized(A, TEXT, 1)
    await site.agent.handle(own)
    await site.normalize(B, TEXT, 2)
    await site.agent.handle(site.removed(A, reason, at))
    before = site.state()
    outputs = await site.agent.handle(later(own, 60 * SECOND))
    assert [output.verdict for output in outputs if isinstance(output, PageSettled)] == verdicts, why
    assert len(outputs) == len(verdicts), why
    assert site.state() == before
    assert await site.representative_of(B) == B


async def test_a_late_event_never_brings_back_the_text_from_before_a_replay() -> None:
    site = Site()
    own, mended = await site.normalized(A, TEXT, 1), later(await site.normalized(A, NEAR, 1), 10)
    await site.agent.handle(mended)
    (found, *_) = await site.agent.handle(own)
    assert isinstance(found, PageDeduplicated)
    assert isinstance(mended.event, PageNormalized)
    assert found.document_ref == mended.event.document_ref


async def test_hundreds_of_replays_never_count_as_a_later_fetch() -> None:
    site = Site()
    own = await site.normalized(A, TEXT)
    for number in range(size(300)):
        assert await site.agent.handle(later(own, number)), number
    assert await site.normalize(A, TEXT, 1)


class _Slow:
    """A store that yields a random number of times per call, so that handlers interleave in any order."""

    def __init__(self, inner: Any, chance: random.Random) -> None:
        self._inner, self._chance = inner, chance

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*args: Any) -> Any:
            for _ in range(self._chance.randrange(8)):
                await asyncio.sleep(0)
            return await method(*args)

        return call


@pytest.mark.parametrize("seed", range(30 if FULL else 6))
@pytest.mark.parametrize("is_one_site", [True, False], ids=["one site", "five sites"])
async def test_near_duplicates_handled_at_once_agree(seed: int, is_one_site: bool) -> None:
    site, chance = Site(), random.Random(seed)
    texts = [TEXT, NEAR, edited(TEXT, 5, 2), text_of(5), text_of(5)]
    urls = variants_of("https://a.test/page", 5) if is_one_site else [f"https://{host}.test/" for host in "abcde"]
    pairs = list(zip(urls, texts, strict=True))
    chance.shuffle(pairs)
    order = [url for url, _ in pairs]
    best = (urls[0], urls[3]) if is_one_site else (min(urls[:3], key=order.index), min(urls[3:], key=order.index))
    deliveries = [await site.normalized(url, text, at) for at, (url, text) in enumerate(pairs)]
    stores = site.stores
    slow = Stores(
        blobs=stores.blobs,
        pages=_Slow(stores.pages, chance),
        ledger=stores.ledger,
        fingerprints=_Slow(stores.fingerprints, chance),
        frontier=stores.frontier,
        embedder=stores.embedder,
    )
    outputs = await asyncio.gather(*(DedupAgent(slow, InlineSandbox(TASKS)).handle(one) for one in deliveries))
    representatives = [await site.representative_of(url) for url in urls]
    assert representatives == [best[0]] * 3 + [best[1]] * 2
    removed = {event.url for events in outputs for event in events if isinstance(event, PageRemoved)}
    assert removed == set(urls) - set(best)


class _SlowSandbox(InlineSandbox):
    """A sandbox that answers after a random number of steps of the loop, the same for each seed."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(TASKS)
        self._chance = chance

    async def run(self, task: str, payload: bytes) -> bytes:
        for _ in range(self._chance.choice([0, 0, 1, 5, 20, 60])):
            await asyncio.sleep(0)
        return await super().run(task, payload)


class Index:
    """The index stage's rule: the higher generation wins, and a removal wins a tie."""

    def __init__(self) -> None:
        self.pages: dict[UUID, int] = {}
        self._removed: dict[UUID, int] = {}

    def apply(self, events: Sequence[Event]) -> None:
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


@pytest.mark.parametrize("hosts", ["abcdefg", "aaaaaaa", "aabbccc"])
@pytest.mark.parametrize("seed", [*range(12 if FULL else 1), 762, 1732])
async def test_after_any_events_at_once_the_index_contains_exactly_the_representatives(seed: int, hosts: str) -> None:
    """Pages of two groups change, vanish, come back and are delivered twice, in several workers at once."""
    site, chance, index = Site(), random.Random(seed), Index()
    urls = [f"https://{name}.test/" + "x" * number for number, name in enumerate(hosts)]
    texts = [edited(text_of(group), count, group) for group in (1, 2) for count in (1, 4, 10, 22)]
    history = [(chance.choice(urls), chance.choice([*texts, "gone"]), at) for at in range(1, 17)]
    slow = Stores(
        blobs=site.stores.blobs,
        pages=_Slow(site.stores.pages, chance),
        ledger=site.stores.ledger,
        fingerprints=_Slow(site.stores.fingerprints, chance),
        frontier=site.stores.frontier,
        embedder=site.stores.embedder,
    )

    async def life(url: str) -> None:
        for where, what, at in history:
            if where != url:
                continue
            one = site.removed(url, what, at) if what in REMOVALS else await site.normalized(url, what, at)
            index.apply([one.event])
            for again in chance.choice([[], [], [], [one], [later(one, 1_000)], [one, later(one, 9)]]):
                index.apply(await DedupAgent(slow, _SlowSandbox(chance)).handle(one))
                one = again
            index.apply(await DedupAgent(slow, _SlowSandbox(chance)).handle(one))

    await asyncio.gather(*(life(url) for url in urls))
    known = [page for url in urls if (page := await site.stores.fingerprints.get(page_id(url)))]
    representatives = {page.page_id for page in known if page.representative == page.page_id}
    assert {page.representative for page in known} <= representatives
    assert set(index.pages) == representatives
    for page in known:
        found = {
            other.page_id
            for other in await site.stores.fingerprints.look_up(replace(page, page_id=uuid4(), words=0), 1.0)
        }
        assert (page.page_id in found) == (page.page_id in representatives), f"look-ups find {page.url}"


THEN = {"other text": text_of(40), "the text of its group": TEXT, "gone": "gone"}


@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("case", CUT_OFF)
async def test_changes_of_other_pages_are_published_even_if_a_later_fetch_overtakes_the_event(
    case: str, then: str
) -> None:
    """An event fails at any call, waits in the retry topic, and comes again after a later fetch of its page.

    By day, each kind of later fetch has every third call: the three of them together have all calls.
    """
    before, (url, last), _, _ = CUT_OFF[case]
    first, step = (0, 1) if FULL else (list(THEN).index(then), len(THEN))
    budget, crashed = first, True
    while crashed:
        site, index, left = Site(), Index(), [budget]

        async def event(what: str, at: int, url: str = url, site: Site = site, index: Index = index) -> Delivery:
            one = site.removed(url, what, at) if what in REMOVALS else await site.normalized(url, what, at)
            index.apply([one.event])
            return one

        for at, (known, text) in enumerate(before):
            index.apply(await site.agent.handle(await event(text, at, known)))
        failing = await event(last, 10)
        crashed = await cut_off(site.stores, failing, left)
        for one in (await event(THEN[then], 20), failing, await event(THEN[then], 30)):
            index.apply(await site.agent.handle(one))
        pages = [page for known in (A, B, C) if (page := await site.stores.fingerprints.get(page_id(known)))]
        representatives = {page.url for page in pages if page.representative == page.page_id}
        assert {page.url for page in pages if page.page_id in index.pages} == representatives, (
            f"cut off at call {budget}"
        )
        budget += step
    assert budget >= 8


@pytest.mark.parametrize("first", range(16, 26, 1 if FULL else 3))
async def test_changes_are_published_even_if_a_removal_fails_after_a_failed_fetch(first: int) -> None:
    second, crashed = 0, True
    while crashed:
        site, index = Site(), Index()
        for at, known in enumerate((A, B, C)):
            index.apply(await site.agent.handle(await site.normalized(known, TEXT, at)))
        changed, gone = await site.normalized(A, text_of(8), 10), site.removed(A, "gone", 11)
        index.apply([changed.event])
        await cut_off(site.stores, changed, [first])
        index.apply([gone.event])
        crashed = await cut_off(site.stores, gone, [second])
        for one in (changed, gone):
            index.apply(await site.agent.handle(one))
        assert set(index.pages) == {page_id(await site.representative_of(B))}, f"cut off at calls {first} and {second}"
        second += 1
    assert second > 3
