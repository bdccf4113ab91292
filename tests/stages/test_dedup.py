"""The dedup stage over memory stores: groups, election and removal."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from schemas import LinkFound, PageDeduplicated
from schemas.ids import page_id
from streams.dedup.agent import DedupAgent, build
from streams.dedup.fingerprinting import fingerprint
from streams.dedup.grouping import may_represent
from streams.dedup.sandbox_tasks import TASKS
from streams.errors import Refused
from streams.ledger.agent import LedgerAgent
from streams.settings import Settings
from streams.stores.page_record import Indexed, Removed
from streams.stores.protocols import Fingerprint, Transition
from tests.inline_sandbox import InlineSandbox
from tests.stages.dedup_site import (
    BY_THE_MODEL,
    MODEL,
    NEAR,
    NOW,
    SECOND,
    TEXT,
    A,
    B,
    C,
    Site,
    delivery,
    edited,
    later,
    summary,
    text_of,
)


async def test_a_page_alone_is_unique() -> None:
    site = Site()
    assert await site.normalize(A, TEXT) == [f"{A} unique", f"{A} settled changed"]
    record = (await site.stores.pages.get(page_id(A))).rows["deduplicated"]
    assert record["verdict"] == "unique"
    assert record["canonical_page_id"] == page_id(A)


@pytest.mark.parametrize(("text", "verdict"), [(TEXT, "exact"), (NEAR, "near")])
async def test_a_duplicate_is_removed_and_points_to_its_representative(text: str, verdict: str) -> None:
    site = Site()
    await site.normalize(A, TEXT)
    assert await site.normalize(B, text, 1) == [f"{B} {verdict}", f"{B} settled duplicate", f"{B} removed duplicate"]
    assert await site.representative_of(B) == A


FORMS = "https://one.test/book.pdf", "https://one.test/book.epub", "https://one.test/book"


async def test_files_of_different_kinds_are_no_duplicates_of_their_host_alone() -> None:
    """A book as PDF, as EPUB and as a page: `filetype:` finds each of them, and no stranger's copy."""
    site = Site()
    for at, url in enumerate(FORMS):
        assert (await site.normalize(url, TEXT, at))[0] == f"{url} unique"
    for at, (url, form) in enumerate(zip(("/other.pdf", "/other.epub", "/other"), FORMS, strict=True), start=3):
        same_kind = f"https://one.test{url}"
        assert (await site.normalize(same_kind, NEAR, at))[0] == f"{same_kind} near"
        assert await site.representative_of(same_kind) == form
    for at, url in enumerate(("/copy.pdf", "/copy.epub", "/copy"), start=6):
        copy = f"https://two.test{url}"
        assert (await site.normalize(copy, TEXT, at))[0] == f"{copy} exact"
    assert [await site.representative_of(url) for url in FORMS] == list(FORMS)


async def test_a_better_page_takes_over() -> None:
    site = Site()
    await site.normalize(C, TEXT)
    await site.normalize(B, NEAR, 1)
    out = [f"{B} removed duplicate", f"{C} removed duplicate"]
    assert await site.normalize(A, TEXT, 2) == [f"{A} unique", f"{A} settled changed", *out]
    assert [await site.representative_of(url) for url in (A, B, C)] == [A, A, A]
    assert (await site.stores.pages.get(page_id(B))).rows["deduplicated"]["canonical_url"] == A


async def test_pages_with_other_texts_are_unique() -> None:
    site = Site()
    await site.normalize(A, TEXT)
    assert await site.normalize(B, text_of(2), 1) == [f"{B} unique", f"{B} settled changed"]
    assert await site.normalize(C, edited(TEXT, 60), 2) == [f"{C} unique", f"{C} settled changed"]


async def test_short_texts_are_duplicates_only_when_equal() -> None:
    site = Site()
    short = text_of(3, 30)
    await site.normalize(A, short)
    assert (await site.normalize(B, short + " more", 1))[0] == f"{B} unique"
    assert (await site.normalize(C, short, 2))[0] == f"{C} exact"


async def test_pages_without_text_are_not_each_others_duplicates() -> None:
    site = Site()
    await site.normalize(A, "")
    assert (await site.normalize(B, "", 1))[0] == f"{B} unique"


async def test_a_chain_of_small_differences_does_not_merge_its_ends() -> None:
    site = Site()
    middle = edited(TEXT, 22, seed=1)
    end = edited(middle, 22, seed=2)
    await site.normalize(A, TEXT)
    assert (await site.normalize(B, middle, 1))[0] == f"{B} near"
    assert (await site.normalize(C, end, 2))[0] == f"{C} unique"


async def test_the_canonical_link_decides_first() -> None:
    site = Site()
    await site.normalize(A, TEXT, canonical=B)
    assert (await site.normalize(B, TEXT, 1))[0] == f"{B} unique"
    assert await site.representative_of(A) == B


async def test_an_unchanged_page_settles_as_unchanged() -> None:
    site = Site()
    await site.normalize(A, TEXT)
    assert await site.normalize(A, TEXT, 5) == [f"{A} unique", f"{A} settled unchanged"]
    assert await site.normalize(A, text_of(9), 6) == [f"{A} unique", f"{A} settled changed"]


async def test_when_the_representative_is_gone_the_best_duplicate_is_indexed() -> None:
    site = Site()
    for at, url in enumerate((A, B, C)):
        await site.normalize(url, TEXT, at)
    events = await site.agent.handle(site.removed(A, "gone", 10))
    assert summary(events) == [f"{B} unique", f"{C} removed duplicate"]
    assert isinstance(events[0], PageDeduplicated)
    assert events[0].document_ref
    assert events[0].generation > NOW + 1 * SECOND, "newer than its removal, or the index would ignore it"
    assert await site.representative_of(C) == B
    assert await site.stores.fingerprints.get(page_id(A)) is None


async def test_when_the_representative_changes_its_text_its_duplicates_get_another() -> None:
    site = Site()
    for at, url in enumerate((A, B, C)):
        await site.normalize(url, TEXT, at)
    lines = await site.normalize(A, text_of(7), 10)
    assert lines == [f"{A} unique", f"{A} settled changed", f"{B} unique", f"{C} removed duplicate"]
    assert [await site.representative_of(url) for url in (A, B, C)] == [A, B, B]


@pytest.mark.parametrize("reason", ["noindex", "blocked", "refused", "request", "unsupported"])
async def test_any_other_removal_promotes_a_duplicate(reason: str) -> None:
    site = Site()
    await site.normalize(A, TEXT)
    await site.normalize(B, TEXT, 1)
    assert summary(await site.agent.handle(site.removed(A, reason, 2))) == [f"{B} unique"]


async def test_the_removal_of_a_duplicate_changes_nothing_when_it_comes_back() -> None:
    site = Site()
    await site.normalize(A, TEXT)
    await site.normalize(B, TEXT, 1)
    before = site.state()
    assert await site.agent.handle(site.removed(B, "duplicate", 2)) == []
    assert site.state() == before


async def test_an_older_generation_never_overrides() -> None:
    site = Site()
    await site.normalize(A, TEXT, 5)
    before = site.state()
    assert await site.normalize(A, text_of(4), 3) == [f"{A} settled unchanged"], "no other event settles this fetch"
    assert await site.agent.handle(site.removed(A, "gone", 4)) == []
    assert site.state() == before


async def linked(site: Site, url: str, sources: Sequence[str]) -> None:
    """Record in the ledger that these pages link to the URL."""
    agent = LedgerAgent(site.stores.ledger, max_gathering_seconds=0)
    for at, source in enumerate(sources):
        event = LinkFound(
            target_page_id=page_id(url),
            target_url=url,
            target_host="a.test",
            source_page_id=page_id(source),
            source_url=source,
            generation=1,
        )
        await agent.handle(delivery(event, NOW + at))


ONE, TWO = "https://a.test/Item", "https://a.test/item"


async def test_the_page_with_more_links_to_it_is_the_representative() -> None:
    site = Site()
    await linked(site, ONE, [A])
    await linked(site, TWO, [A, A, B, C, TWO])
    await site.normalize(ONE, TEXT)
    assert lines_about(await site.normalize(TWO, TEXT, 1), TWO) == [f"{TWO} unique", f"{TWO} settled changed"]
    assert await site.representative_of(ONE) == TWO


@pytest.mark.parametrize(
    ("of_one", "of_two", "winner", "why"),
    [
        ([A, B, C], [], "one", "a row is written at three linking pages"),
        ([A, B], [A, B, C], "two", "two links have no row"),
        ([A, B, C], [A, A, B, TWO], "one", "links from the page itself, and from one page twice, do not count"),
        ([f"{B}{n}" for n in range(60)], [f"{C}{n}" for n in range(99)], "two", "48 count at most: the age decides"),
    ],
)
async def test_the_links_that_count(of_one: list[str], of_two: list[str], winner: str, why: str) -> None:
    site = Site()
    await linked(site, ONE, of_one)
    await linked(site, TWO, of_two)
    for at, url in enumerate((TWO, ONE)):
        await site.normalize(url, TEXT, at)
    assert await site.representative_of(ONE) == {"one": ONE, "two": TWO}[winner], why


async def test_links_that_come_later_count_when_the_group_is_decided_again() -> None:
    site = Site()
    one, two = await site.normalized(ONE, TEXT), await site.normalized(TWO, TEXT, 1)
    await site.agent.handle(one)
    first = await site.agent.handle(two)
    assert await site.representative_of(TWO) == ONE
    await linked(site, TWO, [A, B, C])
    again = await site.agent.handle(two)
    assert await site.representative_of(ONE) == TWO
    decided = [[event for event in events if isinstance(event, PageDeduplicated)] for events in (first, again)]
    assert [event.verdict for event in decided[0] + decided[1] if event.url == TWO] == ["exact", "unique"]
    assert max(event.generation for event in decided[0]) < max(event.generation for event in decided[1])
    assert summary(await site.agent.handle(two)) == summary(again)


async def test_a_page_without_similar_ones_reads_no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site()

    async def fail(page_id: UUID) -> list[Transition]:
        raise AssertionError("nobody asked for the history")

    monkeypatch.setattr(site.stores.ledger, "history", fail)
    assert (await site.normalize(ONE, TEXT))[0] == f"{ONE} unique"


def lines_about(lines: list[str], url: str) -> list[str]:
    return [line for line in lines if line.startswith(f"{url} ")]


async def test_build_gives_the_agent() -> None:
    assert isinstance(await build(Settings(), Site().stores), DedupAgent)


def test_an_undecided_page_may_be_a_representative() -> None:
    page = Fingerprint(page_id(A), "", 0, A, 1)
    assert may_represent(page)


async def test_simhashes_of_different_versions_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other weights give other bits: then only the shingles show that two pages are similar."""
    site = Site()
    await site.normalize(A, TEXT)
    monkeypatch.setattr("streams.dedup.fingerprinting.VERSION", 2)
    monkeypatch.setattr("streams.dedup.fingerprinting.simhash", lambda *_: 2**64 - 1)
    assert (await site.normalize(B, NEAR, 1))[0] == f"{B} near"
    stored = await site.stores.fingerprints.get(page_id(B))
    assert stored is not None
    assert (stored.simhash, stored.simhash_version) == (2**64 - 1, 2)
    assert (await site.stores.pages.get(page_id(B))).rows["deduplicated"]["distance"] == 0


async def index(site: Site, url: str, at: int, model: str = MODEL) -> None:
    """Write the record of the index stage."""
    record = {"generation": NOW + at * SECOND, "statements_ref": "ref"}
    record |= {**BY_THE_MODEL, "model": model}
    await site.stores.pages.put(page_id(url), Indexed.of_row(record), NOW + at * SECOND)


UNCHANGED = [
    # (text of the new fetch, model of the index, what happened before, is PageDeduplicated published)
    (TEXT, MODEL, "indexed", False),
    (TEXT, MODEL, "not indexed", True),
    (TEXT, "other", "indexed", True),
    (TEXT, MODEL, "removed", True),
    (TEXT, MODEL, "not indexed since the text changed", True),
    (NEAR, MODEL, "indexed", True),
]


@pytest.mark.parametrize(("text", "model", "before", "publishes"), UNCHANGED)
async def test_an_unchanged_page_in_the_index_only_settles(text: str, model: str, before: str, publishes: bool) -> None:
    site = Site()
    if before == "not indexed since the text changed":
        await site.normalize(A, NEAR, 0)
        await index(site, A, 0)
        await site.normalize(A, TEXT, 1)
    else:
        await site.normalize(A, TEXT, 0)
    if before in ("indexed", "removed"):
        await index(site, A, 0, model)
    if before == "removed":
        removal = {"generation": NOW + 1 * SECOND, "reason": "noindex"}
        await site.stores.pages.put(page_id(A), Removed.of_row(removal), NOW + 1 * SECOND)
    one = await site.normalized(A, text, 5)
    lines = summary(await site.agent.handle(one))
    settled = f"{A} settled {'unchanged' if text == TEXT else 'changed'}"
    assert lines == ([f"{A} unique", settled] if publishes else [settled])
    assert summary(await site.agent.handle(one)) == lines, "a redelivery publishes the same"


async def test_a_replay_of_an_unchanged_page_publishes_it_again() -> None:
    site = Site()
    one = await site.normalized(A, TEXT, 0)
    await site.agent.handle(one)
    await index(site, A, 0)
    assert summary(await site.agent.handle(later(one, 5)))[0] == f"{A} unique"


async def test_an_unchanged_page_that_is_promoted_is_published() -> None:
    site = Site()
    await site.normalize(A, TEXT, 0)
    await site.normalize(B, TEXT, 1)
    await index(site, B, 0)
    await site.agent.handle(site.removed(A, "gone", 2))
    await index(site, B, 3)
    assert summary(await site.agent.handle(await site.normalized(B, TEXT, 5))) == [f"{B} settled unchanged"]
    assert f"{A} unique" in await site.normalize(A, TEXT, 6)


async def test_a_document_that_the_sandbox_refuses_is_removed_and_its_duplicates_stay_searchable() -> None:
    site = Site()
    await site.normalize(A, TEXT)
    await site.normalize(B, TEXT, 1)
    one = await site.normalized(A, text_of(3), 5)

    class Full(InlineSandbox):
        async def run(self, task: str, payload: bytes) -> bytes:
            raise Refused("time", "10 s of CPU time")

    agent = DedupAgent(site.stores, Full(TASKS))
    removed, settled = await agent.handle(one)
    assert summary([removed, settled]) == [f"{A} removed unsupported", f"{A} settled refused"]
    assert summary(await agent.handle(replace(one, event=removed))) == [f"{B} unique"]


async def test_fingerprints_are_made_in_killable_processes() -> None:
    site = Site()
    one = await site.normalized(A, TEXT)
    agent = await build(Settings(), site.stores)
    try:
        assert summary(await agent.handle(one)) == [f"{A} unique", f"{A} settled changed"]
    finally:
        await agent.stop()
    made = await site.stores.fingerprints.get(page_id(A))
    assert made is not None
    assert made.sketch == fingerprint(TEXT).sketch
