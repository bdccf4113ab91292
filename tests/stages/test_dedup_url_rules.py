"""Evidence about URL alias rules that the dedup stage gathers from duplicates."""

from dataclasses import replace
from weakref import WeakValueDictionary

import pytest

from schemas import LinkFound
from schemas.ids import page_id
from streams.crawl.url_rules import MAX_RULES, SLOTS, believed_rules, retired_rules, rewrite
from streams.crawl.urls import MAX_URL_CHARS
from streams.dedup import url_rule_evidence
from streams.dedup.fingerprinting import fingerprint
from streams.dedup.url_rule_evidence import (
    MAX_WITH_BYTES,
    WITH_SECONDS,
    WITHOUT_SECONDS,
    AliasLearner,
    Discoveries,
)
from streams.errors import StoreUnavailable
from streams.ledger.agent import LedgerAgent
from streams.pages.normalize import content_hash
from streams.stores.protocols import AliasEvidence, Fingerprint
from tests.stages.dedup_site import NOW, Site, cut_off, delivery, text_of


async def test_duplicates_are_evidence_for_the_rules_of_their_host() -> None:
    site = Site()
    for number in range(8):
        text = text_of(100 + number)
        await site.normalize(f"https://shop.test/item{number}", text, 2 * number)
        await site.normalize(f"https://shop.test/item{number}?ref=home", text, 2 * number + 1)
    rules = believed_rules(await site.stores.fingerprints.alias_evidence("shop.test"))
    assert rules == {"parameter:remove:ref"}
    assert rewrite("https://shop.test/other?ref=mail&page=2", rules) == "https://shop.test/other?page=2"


async def test_one_error_text_at_many_urls_is_no_evidence() -> None:
    site = Site()
    for number in range(8):
        await site.normalize(f"https://shop.test/item?id={number}", text_of(200 + number), number)
    for number in range(100, 120):
        await site.normalize(f"https://shop.test/item?id={number}", text_of(1, 20), number)
    for number in range(300, 304):
        await site.normalize(f"https://shop.test/item?id={number}", text_of(number), number)
    assert believed_rules(await site.stores.fingerprints.alias_evidence("shop.test")) == frozenset()


SHOP = "https://shop.test"


async def found_by_site(_: str) -> bool:
    return True


async def shop(items: int, site: Site | None = None) -> Site:
    """Items with two URLs each."""
    site = site or Site()
    for number in range(items):
        for name in (f"/item{number}", f"/item{number}?ref=home"):
            await site.normalize(f"{SHOP}{name}", text_of(100 + number), number)
    return site


STRANGER = "https://stranger.test/links"
FINDERS = [
    # (who links to the items, who links to their other URLs, whether the rule is believed)
    ("", "", True),
    (STRANGER, "", False),
    ("", STRANGER, False),
    (STRANGER, STRANGER, False),
]


@pytest.mark.parametrize(("of_item", "of_alias", "believed"), FINDERS)
async def test_only_urls_that_the_site_itself_links_to_are_evidence_for_a_rule(
    of_item: str, of_alias: str, believed: bool
) -> None:
    site = Site()
    for number in range(20):
        await site.normalize(f"{SHOP}/item{number}", text_of(number), number, found_on=of_item)
        await site.normalize(f"{SHOP}/item{number}?id=1", text_of(number), 100 + number, found_on=of_alias)
    rules = believed_rules(await site.stores.fingerprints.alias_evidence("shop.test"))
    assert bool(rules) == believed
    assert (rewrite(f"{SHOP}/article?id=7", rules) == f"{SHOP}/article") == believed


async def test_links_of_strangers_still_retire_a_rule_that_hides_a_page() -> None:
    site = await shop(20)
    await site.normalize(f"{SHOP}/price", text_of(1), 50)
    await site.normalize(f"{SHOP}/price?ref=partner", text_of(2), 51, found_on=STRANGER)
    assert retired_rules(await site.stores.fingerprints.alias_evidence("shop.test")) == {"parameter:remove:ref"}


async def test_a_url_that_a_stranger_found_first_counts_when_the_ledger_knows_links_of_the_site() -> None:
    site, url = Site(), f"{SHOP}/item?id=1"
    await site.linked(url, STRANGER)
    ledger = LedgerAgent(site.stores.ledger, max_gathering_seconds=0)
    discoveries = Discoveries(site.stores.frontier, site.stores.ledger)
    assert not await discoveries.is_found_by_site(url)
    for source in ("other.test", "third.test", "shop.test"):
        event = LinkFound(
            target_page_id=page_id(url),
            target_url=url,
            target_host="shop.test",
            source_page_id=page_id(f"https://{source}/"),
            source_url=f"https://{source}/",
            generation=1,
        )
        await ledger.handle(delivery(event, NOW))
    assert await discoveries.is_found_by_site(url)


async def test_one_counter_example_retires_a_rule_for_good() -> None:
    site = await shop(20)
    assert believed_rules(await site.stores.fingerprints.alias_evidence("shop.test")) == {"parameter:remove:ref"}
    await site.normalize(f"{SHOP}/price", text_of(1), 50)
    await site.normalize(f"{SHOP}/price?ref=partner", text_of(2), 51)
    await shop(20, site)
    evidence = await site.stores.fingerprints.alias_evidence("shop.test")
    assert not believed_rules(evidence)
    assert retired_rules(evidence) == {"parameter:remove:ref"}


async def test_a_wrong_page_by_several_rules_together_retires_all_of_them() -> None:
    site = await shop(20)
    for number in range(20):
        for name in (f"/text{number}", f"/text{number}/"):
            await site.normalize(f"{SHOP}{name}", text_of(300 + number), number)
    both = {"parameter:remove:ref", "slash:remove"}
    assert believed_rules(await site.stores.fingerprints.alias_evidence("shop.test")) == both
    await site.normalize(f"{SHOP}/both", text_of(1), 50)
    await site.normalize(f"{SHOP}/both/?ref=a", text_of(2), 51)
    assert retired_rules(await site.stores.fingerprints.alias_evidence("shop.test")) == both


@pytest.mark.parametrize("text", [1, 2], ids=["a duplicate", "a counter-example"])
async def test_evidence_survives_a_crash_at_any_call_and_is_the_same_after_a_redelivery(text: int) -> None:
    budget, crashed = 0, True
    while crashed:
        site, left = await shop(4), [budget]
        await site.normalize(f"{SHOP}/price", text_of(1), 50)
        one = await site.normalized(f"{SHOP}/price?ref=partner", text_of(text), 51)
        crashed = await cut_off(site.stores, one, left)
        await site.agent.handle(one)
        evidence = await site.stores.fingerprints.alias_evidence("shop.test")
        assert len([found for found in evidence if found.agrees]) == (5 if text == 1 else 4), f"crash at call {budget}"
        assert bool(believed_rules(evidence)) == (text == 1)
        await site.agent.handle(one)
        assert await site.stores.fingerprints.alias_evidence("shop.test") == evidence
        budget += 1
    assert budget >= 8, "a new page makes eight calls"


@pytest.mark.parametrize(
    ("is_decided", "text", "retired"),
    [
        (False, 1, set()),
        (False, 2, set()),
        # Its event, which stores a page as its own representative, has not compared it yet.
        (True, 1, set()),
        (True, 2, {"parameter:remove:ref"}),
    ],
    ids=["undecided, the same text", "undecided", "decided by itself, the same text", "decided"],
)
async def test_a_page_that_was_not_compared_is_no_evidence(is_decided: bool, text: int, retired: set[str]) -> None:
    site = Site()
    for number in range(5):
        await site.normalize(f"{SHOP}/b{number}", text_of(50 + number), number)
        await site.normalize(f"{SHOP}/b{number}?ref=1", text_of(50 + number), number)
    await site.normalize(f"{SHOP}/a?ref=1", text_of(1), 6)
    other = await site.stores.fingerprints.get(page_id(f"{SHOP}/a?ref=1"))
    assert other is not None
    own = other.page_id if is_decided else None
    await site.stores.fingerprints.put(replace(other, representative=own), other.written_at + 9)
    prints, url = fingerprint(text_of(text)), f"{SHOP}/a"
    page = Fingerprint(page_id(url), content_hash(text_of(text)), 0, url, 1, words=prints.words, sketch=prints.sketch)
    page = replace(page, representative=page.page_id)
    await AliasLearner(site.stores.fingerprints, found_by_site, lambda: 0.0).learn(page, page, 5)
    assert retired_rules(await site.stores.fingerprints.alias_evidence("shop.test")) == retired


async def test_a_host_without_evidence_is_not_read_for_each_of_its_pages() -> None:
    site, reads, seconds = Site(), list[str](), [0.0]
    store = site.stores.fingerprints
    alias_evidence = store.alias_evidence

    async def counted(host: str) -> list[AliasEvidence]:
        reads.append(host)
        return await alias_evidence(host)

    store.alias_evidence = counted  # type: ignore[method-assign]  # of this object only
    learner = AliasLearner(store, found_by_site, lambda: seconds[0])
    pages = [Fingerprint(page_id(url), "", 0, url, 1) for url in (f"{SHOP}/{number}" for number in range(4))]
    for page in pages:
        await learner.learn(page, page, 5)
    assert reads == ["shop.test"]

    other = AliasEvidence("shop.test", "slash:remove", 1, f"{SHOP}/x/", f"{SHOP}/x", True)
    await store.note_alias_evidence(other, 6)  # by another worker
    seconds[0] = WITHOUT_SECONDS
    for _ in range(2):
        await learner.learn(pages[0], pages[0], 7)
    assert reads == ["shop.test"] * 2, "read again, since another worker may have added some"
    seconds[0] += WITH_SECONDS
    await learner.learn(pages[0], pages[0], 7)
    assert reads == ["shop.test"] * 3, "a host with evidence is read again sooner"


async def test_evidence_that_was_not_stored_is_noted_again() -> None:
    site = Site()
    store = site.stores.fingerprints
    note, is_down = store.note_alias_evidence, False

    async def note_if_up(evidence: AliasEvidence, at: int) -> None:
        if is_down:
            raise StoreUnavailable("the store is down")
        await note(evidence, at)

    store.note_alias_evidence = note_if_up  # type: ignore[method-assign]  # of this object only
    learner = AliasLearner(store, found_by_site, lambda: 0.0)
    for number in range(6):
        urls = (f"{SHOP}/{number}", f"{SHOP}/{number}?ref=a")
        first, second = (Fingerprint(page_id(url), "", 0, url, 1) for url in urls)
        await learner.learn(first, first, 5)
        is_down = True
        with pytest.raises(StoreUnavailable):
            await learner.learn(second, first, 5)
        is_down = False
        await learner.learn(second, first, 5)
    assert believed_rules(await store.alias_evidence("shop.test")) == {"parameter:remove:ref"}


async def test_a_worker_knows_the_evidence_that_it_noted_a_moment_ago() -> None:
    site = Site()
    learner = AliasLearner(site.stores.fingerprints, found_by_site, lambda: 0.0)
    for number in range(6):
        pages = [Fingerprint(page_id(url), "", 0, url, 1) for url in (f"{SHOP}/{number}", f"{SHOP}/{number}?ref=a")]
        for page in pages:
            await learner.learn(page, pages[0], 5)
    assert believed_rules(await site.stores.fingerprints.alias_evidence("shop.test")) == {"parameter:remove:ref"}


async def test_one_page_has_no_more_rules_than_its_host_may_have() -> None:
    site = Site()
    learner = AliasLearner(site.stores.fingerprints, found_by_site, lambda: 0.0)
    for number in range(3):
        names = "&".join(f"p{number}n{name}=1" for name in range(100))
        alias, first = (Fingerprint(page_id(url), "", 0, url, 1) for url in (f"{SHOP}/a?{names}", f"{SHOP}/a"))
        await learner.learn(alias, first, 5)
    evidence = await site.stores.fingerprints.alias_evidence("shop.test")
    assert len({row.rule for row in evidence}) == MAX_RULES


class HostileSite:
    """A host with as much evidence as a host may have, and the longest URLs. It counts the reads of each host."""

    def __init__(self) -> None:
        self.site, self.reads = Site(), list[str]()
        self.is_held = WeakValueDictionary[str, Watched]()
        """A row of each host whose evidence somebody holds."""
        store = self.site.stores.fingerprints
        store.alias_evidence = self.evidence  # type: ignore[method-assign]  # of this object only
        self.store = store

    async def evidence(self, host: str) -> list[AliasEvidence]:
        self.reads.append(host)
        rows = [
            Watched(
                host,
                f"parameter:remove:p{rule}",
                slot,
                longest(host, rule, slot, "a"),
                longest(host, rule, slot, "b"),
                False,
            )
            for rule in range(MAX_RULES)
            for slot in range(SLOTS)
        ]
        self.is_held[host] = rows[0]
        return list(rows)


class Watched(AliasEvidence):
    """Evidence that a dictionary can watch."""


def longest(*parts: object) -> str:
    return f"https://{'/'.join(map(str, parts))}/".ljust(MAX_URL_CHARS, "a")


async def test_evidence_of_hostile_hosts_has_a_bound_in_memory() -> None:
    hostile, seconds = HostileSite(), 0.0
    learner = AliasLearner(hostile.store, found_by_site, lambda: seconds)
    for number in range(6):
        for name in range(2):
            url = f"https://shop{number}.test/{name}"
            page = Fingerprint(page_id(url), "", 0, url, 1)
            await learner.learn(page, page, 5)
        assert len(hostile.reads) == number + 1, "its next page does not read 9 MB again"
        assert 0 < len(hostile.is_held) * MAX_RULES * SLOTS * 2 * MAX_URL_CHARS <= MAX_WITH_BYTES
    seconds = 2 * WITH_SECONDS
    await learner.learn(page, page, 5)
    assert set(hostile.is_held) == {"shop5.test"}, "what is old has left the memory"


async def test_evidence_that_a_worker_has_noted_counts_for_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_rule_evidence, "MAX_WITH_BYTES", 2_000)
    site, reads = Site(), 0
    store = site.stores.fingerprints
    alias_evidence = store.alias_evidence

    async def counted(host: str) -> list[AliasEvidence]:
        nonlocal reads
        reads += 1
        return await alias_evidence(host)

    store.alias_evidence = counted  # type: ignore[method-assign]  # of this object only
    learner, counts = AliasLearner(store, found_by_site, lambda: 0.0), []
    for number in range(20):
        urls = (f"{SHOP}/{number}", f"{SHOP}/{number}?ref=a")
        first, second = (Fingerprint(page_id(url), "", 0, url, 1) for url in urls)
        await learner.learn(second, first, 5)
        counts.append(reads)
    assert counts[:4] == [1, 2, 2, 2], "the evidence of some pages is kept"
    assert counts[-4:] == [reads - 3, reads - 2, reads - 1, reads], "that of many pages is not"
