"""The age of a page that moved: a redirect carries the first sights of its texts to the new address.

A page that moves has a new URL, and so a new id. Without its age, a copy that was made before the move would be older
than the original. Three checks keep strangers from taking an age:

- The former address and the new one are below one registrable domain. Expired domains are bought for their past, and
  an open redirect of a site leads anywhere.
- The last answer of the former address is the redirect: the record of the address says so, not the discovery.
- An age belongs to a text (`first_sight`): the new address has it only while its text is similar to the former one.
"""

from collections.abc import Sequence

from schemas import PageDiscovered
from schemas.ids import page_id
from streams.crawl.domains import same_domain
from streams.crawl.urls import host_of
from streams.dedup.first_sight import is_text_of, known_sights, sights_before_removal
from streams.stores.protocols import Fingerprint, Fingerprints, Ledger, Pages, Sight, Transition

MAX_MOVES = 5
"""Maximum number of redirects in a row that carry an age: as many as are followed."""


class MovedPages:
    """The reader of what the former addresses of a page had."""

    def __init__(self, pages: Pages, fingerprints: Fingerprints, ledger: Ledger) -> None:
        self._pages = pages
        self._fingerprints = fingerprints
        self._ledger = ledger

    async def sights(self, page: Fingerprint, history: Sequence[Transition]) -> list[Sight]:
        """Return the first sights of the page's text at its former addresses. `history` is the page's own."""
        found: list[Sight] = []
        target, seen = page.url, {page.url}
        for _ in range(MAX_MOVES):
            source = redirect_source(history)
            if source in seen or not may_move(source, target) or not await self._leads_to(source, target):
                break
            found += await self._sights_of(source, page)
            seen.add(source)
            target, history = source, await self._ledger.history(page_id(source))
        return [sight for sight in found if sight.is_own and is_text_of(sight, page)]

    async def _leads_to(self, source: str, target: str) -> bool:
        fetched = (await self._pages.get(page_id(source))).fetched
        return fetched.outcome == "redirect" and fetched.redirect_to == target

    async def _sights_of(self, source: str, page: Fingerprint) -> Sequence[Sight]:
        former = await self._fingerprints.get(page_id(source))
        if former is not None:  # its removal is still on the way
            return known_sights(former)
        record = await self._pages.get(page_id(source))
        return sights_before_removal(page, record.deduplicated.removed_text)


def redirect_source(history: Sequence[Transition]) -> str:
    """Return the address that redirected to the page last, or ""."""
    steps = (step.data for step in history if step.topic == PageDiscovered.topic and step.data.get("why") == "redirect")
    return next((str(data.get("referrer") or "") for data in steps), "")


def may_move(source: str, target: str) -> bool:
    """Return whether a redirect may carry the identity of a page: only below one registrable domain."""
    return bool(source) and same_domain(host_of(source), host_of(target))
