"""The dedup stage over memory stores: groups, election, removal, redelivery and crashes."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from schemas import Envelope, Event, PageDeduplicated, PageDiscovered, PageNormalized, PageRemoved, PageSettled
from schemas.envelope import utc_from_micros
from schemas.ids import event_id, page_id
from streams.dedup.agent import DedupAgent, build
from streams.dedup.grouping import is_leader
from streams.dedup.learning import VariantLearner
from streams.dedup.variants import learned, retired, rewrite
from streams.ledger_agent import DISCOVERIES_KEPT, LedgerAgent
from streams.pages.codec import encode_document
from streams.pages.document import Block, Document
from streams.pages.normalize import content_hash
from streams.runtime.agent import Delivery
from streams.settings import Settings
from streams.stores.memory import MemoryBlobs, MemoryFingerprints, MemoryLedger, MemoryPages
from streams.stores.opening import Stores
from streams.stores.protocols import Fingerprint

NOW = 1_700_000_000_000_000
SECOND = 1_000_000
VOCABULARY = [f"word{number}" for number in range(2_000)]


def text_of(seed: int, words: int = 300) -> str:
    return " ".join(random.Random(seed).choices(VOCABULARY, k=words))


def edited(text: str, count: int, seed: int = 0) -> str:
    """The text with so many of its words replaced, in a row."""
    words = text.split()
    start = random.Random(seed).randrange(len(words) - count)
    words[start : start + count] = [f"new{seed}x{number}" for number in range(count)]
    return " ".join(words)


@dataclass
class Site:
    """A stage over memory stores, and events for it."""

    stores: Stores = field(
        default_factory=lambda: Stores(
            blobs=MemoryBlobs(), pages=MemoryPages(), ledger=MemoryLedger(), fingerprints=MemoryFingerprints()
        )
    )

    @property
    def agent(self) -> DedupAgent:
        """A new one each time: a stage keeps nothing in memory that it needs."""
        return DedupAgent(self.stores)

    async def normalized(self, url: str, text: str, at: int = 0, canonical: str | None = None) -> Delivery:
        ref = await self.stores.blobs.put(encode_document(Document(url, blocks=(Block("p", text),))))
        event = PageNormalized(
            page_id=page_id(url),
            url=url,
            generation=NOW + at * SECOND,
            document_ref=ref,
            content_hash=content_hash(text),
            canonical_url=canonical,
        )
        return delivery(event, NOW + at * SECOND)

    def removed(self, url: str, reason: str, at: int) -> Delivery:
        event = PageRemoved.model_validate(
            {"page_id": page_id(url), "url": url, "generation": NOW + at * SECOND, "reason": reason}
        )
        return delivery(event, NOW + at * SECOND)

    async def say(self, url: str, text: str, at: int = 0, canonical: str | None = None) -> list[str]:
        return told(await self.agent.handle(await self.normalized(url, text, at, canonical)))

    async def leader(self, url: str) -> str:
        found = await self.stores.fingerprints.get(page_id(url))
        assert found is not None
        assert found.canonical is not None
        leader = await self.stores.fingerprints.get(found.canonical)
        assert leader is not None
        return leader.url

    def state(self) -> Any:
        fingerprints: Any = self.stores.fingerprints
        pages: Any = self.stores.pages
        return (
            dict(fingerprints._rows),
            dict(fingerprints._decisions),
            dict(fingerprints._variants),
            {page: dict(cells) for page, cells in pages._cells.items()},
        )


def delivery(event: Event, at: int) -> Delivery:
    time = utc_from_micros(0) + timedelta(microseconds=at)
    identity = event_id(event.event_type(), str(at), event.key())
    envelope = Envelope(id=identity, type=event.event_type(), source="/riffle/test", time=time)
    return Delivery(event, envelope, event.topic, 0, 0)


def later(one: Delivery, microseconds: int) -> Delivery:
    """The same fetch again, by a normalizer that was started anew or told to replay it."""
    envelope = one.envelope.model_copy(update={"time": one.time + timedelta(microseconds=microseconds)})
    return replace(one, envelope=envelope)


def told(events: Sequence[Event]) -> list[str]:
    """What the events say, in short."""
    lines = []
    for event in events:
        if isinstance(event, PageDeduplicated):
            lines.append(f"{event.url} {event.verdict}")
        elif isinstance(event, PageRemoved):
            lines.append(f"{event.url} removed {event.reason}")
        elif isinstance(event, PageSettled):
            lines.append(f"{event.url} settled {event.verdict}")
    return lines


A, B, C = "https://a.test/", "https://b.test/page", "https://c.test/longer/page"
TEXT = text_of(1)
NEAR = edited(TEXT, 6)


async def test_a_page_alone_is_unique() -> None:
    site = Site()
    assert await site.say(A, TEXT) == [f"{A} unique", f"{A} settled changed"]
    record = (await site.stores.pages.get(page_id(A)))["deduplicated"]
    assert record["verdict"] == "unique"
    assert record["canonical_page_id"] == str(page_id(A))


@pytest.mark.parametrize(("text", "verdict"), [(TEXT, "exact"), (NEAR, "near")])
async def test_a_duplicate_is_taken_out_and_points_to_the_page_that_stands_for_it(text: str, verdict: str) -> None:
    site = Site()
    await site.say(A, TEXT)
    assert await site.say(B, text, 1) == [f"{B} {verdict}", f"{B} removed duplicate", f"{B} settled duplicate"]
    assert await site.leader(B) == A


async def test_a_better_page_takes_over() -> None:
    site = Site()
    await site.say(C, TEXT)
    await site.say(B, NEAR, 1)
    out = [f"{B} removed duplicate", f"{C} removed duplicate"]
    assert await site.say(A, TEXT, 2) == [f"{A} unique", f"{A} settled changed", *out]
    assert [await site.leader(url) for url in (A, B, C)] == [A, A, A]
    assert (await site.stores.pages.get(page_id(B)))["deduplicated"]["canonical_url"] == A


async def test_other_pages_stay_apart() -> None:
    site = Site()
    await site.say(A, TEXT)
    assert await site.say(B, text_of(2), 1) == [f"{B} unique", f"{B} settled changed"]
    assert await site.say(C, edited(TEXT, 60), 2) == [f"{C} unique", f"{C} settled changed"]


async def test_short_texts_are_duplicates_only_when_equal() -> None:
    site = Site()
    short = text_of(3, 30)
    await site.say(A, short)
    assert (await site.say(B, short + " more", 1))[0] == f"{B} unique"
    assert (await site.say(C, short, 2))[0] == f"{C} exact"


async def test_pages_without_text_are_not_each_others_duplicates() -> None:
    site = Site()
    await site.say(A, "")
    assert (await site.say(B, "", 1))[0] == f"{B} unique"


async def test_a_chain_of_small_differences_does_not_merge_its_ends() -> None:
    site = Site()
    middle = edited(TEXT, 22, seed=1)
    end = edited(middle, 22, seed=2)
    await site.say(A, TEXT)
    assert (await site.say(B, middle, 1))[0] == f"{B} near"
    assert (await site.say(C, end, 2))[0] == f"{C} unique"


async def test_the_canonical_link_decides_first() -> None:
    site = Site()
    await site.say(A, TEXT, canonical=B)
    assert (await site.say(B, TEXT, 1))[0] == f"{B} unique"
    assert await site.leader(A) == B


async def test_an_unchanged_page_says_so() -> None:
    site = Site()
    await site.say(A, TEXT)
    assert await site.say(A, TEXT, 5) == [f"{A} unique", f"{A} settled unchanged"]
    assert await site.say(A, text_of(9), 6) == [f"{A} unique", f"{A} settled changed"]


async def test_when_the_leader_is_gone_the_best_of_the_others_is_indexed() -> None:
    site = Site()
    for at, url in enumerate((A, B, C)):
        await site.say(url, TEXT, at)
    events = await site.agent.handle(site.removed(A, "gone", 10))
    assert told(events) == [f"{B} unique", f"{C} removed duplicate"]
    assert isinstance(events[0], PageDeduplicated)
    assert events[0].document_ref
    assert events[0].generation > NOW + 1 * SECOND, "newer than its removal, or the index would leave it out"
    assert await site.leader(C) == B
    assert await site.stores.fingerprints.get(page_id(A)) is None


async def test_when_the_leader_changes_its_text_its_duplicates_get_another() -> None:
    site = Site()
    for at, url in enumerate((A, B, C)):
        await site.say(url, TEXT, at)
    said = await site.say(A, text_of(7), 10)
    assert said == [f"{A} unique", f"{A} settled changed", f"{B} unique", f"{C} removed duplicate"]
    assert [await site.leader(url) for url in (A, B, C)] == [A, B, B]


@pytest.mark.parametrize("reason", ["noindex", "blocked", "refused", "request", "unsupported"])
async def test_any_other_removal_frees_the_group(reason: str) -> None:
    site = Site()
    await site.say(A, TEXT)
    await site.say(B, TEXT, 1)
    assert told(await site.agent.handle(site.removed(A, reason, 2))) == [f"{B} unique"]


async def test_a_duplicates_own_removal_comes_back_and_changes_nothing() -> None:
    site = Site()
    await site.say(A, TEXT)
    await site.say(B, TEXT, 1)
    before = site.state()
    assert await site.agent.handle(site.removed(B, "duplicate", 2)) == []
    assert site.state() == before


async def test_an_older_generation_never_overrides() -> None:
    site = Site()
    await site.say(A, TEXT, 5)
    before = site.state()
    assert await site.say(A, text_of(4), 3) == []
    assert await site.agent.handle(site.removed(A, "gone", 4)) == []
    assert site.state() == before


async def test_redelivery_writes_and_says_the_same() -> None:
    site = Site()
    deliveries = [await site.normalized(url, TEXT, at) for at, url in enumerate((C, B, A))]
    deliveries.append(site.removed(A, "gone", 10))
    for one in deliveries:
        first = await site.agent.handle(one)
        state = site.state()
        assert await site.agent.handle(one) == first
        assert site.state() == state


class Crash(Exception):
    pass


class _Breaking:
    """A store whose n-th call never happens."""

    def __init__(self, inner: Any, budget: list[int]) -> None:
        self._inner, self._budget = inner, budget

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*args: Any) -> Any:
            self._budget[0] -= 1
            if self._budget[0] < 0:
                raise Crash
            return await method(*args)

        return call


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


async def cut_off(stores: Stores, one: Delivery, left: list[int]) -> bool:
    """Handle an event until so many calls of stores are used up. Whether that was too few."""
    breaking = Stores(
        blobs=_Breaking(stores.blobs, left),
        pages=_Breaking(stores.pages, left),
        ledger=_Breaking(stores.ledger, left),
        fingerprints=_Breaking(stores.fingerprints, left),
    )
    try:
        await DedupAgent(breaking).handle(one)
    except Crash:
        return True
    return False


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


async def test_build_gives_the_agent() -> None:
    assert isinstance(await build(Settings(), Site().stores), DedupAgent)


def test_fingerprints_without_a_decision_are_leaders_until_then() -> None:

    page = Fingerprint(page_id(A), "", 0, A, 1)
    assert is_leader(page)


async def test_duplicates_teach_the_hosts_rules() -> None:
    site = Site()
    for number in range(8):
        text = text_of(100 + number)
        await site.say(f"https://shop.test/item{number}", text, 2 * number)
        await site.say(f"https://shop.test/item{number}?ref=home", text, 2 * number + 1)
    rules = learned(await site.stores.fingerprints.variants("shop.test"))
    assert rules == {"parameter:remove:ref"}
    assert rewrite("https://shop.test/other?ref=mail&page=2", rules) == "https://shop.test/other?page=2"


async def test_one_text_for_all_that_is_missing_teaches_nothing() -> None:
    site = Site()
    for number in range(8):
        await site.say(f"https://shop.test/item?id={number}", text_of(200 + number), number)
    for number in range(100, 120):
        await site.say(f"https://shop.test/item?id={number}", text_of(1, 20), number)
    for number in range(300, 304):
        await site.say(f"https://shop.test/item?id={number}", text_of(number), number)
    assert learned(await site.stores.fingerprints.variants("shop.test")) == frozenset()


SHOP = "https://shop.test"


async def shop(items: int, site: Site | None = None) -> Site:
    """Items that each have two names."""
    site = site or Site()
    for number in range(items):
        for name in (f"/item{number}", f"/item{number}?ref=home"):
            await site.say(f"{SHOP}{name}", text_of(100 + number), number)
    return site


async def test_one_counter_example_retires_a_rule_for_good() -> None:
    site = await shop(20)
    assert learned(await site.stores.fingerprints.variants("shop.test")) == {"parameter:remove:ref"}
    await site.say(f"{SHOP}/price", text_of(1), 50)
    await site.say(f"{SHOP}/price?ref=partner", text_of(2), 51)
    await shop(20, site)
    evidence = await site.stores.fingerprints.variants("shop.test")
    assert (learned(evidence), retired(evidence)) == (frozenset(), {"parameter:remove:ref"})


async def test_a_page_that_several_rules_together_got_wrong_retires_all_of_them() -> None:
    site = await shop(20)
    for number in range(20):
        for name in (f"/text{number}", f"/text{number}/"):
            await site.say(f"{SHOP}{name}", text_of(300 + number), number)
    both = {"parameter:remove:ref", "slash:remove"}
    assert learned(await site.stores.fingerprints.variants("shop.test")) == both
    await site.say(f"{SHOP}/both", text_of(1), 50)
    await site.say(f"{SHOP}/both/?ref=a", text_of(2), 51)
    assert retired(await site.stores.fingerprints.variants("shop.test")) == both


@pytest.mark.parametrize("text", [1, 2], ids=["a duplicate", "a counter-example"])
async def test_evidence_survives_a_crash_at_any_call_and_is_the_same_after_a_redelivery(text: int) -> None:
    budget, crashed = 0, True
    while crashed:
        site, left = await shop(4), [budget]
        await site.say(f"{SHOP}/price", text_of(1), 50)
        one = await site.normalized(f"{SHOP}/price?ref=partner", text_of(text), 51)
        crashed = await cut_off(site.stores, one, left)
        await site.agent.handle(one)
        evidence = await site.stores.fingerprints.variants("shop.test")
        assert len([found for found in evidence if found.agrees]) == (5 if text == 1 else 4), f"crash at call {budget}"
        assert bool(learned(evidence)) == (text == 1)
        await site.agent.handle(one)
        assert await site.stores.fingerprints.variants("shop.test") == evidence
        budget += 1
    assert budget > 10


async def test_a_page_that_is_being_decided_just_now_is_no_evidence() -> None:
    site = Site()
    for number in range(5):
        await site.say(f"{SHOP}/b{number}", text_of(50 + number), number)
        await site.say(f"{SHOP}/b{number}?ref=1", text_of(50 + number), number)
    await site.say(f"{SHOP}/a?ref=1", text_of(1), 6)
    undecided = await site.stores.fingerprints.get(page_id(f"{SHOP}/a?ref=1"))
    assert undecided is not None
    await site.stores.fingerprints.put(undecided, undecided.written_at + 9)
    leader = Fingerprint(page_id(f"{SHOP}/a"), "other", 0, f"{SHOP}/a", 1, canonical=page_id(f"{SHOP}/a"))
    await VariantLearner(site.stores.fingerprints).learn(leader, leader, 5)
    assert retired(await site.stores.fingerprints.variants("shop.test")) == frozenset()


async def linked(site: Site, url: str, sources: Sequence[str], why: str = "link") -> None:
    """The ledger hears that these pages link to it."""
    for at, source in enumerate(sources):
        event = PageDiscovered.model_validate(
            {"page_id": page_id(url), "url": url, "host": "a.test", "why": why, "depth": 1, "referrer": source}
        )
        await LedgerAgent(site.stores.ledger).handle(delivery(event, NOW + at + 10 * len(why)))


async def in_links(site: Site, url: str) -> int:
    found = await site.stores.fingerprints.get(page_id(url))
    assert found is not None
    return found.in_links


ONE, TWO = "https://a.test/1", "https://a.test/2"


async def test_of_two_pages_the_one_with_more_pages_that_link_to_it_stands_for_both() -> None:
    site = Site()
    await linked(site, ONE, [A])
    await linked(site, TWO, [A, A, B, C, TWO])
    await linked(site, ONE, [A, B, C, TWO], why="redirect")
    await site.say(ONE, TEXT)
    assert told_of(await site.say(TWO, TEXT, 1), TWO) == [f"{TWO} unique", f"{TWO} settled changed"]
    assert await site.leader(ONE) == TWO
    assert (await in_links(site, ONE), await in_links(site, TWO)) == (1, 3), "distinct, not its own, links alone"


def told_of(lines: list[str], url: str) -> list[str]:
    return [line for line in lines if line.startswith(f"{url} ")]


async def test_links_are_counted_once_a_fetch_so_that_a_redelivery_elects_the_same() -> None:
    site = Site()
    one = await site.normalized(ONE, TEXT)
    first = await site.agent.handle(one)
    await linked(site, ONE, [A, B])
    assert await site.agent.handle(one) == first
    assert await in_links(site, ONE) == 0
    await site.say(ONE, TEXT, 5)
    assert await in_links(site, ONE) == 2


async def test_the_links_that_count_are_bounded() -> None:
    site = Site()
    await linked(site, ONE, [f"https://b.test/{number}" for number in range(1_000)])
    await site.say(ONE, TEXT)
    assert 50 < await in_links(site, ONE) <= DISCOVERIES_KEPT
