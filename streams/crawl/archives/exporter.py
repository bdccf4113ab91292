"""The export of pages as a WARC file: the exchanges of each page, by its history.

Pages are read by token, so none is written twice. A page that is given to nobody as a copy is left out, with all its
versions, and counted by the reason: the caller knows the rule. A body that is no longer kept (it was replaced, and
nothing refers to it) is counted, and its visit is left out.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO
from uuid import UUID

from schemas import PageFetched
from streams.crawl.archives.writer import Visit, records_of
from streams.crawl.exchange import Exchange, decode_exchange
from streams.crawl.urls import host_of
from streams.errors import MissingBlob, PoisonError
from streams.stores.page_record import PageRecord
from streams.stores.protocols import Blobs, Ledger, Pages, Transition

FIRST_TOKEN, LAST_TOKEN = -(2**63), 2**63 - 1
SCANNED_PAGES = 200
"""Number of pages that are asked for at once."""


@dataclass(slots=True)
class ExportReport:
    """The progress of an export."""

    pages: int = 0
    records: int = 0
    written_bytes: int = 0
    missing: int = 0
    """Number of visits whose body is no longer kept."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of pages that are no part of the archive, by the reason."""
    share: float = 0.0
    """Share of the pages that were looked at (0..1)."""


Refusal = Callable[[PageRecord, Sequence[Transition]], str]
"""Returns why a page with this record and history is left out, in a word; an empty text if it is not."""


@dataclass(frozen=True, slots=True)
class ExportSource:
    """The stores that an export reads."""

    pages: Pages
    ledger: Ledger
    blobs: Blobs


async def export_warc(
    source: ExportSource,
    file: BinaryIO,
    progress: Callable[[ExportReport], None],
    refusal: Refusal,
    *,
    hosts: frozenset[str] = frozenset(),
) -> ExportReport:
    """Write the pages of these hosts, or of all, to a file that has its first record already."""
    report = ExportReport()
    async for found, share in scan_all(source.pages):
        for page in found:
            history = await source.ledger.history(page)
            events = _fetches(history)
            if events and (not hosts or host_of(events[0].url) in hosts):
                if reason := refusal(await source.pages.get(page), history):
                    report.left_out[reason] = report.left_out.get(reason, 0) + 1
                    continue
                visits = [visit async for visit in _visits(source.blobs, events, report)]
                _write(file, records_of(visits), report)
        report.share = share
        progress(report)
    report.share = 1.0
    progress(report)
    return report


async def scan_all(pages: Pages) -> AsyncIterator[tuple[list[UUID], float]]:
    """Yield all pages by token, some at a time, with the share of the pages that were looked at then (0..1)."""
    after = FIRST_TOKEN
    while rows := await pages.scan(after, LAST_TOKEN, SCANNED_PAGES):
        after = rows[-1][0]
        yield [page for _, page in rows], (after - FIRST_TOKEN) / (LAST_TOKEN - FIRST_TOKEN)


def _write(file: BinaryIO, records: Iterable[bytes], report: ExportReport) -> None:
    written = 0
    for record in records:
        file.write(record)
        report.written_bytes += len(record)
        written += 1
    report.records += written
    report.pages += bool(written)


def _fetches(history: Iterable[Transition]) -> list[PageFetched]:
    """Return the fetches of the page itself, oldest first."""
    events = (PageFetched.model_validate(dict(step.data)) for step in history if step.topic == PageFetched.topic)
    return [event for event in events if event.purpose == "page" and event.outcome in ("ok", "not_modified")]


async def _visits(blobs: Blobs, events: Iterable[PageFetched], report: ExportReport) -> AsyncIterator[Visit]:
    for event in events:
        exchange = await _exchange(blobs, event)
        if event.body_ref is None:
            yield Visit(event, None, exchange)
            continue
        try:
            yield Visit(event, await blobs.get(event.body_ref), exchange)
        except MissingBlob:
            report.missing += 1


async def _exchange(blobs: Blobs, event: PageFetched) -> Exchange | None:
    if event.exchange_ref is None or event.outcome != "ok":  # a 304 has the reference of the last content
        return None
    try:
        return decode_exchange(await blobs.get(event.exchange_ref))
    except (MissingBlob, PoisonError):
        return None
