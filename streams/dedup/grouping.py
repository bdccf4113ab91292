"""Which pages say the same, and which of them stands for the others.

A page is either a leader, which stands for itself and is indexed, or the duplicate of a leader that is similar to it.
A new page is compared with leaders alone, so that a chain of small differences never merges pages that differ much.
Whoever decides has stored the page's fingerprint before: of two pages that pass at once, at least one sees the other,
and both elect by the same order.

What a decision leads to (a leader steps back, its duplicates need another) is planned first and written
afterwards, so that a crash in between can be repaired by writing the same plan again.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from streams.dedup.election import elect, rank
from streams.stores.minhash import sketch_similarity
from streams.stores.protocols import Fingerprint, Fingerprints
from streams.stores.simhash_tables import MAX_DISTANCE

MIN_WORDS = 50
"""Shorter texts are duplicates only when they are equal: a few words of difference may be all that they say."""
SIMILARITY = 0.8
"""Of shingles, from which on two pages say the same."""
CERTAIN = 0.12
"""Farther than this from SIMILARITY an estimate decides (3.4 standard errors); nearer, the texts themselves."""
MAX_COMPARED = 32
"""Leaders whose texts are compared with one page, the most similar by estimate first."""
MAX_DECIDED = 1_000
"""Pages decided anew in one go."""

Compare = Callable[[Fingerprint, Fingerprint], Awaitable[float]]
"""The exact similarity of two pages' texts, 0..1."""


@dataclass(frozen=True, slots=True)
class Decision:
    """From now on `canonical` stands for `page`."""

    page: Fingerprint
    canonical: Fingerprint

    @property
    def leads(self) -> bool:
        return self.page.page_id == self.canonical.page_id

    @property
    def changes(self) -> bool:
        return self.page.canonical != self.canonical.page_id or is_undecided(self.page)

    def at(self, own: bool) -> int:
        """The write time: later than the former decision, and than one that the page's own event is leading to now.

        From the fingerprint's own on, even for a leader and odd for a duplicate: two workers who decide at one time
        that it leads and that it doesn't have two times, so that what is told of it has two generations.
        """
        page = self.page
        at = max(page.written_at + (0 if own else 1), page.decided_at + (0 if page.canonical is None else 1))
        return at + ((at - page.written_at) % 2 != (0 if self.leads else 1))


def told_generation(page: Fingerprint) -> int:
    """The generation under which the store's decision about a page is told: its fetch's, and one later a decision.

    It comes from the one cell that every decision is written to, whose later write wins. So whoever tells of a page,
    and in whatever order, the decision that stays has the highest generation of all that were told.
    """
    return page.generation + max(0, page.decided_at - page.written_at)


def is_undecided(page: Fingerprint) -> bool:
    """Nothing was decided since its fingerprint was written: its own event is on its way through some worker."""
    return page.canonical is None or page.decided_at < page.written_at


def is_leader(page: Fingerprint) -> bool:
    """Stands for itself, or may come to."""
    return page.canonical == page.page_id or is_undecided(page)


class Grouping:
    """Plans decisions from what the store knows. Writes nothing."""

    def __init__(self, store: Fingerprints, compare: Compare) -> None:
        self._store = store
        self._compare = compare

    async def plan(self, first: Iterable[Fingerprint]) -> list[Decision]:
        """Decide these pages, and all that this makes undecided. The best come first, so that they lead."""
        plan = _Plan()
        waiting = sorted(first, key=rank)
        while waiting and len(plan.decisions) < MAX_DECIDED:
            page = waiting.pop(0)
            if page.page_id in plan.decisions:
                continue
            rivals = await self._rivals(page, plan)
            leader = elect([page, *rivals])
            displaced = rivals if leader is page else [page]
            if leader is page:
                plan.decide(page, page)
            for loser in displaced:
                plan.decide(loser, leader)
            waiting = sorted([*waiting, *await self._followers(displaced, plan)], key=rank)
        return list(plan.decisions.values())

    async def _rivals(self, page: Fingerprint, plan: "_Plan") -> list[Fingerprint]:
        """The leaders that say the same as this page."""
        near_allowed = page.words >= MIN_WORDS
        found = {other.page_id: other for other in await self._store.exact(page.content_hash) if page.words}
        if near_allowed:
            near = await self._store.near(page.simhash, MAX_DISTANCE, page.simhash_version)
            alike = await self._store.similar(page, SIMILARITY - CERTAIN)
            found |= {other.page_id: other for other in (*near, *alike)}
        found |= {leader.page_id: leader for leader in plan.leaders()}
        found |= await self._leaders_of(found)
        found.pop(page.page_id, None)
        leaders = [other for other in found.values() if plan.is_leader(other)]
        leaders.sort(key=lambda other: (-sketch_similarity(page.sketch, other.sketch), rank(other)))
        return [other for other in leaders[:MAX_COMPARED] if await self.same(page, other)]

    async def _leaders_of(self, found: dict[UUID, Fingerprint]) -> dict[UUID, Fingerprint]:
        """Those who stand for what was found: in a large group, only some of its pages are found."""
        missing = {other.canonical for other in found.values() if other.canonical is not None} - set(found)
        leaders = [await self._store.get(page_id) for page_id in sorted(missing)]
        return {leader.page_id: leader for leader in leaders if leader is not None}

    async def _followers(self, displaced: Sequence[Fingerprint], plan: "_Plan") -> list[Fingerprint]:
        """The duplicates of pages that no longer lead."""
        found = [page for loser in displaced for page in await self.followers(loser.page_id)]
        return [page for page in found if page.page_id not in plan.decisions]

    async def followers(self, page_id: UUID) -> list[Fingerprint]:
        """The pages that this one stands for."""
        pages = [await self._store.get(other) for other in await self._store.duplicates(page_id)]
        return [page for page in pages if page is not None]

    async def same(self, one: Fingerprint, other: Fingerprint) -> bool:
        """Whether one of the two pages can stand for the other."""
        if one.content_hash == other.content_hash:
            return one.words > 0
        if min(one.words, other.words) < MIN_WORDS:
            return False
        estimate = sketch_similarity(one.sketch, other.sketch)
        if abs(estimate - SIMILARITY) > CERTAIN:
            return estimate >= SIMILARITY
        return await self._compare(one, other) >= SIMILARITY


class _Plan:
    """Decisions so far, laid over what the store knows."""

    def __init__(self) -> None:
        self.decisions: dict[UUID, Decision] = {}

    def decide(self, page: Fingerprint, canonical: Fingerprint) -> None:
        self.decisions[page.page_id] = Decision(page, canonical)

    def is_leader(self, page: Fingerprint) -> bool:
        decision = self.decisions.get(page.page_id)
        return decision.leads if decision else is_leader(page)

    def leaders(self) -> list[Fingerprint]:
        return [decision.page for decision in self.decisions.values() if decision.leads]
