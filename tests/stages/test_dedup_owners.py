"""Age belongs to a text: nobody makes a new text old, and the pages of many owners on one host keep their originals."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.ids import page_id
from streams.dedup.fingerprinting import fingerprint, text_shingles
from streams.dedup.first_sight import own_sight, site_sight
from streams.sketches import jaccard, sketch_similarity
from streams.stores.protocols import Fingerprint
from tests.sizes import examples
from tests.stages.dedup_site import NOW, SECOND, Site, edited, text_of

ORIGINAL, STRANGER = "https://paper.example.org/2025/a-long-article", "https://copy.example.net"
STEP = 28
"""Words that a step changes: the text before it and after it are near-duplicates."""


def steps_to(target: str, start: str) -> list[str]:
    """Texts from one to the other, each similar to the one before."""
    words, wanted, texts = start.split(), target.split(), [start]
    for place in range(0, len(words), STEP):
        words[place : place + STEP] = wanted[place : place + STEP]
        texts.append(" ".join(words))
    return texts


async def stored(site: Site, url: str) -> Fingerprint:
    found = await site.stores.fingerprints.get(page_id(url))
    assert found is not None
    return found


async def seconds_of(site: Site, url: str) -> int:
    """The age of a page at its site, in seconds of the test's time."""
    return (site_sight(await stored(site, url)).at - NOW) // SECOND


async def test_a_page_that_changes_step_by_step_into_a_copy_is_no_older_than_the_original() -> None:
    site, (start, *texts) = Site(), steps_to(text_of(1), text_of(900))
    await site.normalize(f"{STRANGER}/page", start, 0)
    await site.normalize(ORIGINAL, text_of(1), 1_000)
    for at, text in enumerate(texts, 2_000):
        assert f"{ORIGINAL} removed duplicate" not in await site.normalize(f"{STRANGER}/page", text, at)
    assert await site.representative_of(f"{STRANGER}/page") == ORIGINAL


@pytest.mark.parametrize("canonical", [None, ORIGINAL], ids=["no canonical link", "names itself as canonical"])
@pytest.mark.parametrize("own_words", [0, 20, 28])
@pytest.mark.parametrize("form", ["path", "variant"])
async def test_a_row_of_similar_pages_carries_no_age_to_a_copy(form: str, own_words: int, canonical: str) -> None:
    target = edited(text_of(1), own_words, 8) if own_words else text_of(1)  # one that shares a band with the original
    site, texts = Site(), steps_to(target, text_of(900))
    names = ["x" * (40 - number) for number in range(len(texts))]
    if form == "variant":
        names = ["p?" + "&".join(f"n{part}" for part in range(40 - number)) for number in range(len(texts))]
    urls = [f"{STRANGER}/{name}" for name in names]
    await site.normalize(urls[0], texts[0], 0)
    await site.normalize(ORIGINAL, text_of(1), 1_000, canonical)
    for at, (url, text) in enumerate(zip(urls[1:], texts[1:], strict=True), 1_001):
        await site.normalize(url, text, at)
    for at in (5_000, 9_000):
        await site.normalize(ORIGINAL, text_of(1), at, canonical)
        await site.normalize(urls[-1], texts[-1], at + 1)
    assert await site.representative_of(ORIGINAL) == ORIGINAL
    assert await site.representative_of(urls[-1]) == ORIGINAL


async def test_a_text_that_comes_back_after_a_removal_carries_no_age_further() -> None:
    site, (start, *texts) = Site(), steps_to(text_of(1), text_of(900))
    url = f"{STRANGER}/page"
    await site.normalize(url, start, 0)
    await site.normalize(ORIGINAL, text_of(1), 1_000)
    for at, text in enumerate(texts, 2_000):
        await site.normalize(url, text, 2 * at)
        await site.agent.handle(site.removed(url, "gone", 2 * at + 1))
        await site.normalize(url, text, 2 * at + 2)
    assert await site.representative_of(url) == ORIGINAL


@pytest.mark.parametrize(("trusted", "winner"), [(False, ORIGINAL), (True, f"{STRANGER}/1")])
async def test_the_date_of_an_archive_is_no_age(trusted: bool, winner: str) -> None:
    site = Site()
    await site.normalize(ORIGINAL, text_of(1), 0)
    imported = await site.normalized(f"{STRANGER}/1", text_of(1), -20 * 365 * 86_400)
    seen_at = None if trusted else NOW + 9 * SECOND
    event = imported.event.model_copy(update={"seen_at": seen_at})
    await site.agent.handle(replace(imported, event=event))
    assert await site.representative_of(ORIGINAL) == winner


TEXT, OTHER = text_of(1), text_of(900)
HALF = " ".join(TEXT.split()[:150])
GONE = ""
"""In place of a text: the page is removed."""
# What a stranger's page, which is older than the original, has been over time; the original has TEXT all the while.
LIVES = {
    "a text that grows word by word from nothing": [" ".join(TEXT.split()[: 60 * part]) for part in range(1, 6)],
    "an empty page that is filled": ["a", TEXT],
    "another text, the copy, and the other text again": [OTHER, TEXT, OTHER, TEXT],
    "a copy behind a text of its own, which it drops": [OTHER, f"{OTHER} {TEXT}", TEXT],
    "a copy before a text of its own, which it drops": [OTHER, f"{TEXT} {OTHER}", f"{TEXT} {HALF}", TEXT],
    "two halves, one after the other": [OTHER, f"{HALF} {OTHER}", TEXT],
    "the copy in capitals, then as it is": [OTHER, TEXT.upper(), TEXT],
    "the copy with marks between its words, then as it is": [OTHER, TEXT.replace(" ", " - "), TEXT],
    "the copy backwards, then as it is": [OTHER, " ".join(reversed(TEXT.split())), TEXT],
    "the copy twice, then once": [OTHER, f"{TEXT} {TEXT}", TEXT],
    "steps there and back": [step for there in steps_to(TEXT, OTHER) for step in (there, OTHER, there)],
    "steps with removals between": [step for there in steps_to(TEXT, OTHER) for step in (there, GONE)] + [TEXT],
}


@pytest.mark.parametrize("life", LIVES.values(), ids=LIVES)
async def test_whatever_an_older_page_was_its_copy_is_no_original(life: list[str]) -> None:
    site, url = Site(), f"{STRANGER}/page"
    first, *later = life
    await site.normalize(url, first, 0)
    await site.normalize(ORIGINAL, TEXT, 1_000)
    for at, text in enumerate(later, 2_000):
        if text == GONE:
            await site.agent.handle(site.removed(url, "gone", at))
        else:
            await site.normalize(url, text, at)
    assert await site.representative_of(ORIGINAL) == ORIGINAL


HOST = "https://shared.example.com"
OWNERS = [
    # (what the host is, the original, its canonical link, the copy, its canonical link)
    ("a forge", f"{HOST}/author/a-long-name-of-a-project", None, f"{HOST}/x/f", None),
    ("a forge, each page is its own canonical one", f"{HOST}/author/project", "self", f"{HOST}/x/f", "self"),
    ("a forge, a canonical link of the fork only", f"{HOST}/author/project", None, f"{HOST}/x/f", "self"),
    ("a blog host", f"{HOST}/anna/2025/03/an-entry", None, f"{HOST}/b/1", None),
    ("a forum", f"{HOST}/viewtopic.php?f=12&t=34567", None, f"{HOST}/viewtopic.php?f=1&t=9", None),
    ("a forum with names of users", f"{HOST}/post?user=anna-maria", None, f"{HOST}/post?user=bo", None),
    ("a wiki farm", f"{HOST}/w/index.php?title=History_of_the_town", None, f"{HOST}/v/?title=Town", None),
    ("variants that name themselves", f"{HOST}/list?page=2", "self", f"{HOST}/list", "self"),
    ("a longer variant that names itself", f"{HOST}/list?page=2", "self", f"{HOST}/list", None),
    ("a copy that names a variant", f"{HOST}/a/long/path?ref=1", f"{HOST}/a/long/path", f"{HOST}/x", "original"),
    ("a copy with the same canonical link", f"{HOST}/a/long?ref=1", f"{HOST}/a/long", f"{HOST}/x", f"{HOST}/a/long"),
]


@pytest.mark.parametrize("changed", [0, 10], ids=["the same words", "10 of 300 words changed"])
@pytest.mark.parametrize(("what", "original", "canonical", "copy", "of_copy"), OWNERS, ids=[case[0] for case in OWNERS])
async def test_on_a_shared_host_the_original_stays(
    what: str, original: str, canonical: str | None, copy: str, of_copy: str | None, changed: int
) -> None:
    named = {"self": original, "original": original}.get(canonical or "", canonical)
    named_by_copy = {"self": copy, "original": original}.get(of_copy or "", of_copy)
    text = edited(text_of(1), changed) if changed else text_of(1)
    site = Site()
    await site.normalize(original, text_of(1), 0, named)
    for at in (10_000, 20_000):
        await site.normalize(copy, text, at, named_by_copy)
        await site.normalize(original, text_of(1), at + 50, named)
    assert await site.representative_of(original) == original, what
    assert await site.representative_of(copy) == original, what


VARIANTS = [
    # (what they are, the page that comes first, its canonical link, the page that takes over, its canonical link)
    ("a parameter", f"{HOST}/a?ref=home", None, f"{HOST}/a", None),
    ("a slash at the end", f"{HOST}/a/", None, f"{HOST}/a", None),
    ("an index page", f"{HOST}/a/index.html", None, f"{HOST}/a/", None),
    ("two slashes", f"{HOST}/a//b", None, f"{HOST}/a/b", None),
    ("a canonical link", f"{HOST}/a", f"{HOST}/another/long/path", f"{HOST}/another/long/path", None),
    (
        "a canonical link to another host of the domain",
        f"{HOST}/a",
        "https://www.example.com/a",
        "https://www.example.com/a",
        None,
    ),
    ("two domains that agree", f"{HOST}/a", "https://z.example/a", "https://z.example/a", "https://z.example/a"),
]


@pytest.mark.parametrize(("what", "first", "canonical", "better", "own"), VARIANTS, ids=[case[0] for case in VARIANTS])
async def test_the_better_variant_takes_over_with_the_age_of_the_older_one(
    what: str, first: str, canonical: str | None, better: str, own: str | None
) -> None:
    site = Site()
    await site.normalize(first, text_of(1), 0, canonical)
    await site.normalize(f"{STRANGER}/1", text_of(1), 1)
    await site.normalize(better, text_of(1), 2, own)
    for at in (3, 4):
        assert {await site.representative_of(url) for url in (first, f"{STRANGER}/1", better)} == {better}, what
        await site.normalize(better, edited(text_of(1), 3, at), at, own)


async def test_a_new_address_of_a_page_is_no_younger_than_copies_of_the_old_address() -> None:
    site, old, new = Site(), f"{HOST}/old-place", f"{HOST}/a/new/place"
    await site.normalize(old, text_of(1), 0)
    await site.normalize(f"{STRANGER}/1", text_of(1), 1)
    await site.normalize(new, text_of(1), 2)
    await site.agent.handle(site.removed(old, "gone", 3))
    assert await site.representative_of(f"{STRANGER}/1") == new


async def test_a_page_keeps_its_age_through_small_edits_and_gets_it_back_after_a_large_one() -> None:
    site, text = Site(), text_of(1)
    await site.normalize(ORIGINAL, text, 0)
    for at in range(1, 30):
        await site.normalize(ORIGINAL, edited(text, 1 + at % 9, at), at)
        assert await seconds_of(site, ORIGINAL) == 0
    await site.normalize(ORIGINAL, f"{text} {text_of(2, 200)}", 30)
    assert await seconds_of(site, ORIGINAL) == 30
    await site.normalize(ORIGINAL, edited(text, 2, 31), 31)
    assert await seconds_of(site, ORIGINAL) == 0
    await site.agent.handle(site.removed(ORIGINAL, "gone", 32))
    await site.normalize(ORIGINAL, edited(text, 2, 33), 33)
    assert await seconds_of(site, ORIGINAL) == 0


async def test_a_page_that_changes_slowly_is_as_old_as_the_text_that_is_still_like_it() -> None:
    site, ages = Site(), []
    words = text_of(1).split()
    for at in range(0, 300, 6):
        words[at : at + 6] = [f"now{at}x{number}" for number in range(6)]
        await site.normalize(ORIGINAL, " ".join(words), at)
        ages.append(at - await seconds_of(site, ORIGINAL))
    assert max(ages) < 45, "never older than the first text with four of five shingles in common"
    assert min(ages[6:]) > 5, "never as young as its last edit"


PAGES = ["/a/long/path", "/a", "/a?x=1", "/a?x=1&y=2", "/other"]
WALK = st.lists(
    st.tuples(
        st.sampled_from(PAGES),
        st.sampled_from(["step", "step", "step", "edit", "back", "same", "gone", "new"]),
        st.integers(0, 400),
        st.sampled_from([None, "/a", "/other"]),
    ),
    max_size=40,
)


@dataclass
class Walk:
    """A site that takes any way from its old texts to the text of another site, and all texts that it ever had."""

    site: Site = field(default_factory=Site)
    target: list[str] = field(default_factory=lambda: text_of(1).split())
    words: list[str] = field(default_factory=lambda: text_of(900).split())
    texts: dict[int, str] = field(default_factory=dict)
    """By second."""

    async def move(self, at: int, path: str, how: str, number: int, canonical: str | None) -> None:
        url = f"{STRANGER}{path}"
        if how == "gone":
            await self.site.agent.handle(self.site.removed(url, "gone", at))
            return
        self.words = self._changed(how, number)
        self.texts[at] = " ".join(self.words)
        await self.site.normalize(url, self.texts[at], at, f"{STRANGER}{canonical}" if canonical else None)
        for other in PAGES:
            page = await self.site.stores.fingerprints.get(page_id(f"{STRANGER}{other}"))
            if page is not None:
                self._check(page, at)

    def _changed(self, how: str, number: int) -> list[str]:
        words, place = list(self.words), number % len(self.target)
        if how == "step":
            place = next((each for each, word in enumerate(self.target) if words[each] != word), place)
            words[place : place + STEP] = self.target[place : place + STEP]
        if how == "edit":
            words[place : place + 2] = [f"edit{number}"] * len(words[place : place + 2])
        if how == "back" and self.texts:
            words = list(self.texts.values())[number % len(self.texts)].split()
        return text_of(500 + number).split() if how == "new" else words

    def _check(self, page: Fingerprint, now: int) -> None:
        """The age of a page is the time of a text that the site had, and that is like the page's present text."""
        for sight in (site_sight(page), own_sight(page)):
            second = (sight.at - NOW) // SECOND
            earned = self.texts[second]
            assert sketch_similarity(fingerprint(earned).sketch, page.sketch) >= 0.8
            present = self.texts[(page.generation - NOW) // SECOND]
            assert jaccard(text_shingles(earned), text_shingles(present)) > 0.65
            assert second <= now


@settings(max_examples=examples(60), deadline=None)
@given(WALK)
def test_no_walk_through_pages_and_fetches_gains_age_over_the_text_that_earned_it(
    moves: list[tuple[str, str, int, str | None]],
) -> None:
    async def run() -> None:
        walk = Walk()
        for path in PAGES[::4]:
            await walk.move(0, path, "same", 0, None)
        await walk.site.normalize(ORIGINAL, text_of(1), 1)
        for at, (path, how, number, canonical) in enumerate(moves, 2):
            await walk.move(at, path, how, number, canonical)
        assert await walk.site.representative_of(ORIGINAL) == ORIGINAL
        pages = [await walk.site.stores.fingerprints.get(page_id(f"{STRANGER}{path}")) for path in PAGES]
        for at, page in enumerate(pages, 1_000):
            if page is not None:
                text = walk.texts[(page.generation - NOW) // SECOND]
                await walk.site.normalize(page.url, text, at, page.canonical_url)
                again = await stored(walk.site, page.url)
                assert own_sight(again).at <= own_sight(page).at, "an unchanged page keeps its age"

    asyncio.run(run())
