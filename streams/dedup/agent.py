"""The dedup stage: fingerprint -> group -> record (`deduplicated`) -> events.

A fingerprint is stored before its neighbours are read, and a plan is saved in the page's record before it is applied.
So two workers that handle duplicates at the same time agree without a lock, and a redelivery repairs what a crash left
unfinished. Most pages represent themselves: this plan is written with the fingerprint, and replaced if the neighbours
lead to another one. A redelivery publishes the same events again, except those that a later event made invalid.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from schemas import Event, LinkFound, PageNormalized, PageRemoved
from streams.caches import SizedCache
from streams.dedup import fingerprinting
from streams.dedup.apply_decisions import DecisionApplier, Rows
from streams.dedup.events import demotion, only_settled, overtaken, own_events, promotion, refusal_events, refused
from streams.dedup.first_sight import (
    MovedPages,
    copied_share,
    known_sights,
    own_sight,
    rows_of_sights,
    see_text,
    sights_before_removal,
)
from streams.dedup.generations import (
    NEVER,
    generation_after_removal,
    is_overtaken,
    is_same_fetch,
    minimum_generation,
    removal_generation,
    removal_time,
    repetition,
)
from streams.dedup.grouping import Decision, Grouping, hash_within, have_one_audience, is_undecided, keys_of
from streams.dedup.log import Log, Outcome, record_of_page, record_of_removal
from streams.dedup.sandbox_tasks import (
    COMPARISON,
    FINGERPRINT,
    SHINGLES,
    TASKS,
    pack_pair,
    read_fingerprint,
    read_shingles,
)
from streams.dedup.url_rule_evidence import AliasLearner, Discoveries
from streams.errors import MissingBlob, PageErased, PoisonError, Refused
from streams.runtime.agent import Agent, Delivery, Emit
from streams.sandbox.limits import Limits
from streams.sandbox.pool import Sandbox, SandboxPool
from streams.settings import Settings
from streams.sketches import Hashes, hamming, jaccard, sketch_similarity
from streams.stores.opener import Stores
from streams.stores.page_record import Deduplicated, Fetched, Indexed, PageRecord, RemovedText
from streams.stores.protocols import Fingerprint, Sight
from streams.stores.removals import blob_of_page, is_held_back, withdrawn
from streams.stores.searched_model import CurrentModel
from streams.topology import VERSIONS

LIMITS = Limits(cpu_seconds=10.0, memory_bytes=500 * 1024 * 1024)
"""Limits of one text. A million letters without spaces (Thai) need 2.3 s."""

MAX_SHINGLE_BYTES = 64 * 1024 * 1024
"""Maximum size of the shingles in memory. A page of a thousand words takes 8 KB, one of a million words 8 MB."""
MAX_COUNTER_DISTANCE = 8
"""Maximum number of bits of the SimHash that a change of counters changes. Only then the two texts are compared.
One time in a page of 80 words changes up to 9."""


class DedupAgent(Agent):
    """The agent of the stage. It handles one page at a time. Workers share groups through the store."""

    def __init__(
        self,
        stores: Stores,
        sandbox: Sandbox,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stores = stores
        self._sandbox = sandbox
        self._fingerprints = stores.fingerprints
        self._grouping = Grouping(stores.fingerprints, self._compare, self._count_in_links)
        self._applier = DecisionApplier(stores.fingerprints, stores.pages, self._grouping)
        self._moved = MovedPages(stores.pages, stores.fingerprints)
        found_by_site = Discoveries(stores.frontier, stores.ledger).is_found_by_site
        self._learner = AliasLearner(stores.fingerprints, found_by_site, monotonic)
        self._shingles = SizedCache[str, Hashes](MAX_SHINGLE_BYTES, lambda shingles: shingles.nbytes)
        self._visits = Counter[str]()
        self._model = CurrentModel(stores.embedder, monotonic)

    async def start(self, emit: Emit) -> None:
        self._sandbox.start()

    async def stop(self) -> None:
        await self._sandbox.close()

    def measurements(self) -> Mapping[str, float]:
        visits = self._visits
        return {
            "dedup_visits_all": visits["all"],
            "dedup_visits_unchanged": visits["unchanged"],
            "dedup_visits_indexed_again": visits["indexed_again"],
        }

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        if isinstance(event, PageNormalized):
            return await self._handle_normalized(event, delivery)
        if isinstance(event, PageRemoved):
            return await self._handle_removed(event, delivery)
        raise PoisonError(f"dedup takes PageNormalized and PageRemoved, not {type(event).__name__}")

    async def _handle_normalized(self, event: PageNormalized, delivery: Delivery) -> Sequence[Event]:
        record, row = await self._fingerprints.get_with_record(event.page_id)
        # Who decides about a page writes this part. A fingerprint without it is of this very event, or of a lost one.
        former = row if record.has(Deduplicated) else None
        is_first = row is None and not record.has(Deduplicated)
        if is_held_back(record):
            return [refused(event, event.generation), *await self._reemit_overtaken(event, delivery)]
        known = minimum_generation(former, delivery.at) if former else generation_after_removal(record, event)
        if is_overtaken(event, known):
            end = refused(event, event.generation) if known == NEVER else overtaken(event)
            return [end, *await self._reemit_overtaken(event, delivery)]
        # A replay gets a later generation than everything that was published about its fetch.
        generation = max(event.generation, known)
        try:
            made = await self._make_fingerprint(event, generation, _seen_at(event, record, delivery.at))
            made = await self._keep_former_text(made, former, record.deduplicated.document_generation)
        except Refused as refusal:
            return refusal_events(event, generation, refusal)
        except PageErased:
            return [refused(event, generation)]
        # A fetch that has a fingerprint already has the ages of former addresses, too.
        is_known = former is not None and is_same_fetch(event, former)
        moved = [] if is_known else await self._moved.sights(made, record)
        made = _add_age(made, event, former, record, moved, delivery.at)
        log = Log(record.deduplicated, str(delivery.envelope.id))
        same_content = log.record.content_hash == made.content_hash
        settled = (log.is_own and log.record.settled) or ("unchanged" if same_content else "changed")
        # With another text it may no longer represent its duplicates. A page that was never decided has none.
        may_lose = (log.is_own or not same_content) and (former is not None or bool(log.record.stored))
        repeats, document_generation = repetition(event, made, former, log)
        record_of = partial(
            record_of_page,
            repeats=repeats,
            document_generation=document_generation,
            settled=settled,
            crawl_id=event.crawl_id,
        )
        if former is None or (former.representative == former.page_id and not is_undecided(former)):
            made = replace(made, representative=event.page_id)
        log = await self._store(made, record_of(made, copied=0.0), log, delivery.at, former)
        found = await self._grouping.look_up(made, _as_stored(made, delivery.at) if is_first else None)
        page = next((each for each in found if each.page_id == event.page_id), None)
        if page is None:  # removed at the same moment
            return [overtaken(event), *await self._reemit_overtaken(event, delivery)]
        duplicates = await self._grouping.duplicates(event.page_id) if may_lose else []
        base = record_of(page, copied=copied_share(page, found))
        looked_up = {event.page_id: found} if page.content_hash == made.content_hash else {}
        log, rows = await self._applier.apply(event.page_id, page, duplicates, base, log, delivery.at, looked_up)
        page, outcome = await self._find_outcome(page, log, rows)
        own = own_events(event, page, outcome, settled, log.record, is_new=not record.has(Indexed))
        self._visits["all"] += 1
        if outcome.verdict == "unique" and log.record.repeats:
            is_indexed = await self._is_indexed(event.page_id, log)
            self._visits["unchanged" if is_indexed else "indexed_again"] += 1
            own = only_settled(own, event.generation) if is_indexed else own
        return [*own, *await self._other_events(event.crawl_id, log, rows)]

    async def _store(self, made: Fingerprint, base: Deduplicated, log: Log, at: int, former: Fingerprint | None) -> Log:
        """Store a fingerprint, with the plan that the page represents itself if this is no change.

        Returns the log as it is stored.
        """
        is_newest = former is None or former.written_at <= at
        if made.representative is None or not is_newest:
            await self._fingerprints.put(made, at, former)
            return log
        planned = log.plan(made.page_id, base, [Decision(made, made)], at)
        await self._fingerprints.put(made, at, former, None if planned is log else planned.record)
        return planned

    async def _read_log(self, delivery: Delivery) -> Log:
        event = delivery.event
        assert isinstance(event, PageNormalized | PageRemoved)
        return await self._applier.log(event.page_id, str(delivery.envelope.id))

    async def _is_indexed(self, page_id: UUID, log: Log) -> bool:
        """Return whether the page's document is in the index, as this release and the current model make its points.

        While nobody knows the model, no page counts as indexed: it is passed on, and waits where vectors are made.
        """
        record, model = await self._stores.pages.get(page_id), await self._model.read()
        indexed = record.indexed
        is_latest = record.removed.generation < indexed.generation >= (log.record.document_generation or 0)
        return is_latest and indexed.embedded_by == model and indexed.made == VERSIONS

    async def _find_outcome(self, page: Fingerprint, log: Log, rows: Rows) -> tuple[Fingerprint, Outcome]:
        """Return the page's current decision, or the log's if another worker is deciding the page at this moment."""
        now = await self._read_row(page.page_id, rows)
        if now is None or now.representative is None or is_undecided(now):
            return page, Outcome.from_record(log.record)
        is_own = now.representative == now.page_id
        representative = now if is_own else await self._read_row(now.representative, rows)
        await self._learner.learn(now, representative or now, now.written_at)
        return now, Outcome.of(Decision(now, representative)) if representative else Outcome.from_record(log.record)

    async def _read_row(self, page_id: UUID, rows: Rows) -> Fingerprint | None:
        return rows[page_id] if page_id in rows else await self._fingerprints.get(page_id)

    async def _handle_removed(self, event: PageRemoved, delivery: Delivery) -> Sequence[Event]:
        """Elect another representative for the duplicates of a removed page.

        A page that was removed as a duplicate is still there, so its fingerprint stays.
        """
        if event.reason == "duplicate":
            return []
        on_request = event.reason == "request"
        if on_request and event.generation <= withdrawn(await self._stores.pages.get(event.page_id)):
            return []
        page = await self._fingerprints.get(event.page_id)
        if page is not None and not on_request and is_overtaken(event, page.generation):
            return await self._reemit_overtaken(event, delivery)
        await self._fingerprints.remove(event.page_id, removal_time(event, page, delivery.at), page)
        log = await self._read_log(delivery)
        duplicates = await self._grouping.duplicates(event.page_id)
        generation = removal_generation(event, page, log)
        # Later events about this fetch were published: the index would ignore the removal with its own generation.
        again = [event.model_copy(update={"generation": generation})] if generation > event.generation else []
        if page is None and not duplicates and not again and not log.is_own and not on_request:
            return await self._other_events(event.crawl_id, log, {})
        removed_text = _text_facts(page, on_request) if page else log.record.removed_text
        base = record_of_removal(event.url, generation, event.reason, removed_text)
        log, rows = await self._applier.apply(event.page_id, None, duplicates, base, log, delivery.at)
        return [*again, *await self._other_events(event.crawl_id, log, rows)]

    async def _make_fingerprint(self, event: PageNormalized, generation: int, seen_at: int) -> Fingerprint:
        document = await blob_of_page(self._stores.blobs, self._stores.pages, event, event.document_ref)
        prints = read_fingerprint(await self._sandbox.run(FINGERPRINT, document))
        content_hash = hash_within(event.audience, event.content_hash)
        return Fingerprint(
            page_id=event.page_id,
            content_hash=content_hash,
            simhash=prints.simhash,
            simhash_version=prints.simhash_version,
            url=event.url,
            generation=generation,
            canonical_url=event.canonical_url,
            first_seen=seen_at,
            document_ref=event.document_ref,
            words=prints.words,
            sketch=prints.sketch,
            keys=keys_of(prints, content_hash),
        )

    async def _count_in_links(self, page: Fingerprint) -> int:
        """Return the number of pages that link to the page, counted in the ledger's rows with linking pages."""
        history = await self._stores.ledger.history(page.page_id)
        links = (step.data for step in history if step.topic == LinkFound.topic and step.data.get("why") == "link")
        # A row of the ledger may store several links together.
        referrers = {url for data in links for url in (data.get("referrer"), *data.get("referrers", ())) if url}
        return len(referrers - {page.url})

    async def _keep_former_text(
        self, made: Fingerprint, former: Fingerprint | None, former_at: int | None
    ) -> Fingerprint:
        """Return the fingerprint with its page's former text if only counters of the page changed since.

        So the page counts as unchanged, and the next visit is compared with the text that the index has. `former_at`:
        the generation of that text.
        """
        if former is None or not _may_differ_by_counters(former, made):
            return made
        try:
            refs = (former.document_ref, made.document_ref)
            before, after = await asyncio.gather(*map(self._stores.blobs.get, refs))
            seconds = (made.generation - (former_at or former.generation)) / 1_000_000
            answer = await self._sandbox.run(COMPARISON, pack_pair(before, after, seconds))
        except (MissingBlob, Refused):
            return made
        kept = ("content_hash", "simhash", "document_ref", "words", "sketch", "keys")
        return replace(made, **{name: getattr(former, name) for name in kept}) if any(answer) else made

    async def _compare(self, one: Fingerprint, other: Fingerprint) -> float:
        """Return the similarity of the texts, or its estimate if a text is not stored or too large for the sandbox."""
        try:
            pair = await asyncio.gather(self._load_shingles(one.document_ref), self._load_shingles(other.document_ref))
        except (MissingBlob, Refused):
            return sketch_similarity(one.sketch, other.sketch)
        return jaccard(*pair)

    async def _load_shingles(self, document_ref: str) -> Hashes:
        """Return the shingles of a document.

        They are cached: a reference never changes, and representatives come often.
        """
        known = self._shingles.get(document_ref)
        if known is not None:
            return known
        computed = read_shingles(await self._sandbox.run(SHINGLES, await self._stores.blobs.get(document_ref)))
        self._shingles.put(document_ref, computed)
        return computed

    async def _reemit_overtaken(self, event: PageNormalized | PageRemoved, delivery: Delivery) -> list[Event]:
        """Publish the changes of other pages that this event made, before a later fetch of its page overtook it."""
        log = await self._applier.log(event.page_id, str(delivery.envelope.id))
        return await self._other_events(event.crawl_id, log, {})

    async def _other_events(self, crawl_id: str, log: Log, rows: Rows) -> list[Event]:
        """Return the current decisions about the other pages that this event changed.

        A page that was fetched again since, and is not decided yet, is left to its own event.
        """
        pages = [await self._read_row(page_id, rows) for page_id in sorted(log.changes)]
        decided = [page for page in pages if page is not None and not is_undecided(page)]
        decided.sort(key=lambda page: (page.representative != page.page_id, page.url))
        return [(promotion if page.representative == page.page_id else demotion)(page, crawl_id) for page in decided]


def _as_stored(page: Fingerprint, at: int) -> Fingerprint:
    """Return the row of a page that was stored for the first time, as its own representative."""
    return replace(page, written_at=at, decided_at=at, group=page.page_id)


def _may_differ_by_counters(former: Fingerprint, made: Fingerprint) -> bool:
    """Return whether the texts of a page differ so little that a change of counters may be all."""
    is_close = hamming(former.simhash, made.simhash) <= MAX_COUNTER_DISTANCE
    is_close = is_close and have_one_audience(former.content_hash, made.content_hash)
    return is_close and former.simhash_version == made.simhash_version and former.content_hash != made.content_hash


def _add_age(
    page: Fingerprint,
    event: PageNormalized,
    former: Fingerprint | None,
    record: PageRecord,
    moved: Sequence[Sight],
    at: int,
) -> Fingerprint:
    """Return the page with the age of its text. Another text starts anew: an old URL is no old text."""
    if former is not None and former.written_at == at:  # a redelivery: a later decision must not change the fingerprint
        return replace(page, first_seen=former.first_seen, sights=former.sights)
    known = known_sights(former) if former else sights_before_removal(page, record.deduplicated.removed_text)
    return see_text(page, page.first_seen, (*known, *moved))


def _seen_at(event: PageNormalized, record: PageRecord, at: int) -> int:
    """Return the time when Riffle saw the text first. `at`: the time of the event.

    The generation of an imported page is the date that an archive claims, and anybody can write an archive. The
    generation of a page that no stage has fetched is what the event's producer claims: it takes no page of others.
    """
    if event.seen_at is not None:
        return event.seen_at
    return event.generation if record.has(Fetched) else at


def _text_facts(page: Fingerprint, on_request: bool) -> RemovedText:
    """Return the facts of a removed page that give it its former age if it comes back with a similar text.

    After a removal on request, only the same text gets it: no sketch of what was removed is kept.
    """
    sights = () if on_request else rows_of_sights(page)
    return RemovedText(content_hash=page.content_hash, first_seen=own_sight(page).at, sights=sights)


async def build(settings: Settings, stores: Stores) -> DedupAgent:
    """Return the stage's agent. Raises UsageError if fingerprints can't be made."""
    fingerprinting.load_frequencies()
    return DedupAgent(stores, SandboxPool(TASKS, limits=LIMITS, name="dedup"))
