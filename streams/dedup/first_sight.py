"""The first sight of a text: when a page, or another page of its site (host), had the text first.

Age belongs to a text, and not to a URL or a site. A page remembers the sketches of the texts that it had, each with the
time when that very text was fetched first (`Sight`). The page's age is the first sight of the texts that are similar to
its present text. So a page keeps its age through small changes, and gets it back when a large change is undone. A
chain of small changes, or of similar pages, never carries an age further than SIMILARITY from the text that earned it:
an age is always compared with that text's own sketch, and never with a text in between.

A text that an older page of another site has in part is a sign of scraping, below the similarity of duplicates.

A page that moves has a new URL, and so a new id. A redirect carries the first sights of its texts to the new address:
else a copy that was made before the move would be older than the original. Three checks keep strangers from taking an
age:

- The former address and the new one are below one registrable domain. Expired domains are bought for their past, and
  an open redirect of a site leads anywhere.
- The last answer of the former address is the redirect: the record of that address says so, and not only the page's.
- The new address has the age of a text only while its own text is similar to that text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from schemas.ids import page_id
from streams.crawl.domains import may_be_one_owner, surely_one_owner
from streams.crawl.urls import host_of
from streams.sketches import sketch_similarity
from streams.stores.page_record import PageRecord, RemovedText
from streams.stores.protocols import MIN_NEAR_WORDS, Fingerprint, Fingerprints, Pages, Sight

SIMILARITY = 0.8
"""Minimum estimated similarity of a text and the text that earned its age."""
CLOSE = 0.9
"""Estimated similarity above which a changed text is not remembered: a text that is close to it is remembered already.
It is above SIMILARITY, so that a page that changes slowly has a text to inherit from when the first one is too far."""
MAX_SIGHTS = 8
"""Maximum number of texts that a page remembers, about 140 bytes each."""
DIGITS = 3
MAX_MOVES = 5
"""Maximum number of redirects in a row that carry an age: as many as are followed."""


def see_text(page: Fingerprint, at: int, known: Sequence[Sight]) -> Fingerprint:
    """Return the page with its age and the texts to remember.

    `at` is when its present text was fetched. `known` are the texts that the page had. If there are too many,
    the oldest similar ones are kept first, then the present text, then the others in the order of their last use.
    """
    similar = sorted((sight for sight in known if is_text_of(sight, page)), key=_age)
    others = [sight for sight in known if sight not in similar]
    own = [sight for sight in similar if sight.is_own]
    is_close = any(sketch_similarity(sight.sketch, page.sketch) >= CLOSE for sight in own)
    present = [] if is_close else [Sight(page.sketch, at)]
    first_seen = min([at, *(sight.at for sight in own)])
    sights = tuple(dict.fromkeys([*similar, *present, *others]))[:MAX_SIGHTS]
    is_only_present = sights == (Sight(page.sketch, first_seen),)
    return replace(page, first_seen=first_seen, sights=() if is_only_present else sights)


def known_sights(page: Fingerprint) -> tuple[Sight, ...]:
    """Return the texts that the page had, and the texts of other pages of its site from which it inherited an age."""
    return (*(page.sights or (Sight(page.sketch, page.first_seen),)), *page.inherited)


def is_text_of(sight: Sight, page: Fingerprint) -> bool:
    """Return whether the page's text is similar to the text that was seen. A short text must be the same."""
    if sight.sketch == page.sketch:
        return True
    return page.words >= MIN_NEAR_WORDS and sketch_similarity(sight.sketch, page.sketch) >= SIMILARITY


def own_sight(page: Fingerprint) -> Sight:
    """Return the first sight of the page's text at the page itself, or at a variant of its URL."""
    own = [sight for sight in known_sights(page) if sight.is_own and is_text_of(sight, page)]
    return min(own, key=_age, default=Sight(page.sketch, page.first_seen))


def site_sight(page: Fingerprint) -> Sight:
    """Return the first sight of the page's text at its site."""
    similar = [sight for sight in known_sights(page) if is_text_of(sight, page)]
    return min(similar, key=_age, default=own_sight(page))


def inherit(page: Fingerprint, sights: Iterable[Sight]) -> Fingerprint:
    """Return the page with the age of these texts, as far as its own text is similar to them.

    Of all that it inherits it keeps the oldest own sight and the oldest sight of its site, if they make it older.
    """
    similar = [sight for sight in (*page.inherited, *sights) if is_text_of(sight, page)]
    page = replace(page, inherited=())
    own = _select_older((sight for sight in similar if sight.is_own), own_sight(page))
    page = replace(page, inherited=own)
    site = _select_older((sight for sight in similar if not sight.is_own), site_sight(page))
    return replace(page, inherited=own + site)


def _select_older(sights: Iterable[Sight], than: Sight) -> tuple[Sight, ...]:
    oldest = min(sights, key=_age, default=than)
    return (oldest,) if oldest.at < than.at else ()


def of_site(sight: Sight) -> Sight:
    """Return the sight as another page of the site inherits it."""
    return replace(sight, is_own=False)


def rows_of_sights(page: Fingerprint) -> tuple[tuple[str, int, bool], ...]:
    """Return the texts that a removed page had, as its record keeps them."""
    return tuple((sight.sketch.hex(), sight.at, sight.is_own) for sight in known_sights(page))


def sights_before_removal(page: Fingerprint, removed: RemovedText | None) -> tuple[Sight, ...]:
    """Return the texts that a page had before its removal. A removal on request keeps only the hash of the last one."""
    if removed is None:
        return ()
    is_same = removed.content_hash == page.content_hash and not removed.sights
    known = tuple(Sight(bytes.fromhex(sketch), at, is_own) for sketch, at, is_own in removed.sights)
    return (Sight(page.sketch, removed.first_seen),) if is_same else known


def _age(sight: Sight) -> tuple[int, bytes]:
    return sight.at, sight.sketch


def copied_share(page: Fingerprint, found: Iterable[Fingerprint]) -> float:
    """Return the estimated similarity to the most similar older page of another site, 0..1.

    `found` is what a look-up found: pages with a similarity from 0.68 on. Who had the text first copied nothing.
    """
    if page.words < MIN_NEAR_WORDS:
        return 0.0
    host, since = host_of(page.url), site_sight(page).at
    older = (
        other for other in found if site_sight(other).at < since and not surely_one_owner(host_of(other.url), host)
    )
    return round(max((sketch_similarity(page.sketch, other.sketch) for other in older), default=0.0), DIGITS)


class MovedPages:
    """The reader of what the former addresses of a page had."""

    def __init__(self, pages: Pages, fingerprints: Fingerprints) -> None:
        self._pages = pages
        self._fingerprints = fingerprints

    async def sights(self, page: Fingerprint, record: PageRecord) -> list[Sight]:
        """Return the first sights of the page's text at its former addresses. `record` is the page's own."""
        found: list[Sight] = []
        target, seen = page.url, {page.url}
        for _ in range(MAX_MOVES):
            source = record.moved.source
            if source in seen or not may_move(source, target):
                break
            record = await self._pages.get(page_id(source))
            if record.fetched.outcome != "redirect" or record.fetched.redirect_to != target:
                break
            found += await self._sights_of(source, record, page)
            seen.add(source)
            target = source
        return [sight for sight in found if sight.is_own and is_text_of(sight, page)]

    async def _sights_of(self, source: str, record: PageRecord, page: Fingerprint) -> Sequence[Sight]:
        former = await self._fingerprints.get(page_id(source))
        if former is not None:  # its removal is still on the way
            return known_sights(former)
        return sights_before_removal(page, record.deduplicated.removed_text)


def may_move(source: str, target: str) -> bool:
    """Return whether a redirect may carry the identity of a page: only below one registrable domain."""
    return bool(source) and may_be_one_owner(host_of(source), host_of(target))
