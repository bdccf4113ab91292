"""The dedup stage: fingerprint -> group -> record (`deduplicated`) -> events.

The fingerprint is stored before its neighbours are read, and what a decision leads to is written into the record before
it is done: so two pages that pass at once agree without a lock, and a crash anywhere is repaired when the event comes
again. The second time the same events come out, less those that a later event has overruled.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from schemas import Event, PageDeduplicated, PageDiscovered, PageNormalized, PageRemoved, PageSettled
from streams.crawl.urls import host_of
from streams.dedup import frequencies
from streams.dedup.apply_decisions import PART, Log, Settling, facts, outcome_of
from streams.dedup.features import Hashes, jaccard
from streams.dedup.fingerprinting import fingerprint, text_shingles
from streams.dedup.grouping import Decision, Grouping, is_undecided, told_generation
from streams.dedup.url_rule_evidence import VariantLearner
from streams.errors import MissingBlob, PoisonError
from streams.pages.document.codec import decode_document
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.minhash import sketch_similarity
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint

SAME_FETCH = 500_000
"""Microseconds between the generations of one page's fetches, at least: the room for those that replays make."""
BEING_DECIDED = 100
"""Microseconds that a replay leaves to other workers' decisions about the page at the same moment."""
NEVER = 2**63 - 1
SHINGLED_DOCUMENTS = 256
"""Whose shingles are kept: some megabytes."""


class DedupAgent(Agent):
    """One page at a time; groups are shared with the other workers through the store."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._fingerprints = stores.fingerprints
        self._grouping = Grouping(stores.fingerprints, self._compare)
        self._settling = Settling(stores.fingerprints, stores.pages, self._grouping)
        self._learner = VariantLearner(stores.fingerprints)
        self._shingled: dict[str, Hashes] = {}

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        if isinstance(event, PageNormalized):
            return await self._normalized(event, delivery)
        if isinstance(event, PageRemoved):
            return await self._removed(event, delivery)
        raise PoisonError(f"dedup takes PageNormalized and PageRemoved, not {type(event).__name__}")

    async def _normalized(self, event: PageNormalized, delivery: Delivery) -> Sequence[Event]:
        former = await self._fingerprints.get(event.page_id)
        known = _told_at(former, delivery.at) if former else await self._removed_at(event)
        if _is_older(event, known):
            return await self._late_news(event, delivery)
        # A fetch that is replayed is later than all that was told of it.
        generation = max(event.generation, known)
        await self._fingerprints.put(await self._fingerprint(event, former, generation), delivery.at)
        page = await self._fingerprints.get(event.page_id)
        if page is None:  # removed at the same moment
            return await self._late_news(event, delivery)
        log = await self._settling.log(event.page_id, str(delivery.envelope.id))
        same_content = log.record.get("content_hash") == event.content_hash
        settled = log.record["settled"] if log.is_own else "unchanged" if same_content else "changed"
        # With other content it may no longer stand for those that it stood for.
        followers = await self._grouping.followers(event.page_id) if log.is_own or not same_content else []
        base = {**facts(page), "settled": settled, "crawl_id": event.crawl_id}
        log = await self._settling.settle(event.page_id, [page, *followers], base, log, delivery.at)
        page, told = await self._outcome(page, log)
        own = _own_events(event, page, told, settled)
        return [*own, *await self._other_events(event.crawl_id, log)]

    async def _outcome(self, page: Fingerprint, log: Log) -> tuple[Fingerprint, Mapping[str, Any]]:
        """What has become of the page: as it is now, unless another worker is deciding it at this moment."""
        now = await self._fingerprints.get(page.page_id)
        if now is None or now.canonical is None or is_undecided(now):
            return page, log.record
        canonical = now if now.canonical == now.page_id else await self._fingerprints.get(now.canonical)
        await self._learner.learn(now, canonical or now, now.written_at)
        return now, outcome_of(Decision(now, canonical)) if canonical else log.record

    async def _removed(self, event: PageRemoved, delivery: Delivery) -> Sequence[Event]:
        """The page is gone: those that it stood for get another leader. A duplicate stays known: it is still there."""
        page = await self._fingerprints.get(event.page_id)
        if event.reason == "duplicate":
            return []
        if page is not None and _is_older(event, page.generation):
            return await self._late_news(event, delivery)
        at = max(delivery.at, page.written_at, page.decided_at) if page else delivery.at
        await self._fingerprints.remove(event.page_id, at)
        log = await self._settling.log(event.page_id, str(delivery.envelope.id))
        followers = await self._grouping.followers(event.page_id)
        generation = _removal_generation(event, page, log)
        # The index has heard of this very fetch since: it wouldn't believe the event as it came.
        again = [event.model_copy(update={"generation": generation})] if generation > event.generation else []
        if page is None and not followers and not again and not log.is_own:
            return await self._other_events(event.crawl_id, log)
        base = {"url": event.url, "generation": generation, "verdict": "removed", "reason": event.reason}
        log = await self._settling.settle(event.page_id, followers, base, log, delivery.at)
        return [*again, *await self._other_events(event.crawl_id, log)]

    async def _removed_at(self, event: PageNormalized) -> int:
        """Of a page without a fingerprint: the generation that a replay of its fetch gets; NEVER after a request.

        Less than the event's when no removal is known, or only those of earlier fetches.
        """
        parts = await self._stores.pages.get(event.page_id)
        removals = [parts.get("removed", {})]
        if parts.get(PART, {}).get("verdict") == "removed":
            removals.append(parts[PART])
        last = max(removals, key=_generation)
        generation = _generation(last)
        if last.get("reason") == "request" and generation >= event.generation:
            return NEVER
        return generation + BEING_DECIDED if generation >= event.generation else generation

    async def _fingerprint(self, event: PageNormalized, former: Fingerprint | None, generation: int) -> Fingerprint:
        prints = await asyncio.to_thread(fingerprint, await self._text(event.document_ref))
        same_fetch = former is not None and former.generation >= event.generation
        return Fingerprint(
            page_id=event.page_id,
            content_hash=event.content_hash,
            simhash=prints.simhash,
            simhash_version=prints.simhash_version,
            url=event.url,
            generation=generation,
            canonical_url=event.canonical_url,
            first_seen=former.first_seen if former else event.generation,
            # Counted once a fetch: a second delivery must not find another number, and elect another page.
            in_links=former.in_links if former and same_fetch else await self._in_links(event),
            document_ref=event.document_ref,
            words=prints.words,
            sketch=prints.sketch,
            bands=prints.bands,
        )

    async def _in_links(self, event: PageNormalized) -> int:
        """Pages that link to it, by what the ledger has kept of its discoveries: nothing is written to count them."""
        history = await self._stores.ledger.history(event.page_id)
        links = (step.data for step in history if step.topic == PageDiscovered.topic and step.data.get("why") == "link")
        return len({data["referrer"] for data in links if data.get("referrer")} - {event.url})

    async def _text(self, document_ref: str) -> str:
        return decode_document(await self._stores.blobs.get(document_ref)).text

    async def _compare(self, one: Fingerprint, other: Fingerprint) -> float:
        """The similarity of the texts themselves; the estimate where one is no longer there."""
        try:
            pair = await asyncio.gather(self._shingles(one.document_ref), self._shingles(other.document_ref))
        except MissingBlob:
            return sketch_similarity(one.sketch, other.sketch)
        return jaccard(*pair)

    async def _shingles(self, document_ref: str) -> Hashes:
        """Of a document. Kept for a while, as leaders are compared again and again; a reference never changes."""
        if document_ref not in self._shingled:
            found = await asyncio.to_thread(text_shingles, await self._text(document_ref))
            while len(self._shingled) >= SHINGLED_DOCUMENTS:
                self._shingled.pop(next(iter(self._shingled)))
            self._shingled[document_ref] = found
            return found
        return self._shingled[document_ref]

    async def _late_news(self, event: PageNormalized | PageRemoved, delivery: Delivery) -> list[Event]:
        """Of an event that a later fetch overtook while it waited to be tried again: what it had decided before."""
        log = await self._settling.log(event.page_id, str(delivery.envelope.id))
        return await self._other_events(event.crawl_id, log)

    async def _other_events(self, crawl_id: str, log: Log) -> list[Event]:
        """What the other pages that this event decided have become, whoever decided last.

        Of a page that was fetched anew since, its own event speaks.
        """
        pages = [await self._fingerprints.get(page_id) for page_id in sorted(log.changes)]
        known = [page for page in pages if page is not None and not is_undecided(page)]
        known.sort(key=lambda page: (page.canonical != page.page_id, page.url))
        return [(_promoted if page.canonical == page.page_id else _demoted)(page, crawl_id) for page in known]


def _is_older(event: PageNormalized | PageRemoved, known: int) -> bool:
    """Whether a later fetch than the event's is known. A replay is no fetch."""
    return known >= event.generation + SAME_FETCH


def _generation(record: Mapping[str, Any]) -> int:
    return int(record.get("generation", -1))


def _told_at(page: Fingerprint, at: int) -> int:
    """What is later than all that was told of a page; if this very event wrote its fingerprint, that one's."""
    return page.generation if page.written_at >= at else told_generation(page) + BEING_DECIDED


def _removal_generation(event: PageRemoved, page: Fingerprint | None, log: Log) -> int:
    """The event's own; later, when the very fetch that it is about was replayed, or its page promoted, since."""
    known = _generation(log.record)
    if log.is_own:
        return known
    told = told_generation(page) if page else known
    return told + BEING_DECIDED if event.generation < told < event.generation + SAME_FETCH else event.generation


def _own_events(event: PageNormalized, page: Fingerprint, told: Mapping[str, Any], settled: str) -> list[Event]:
    canonical = UUID(told["canonical_page_id"])
    duplicate = canonical != event.page_id
    shared = _shared(event.page_id, event.url, told_generation(page), event.crawl_id)
    deduplicated = PageDeduplicated(
        **shared,
        document_ref=page.document_ref,
        verdict=told["verdict"],
        canonical_page_id=canonical,
        distance=told["distance"],
        simhash=told["simhash"],
        simhash_version=page.simhash_version,
    )
    feedback = PageSettled(
        **shared,
        host=host_of(event.url),
        verdict="duplicate" if duplicate else settled,
        canonical_page_id=canonical if duplicate else None,
    )
    removed = PageRemoved(**shared, reason="duplicate", canonical_page_id=canonical)
    return [deduplicated, removed, feedback] if duplicate else [deduplicated, feedback]


def _promoted(page: Fingerprint, crawl_id: str) -> Event:
    return PageDeduplicated(
        **_shared(page.page_id, page.url, told_generation(page), crawl_id),
        document_ref=page.document_ref,
        verdict="unique",
        canonical_page_id=page.page_id,
        simhash=f"{page.simhash:016x}",
        simhash_version=page.simhash_version,
    )


def _demoted(page: Fingerprint, crawl_id: str) -> Event:
    shared = _shared(page.page_id, page.url, told_generation(page), crawl_id)
    return PageRemoved(**shared, reason="duplicate", canonical_page_id=page.canonical)


def _shared(page_id: UUID, url: str, generation: int, crawl_id: str) -> dict[str, Any]:
    return {"page_id": page_id, "url": url, "generation": generation, "crawl_id": crawl_id}


async def build(settings: Settings, stores: Stores) -> DedupAgent:
    """The stage's agent. Raises UsageError when no fingerprint could be made."""
    frequencies.load()
    return DedupAgent(stores)
