"""The application of decisions about duplicates: plan them, save the plan, store each decision, check the result.

The plan is saved in the page's record before anything else changes. After a crash the same event comes again, finds the
plan and completes it. Other workers may decide about the same pages at the same time. A decision that they made
invalid is planned again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from streams.dedup.grouping import MAX_DUPLICATES, Decision, Grouping, Plan, may_represent
from streams.dedup.log import Log, Outcome, with_facts
from streams.errors import TransientError
from streams.stores.page_record import Deduplicated
from streams.stores.protocols import Fingerprint, Fingerprints, Pages

MAX_ROUNDS = 5
"""Maximum number of plans for one event. More than one is needed if other workers change the same group."""
Rows = Mapping[UUID, Fingerprint | None]
"""Rows by page. None: the page has no row."""


class DecisionApplier:
    """The writer of decisions: it changes fingerprints and records, and publishes nothing."""

    def __init__(self, fingerprints: Fingerprints, pages: Pages, grouping: Grouping) -> None:
        self._fingerprints = fingerprints
        self._pages = pages
        self._grouping = grouping

    async def log(self, page_id: UUID, event_id: str) -> Log:
        return Log((await self._pages.get(page_id)).deduplicated, event_id)

    async def apply(
        self,
        own: UUID,
        page: Fingerprint | None,
        duplicates: Sequence[Fingerprint],
        base: Deduplicated,
        log: Log,
        at: int,
        found: Mapping[UUID, Sequence[Fingerprint]] | None = None,
    ) -> tuple[Log, Rows]:
        """Decide the page and all that depends on it. Returns the log as it was written, and the rows as read last.

        `own` is the id of the page that the event is about. `page` is None if it was removed. `duplicates` are the
        pages that it may no longer represent. `base` is what its record contains beside the outcome. `found` is what a
        look-up has found for the page. Raises TransientError if the group changes faster than it can be decided.
        """
        # A crash may have stopped an earlier plan halfway: its pages are decided again.
        again = [await self._fingerprints.get(page_id) for page_id in log.changes]
        waiting = [found for found in (page, *duplicates, *again) if found is not None]
        orphans = {own: list(duplicates)}
        inherited = page.inherited if page else ()
        for _ in range(MAX_ROUNDS):
            plan = await self._grouping.plan(waiting, found)
            # What a look-up since the page's last write found: then nothing that others wrote later is missed.
            known = plan.decisions.get(own) if found else None
            found = None
            plan.orphans = {**orphans, **plan.orphans}
            log = await self._save_plan(own, base, list(plan.decisions.values()), log, at)
            for decision in plan.decisions.values():
                is_own = decision.page.page_id == own
                if decision.changes or (is_own and decision.page.inherited != inherited):
                    await self._store(decision, is_own)
                    known = None
                    inherited = decision.page.inherited if is_own else inherited
            successors = await self._move_large_groups(plan, page, at)
            waiting, orphans, rows = await self._find_unsettled(plan, successors, own, known)
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

    async def _save_plan(self, own: UUID, base: Deduplicated, decisions: Sequence[Decision], log: Log, at: int) -> Log:
        planned = log.plan(own, base, decisions, at)
        if planned is not log:
            await self._pages.put(own, planned.record, planned.record.at)
        return planned

    async def _store(self, decision: Decision, is_own: bool) -> None:
        page, at = decision.page, decision.at(is_own)
        if not is_own:
            await self._update_record(decision)
        chosen = decision.representative
        await self._fingerprints.set_representative(
            page.page_id, chosen.page_id, at, page.inherited, chosen.content_hash, page
        )

    async def _update_record(self, decision: Decision) -> None:
        """Write the outcome into the record of another page than the event's."""
        page_id = decision.page.page_id
        record = with_facts((await self._pages.get(page_id)).deduplicated, decision.page)
        updated = replace(Outcome.of(decision).in_record(record), at=max(decision.at(False), record.at + 1))
        await self._pages.put(page_id, updated, updated.at)

    async def _find_unsettled(
        self, plan: Plan, successors: Sequence[UUID], own: UUID, known: Decision | None
    ) -> tuple[list[Fingerprint], dict[UUID, list[Fingerprint]], Rows]:
        """Return what the plan's decisions leave to decide, and the rows read for it.

        First the pages with an invalid decision, then, by former representative, the duplicates that lost it. `known`
        is the own page's decision if nothing was written: the page represents itself as it did when it was looked up.
        """
        rows = _RowReader(self._fingerprints)
        if known and known.elects_page:
            rows.known[own] = known.page
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
    """A reader that reads each row once."""

    def __init__(self, fingerprints: Fingerprints) -> None:
        self._fingerprints = fingerprints
        self.known: dict[UUID, Fingerprint | None] = {}

    async def read(self, page_id: UUID) -> Fingerprint | None:
        if page_id not in self.known:
            self.known[page_id] = await self._fingerprints.get(page_id)
        return self.known[page_id]
