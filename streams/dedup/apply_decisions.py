"""Carries decisions out: plan, write the plan down, do it, and look whether it holds.

The plan is in the page's record before anything is changed, so that after a crash the same event finds it there and
finishes it. Other workers may decide about the same pages meanwhile; what no longer holds is planned again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from streams.dedup.grouping import Decision, Grouping, is_leader
from streams.errors import TransientError
from streams.stores.protocols import Fingerprint, Fingerprints, Pages
from streams.stores.simhash_tables import hamming

MAX_ROUNDS = 5
"""Of planning, when other workers change the same group meanwhile."""
MAX_OVERTAKEN = 4
"""Events of a page that are remembered behind its last one."""
PART: Literal["deduplicated"] = "deduplicated"
_OUTCOME = ("verdict", "canonical_page_id", "canonical_url", "distance", "simhash")


@dataclass(frozen=True, slots=True)
class Log:
    """What a page's record says: the outcome, and for which other pages an event had consequences."""

    record: Mapping[str, Any]
    event_id: str

    @property
    def is_own(self) -> bool:
        """Whether this very event was here before."""
        return self.record.get("event") == self.event_id

    @property
    def changes(self) -> set[UUID]:
        """Other pages that this event decided anew."""
        own = self.record.get("changes", ()) if self.is_own else self.overtaken.get(self.event_id, ())
        return {UUID(page) for page in own}

    @property
    def overtaken(self) -> Mapping[str, Sequence[str]]:
        """Former events of the page, and what each decided: one of them may have failed, and come again."""
        found: Mapping[str, Sequence[str]] = self.record.get("overtaken", {})
        return found

    def with_this_overtaken(self) -> Mapping[str, Sequence[str]]:
        """`overtaken` for the next event's log."""
        if self.is_own or not self.record.get("changes"):
            return self.overtaken
        last = self.record["event"]
        former = [event for event in self.overtaken if event != last][1 - MAX_OVERTAKEN :]
        return {**{event: self.overtaken[event] for event in former}, last: self.record["changes"]}


class Settling:
    """Changes fingerprints and records; says nothing to anybody."""

    def __init__(self, fingerprints: Fingerprints, pages: Pages, grouping: Grouping) -> None:
        self._fingerprints = fingerprints
        self._pages = pages
        self._grouping = grouping

    async def log(self, page_id: UUID, event_id: str) -> Log:
        return Log((await self._pages.get(page_id)).get(PART, {}), event_id)

    async def settle(
        self, own: UUID, waiting: Sequence[Fingerprint], base: Mapping[str, Any], log: Log, at: int
    ) -> Log:
        """Decide the waiting pages and all that depends on them. Returns the log as it was written.

        `own` is the page that the event is about, and `base` what its record says beside the outcome. Raises
        TransientError when the group changes faster than it can be decided.
        """
        # Those of a plan that a crash may have left half done are decided again.
        again = [await self._fingerprints.get(page_id) for page_id in log.changes]
        waiting = [*waiting, *(page for page in again if page is not None)]
        for _ in range(MAX_ROUNDS):
            decisions = await self._grouping.plan(waiting)
            log = await self._write_down(own, base, decisions, log, at)
            for decision in decisions:
                if decision.changes:
                    await self._do(decision, decision.page.page_id == own)
            waiting = await self._undone(decisions, own)
            if not waiting:
                return log
        raise TransientError(f"the duplicates of page {own} keep changing: {MAX_ROUNDS} plans did not hold")

    async def _write_down(
        self, own: UUID, base: Mapping[str, Any], decisions: Sequence[Decision], log: Log, at: int
    ) -> Log:
        changes = log.changes | {decision.page.page_id for decision in decisions if decision.changes}
        former = {key: log.record[key] for key in _OUTCOME if log.is_own and key in log.record}
        outcome = next((outcome_of(decision) for decision in decisions if decision.page.page_id == own), {})
        told = sorted(str(page_id) for page_id in changes - {own})
        former_at = log.record.get("at", 0)
        record = {**former, **base, **outcome, "event": log.event_id, "changes": told, "at": former_at}
        if overtaken := log.with_this_overtaken():
            record["overtaken"] = overtaken
        if record == log.record:
            return log
        record["at"] = max(at, former_at + 1)
        await self._pages.put(own, PART, record, record["at"])
        return Log(record, log.event_id)

    async def _do(self, decision: Decision, is_own: bool) -> None:
        page, at = decision.page, decision.at(is_own)
        if not is_own:
            await self._retell(decision)
        await self._fingerprints.set_canonical(page.page_id, decision.canonical.page_id, at)

    async def _retell(self, decision: Decision) -> None:
        """Write into another page's record what became of it."""
        page_id = decision.page.page_id
        record = (await self._pages.get(page_id)).get(PART, {})
        at = max(decision.at(False), record.get("at", 0) + 1)
        told = {**facts(decision.page), **record, **outcome_of(decision), "at": at}
        await self._pages.put(page_id, PART, told, at)

    async def _undone(self, decisions: Sequence[Decision], own: UUID) -> list[Fingerprint]:
        """Pages whose decision no longer holds, and those that still follow a page which doesn't lead."""
        found: dict[UUID, Fingerprint] = {}
        for decision in decisions:
            page = await self._fingerprints.get(decision.page.page_id)
            if page is None:
                continue
            leader = page if decision.leads else await self._fingerprints.get(decision.canonical.page_id)
            if page.canonical != decision.canonical.page_id or leader is None or not is_leader(leader):
                found[page.page_id] = page
            if page.canonical != page.page_id:
                found |= {other.page_id: other for other in await self._grouping.followers(page.page_id)}
        decided = {decision.page.page_id for decision in decisions}
        if own not in decided and await self._fingerprints.get(own) is None:
            found |= {other.page_id: other for other in await self._grouping.followers(own)}
        return list(found.values())


def facts(page: Fingerprint) -> dict[str, Any]:
    """What a record says of a fingerprint."""
    return {
        "url": page.url,
        "generation": page.generation,
        "document_ref": page.document_ref,
        "content_hash": page.content_hash,
        "words": page.words,
    }


def outcome_of(decision: Decision) -> dict[str, Any]:
    """What a record says of a decision."""
    page, canonical = decision.page, decision.canonical
    same_kind = page.simhash_version == canonical.simhash_version
    verdict: Literal["exact", "near"] = "exact" if page.content_hash == canonical.content_hash else "near"
    return {
        "verdict": "unique" if decision.leads else verdict,
        "canonical_page_id": str(canonical.page_id),
        "canonical_url": canonical.url,
        "distance": hamming(page.simhash, canonical.simhash) if same_kind else 0,
        "simhash": f"{page.simhash:016x}",
    }
