"""Applies decisions about duplicates: plan them, save the plan, store each decision, and check the result.

The plan is saved in the page's record before anything else changes. After a crash the same event comes again, finds the
plan and completes it. Other workers may decide about the same pages at the same time. A decision that they made
invalid is planned again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from streams.dedup.grouping import MAX_DUPLICATES, Decision, Grouping, Plan, may_represent
from streams.errors import TransientError
from streams.sketches.simhash_tables import hamming
from streams.stores.protocols import Fingerprint, Fingerprints, Pages

MAX_ROUNDS = 5
"""Maximum number of plans for one event. More than one is needed if other workers change the same group."""
MAX_OVERTAKEN = 4
"""Maximum number of earlier events whose changes a page's record keeps."""
PART: Literal["deduplicated"] = "deduplicated"
Rows = Mapping[UUID, Fingerprint | None]
"""Rows by page. None: there is none."""
_OUTCOME = ("verdict", "canonical_page_id", "canonical_url", "distance", "simhash")


@dataclass(frozen=True, slots=True)
class Log:
    """A page's record as one event sees it: the outcome, and the other pages that an event changed."""

    record: Mapping[str, Any]
    event_id: str

    @property
    def is_own(self) -> bool:
        """True if this very event wrote the record: it is a redelivery."""
        return self.record.get("event") == self.event_id

    @property
    def changes(self) -> set[UUID]:
        """Other pages whose decision this event changed."""
        own = self.record.get("changes", ()) if self.is_own else self.overtaken.get(self.event_id, ())
        return {UUID(page) for page in own}

    @property
    def overtaken(self) -> Mapping[str, Sequence[str]]:
        """Earlier events of the page, each with the pages that it changed. One may have failed and come again."""
        found: Mapping[str, Sequence[str]] = self.record.get("overtaken", {})
        return found

    def overtaken_with_this(self) -> Mapping[str, Sequence[str]]:
        """`overtaken` for the record of the next event."""
        if self.is_own or not self.record.get("changes"):
            return self.overtaken
        last = self.record["event"]
        former = [event for event in self.overtaken if event != last][1 - MAX_OVERTAKEN :]
        return {**{event: self.overtaken[event] for event in former}, last: self.record["changes"]}


class DecisionApplier:
    """Changes fingerprints and records. Publishes nothing."""

    def __init__(self, fingerprints: Fingerprints, pages: Pages, grouping: Grouping) -> None:
        self._fingerprints = fingerprints
        self._pages = pages
        self._grouping = grouping

    async def log(self, page_id: UUID, event_id: str) -> Log:
        return Log((await self._pages.get(page_id)).get(PART, {}), event_id)

    async def apply(
        self,
        own: UUID,
        page: Fingerprint | None,
        duplicates: Sequence[Fingerprint],
        base: Mapping[str, Any],
        log: Log,
        at: int,
        found: Mapping[UUID, Sequence[Fingerprint]] | None = None,
    ) -> tuple[Log, Rows]:
        """Decide the page and all that depends on it. Returns the log as it was written, and the rows as read last.

        `own` is the id of the page that the event is about. `page` is None if it was removed. `duplicates` are those
        that it may no longer represent. `base` is what its record contains beside the outcome. `found` is what a
        look-up has found for the page. Raises TransientError if the group changes faster than it can be decided.
        """
        # A crash may have stopped an earlier plan halfway: its pages are decided again.
        again = [await self._fingerprints.get(page_id) for page_id in log.changes]
        waiting = [found for found in (page, *duplicates, *again) if found is not None]
        orphans = {own: list(duplicates)}
        for _ in range(MAX_ROUNDS):
            plan = await self._grouping.plan(waiting, found)
            found = None
            plan.orphans = {**orphans, **plan.orphans}
            log = await self._save_plan(own, base, list(plan.decisions.values()), log, at)
            for decision in plan.decisions.values():
                if decision.changes:
                    await self._store(decision, decision.page.page_id == own)
            successors = await self._move_large_groups(plan, page, at)
            waiting, orphans, rows = await self._unsettled(plan, successors, own)
            if not waiting:
                return log, rows
        raise TransientError(f"the duplicates of page {own} keep changing: {MAX_ROUNDS} plans became invalid")

    async def _move_large_groups(self, plan: Plan, own: Fingerprint | None, at: int) -> list[UUID]:
        """Give the rest of each large group its new representative, and return these representatives.

        The plan decided MAX_DUPLICATES pages of such a group one by one. The others follow most of them.
        """
        successors = []
        for former, duplicates in plan.orphans.items():
            made = [plan.decisions[page.page_id] for page in duplicates if page.page_id in plan.decisions]
            if len(duplicates) < MAX_DUPLICATES or not made:
                continue
            counts = Counter(decision.representative.page_id for decision in made)
            successor, _ = counts.most_common(1)[0]
            if successor == former:
                continue
            decided = plan.decisions.get(former)
            kept_text = own.content_hash if own and own.page_id == former and decided and decided.elects_page else ""
            await self._fingerprints.move_duplicates(former, successor, at, kept_text)
            successors.append(successor)
        return successors

    async def _save_plan(
        self, own: UUID, base: Mapping[str, Any], decisions: Sequence[Decision], log: Log, at: int
    ) -> Log:
        changed = log.changes | {decision.page.page_id for decision in decisions if decision.changes}
        former = {key: log.record[key] for key in _OUTCOME if log.is_own and key in log.record}
        outcome = next((outcome_of(decision) for decision in decisions if decision.page.page_id == own), {})
        changes = sorted(str(page_id) for page_id in changed - {own})
        former_at = log.record.get("at", 0)
        record = {**former, **base, **outcome, "event": log.event_id, "changes": changes, "at": former_at}
        if overtaken := log.overtaken_with_this():
            record["overtaken"] = overtaken
        if record == log.record:
            return log
        record["at"] = max(at, former_at + 1)
        await self._pages.put(own, PART, record, record["at"])
        return Log(record, log.event_id)

    async def _store(self, decision: Decision, is_own: bool) -> None:
        page, at = decision.page, decision.at(is_own)
        if not is_own:
            await self._update_record(decision)
        age = page.site_first_seen if decision.elects_page else page.known_since
        chosen = decision.representative
        await self._fingerprints.set_representative(page.page_id, chosen.page_id, at, age, chosen.content_hash, page)

    async def _update_record(self, decision: Decision) -> None:
        """Write the outcome into the record of another page than the event's."""
        page_id = decision.page.page_id
        record = (await self._pages.get(page_id)).get(PART, {})
        at = max(decision.at(False), record.get("at", 0) + 1)
        updated = {**facts(decision.page), **record, **outcome_of(decision), "at": at}
        await self._pages.put(page_id, PART, updated, at)

    async def _unsettled(
        self, plan: Plan, successors: Sequence[UUID], own: UUID
    ) -> tuple[list[Fingerprint], dict[UUID, list[Fingerprint]], Rows]:
        """Pages whose decision became invalid, and (by page) duplicates of pages that are no longer representatives.

        Also returns the rows that were read for this.
        """
        rows = _RowReader(self._fingerprints)
        found: dict[UUID, Fingerprint] = {}
        lost: dict[UUID, list[Fingerprint]] = {}
        for decision in plan.decisions.values():
            page = await rows.read(decision.page.page_id)
            if page is None:
                continue
            chosen = decision.representative.page_id
            representative = page if decision.elects_page else await rows.read(chosen)
            if page.representative != chosen or representative is None or not may_represent(representative):
                found[page.page_id] = page
            elif decision.elects_page and page.is_hidden:
                found[page.page_id] = page  # another worker made it a duplicate, which look-ups don't find
            elif decision.promotes and await self._grouping.rivals(page):
                found[page.page_id] = page  # two pages were promoted at the same moment, and neither saw the other
            if page.representative != page.page_id:
                lost[page.page_id] = await self._grouping.duplicates(page.page_id)
        for page_id in {own, *successors} - set(plan.decisions):
            page = await rows.read(page_id)
            if page is None or not may_represent(page):
                lost[page_id] = await self._grouping.duplicates(page_id)
        found |= {page.page_id: page for pages in lost.values() for page in pages}
        return list(found.values()), lost, rows.known


class _RowReader:
    """Reads each row once."""

    def __init__(self, fingerprints: Fingerprints) -> None:
        self._fingerprints = fingerprints
        self.known: dict[UUID, Fingerprint | None] = {}

    async def read(self, page_id: UUID) -> Fingerprint | None:
        if page_id not in self.known:
            self.known[page_id] = await self._fingerprints.get(page_id)
        return self.known[page_id]


def facts(page: Fingerprint) -> dict[str, Any]:
    """The fields of a record that come from the fingerprint."""
    return {
        "url": page.url,
        "generation": page.generation,
        "document_ref": page.document_ref,
        "content_hash": page.content_hash,
        "words": page.words,
    }


def outcome_of(decision: Decision) -> dict[str, Any]:
    """The fields of a record that come from the decision."""
    page, representative = decision.page, decision.representative
    same_version = page.simhash_version == representative.simhash_version
    kind: Literal["exact", "near"] = "exact" if page.content_hash == representative.content_hash else "near"
    return {
        "verdict": "unique" if decision.elects_page else kind,
        "canonical_page_id": str(representative.page_id),
        "canonical_url": representative.url,
        "distance": hamming(page.simhash, representative.simhash) if same_version else 0,
        "simhash": f"{page.simhash:016x}",
    }
