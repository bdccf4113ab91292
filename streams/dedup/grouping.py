"""Groups of duplicates: which pages have the same text, and which of them is the representative.

A page is either a representative, which is indexed, or a duplicate of a representative that is similar to it. A new
page is compared with representatives only. So a chain of small differences never merges pages that differ much.

A page's fingerprint is stored before its group is decided, with the page as its own representative where that is no
change: most pages have no duplicate. If two workers handle two similar pages at the same time, at least one of them
sees the other page, and both elect by the same order.

A decision can make others necessary: if a representative becomes a duplicate, its duplicates need another one. All
decisions are planned first and stored afterwards. After a crash the same plan is made and stored again.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from xxhash import xxh3_64_intdigest

from streams.crawl.file_kinds import EXTENSIONS, extension_of
from streams.crawl.urls import host_of
from streams.dedup.election import oldest_first, order_by_preference, rank
from streams.dedup.fingerprinting import Prints
from streams.sketches import sketch_similarity
from streams.stores.protocols import MIN_NEAR_WORDS, Fingerprint, Fingerprints

MIN_WORDS = MIN_NEAR_WORDS
SIMILARITY = 0.8
"""Minimum similarity of near-duplicates: the Jaccard similarity of their shingles."""
_OF_AUDIENCE = "\N{INFORMATION SEPARATOR ONE}"
"""The character between an audience and a hash: neither has it."""
CERTAIN = 0.12
"""An estimate decides if it is farther than this from SIMILARITY (3.4 standard errors). Otherwise the texts decide."""
MAX_COMPARED = 32
"""Maximum number of representatives whose texts are compared with one page. The most similar come first."""
MAX_DECIDED = 200
"""Maximum number of pages that are decided in one plan."""
MAX_DUPLICATES = 16
"""Maximum number of duplicates that are decided anew if their representative is lost. All others follow the group."""

Compare = Callable[[Fingerprint, Fingerprint], Awaitable[float]]
"""Function that returns the exact similarity of two pages' texts, 0..1."""
CountLinks = Callable[[Fingerprint], Awaitable[int]]
"""Function that returns the number of pages that link to a page."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The representative that is chosen for a page. It may be the page itself."""

    page: Fingerprint
    representative: Fingerprint

    @property
    def elects_page(self) -> bool:
        """True if the page is its own representative."""
        return self.page.page_id == self.representative.page_id

    @property
    def changes(self) -> bool:
        """True if the store has another decision, or none since the page's last fingerprint, or hides the page."""
        is_other = self.page.representative != self.representative.page_id
        return is_other or is_undecided(self.page) or (self.elects_page and self.page.is_hidden)

    @property
    def promotes(self) -> bool:
        """True if the page was a duplicate, and becomes a representative. Until then no look-up finds it."""
        return self.elects_page and self.changes and not may_represent(self.page)

    def at(self, own: bool) -> int:
        """Return the write time of the decision. `own`: it is made for an event of the page itself.

        It is later than the page's former decision. For another page it is also later than the decision that the
        page's own event may lead to at the same moment.

        Counted from the fingerprint's write time, it is even for a representative and odd for a duplicate. So two
        workers that decide differently at the same moment have two write times, and publish two generations.
        """
        page = self.page
        at = max(page.written_at + (0 if own else 1), page.decided_at + (0 if page.representative is None else 1))
        return at + ((at - page.written_at) % 2 != (0 if self.elects_page else 1))


def published_generation(page: Fingerprint) -> int:
    """Return the generation of events about the page's decision.

    It is the generation of the page's fetch, plus how much later than the fingerprint the decision was written
    (microseconds). It is computed from the one cell that every decision is written to, in which the latest write wins.
    So the decision that remains has the highest generation that was published, in whatever order workers publish.
    """
    return page.generation + max(0, page.decided_at - page.written_at)


def is_undecided(page: Fingerprint) -> bool:
    """Return whether the page has no decision since its fingerprint was written: a worker still handles its event."""
    return page.representative is None or page.decided_at < page.written_at


def _find_page(page: Fingerprint, others: Iterable[Fingerprint]) -> Fingerprint:
    return next(other for other in others if other.page_id == page.page_id)


def may_represent(page: Fingerprint) -> bool:
    """Return whether the page is a representative, or undecided."""
    return page.representative == page.page_id or is_undecided(page)


def may_have_same_text(one: Fingerprint, other: Fingerprint) -> bool:
    """Return whether the pages are exact duplicates, or near-duplicates as far as their sketches tell."""
    if one.content_hash == other.content_hash:
        return one.words > 0
    is_long = min(one.words, other.words) >= MIN_WORDS and have_one_audience(one.content_hash, other.content_hash)
    return is_long and sketch_similarity(one.sketch, other.sketch) >= SIMILARITY


def hash_within(audience: str, content_hash: str) -> str:
    """Return the hash of a text among the pages of an audience.

    Pages of two audiences are no duplicates: neither may displace the other, nor tell that the other is there.
    """
    return f"{audience}{_OF_AUDIENCE}{content_hash}" if audience else content_hash


def have_one_audience(one: str, other: str) -> bool:
    """Return whether two of these hashes are of one audience."""
    return _audience_in(one) == _audience_in(other)


def _audience_in(content_hash: str) -> str:
    return content_hash.rpartition(_OF_AUDIENCE)[0]


def keys_of(prints: Prints, content_hash: str) -> tuple[int, ...]:
    """Return the keys under which a text with these prints and this hash is looked up, each of 63 bits.

    `content_hash`: the hash within the page's audience. Equal texts have equal bands, so only a text that is too short
    for near-duplicates has a key of its content. A text without words is a duplicate of none.
    """
    if prints.words >= MIN_WORDS:
        audience = _audience_in(content_hash)
        salt = xxh3_64_intdigest(audience.encode()) >> 1 if audience else 0
        return tuple(band ^ salt for band in prints.bands)
    return (xxh3_64_intdigest(content_hash.encode()) >> 1,) if prints.words else ()


def are_forms_of_one_text(one: str, other: str) -> bool:
    """Return whether two URLs of a host are files of different kinds, such as a book as PDF and as EPUB.

    Each of them stays in the index, where `filetype:` finds it; a search folds what looks the same. Such files of
    different hosts are duplicates: the kind of a file makes no text its own.
    """
    kinds = [EXTENSIONS.get(extension_of(url), "html") for url in (one, other)]
    return kinds[0] != kinds[1] and host_of(one) == host_of(other)


async def no_links(page: Fingerprint) -> int:
    """Count no links to any page: for groups without a ledger."""
    return 0


class Plan:
    """The decisions so far. They count before what the store contains."""

    def __init__(self, found: Mapping[UUID, Sequence[Fingerprint]] | None = None) -> None:
        self.found = dict(found or {})
        """By page: what a look-up has found since the page's fingerprint was stored."""
        self.decisions: dict[UUID, Decision] = {}
        self.orphans: dict[UUID, list[Fingerprint]] = {}
        """By page that is no longer a representative: its duplicates, at most MAX_DUPLICATES."""

    def decide(self, page: Fingerprint, representative: Fingerprint) -> None:
        self.decisions[page.page_id] = Decision(page, representative)

    def withdraw_duplicates(self, representatives: Sequence[Fingerprint]) -> list[Fingerprint]:
        """Withdraw the decisions for these representatives, and return their pages: they need another one."""
        lost = {page.page_id for page in representatives}
        pages = [made.page for made in self.decisions.values() if made.representative.page_id in lost]
        for page in pages:
            del self.decisions[page.page_id]
        return pages

    def may_represent(self, page: Fingerprint) -> bool:
        decision = self.decisions.get(page.page_id)
        return decision.elects_page if decision else may_represent(page)

    def representatives(self) -> list[Fingerprint]:
        return [decision.page for decision in self.decisions.values() if decision.elects_page]


class Grouping:
    """The planner of decisions: it plans from what the store contains, and writes nothing."""

    def __init__(self, store: Fingerprints, compare: Compare, count_links: CountLinks) -> None:
        self._store = store
        self._compare = compare
        self._count_links = count_links

    async def plan(
        self, pages: Iterable[Fingerprint], found: Mapping[UUID, Sequence[Fingerprint]] | None = None
    ) -> Plan:
        """Decide these pages, and the pages whose decision depends on them. The oldest pages come first.

        `found`: what look-ups have found, by page.
        """
        plan = Plan(found)
        waiting = oldest_first(pages)
        for _ in range(MAX_DECIDED):
            if not waiting:
                break
            page = waiting.pop(0)
            if page.page_id in plan.decisions:
                continue
            rivals = await self._find_rivals(page, plan)
            elected, *others = order_by_preference(await self._add_links([page, *rivals]))
            losers = others if elected.page_id == page.page_id else [_find_page(page, others)]
            if elected.page_id == page.page_id:
                plan.decide(elected, elected)
            for loser in losers:
                plan.decide(loser, elected)
            withdrawn = plan.withdraw_duplicates(losers)
            waiting = oldest_first([*waiting, *withdrawn, *await self._find_undecided_duplicates(losers, plan)])
        return plan

    async def _find_rivals(self, page: Fingerprint, plan: Plan) -> list[Fingerprint]:
        """Return the representatives that have the same text as this page."""
        candidates = plan.found.get(page.page_id)
        if candidates is None:
            candidates = await self.look_up(page) if page.words else ()
        found = {other.page_id: other for other in candidates if page.words}
        found |= {other.page_id: other for other in plan.representatives()}
        found |= await self._read_representatives(found)
        found.pop(page.page_id, None)
        rivals = [other for other in found.values() if plan.may_represent(other)]
        rivals.sort(key=lambda other: (-sketch_similarity(page.sketch, other.sketch), rank(other)))
        return [other for other in rivals[:MAX_COMPARED] if await self.have_same_text(page, other)]

    async def _add_links(self, pages: Sequence[Fingerprint]) -> list[Fingerprint]:
        """Return the pages with the number of links to each that may have the same rank as another without it."""
        places = Counter((host_of(page.url), len(page.url)) for page in pages)
        tied = [page for page in pages if places[host_of(page.url), len(page.url)] > 1]
        counts = {page.page_id: await self._count_links(page) for page in tied}
        return [replace(page, in_links=counts.get(page.page_id, 0)) for page in pages]

    async def look_up(self, page: Fingerprint, own: Fingerprint | None = None) -> list[Fingerprint]:
        """Return the page as it is stored, and the pages that may have the same text.

        `own`: the row of a new page, as it was just stored.
        """
        return await self._store.look_up(page, SIMILARITY - CERTAIN, own)

    async def _read_representatives(self, found: dict[UUID, Fingerprint]) -> dict[UUID, Fingerprint]:
        """Return the representatives of these pages. In a large group a look-up finds only some of its pages."""
        missing = {other.representative for other in found.values() if other.representative is not None} - set(found)
        pages = [await self._store.get(page_id) for page_id in sorted(missing)]
        return {page.page_id: page for page in pages if page is not None}

    async def _find_undecided_duplicates(self, losers: Sequence[Fingerprint], plan: Plan) -> list[Fingerprint]:
        """Return some duplicates of pages that are no longer representatives, without pages that the plan decided."""
        for loser in losers:
            if loser.page_id not in plan.orphans:
                plan.orphans[loser.page_id] = await self.duplicates(loser.page_id)
        found = [page for loser in losers for page in plan.orphans[loser.page_id]]
        return [page for page in found if page.page_id not in plan.decisions]

    async def duplicates(self, representative: UUID) -> list[Fingerprint]:
        """Return duplicates of a representative, at most MAX_DUPLICATES."""
        return await self._store.duplicates(representative, MAX_DUPLICATES)

    async def rivals(self, page: Fingerprint) -> list[Fingerprint]:
        """Return the representatives and undecided pages that have the same text as this page."""
        return await self._find_rivals(page, Plan())

    async def have_same_text(self, one: Fingerprint, other: Fingerprint) -> bool:
        """Return whether the two pages are exact duplicates or near-duplicates."""
        if are_forms_of_one_text(one.url, other.url) or not have_one_audience(one.content_hash, other.content_hash):
            return False
        if one.content_hash == other.content_hash:
            return one.words > 0
        if min(one.words, other.words) < MIN_WORDS:
            return False
        estimate = sketch_similarity(one.sketch, other.sketch)
        if abs(estimate - SIMILARITY) > CERTAIN:
            return estimate >= SIMILARITY
        return await self._compare(one, other) >= SIMILARITY
