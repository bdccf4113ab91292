"""The dedup stage: fingerprint -> group -> record (`deduplicated`) -> events.

The fingerprint is stored before its neighbours are read, and what a decision leads to is written into the record before
it is done: so two pages that pass at once agree without a lock, and a crash anywhere is repaired when the event comes
again. The second time the same events come out, less those that a later event has overruled.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from schemas import Event, PageDeduplicated, PageNormalized, PageRemoved, PageSettled
from streams.crawl.urls import host_of
from streams.dedup.features import Hashes, jaccard
from streams.dedup.fingerprinting import fingerprint, text_shingles
from streams.dedup.grouping import Decision, Grouping, is_leader
from streams.dedup.learning import VariantLearner
from streams.errors import MissingBlob, PoisonError, TransientError
from streams.pages.codec import decode_document
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opening import Stores
from streams.stores.protocols import Fingerprint
from streams.stores.sketches import sketch_similarity
from streams.stores.tables import hamming

Verdict = Literal["unique", "exact", "near"]
MAX_ROUNDS = 5
"""Of planning, when other workers change the same group meanwhile."""
SHINGLED_DOCUMENTS = 256
"""Whose shingles are kept: some megabytes."""


@dataclass(slots=True)
class _Log:
    """What the page's record says: the outcome, and for whom else it had consequences."""

    record: dict[str, Any]
    event_id: str

    @property
    def is_own(self) -> bool:
        """Whether this very event was here before."""
        return self.record.get("event") == self.event_id

    @property
    def changes(self) -> dict[UUID, list[str]]:
        """Page -> [canonical page, kind of change]."""
        return {UUID(page): change for page, change in self.record.get("changes", {}).items()} if self.is_own else {}


class DedupAgent(Agent):
    """One page at a time; groups are shared with the other workers through the store."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._grouping = Grouping(stores.fingerprints, self._compare)
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
        former = await self._stores.fingerprints.get(event.page_id)
        if former is not None and former.generation > event.generation:
            return []
        await self._stores.fingerprints.put(await self._fingerprint(event, former), delivery.at)
        page = await self._stores.fingerprints.get(event.page_id)
        if page is None:
            return []
        log = await self._log(event.page_id, delivery)
        settled = log.record.get("settled") if log.is_own else _compared(log.record, event.content_hash)
        base = {**_facts(page), "settled": settled, "crawl_id": event.crawl_id}
        changed = former is not None and former.sketch != page.sketch
        followers = await self._grouping.followers(page.page_id) if changed else []
        log = await self._settle([page, *followers], page.page_id, base, log, delivery)
        await self._learn(page.page_id, delivery.at)
        return [*await self._own_events(event, log), *await self._other_events(event, log)]

    async def _removed(self, event: PageRemoved, delivery: Delivery) -> Sequence[Event]:
        """The page is gone: those that it stood for get another leader. A duplicate stays known: it is still there."""
        page = await self._stores.fingerprints.get(event.page_id)
        if event.reason == "duplicate" or (page is not None and page.generation > event.generation):
            return []
        await self._stores.fingerprints.remove(event.page_id, max(delivery.at, page.written_at if page else 0))
        log = await self._log(event.page_id, delivery)
        followers = await self._grouping.followers(event.page_id)
        if page is None and not followers and not log.is_own:
            return []
        base = {"url": event.url, "generation": event.generation, "verdict": "removed", "reason": event.reason}
        log = await self._settle(followers, event.page_id, base, log, delivery)
        return await self._other_events(event, log)

    async def _learn(self, page_id: UUID, at: int) -> None:
        page = await self._stores.fingerprints.get(page_id)
        if page is not None and page.canonical is not None:
            canonical = await self._stores.fingerprints.get(page.canonical)
            await self._learner.learn(page, canonical or page, at)

    async def _fingerprint(self, event: PageNormalized, former: Fingerprint | None) -> Fingerprint:
        text = await self._text(event.document_ref)
        prints = await asyncio.to_thread(fingerprint, text)
        return Fingerprint(
            page_id=event.page_id,
            content_hash=event.content_hash,
            simhash=prints.simhash,
            url=event.url,
            generation=event.generation,
            canonical_url=event.canonical_url,
            first_seen=former.first_seen if former else event.generation,
            in_links=former.in_links if former else 0,
            document_ref=event.document_ref,
            words=prints.words,
            sketch=prints.sketch,
            bands=prints.bands,
        )

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
            text = await self._text(document_ref)
            found = await asyncio.to_thread(text_shingles, text)
            while len(self._shingled) >= SHINGLED_DOCUMENTS:
                self._shingled.pop(next(iter(self._shingled)))
            self._shingled[document_ref] = found
            return found
        return self._shingled[document_ref]

    async def _log(self, page_id: UUID, delivery: Delivery) -> _Log:
        parts = await self._stores.pages.get(page_id)
        return _Log(parts.get("deduplicated", {}), str(delivery.envelope.id))

    async def _settle(
        self, first: Sequence[Fingerprint], own: UUID, base: dict[str, Any], log: _Log, delivery: Delivery
    ) -> _Log:
        """Plan, write the plan down, do it, and look whether it holds: another worker may have decided meanwhile."""
        changes = log.changes
        # Those of a plan that a crash may have left half done are decided again.
        again = [await self._stores.fingerprints.get(page_id) for page_id in changes]
        waiting = [*first, *(page for page in again if page is not None)]
        for _ in range(MAX_ROUNDS):
            decisions = await self._grouping.plan(waiting)
            for decision in decisions:
                if decision.changes and decision.page.page_id != own:
                    changes[decision.page.page_id] = [str(decision.canonical.page_id), decision.change]
            log = await self._write(own, base, decisions, changes, log, delivery)
            await asyncio.gather(*(self._do(decision, own) for decision in decisions if decision.changes))
            waiting = await self._undone(decisions, own)
            if not waiting:
                return log
        raise TransientError(f"the duplicates of page {own} keep changing: {MAX_ROUNDS} plans did not hold")

    async def _write(
        self,
        own: UUID,
        base: dict[str, Any],
        decisions: Sequence[Decision],
        changes: dict[UUID, list[str]],
        log: _Log,
        delivery: Delivery,
    ) -> _Log:
        outcome = next((_outcome(decision) for decision in decisions if decision.page.page_id == own), {})
        kept = {key: log.record[key] for key in outcome or _OUTCOME if log.is_own and key in log.record}
        at = log.record.get("at", 0)
        record = {**base, **kept, **outcome, "event": log.event_id, "at": at}
        record["changes"] = {str(page): change for page, change in sorted(changes.items())}
        if record == log.record:
            return log
        record["at"] = max(delivery.at, at + 1)
        await self._stores.pages.put(own, "deduplicated", record, record["at"])
        return _Log(record, log.event_id)

    async def _do(self, decision: Decision, own: UUID) -> None:
        page, is_own = decision.page, decision.page.page_id == own
        at = decision.at(is_own)
        if not is_own:
            await self._retell(decision)
            if decision.leads:
                # Its removal from the index carried its generation: what brings it back must be newer.
                await self._stores.fingerprints.put(replace(page, generation=page.generation + 1), page.written_at + 1)
        await self._stores.fingerprints.set_canonical(page.page_id, decision.canonical.page_id, at)

    async def _retell(self, decision: Decision) -> None:
        """Write into another page's record what became of it."""
        page_id = decision.page.page_id
        record = (await self._stores.pages.get(page_id)).get("deduplicated", {})
        at = max(decision.at(False), record.get("at", 0) + 1)
        told = {**_facts(decision.page), **record, **_outcome(decision), "at": at}
        await self._stores.pages.put(page_id, "deduplicated", told, at)

    async def _undone(self, decisions: Sequence[Decision], own: UUID) -> list[Fingerprint]:
        """Pages whose decision no longer holds, and those that still follow a page which doesn't lead."""
        found: dict[UUID, Fingerprint] = {}
        for decision in decisions:
            page = await self._stores.fingerprints.get(decision.page.page_id)
            if page is None:
                continue
            leader = page if decision.leads else await self._stores.fingerprints.get(decision.canonical.page_id)
            if page.canonical != decision.canonical.page_id or leader is None or not is_leader(leader):
                found[page.page_id] = page
            if page.canonical != page.page_id:
                found |= {other.page_id: other for other in await self._grouping.followers(page.page_id)}
        if await self._stores.fingerprints.get(own) is None:
            found |= {other.page_id: other for other in await self._grouping.followers(own)}
        return list(found.values())

    async def _own_events(self, event: PageNormalized, log: _Log) -> list[Event]:
        record = log.record
        canonical = UUID(record["canonical_page_id"])
        shared = {"page_id": event.page_id, "url": event.url, "generation": event.generation}
        duplicate = canonical != event.page_id
        told = PageDeduplicated(
            **shared,
            crawl_id=event.crawl_id,
            document_ref=event.document_ref,
            verdict=record["verdict"],
            canonical_page_id=canonical,
            distance=record["distance"],
            simhash=record["simhash"],
        )
        settled = PageSettled(
            **shared,
            host=host_of(event.url),
            verdict="duplicate" if duplicate else record["settled"],
            canonical_page_id=canonical if duplicate else None,
            crawl_id=event.crawl_id,
        )
        removed = PageRemoved(**shared, crawl_id=event.crawl_id, reason="duplicate", canonical_page_id=canonical)
        return [told, removed, settled] if duplicate else [told, settled]

    async def _other_events(self, event: PageNormalized | PageRemoved, log: _Log) -> list[Event]:
        """Of pages that lead now, or no longer do, as far as that still holds."""
        events: list[Event] = []
        for page_id, (canonical, change) in log.changes.items():
            page = await self._stores.fingerprints.get(page_id)
            if page is None or page.canonical is None or str(page.canonical) != canonical or change == "moved":
                continue
            shared = {"page_id": page_id, "url": page.url, "generation": page.generation, "crawl_id": event.crawl_id}
            if change == "promoted":
                events.append(_promoted(page, shared))
            else:
                events.append(PageRemoved(**shared, reason="duplicate", canonical_page_id=page.canonical))
        return events


_OUTCOME = ("verdict", "canonical_page_id", "canonical_url", "distance")


def _facts(page: Fingerprint) -> dict[str, Any]:
    return {
        "url": page.url,
        "generation": page.generation,
        "document_ref": page.document_ref,
        "content_hash": page.content_hash,
        "simhash": f"{page.simhash:016x}",
        "words": page.words,
    }


def _outcome(decision: Decision) -> dict[str, Any]:
    page, canonical = decision.page, decision.canonical
    verdict: Verdict = "exact" if page.content_hash == canonical.content_hash else "near"
    return {
        "verdict": "unique" if decision.leads else verdict,
        "canonical_page_id": str(canonical.page_id),
        "canonical_url": canonical.url,
        "distance": hamming(page.simhash, canonical.simhash),
    }


def _compared(record: dict[str, Any], content_hash: str) -> str:
    return "unchanged" if record.get("content_hash") == content_hash else "changed"


def _promoted(page: Fingerprint, shared: dict[str, Any]) -> PageDeduplicated:
    return PageDeduplicated(
        **shared,
        document_ref=page.document_ref,
        verdict="unique",
        canonical_page_id=page.page_id,
        simhash=f"{page.simhash:016x}",
    )


async def build(settings: Settings, stores: Stores) -> DedupAgent:
    """The stage's agent."""
    return DedupAgent(stores)
