"""A stranger's copies of another site's pages, on a shorter host name."""

from dataclasses import replace

import pytest

from schemas.ids import page_id
from streams.crawl.url_rules import believed_rules
from tests.stages.dedup_site import Site, edited, summary, text_of

VICTIM, STRANGER = "https://www.victim.example", "https://a.io"
PAGES = range(12)


def copy_of(text: str, changed: int) -> str:
    return edited(text, changed) if changed else text


async def representatives(site: Site, origin: str) -> set[str]:
    """The hosts of the representatives of a site's pages."""
    return {(await site.representative_of(f"{origin}/{number}")).rpartition("/")[0] for number in PAGES}


async def rules_of_victim(site: Site) -> frozenset[str]:
    return believed_rules(await site.stores.fingerprints.alias_evidence("www.victim.example"))


@pytest.mark.parametrize("changed", [0, 10], ids=["the same words", "10 of 300 words changed"])
async def test_a_copy_on_a_shorter_host_never_takes_over_the_pages_of_a_site_or_its_url_rules(changed: int) -> None:
    site = Site()
    for number in PAGES:
        await site.normalize(f"{VICTIM}/{number}", text_of(number), number)
    for number in PAGES:
        lines = await site.normalize(f"{STRANGER}/{number}", copy_of(text_of(number), changed), 100 + number)
        assert f"{VICTIM}/{number} removed duplicate" not in lines
    for number in PAGES:
        await site.normalize(f"{VICTIM}/{number}", text_of(number), 200 + number)
    assert await representatives(site, VICTIM) == {VICTIM}
    assert await representatives(site, STRANGER) == {VICTIM}
    assert await rules_of_victim(site) == frozenset()


async def test_a_stranger_that_was_there_first_with_another_text_is_no_older() -> None:
    site = Site()
    await site.normalize(f"{STRANGER}/0", text_of(99), 0)
    await site.normalize(f"{VICTIM}/0", text_of(0), 1)
    assert (await site.normalize(f"{STRANGER}/0", text_of(0), 2))[0] == f"{STRANGER}/0 exact"
    assert await site.representative_of(f"{STRANGER}/0") == f"{VICTIM}/0"


async def test_a_generation_of_1970_of_a_page_that_nobody_fetched_takes_nothing() -> None:
    site = Site()
    await site.normalize(f"{VICTIM}/0", text_of(0), 0)
    claimed = await site.normalized(f"{STRANGER}/0", text_of(0), 10)
    claimed = replace(claimed, event=claimed.event.model_copy(update={"generation": 1}))
    assert summary(await site.agent.handle(claimed))[0] == f"{STRANGER}/0 exact"
    assert await site.representative_of(f"{VICTIM}/0") == f"{VICTIM}/0"


async def test_a_page_that_was_gone_for_a_while_keeps_its_age() -> None:
    site = Site()
    await site.normalize(f"{VICTIM}/0", text_of(0), 0)
    await site.normalize(f"{STRANGER}/0", text_of(0), 1)
    await site.agent.handle(site.removed(f"{VICTIM}/0", "gone", 2))
    assert await site.representative_of(f"{STRANGER}/0") == f"{STRANGER}/0"
    await site.normalize(f"{VICTIM}/0", text_of(0), 3)
    assert await site.representative_of(f"{STRANGER}/0") == f"{VICTIM}/0"


async def test_a_canonical_link_of_the_strangers_page_gains_it_nothing() -> None:
    site = Site()
    await site.normalize(f"{VICTIM}/0?long=1", text_of(0), 0, canonical=f"{VICTIM}/0")
    await site.normalize(f"{STRANGER}/0", text_of(0), 1, canonical=f"{VICTIM}/0?long=1")
    assert await site.representative_of(f"{STRANGER}/0") == f"{VICTIM}/0?long=1"


MINE, THEIRS = f"{VICTIM}/0", f"{STRANGER}/0"
CLAIMS = [
    # (what the older page names as canonical, what the younger one names, whether the younger one takes over, why)
    (THEIRS, THEIRS, True, "both pages say so"),
    (THEIRS, None, False, "the named page says nothing"),
    (THEIRS, MINE, False, "each names the other one"),
    (THEIRS, f"{STRANGER}/1", False, "the named page names another page of its own"),
    (THEIRS, "https://third.example/0", False, "the named page names a third domain"),
    (None, THEIRS, False, "only the stranger says so"),
    (None, MINE, False, "the stranger's page names the victim's"),
    (MINE, THEIRS, False, "each page names itself"),
]


@pytest.mark.parametrize("is_victim_first", [True, False], ids=["the older page is the victim's", "the stranger's"])
@pytest.mark.parametrize(("of_older", "of_younger", "takes_over", "why"), CLAIMS, ids=[case[-1] for case in CLAIMS])
async def test_an_identity_moves_to_another_domain_only_if_both_pages_say_so(
    is_victim_first: bool, of_older: str | None, of_younger: str | None, takes_over: bool, why: str
) -> None:
    """The pages are taken in both orders: which of the two names begins with a smaller letter must not matter."""
    swapped = {MINE: THEIRS, THEIRS: MINE, f"{STRANGER}/1": f"{VICTIM}/1"}
    names = {url: url for url in swapped} if is_victim_first else swapped
    older, younger = names[MINE], names[THEIRS]
    site = Site()
    await site.normalize(older, text_of(0), 0, names.get(of_older or "", of_older))
    arriving = await site.normalized(younger, text_of(0), 1, names.get(of_younger or "", of_younger))
    for _ in range(2):  # the event and its redelivery
        await site.agent.handle(arriving)
        assert await site.representative_of(older) == await site.representative_of(younger), why
        assert await site.representative_of(older) == (younger if takes_over else older), why


async def test_an_identity_moves_once_the_named_page_agrees_and_not_before() -> None:
    site = Site()
    await site.normalize(MINE, text_of(0), 0, THEIRS)
    for at, of_named, representative in ((1, None, MINE), (2, MINE, MINE), (3, THEIRS, THEIRS)):
        await site.normalize(THEIRS, text_of(0), at, of_named)
        assert await site.representative_of(MINE) == representative


async def test_a_newer_page_of_the_same_site_takes_over_with_the_age_of_the_older_one() -> None:
    site = Site()
    await site.normalize(f"{VICTIM}/0?ref=home", text_of(0), 0)
    await site.normalize(f"{STRANGER}/0", text_of(0), 1)
    await site.normalize(f"{VICTIM}/0", text_of(0), 2)
    urls = (f"{VICTIM}/0?ref=home", f"{STRANGER}/0", f"{VICTIM}/0")
    assert {await site.representative_of(url) for url in urls} == {f"{VICTIM}/0"}
    await site.normalize(f"{VICTIM}/0", text_of(0), 3)
    await site.normalize(f"{STRANGER}/0", text_of(0), 4)
    assert {await site.representative_of(url) for url in urls} == {f"{VICTIM}/0"}, "after new fetches, too"


@pytest.mark.parametrize(("agrees", "rules"), [(True, {"host:a.io"}), (False, set())])
async def test_a_mirror_needs_the_agreement_of_the_longer_host(agrees: bool, rules: set[str]) -> None:
    site = Site()
    for number in PAGES:
        await site.normalize(f"{STRANGER}/{number}", text_of(number), number)
        canonical = f"{STRANGER}/{number}" if agrees else None
        await site.normalize(f"{VICTIM}/{number}", text_of(number), 100 + number, canonical)
    assert (await site.stores.fingerprints.get(page_id(f"{VICTIM}/0"))) is not None
    assert await rules_of_victim(site) == rules
