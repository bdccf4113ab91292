"""A page's record as one event of the dedup stage sees it: the outcome, and the other pages that it changed. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from uuid import UUID

from streams.dedup.grouping import Decision
from streams.errors import TransientError
from streams.sketches import hamming
from streams.stores.page_record import Deduplicated, RemovedText
from streams.stores.protocols import Fingerprint

MAX_OVERTAKEN = 4
"""Maximum number of earlier events whose changes a page's record keeps."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts of a record that come from the decision."""

    verdict: str
    """`unique`, `exact` or `near`."""
    canonical_page_id: UUID
    canonical_url: str
    distance: int
    simhash: str

    @classmethod
    def of(cls, decision: Decision) -> "Outcome":
        page, representative = decision.page, decision.representative
        same_version = page.simhash_version == representative.simhash_version
        kind = "exact" if page.content_hash == representative.content_hash else "near"
        return cls(
            verdict="unique" if decision.elects_page else kind,
            canonical_page_id=representative.page_id,
            canonical_url=representative.url,
            distance=hamming(page.simhash, representative.simhash) if same_version else 0,
            simhash=f"{page.simhash:016x}",
        )

    @classmethod
    def from_record(cls, record: Deduplicated) -> "Outcome":
        """Return the outcome in a record. Raises TransientError if it has none: another worker decides the page."""
        page_id = record.canonical_page_id
        if page_id is None or record.verdict is None:
            raise TransientError(f"the record of {record.url} has no decision yet")
        url, distance, simhash = record.canonical_url or "", record.distance or 0, record.simhash or ""
        return cls(record.verdict, page_id, url, distance, simhash)

    def in_record(self, record: Deduplicated) -> Deduplicated:
        return replace(record, **asdict(self))


@dataclass(frozen=True, slots=True)
class Log:
    """The record, and the event that reads it."""

    record: Deduplicated
    event_id: str

    @property
    def is_own(self) -> bool:
        """True if this very event wrote the record: it is a redelivery."""
        return self.record.event == self.event_id

    @property
    def changes(self) -> set[UUID]:
        """Other pages whose decision this event changed."""
        return set((self.record.changes or ()) if self.is_own else self.overtaken.get(self.event_id, ()))

    @property
    def overtaken(self) -> Mapping[str, tuple[UUID, ...]]:
        """Earlier events of the page, each with the pages that it changed. One may have failed and come again."""
        return self.record.overtaken or {}

    def overtaken_with_this(self) -> Mapping[str, tuple[UUID, ...]]:
        """Return `overtaken` for the record of the next event."""
        last, changes = self.record.event, self.record.changes
        if self.is_own or not changes or last is None:
            return self.overtaken
        former = [event for event in self.overtaken if event != last][1 - MAX_OVERTAKEN :]
        return {**{event: self.overtaken[event] for event in former}, last: changes}

    def plan(self, own: UUID, base: Deduplicated, decisions: Sequence[Decision], at: int) -> "Log":
        """Return the log with a plan, or this log if the plan is in it. `base`: the record beside its outcome."""
        changed = self.changes | {decision.page.page_id for decision in decisions if decision.changes}
        record = with_former_outcome(base, self.record) if self.is_own else base
        if decision := next((one for one in decisions if one.page.page_id == own), None):
            record = Outcome.of(decision).in_record(record)
        record = replace(
            record,
            event=self.event_id,
            changes=tuple(sorted(changed - {own})),
            overtaken=self.overtaken_with_this() or None,
            at=self.record.at,
        )
        return self if record == self.record else Log(replace(record, at=max(at, record.at + 1)), self.event_id)


_EMPTY = replace(Deduplicated.of_row({}), stored=None)


def record_of_page(
    page: Fingerprint, *, repeats: bool, document_generation: int, copied: float, settled: str, crawl_id: str
) -> Deduplicated:
    """Return the record of a page that an event decides, before the decision."""
    return replace(
        _EMPTY,
        url=page.url,
        generation=page.generation,
        document_ref=page.document_ref,
        content_hash=page.content_hash,
        words=page.words,
        repeats=repeats,
        document_generation=document_generation,
        copied=copied,
        first_seen=page.first_seen,
        settled=settled,
        crawl_id=crawl_id,
    )


def record_of_removal(url: str, generation: int, reason: str, removed_text: RemovedText | None) -> Deduplicated:
    return replace(_EMPTY, url=url, generation=generation, verdict="removed", reason=reason, removed_text=removed_text)


def with_facts(record: Deduplicated, page: Fingerprint) -> Deduplicated:
    """Return the record of another page than the event's, with the facts of its fingerprint where it has none."""
    return replace(
        record,
        url=record.url or page.url,
        generation=record.generation if record.generation >= 0 else page.generation,
        document_ref=record.document_ref or page.document_ref,
        content_hash=record.content_hash or page.content_hash,
        words=page.words if record.words is None else record.words,
    )


def with_former_outcome(record: Deduplicated, former: Deduplicated) -> Deduplicated:
    """Return the record with the outcome of the former one, but with its own verdict if it has one."""
    return replace(
        record,
        verdict=record.verdict or former.verdict,
        canonical_page_id=former.canonical_page_id,
        canonical_url=former.canonical_url,
        distance=former.distance,
        simhash=former.simhash,
    )
