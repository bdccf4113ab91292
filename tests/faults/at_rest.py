"""The state of the stores after a crawl: the index equals the pages on disk, and nothing is in limbo.

In limbo would be a URL that is queued or leased for ever, a page without a final status, or an event that no stage
handles.
"""

import asyncio
from uuid import UUID

from schemas.ids import page_id
from streams.crawl.frontier.progress import crawl_progress
from streams.crawl.urls import canonicalize, host_of
from streams.ledger.history import history_of
from streams.ledger.status import status_of
from streams.runtime.lags.stage_lags import Lag, stage_lags
from streams.runtime.topics import describe_topics
from streams.settings import Settings
from streams.statements.statement import decode_statements
from streams.stores.opener import Stores
from streams.stores.page_record import Deduplicated, Fetched, Indexed
from streams.topology import STAGES
from streams.vectors.points import encode_vectors, texts_of
from tests.faults.disk_web import DiskWeb

LOOK_SECONDS = 1.0


async def until_idle(settings: Settings, seconds: float) -> None:
    """Wait until no event waits anywhere: a replay may outlast the crawl."""
    lags: list[Lag] = []
    for _ in range(int(seconds / LOOK_SECONDS)):
        lags = await asyncio.to_thread(stage_lags, settings)
        if not any(lag.events for lag in lags):
            break
        await asyncio.sleep(LOOK_SECONDS)
    waiting = {lag.topic: lag.events for lag in lags if lag.events}
    assert not waiting, f"events still wait: {waiting}"
    lost = {(lag.stage, lag.topic): lag.lost for lag in lags if lag.lost}
    assert not lost, f"events were deleted unhandled: {lost}"


def dead_letters(settings: Settings) -> dict[str, int]:
    """The number of dead letters of each topic that has some."""
    dead = {stage.dead_topic for stage in STAGES}
    return {
        state.topic.name: state.messages
        for state in describe_topics(settings)
        if state.topic.name in dead and state.messages
    }


async def check_limbo(stores: Stores, crawl_id: str, web: DiskWeb) -> None:
    """Raise AssertionError unless each URL of the web has come to its end."""
    progress = await crawl_progress(stores, crawl_id)
    assert (progress.pending, progress.deferred, progress.digesting) == (0, 0, 0), f"URLs are in limbo: {progress}"
    allowed, refused = ([canonicalize(url) for url in sorted(urls)] for urls in (web.allowed, web.refused))
    for host in {host_of(url) for url in allowed}:
        row = await stores.frontier.host(host)
        assert row, f"the frontier does not know {host}"
        assert not row.state.get("leases"), f"leased for ever: {row.state['leases']}"
    ends = await asyncio.gather(*(_end(stores, url) for url in allowed))
    wrong = {url: end for url, end in zip(allowed, ends, strict=True) if end not in _GOOD_ENDS}
    assert not wrong, f"pages without a final status: {wrong}"
    fetched = [url for url in refused if (await stores.pages.get(page_id(url))).has(Fetched)]
    assert not fetched, f"fetched against robots.txt: {fetched}"


_GOOD_ENDS = {("done", status, None) for status in ("indexed", "duplicate")}


async def _end(stores: Stores, address: str) -> tuple[str, str, str | None]:
    """The state of a page's URL in the frontier, its status in the ledger, and the stage that it waits for."""
    page = page_id(address)
    url = await stores.frontier.url(host_of(address), page)
    status = status_of(await history_of(stores, page))
    return (url.state if url else "unknown", status.status, status.waits_for)


async def check_index(stores: Stores, web: DiskWeb) -> dict[str, int]:
    """Raise AssertionError unless each allowed page was stored as it is on disk, and is in the index with exactly its
    statements, or is a duplicate of a page that is. Returns the numbers of pages and statements."""
    collection = await stores.vectors.ensure(await stores.embedder.info())
    indexed: dict[UUID, int] = {}
    duplicates: dict[UUID, UUID] = {}
    lost, wrong, changed = [], [], []
    for url in sorted(web.allowed):
        page = page_id(canonicalize(url))
        record = await stores.pages.get(page)
        representative = record.deduplicated.canonical_page_id or page
        if not record.has(Fetched) or not record.has(Indexed if representative == page else Deduplicated):
            lost.append((url, sorted(record.rows)))
            continue
        if await stores.blobs.get(record.fetched.body_ref or "") != web.files[url].read_bytes():
            changed.append(url)
        points = {hit.id for hit in await stores.vectors.scroll(collection, page)}
        wanted = set() if representative != page else await _statements(stores, record.indexed.statements_ref)
        if points != wanted:
            wrong.append((url, f"{len(points - wanted)} points too many, {len(wanted - points)} missing"))
        if representative == page:
            indexed[page] = len(wanted)
        else:
            duplicates[page] = representative
    assert not lost, f"never became searchable: {lost[:10]}"
    assert not changed, f"stored otherwise than on disk: {changed[:10]}"
    assert not wrong, f"not exactly its statements in the index: {wrong[:10]}"
    adrift = {page for page, representative in duplicates.items() if representative not in indexed}
    assert not adrift, f"duplicates of pages that are not indexed: {adrift}"
    total = await stores.vectors.count(collection)
    assert total == sum(indexed.values()), "the index holds statements of pages that should not be there"
    return {"indexed": len(indexed), "duplicates": len(duplicates), "statements": total}


async def check_vectors(stores: Stores, web: DiskWeb) -> int:
    """Raise AssertionError unless the stored vectors of each indexed page are the model's. Returns their number."""
    wrong, compared = [], 0
    for url in sorted(web.allowed):
        record = await stores.pages.get(page_id(canonicalize(url)))
        if not record.has(Indexed):
            continue
        part = record.indexed
        texts = texts_of(decode_statements(await stores.blobs.get(part.statements_ref)))
        expected = encode_vectors(part.statements_ref, await stores.embedder.embed(texts, "passage"))
        if await stores.blobs.get(part.vectors_ref) != expected:
            wrong.append(url)
        compared += len(texts)
    assert not wrong, f"other vectors than the model's: {wrong[:10]}"
    assert compared, "no vectors were stored"
    return compared


async def _statements(stores: Stores, reference: str) -> set[UUID]:
    return {statement.id for statement in decode_statements(await stores.blobs.get(reference)).statements}
