"""The export of pages as WARC: another library reads what was written, and an import of it gives the same pages."""

import gzip
import json
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from warcio.archiveiterator import ArchiveIterator

from schemas import Event, LinkFound, PageFetched, PageRemoved
from schemas.envelope import utc_from_micros
from schemas.ids import page_id
from streams.crawl.archives.common_crawl_importer import import_common_crawl
from streams.crawl.archives.exporter import ExportReport, ExportSource, export_warc
from streams.crawl.archives.importer import import_warc, import_wat
from streams.crawl.archives.sending import ImportPlace, Sender, archive_name
from streams.crawl.archives.writer import IDENTICAL, NOT_MODIFIED, warcinfo
from streams.crawl.exchange import Exchange, encode_exchange
from streams.errors import UsageError
from streams.maintenance.page_copies import reason_against_archive
from streams.robot_name import ROBOT
from streams.stores.memory import MemoryBlobs, MemoryLedger, MemoryPages
from streams.stores.page_record import Fetched, Normalized, Removed
from streams.stores.protocols import Site, Transition

URL = "https://sea.example/tides?a=1"
BODY = b"<p>Tides come twice a day."
SENT = b"GET /tides?a=1 HTTP/1.1\r\nHost: sea.example\r\nUser-Agent: x\r\n\r\n"
HEAD = (
    b"HTTP/1.1 200 Fine\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n"
    b"Transfer-Encoding: chunked\r\nX-Odd:  two  spaces\r\n\r\n"
)
NOON = 1_767_268_800_000_000
"""Microseconds: 1 January 2026, 12:00 UTC."""


class World:
    """Stores with the history of some pages."""

    def __init__(self) -> None:
        self.blobs, self.pages, self.ledger = MemoryBlobs(), MemoryPages(), MemoryLedger()

    async def fetched(
        self, hours: int, body: bytes | None = BODY, *, url: str = URL, kept: bool = True, **facts: Any
    ) -> None:
        at = NOON + hours * 3_600_000_000
        exchange = Exchange(SENT, HEAD, "192.0.2.7", gzip.compress(body or b"", mtime=0))
        event = PageFetched(
            page_id=page_id(url),
            url=url,
            host="sea.example",
            generation=at,
            body_ref=None if body is None else await self.blobs.put(body),
            exchange_ref=await self.blobs.put(encode_exchange(exchange)) if kept and body is not None else None,
            **{"outcome": "ok" if body is not None else "not_modified", "status": 200, **facts},
        )
        await self.pages.put(event.page_id, Fetched.of_event(event), at)
        data = event.model_dump(mode="json")
        step = Transition(event.page_id, UUID(int=at), event.topic, "/riffle/fetch", at, data=data)
        await self.ledger.record(step)

    async def export(
        self, *hosts: str, sites: Sequence[Site] = (), private: bool = False
    ) -> tuple[bytes, ExportReport]:
        file = BytesIO(warcinfo("a.warc.gz", "riffle/0", utc_from_micros(NOON)))
        file.seek(0, 2)
        source = ExportSource(self.pages, self.ledger, self.blobs)
        against = partial(reason_against_archive, robot=ROBOT, sites=sites, with_private=private)
        report = await export_warc(source, file, lambda _: None, against, hosts=frozenset(hosts))
        return file.getvalue(), report

    async def normalized(self, *directives: str, url: str = URL) -> None:
        """The page was read, and these are its directives."""
        await self.pages.put(page_id(url), Normalized.of_row({"directives": directives}), NOON)

    async def removed(self, reason: str, hours: int, url: str = URL) -> None:
        at = NOON + hours * 3_600_000_000
        event = PageRemoved.model_validate({"page_id": page_id(url), "url": url, "generation": at, "reason": reason})
        data = event.model_dump(mode="json")
        await self.pages.put(event.page_id, Removed.of_row({"reason": reason, "generation": at}), at)
        await self.ledger.record(Transition(event.page_id, UUID(int=at), event.topic, "/riffle/x", at, data=data))


def read(content: bytes) -> list[tuple[str, Any, bytes]]:
    return [
        (record.rec_type, record, record.raw_stream.read())
        for record in ArchiveIterator(BytesIO(content), check_digests="raise")
    ]


async def test_another_library_reads_each_exchange_as_it_was() -> None:
    world = World()
    await world.fetched(0)
    await world.fetched(1, None, status=304)
    await world.fetched(2)
    await world.fetched(3, b"<p>Changed.", kept=False, headers={"content-type": "text/html"}, source="warc")
    content, report = await world.export()
    records = read(content)
    assert [kind for kind, _, _ in records] == [
        "warcinfo", "response", "request", "metadata", "revisit", "revisit", "resource", "metadata",
    ]  # fmt: skip
    (_, response, received), (_, request, _) = records[1:3]
    assert response.http_headers.get_statuscode() == "200"
    assert response.http_headers.get_header("X-Odd") == "two  spaces"
    assert response.http_headers.get_header("Transfer-Encoding") is None, "the chunks are joined"
    assert gzip.decompress(received) == BODY, "as it was received"
    assert response.rec_headers["WARC-IP-Address"] == "192.0.2.7"
    assert response.rec_headers["WARC-Date"] == "2026-01-01T12:00:00.000000Z"
    assert request.http_headers.get_header("User-Agent") == "x"
    assert request.rec_headers["WARC-Concurrent-To"] == response.rec_headers["WARC-Record-ID"]
    profiles = [record.rec_headers["WARC-Profile"] for kind, record, _ in records if kind == "revisit"]
    assert profiles == [NOT_MODIFIED, IDENTICAL]
    assert records[6][2] == b"<p>Changed."
    assert (report.pages, report.records, report.share) == (1, 7, 1.0)


async def test_a_second_library_reads_the_same_records() -> None:
    world = World()
    await world.fetched(0)
    await world.fetched(1, None, status=304)
    await world.fetched(2)
    fastwarc = pytest.importorskip("fastwarc")  # comes with another extractor, where that has a wheel
    content, _ = await world.export()
    found = [
        (
            str(record.record_type).rpartition(".")[2],
            record.record_id,
            record.reader.read(),
            record.verify_block_digest(),
        )
        for record in fastwarc.ArchiveIterator(BytesIO(content), parse_http=True)
        if not str(record.record_type).endswith("warcinfo")
    ]
    expected = [
        (kind, record.rec_headers["WARC-Record-ID"], received)
        for kind, record, received in read(content)
        if kind != "warcinfo"
    ]
    assert [each[:3] for each in found] == expected


async def test_an_import_of_an_export_gives_the_same_pages(tmp_path: Path) -> None:
    world, sent = World(), list[Event]()
    await world.fetched(0)
    await world.fetched(0, url="https://land.example/")
    content, _ = await world.export("sea.example")
    (tmp_path / "a.warc.gz").write_bytes(content)
    blobs = MemoryBlobs()

    async def emit(event: Event, cause: str) -> None:
        sent.append(event)

    report = await import_warc(tmp_path / "a.warc.gz", Sender(blobs, emit))
    (event,) = sent
    assert isinstance(event, PageFetched)
    assert event.body_ref
    assert (event.url, event.generation, await blobs.get(event.body_ref)) == (URL, NOON, BODY)
    assert event.seen_at is not None, "an archive's own date is no age"
    assert report.imported == 1
    again = await import_warc(tmp_path / "a.warc.gz", Sender(blobs, emit, skip=report.seen))
    assert (again.imported, again.resumed) == (0, report.seen)


async def test_an_export_counts_what_is_no_longer_kept() -> None:
    world = World()
    await world.fetched(0)
    world.blobs = MemoryBlobs()
    content, report = await world.export()
    assert (report.pages, report.missing) == (0, 1)
    assert [kind for kind, _, _ in read(content)] == ["warcinfo"]


LEFT_OUT = [
    # headers of the answer, directives of the page, reason of a removal an hour later; why the archive lacks the page
    ({}, [], "", ""),
    ({"x-robots-tag": "noindex, noarchive, noai"}, [], "", "noarchive"),
    ({"x-robots-tag": "rifflebot: none"}, [], "", "noindex"),
    ({"x-robots-tag": "otherbot: noarchive"}, [], "", ""),
    ({"x-robots-tag": "nofollow, noai"}, [], "", ""),  # models do not read it, and people may have a copy
    ({}, ["nofollow", "nosnippet"], "", "nosnippet"),  # of an element
    ({}, ["noindex"], "noindex", "noindex"),
    ({}, [], "noindex", "noindex"),  # such as a past date
    ({}, [], "gone", "gone"),
    ({}, [], "refused", "refused"),  # by robots.txt
    ({}, [], "blocked", "blocked"),
    ({}, [], "request", "request"),
    ({}, [], "duplicate", ""),  # it is still there
]


@pytest.mark.parametrize(("headers", "directives", "removed", "reason"), LEFT_OUT)
async def test_pages_that_nobody_gets_are_in_no_archive(
    headers: dict[str, str], directives: list[str], removed: str, reason: str
) -> None:
    world = World()
    await world.fetched(0, url="https://sea.example/other")
    await world.fetched(0, headers=headers)
    await world.normalized(*directives)
    if removed:
        await world.removed(removed, 1)
    content, report = await world.export()
    urls = {record.rec_headers["WARC-Target-URI"] for _, record, _ in read(content)[1:]}
    assert urls == {"https://sea.example/other", *([] if reason else [URL])}
    assert (report.pages, report.left_out) == ((1, {reason: 1}) if reason else (2, {}))


def record(kind: str, headers: str, block: bytes) -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: 2025-05-05T05:05:05Z\r\n{headers}Content-Length: {len(block)}"
    return gzip.compress(head.encode() + b"\r\n\r\n" + block + b"\r\n\r\n")


class Sent:
    def __init__(self) -> None:
        self.blobs, self.events = MemoryBlobs(), list[Event]()

    async def emit(self, event: Event, cause: str) -> None:
        self.events.append(event)


async def test_texts_of_another_crawler_are_imported(tmp_path: Path) -> None:
    target = f"WARC-Target-URI: {URL}\r\nContent-Type: text/plain\r\n"
    (tmp_path / "a.wet.gz").write_bytes(record("warcinfo", "", b"") + record("conversion", target, b"Ebb, Flut"))
    sent = Sent()
    await import_warc(tmp_path / "a.wet.gz", Sender(sent.blobs, sent.emit, trust_dates=True))
    (event,) = sent.events
    assert isinstance(event, PageFetched)
    assert (event.url, event.headers, event.seen_at) == (URL, {"content-type": "text/plain; charset=utf-8"}, None)


async def test_links_of_another_crawler_are_imported(tmp_path: Path) -> None:
    links = [
        {"path": "A@/href", "url": "https://moon.example/", "text": "the  Moon"},
        {"path": "A@/href", "url": "https://moon.example/far", "text": "far side", "rel": "nofollow"},
        {"path": "A@/href", "url": "/own"},
        {"path": "IMG@/src", "url": "https://pictures.example/a"},
    ]
    envelope = {
        "WARC-Header-Metadata": {"WARC-Target-URI": URL, "WARC-Date": "2025-05-05T05:05:05Z"},
        "Payload-Metadata": {"HTTP-Response-Metadata": {"HTML-Metadata": {"Links": links}}},
    }
    block = json.dumps({"Envelope": envelope}).encode()
    content = record("metadata", "Content-Type: application/json\r\n", block) + record("metadata", "", b"[1]")
    (tmp_path / "a.wat.gz").write_bytes(content)
    sent = Sent()
    report = await import_wat(tmp_path / "a.wat.gz", Sender(sent.blobs, sent.emit))
    (event,) = sent.events
    assert isinstance(event, LinkFound)
    found = [(link.target_url, link.anchor, link.nofollow) for link in event.each()]
    assert found == [
        ("https://moon.example/", "the Moon", False),
        ("https://moon.example/far", "far side", True),
    ]
    assert (report.imported, dict(report.skipped)) == (1, {"damaged record": 1})


async def test_pages_of_a_host_are_imported_by_the_index_of_common_crawl(tmp_path: Path) -> None:
    world = World()
    await world.fetched(0)
    content, _ = await world.export()
    (tmp_path / "crawl-data").mkdir()
    (tmp_path / "crawl-data" / "a.warc.gz").write_bytes(content)
    start = len(warcinfo("a.warc.gz", "riffle/0", utc_from_micros(NOON)))
    place = {"url": URL, "status": "200", "filename": "crawl-data/a.warc.gz", "offset": start, "length": len(content)}
    rows = [
        place,
        {**place, "status": "404"},
        {**place, "url": "https://land.example/"},
        {**place, "filename": "../../etc/passwd"},
        {**place, "offset": start + 1},
    ]
    lines = [f"example,sea)/tides 20260101120000 {json.dumps(row)}" for row in rows]
    (tmp_path / "cdx.gz").write_bytes(gzip.compress("\n".join([*lines, "no line of an index"]).encode()))
    sent = Sent()
    report = await import_common_crawl(
        [tmp_path / "cdx.gz"], Sender(sent.blobs, sent.emit), hosts=frozenset({"sea.example"}), warc_folder=tmp_path
    )
    assert [event.url for event in sent.events if isinstance(event, PageFetched)] == [URL]
    assert (report.imported, dict(report.skipped)) == (
        1,
        {"WARC file is not here": 1, "no response at its place": 1, "no readable line of an index": 1},
    )


LISTED = [
    ("cc-index.paths.gz", ["cc-index/collections/CC/indexes/cdx-00000.gz"], "the index at its whole path"),
    ("cc-index.paths", ["elsewhere/cdx-00000.gz", "x/cluster.idx", "x/metadata.yaml"], "by its name, not compressed"),
    ("warc.paths.gz", ["crawl-data/CC/warc/a.warc.gz"], "a whole WARC file"),
]


@pytest.mark.parametrize(("name", "paths", "_why"), LISTED, ids=[case[2] for case in LISTED])
async def test_lists_of_paths_of_common_crawl_are_followed(
    name: str, paths: list[str], _why: str, tmp_path: Path
) -> None:
    world = World()
    await world.fetched(0)
    content, _ = await world.export()
    warc = tmp_path / "crawl-data" / "CC" / "warc" / "a.warc.gz"
    index = tmp_path / "cc-index" / "collections" / "CC" / "indexes" / "cdx-00000.gz"
    for file in (warc, index):
        file.parent.mkdir(parents=True)
    warc.write_bytes(content)
    start = len(warcinfo("a.warc.gz", "riffle/0", utc_from_micros(NOON)))
    place = {"url": URL, "status": "200", "filename": "a.warc.gz", "offset": start, "length": len(content)}
    (warc.parent / "a.warc.gz").write_bytes(content)
    (tmp_path / "a.warc.gz").write_bytes(content)
    index.write_bytes(gzip.compress(f"example,sea)/tides 20260101120000 {json.dumps(place)}\n".encode()))
    (tmp_path / "cdx-00000.gz").write_bytes(index.read_bytes())
    lines = "\n".join([*paths, "crawl-data/CC/warc/missing.warc.gz", "../../etc/cdx-1.gz", ""]).encode()
    (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)

    async def read(*hosts: str, skip: int = 0) -> tuple[list[str], dict[str, int]]:
        sent = Sent()
        report = await import_common_crawl(
            [tmp_path / name], Sender(sent.blobs, sent.emit, skip=skip), hosts=frozenset(hosts), warc_folder=tmp_path
        )
        skipped = {reason: count for reason, count in report.skipped.items() if not reason.startswith("no page, ")}
        return [event.url for event in sent.events if isinstance(event, PageFetched)], skipped

    assert await read("sea.example") == ([URL], {"listed file is not here": 2})
    assert await read("sea.example", skip=2) == ([URL], {}), "a run that was stopped goes on"
    assert await read("sea.example", skip=3) == ([], {})
    assert await read("land.example") == ([], {"listed file is not here": 2})


async def test_a_list_without_any_file_here_is_refused(tmp_path: Path) -> None:
    (tmp_path / "warc.paths").write_text("crawl-data/a.warc.gz\n")
    with pytest.raises(UsageError, match="none of the 1 files"):
        await import_common_crawl(
            [tmp_path / "warc.paths"], Sender(Sent().blobs, Sent().emit), hosts=frozenset(), warc_folder=tmp_path
        )


def test_an_import_that_was_stopped_goes_on_while_its_archive_is_the_same(tmp_path: Path) -> None:
    archive = tmp_path / "a.warc"
    archive.write_bytes(b"1")
    place = ImportPlace(tmp_path / "imports", archive_name(archive))
    assert place.load() == 0
    place.save(64)
    assert ImportPlace(tmp_path / "imports", archive_name(archive)).load() == 64
    archive.write_bytes(b"12")
    assert ImportPlace(tmp_path / "imports", archive_name(archive)).load() == 0
    place.clear()
    assert place.load() == 0


async def test_pages_of_private_sites_are_written_only_if_asked_for() -> None:
    world, other = World(), "https://lake.example/"
    await world.fetched(0)
    await world.fetched(0, url=other, body=b"<p>Lakes have no tides.")
    sites = [Site("sea", "The sea", ("sea.example",), is_private=True)]
    content, report = await world.export(sites=sites)
    assert (report.pages, report.left_out) == (1, {"of a private site": 1})
    with gzip.open(BytesIO(content)) as file:
        written = file.read()
    assert URL.encode() not in written
    assert other.encode() in written
    _, report = await world.export(sites=sites, private=True)
    assert (report.pages, report.left_out) == (2, {})
