"""The cost of large groups of duplicates, and what becomes of them."""

import pytest

from benchmarks.dedup.duplicate_groups import in_memory, reads
from schemas.ids import page_id
from streams.dedup.grouping import MAX_DUPLICATES
from tests.sizes import FULL
from tests.stages.dedup_site import TEXT, Site, cut_off, edited, text_of, variants_of

SIZE = 3 * MAX_DUPLICATES


async def test_the_reads_of_an_event_do_not_depend_on_the_size_of_the_group() -> None:
    small, large = [await reads(in_memory(), size) for size in (50, 500)]
    assert {**small, "duplicates": 0} == {**large, "duplicates": 0}
    assert large["one more duplicate"] < 50
    assert large["representative removed"] < 500


def urls(count: int = SIZE) -> list[str]:
    return variants_of("https://a.test/page", count + 1)


async def site_with_group() -> Site:
    site = Site()
    for at, url in enumerate(urls()):
        await site.normalize(url, TEXT if at % 2 else edited(TEXT, 2, at), at)
    return site


async def representatives(site: Site) -> set[str]:
    pages = [await site.stores.fingerprints.get(page_id(url)) for url in urls()]
    return {await site.representative_of(page.url) for page in pages if page is not None}


@pytest.mark.parametrize("what", ["gone", text_of(7)], ids=["gone", "changed"])
async def test_a_large_group_gets_one_representative_when_its_own_is_lost(what: str) -> None:
    site = await site_with_group()
    first = urls()[0]
    lost = site.removed(first, "gone", 100) if what == "gone" else await site.normalized(first, what, 100)
    await site.agent.handle(lost)
    left = await representatives(site) - {first}
    assert len(left) == 1
    assert len(await site.stores.fingerprints.duplicates(page_id(left.pop()), 1_000)) == SIZE - 1
    assert await site.stores.fingerprints.duplicates(page_id(first), 1_000) == []


async def test_a_better_page_takes_over_a_large_group() -> None:
    site = Site()
    for at, url in enumerate(reversed(urls())):
        await site.normalize(url, TEXT, at)
    assert await representatives(site) == {urls()[0]}
    assert len(await site.stores.fingerprints.duplicates(page_id(urls()[0]), 1_000)) == SIZE


async def test_a_large_group_survives_the_loss_of_one_representative_after_the_other() -> None:
    site = await site_with_group()
    for at in range(SIZE - 2):
        (current,) = await representatives(site)
        await site.agent.handle(site.removed(current, "gone", 1_000 + at))
    assert len(await representatives(site)) == 1


@pytest.mark.parametrize(
    "what", [pytest.param("gone", id="gone", marks=pytest.mark.night), pytest.param(text_of(7), id="changed")]
)
async def test_a_crash_at_any_call_while_a_large_group_moves_is_repaired(what: str) -> None:
    budget, crashed = 0, True
    while crashed:
        site, left = await site_with_group(), [budget]
        first = urls()[0]
        lost = site.removed(first, "gone", 100) if what == "gone" else await site.normalized(first, what, 100)
        crashed = await cut_off(site.stores, lost, left)
        await site.agent.handle(lost)
        assert len(await representatives(site) - {first}) == 1, f"crash at call {budget}"
        assert await site.stores.fingerprints.duplicates(page_id(first), 1_000) == []
        budget += 17 if FULL else 53
    assert budget > 50
