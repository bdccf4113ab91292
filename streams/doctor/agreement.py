"""The check that the stores agree: of a sample of pages, the history, the frontier, the record and the index.

Each disagreement names its page, and the command that brings the stores together again. A page whose last step is not
old may be on its way through the stages, so it is not judged. One that has waited longer for a stage is a warning: the
stage may be hours behind. A page costs at most seven requests of one row or count.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from schemas.envelope import utc_from_micros
from streams.crawl.urls import host_of
from streams.doctor.findings import Finding, failure, ok, warning
from streams.ledger.history import frontier_steps, record_steps, removal_steps, url_of
from streams.ledger.status import PageStatus, status_of
from streams.plain_text import count_of
from streams.stores.opener import Stores
from streams.stores.page_record import PageRecord
from streams.stores.protocols import FrontierUrl
from streams.stores.removals import is_held_back
from streams.vectors.page_records import indexed_page

CHECK = "stored"
SETTLED_SECONDS = 1_800.0
"""Minimum age of a page's last step (seconds). The ledger gathers events for 5 minutes, and an event is tried again for
several."""
_WAITS_AT_WILL = frozenset({"frontier", "fetch"})
"""Stages that a page may wait for as long as its host allows."""


class StoredPage(NamedTuple):
    """A page as each store has it."""

    page_id: UUID
    url: str
    record: PageRecord
    by_ledger: PageStatus
    """The status by the ledger, with what only the frontier and the record of a removal know."""
    status: PageStatus
    """The status by all stores, as `riffle page` shows it."""
    last_at: int
    """Time of the last step, microseconds since 1970 UTC."""
    row: FrontierUrl | None
    points: int
    """Number of points that searches find."""
    points_of_record: int
    """Number of these points that are of the fetch that the record has."""
    points_of_representative: int | None
    """The points of the page that is found in place of this one. None: there is no such page, or it is on its way."""


async def check_agreement(
    stores: Stores, page_ids: Sequence[UUID], now: int, show: Callable[[int], None] = lambda _: None
) -> list[Finding]:
    """Compare the stores about these pages. `show` is called with the number of pages that are done."""
    collection, pages, under_way = await stores.vectors.active(), 0, 0
    found, waiting = list[str](), list[str]()
    for done, page_id in enumerate(page_ids, start=1):
        page = await _read(stores, collection, page_id)
        if now - page.last_at < SETTLED_SECONDS * 1_000_000:
            under_way += 1
        else:
            pages += 1
            found += [f"{page.url or page.page_id}: {line}" for line in disagreements(page)]
            waiting += [f"{page.url or page.page_id}: {line}" for line in _of_waiting(page)]
        show(done)
    return list(_judge(pages, under_way, found, waiting))


def _judge(pages: int, under_way: int, found: Sequence[str], waiting: Sequence[str]) -> Iterator[Finding]:
    if found:
        yield failure(
            CHECK, f"{count_of(len(found), 'disagreement')} in {count_of(pages, 'page')}", "As each line says.", *found
        )
    else:
        yield ok(CHECK, f"{count_of(pages, 'page')}: history, frontier, record and index agree")
    if waiting:
        says = f"{count_of(len(waiting), 'page')} waited for a stage for over half an hour"
        yield warning(CHECK, says, "If no stage is behind, their events were lost.", *waiting)
    if under_way:
        yield ok(CHECK, f"{count_of(under_way, 'page')}, with a step in the last half hour: not compared")


async def _read(stores: Stores, collection: str | None, page_id: UUID) -> StoredPage:
    stored, record = await stores.ledger.history(page_id), await stores.pages.get(page_id)
    url = url_of(record, stored)
    row = await stores.frontier.url(host_of(url), page_id) if url else None
    known = [*stored, *(frontier_steps(row, stored) if row else ()), *removal_steps(page_id, record, stored)]
    steps = [*known, *record_steps(page_id, record, stored)]
    status = status_of(steps)

    async def count(page: UUID, generation: int | None = None) -> int:
        return await stores.vectors.count(collection, page, generation) if collection else 0

    points = await count(page_id)
    points_of_representative = None
    if status.representative and not points:
        points_of_representative = await count(status.representative)
        if not points_of_representative and await _is_on_its_way(stores, status.representative):
            points_of_representative = None
    return StoredPage(
        page_id,
        url,
        record,
        status_of(known),
        status,
        max((step.at for step in steps), default=0),
        row,
        points,
        await count(page_id, record.indexed.generation) if points else 0,
        points_of_representative,
    )


async def _is_on_its_way(stores: Stores, page_id: UUID) -> bool:
    """Return whether content of a page waits for a stage. If it waits for long, a warning of its own says so."""
    stored, record = await stores.ledger.history(page_id), await stores.pages.get(page_id)
    status = status_of([*stored, *removal_steps(page_id, record, stored), *record_steps(page_id, record, stored)])
    return status.waits_for not in {None, *_WAITS_AT_WILL}


def disagreements(page: StoredPage) -> Iterator[str]:
    """Yield what the stores don't agree about, each with what to do. Pure."""
    crawl = f"riffle crawl {shlex.quote(page.url)} --depth 0"
    host = shlex.quote(host_of(page.url)) if page.url else "HOST"
    yield from _of_index(page, crawl, f"riffle reindex --recompute --host {host}")
    yield from _of_frontier(page, crawl)
    ledger, all_stores = (page.by_ledger, page.status)
    if (ledger.status, ledger.reason) != (all_stores.status, all_stores.reason):
        replay = f"riffle replay --from ledger --host {host}"
        yield f"the ledger says {_name(ledger)}, the record says {_name(all_stores)}. {replay}"


def _of_waiting(page: StoredPage) -> Iterator[str]:
    stage = page.status.waits_for
    if stage and stage not in _WAITS_AT_WILL:
        since = f"{utc_from_micros(page.last_at):%Y-%m-%d %H:%M} UTC"
        crawl = f"riffle crawl {shlex.quote(page.url)} --depth 0"
        yield f"it waits for {stage} since {since}. riffle status --topics; then {crawl}"


def _of_index(page: StoredPage, crawl: str, recompute: str) -> Iterator[str]:
    held_back, indexed = is_held_back(page.record), indexed_page(page.page_id, page.record)
    if held_back and page.points:
        remove = f"riffle remove {shlex.quote(page.url)}"
        yield f"it was removed on request, and has {count_of(page.points, 'point')}. {remove}"
    elif page.points and page.status.status != "indexed":
        yield f"it is {_name(page.status)}, and has {count_of(page.points, 'point')}. {crawl}"
    elif page.status.status == "indexed" and not indexed:
        yield f"its history says that it is searchable, its record does not. {crawl}"
    elif (
        indexed
        and page.status.status == "indexed"
        and (page.points, page.points_of_record) != (indexed.statements,) * 2
    ):
        other = page.points - page.points_of_record
        has = f"{page.points_of_record} of them" + (f", and {other} of other fetches" if other else "")
        yield f"its record has {count_of(indexed.statements, 'statement')}, the index has {has}. {recompute}"
    if page.points_of_representative == 0:
        yield f"it is a duplicate of page {page.status.representative}, which has no point. {crawl}"


def _of_frontier(page: StoredPage, crawl: str) -> Iterator[str]:
    fetched, row = page.record.fetched, page.row
    if fetched.source != "crawl" or fetched.generation < 0:
        return  # an import, which the frontier need not know
    if row is None:
        yield f"it was crawled, and the frontier does not know it. {crawl}"
    elif row.state == "done" and row.generation < fetched.generation:
        answered = f"{utc_from_micros(fetched.generation):%Y-%m-%d %H:%M} UTC"
        yield f"the frontier has not read the answer of {answered}. {crawl}"
    elif row.ok_generation > fetched.generation:
        yield f"the frontier knows a later content than the record. {crawl}"


def _name(status: PageStatus) -> str:
    return f"{status.status} ({status.reason})" if status.reason else status.status
