"""Imports: each page once, its blob before its event, and the same events when it is repeated."""

import gzip
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from uuid import UUID

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from schemas import Event, PageFetched
from schemas.ids import page_id
from streams.clock import now_micros
from streams.crawl.archives import page_ids
from streams.crawl.archives.file_importer import import_html
from streams.crawl.archives.importer import import_warc
from streams.crawl.archives.page_ids import MAX_RECENT, PageIds
from streams.crawl.archives.readers import Limits, Placing
from streams.crawl.archives.sending import IN_FLIGHT, MAX_BODY_BYTES, ImportReport, Sender
from streams.errors import StoreUnavailable, UsageError
from streams.stores.memory import MemoryBlobs

DATE = "2024-05-01T00:00:00Z"
GENERATION = 1_714_521_600_000_000


class Sent:
    """The events that were sent. It checks that each event's blob was stored before."""

    def __init__(self, blobs: MemoryBlobs, fails_after: int = 1_000_000) -> None:
        self.blobs = blobs
        self.events: dict[str, PageFetched] = {}
        self.calls = 0
        self._fails_after = fails_after

    async def __call__(self, event: Event, cause: str) -> None:
        assert isinstance(event, PageFetched)
        assert event.body_ref
        assert len(await self.blobs.get(event.body_ref)) == event.body_bytes
        self.calls += 1
        if self.calls > self._fails_after:
            raise StoreUnavailable("Kafka is unavailable")
        self.events[cause] = event


async def test_a_page_that_was_removed_on_request_is_not_imported(tmp_path: Path) -> None:
    sent, removed = Sent(MemoryBlobs()), page_id("https://example.org/1")

    async def is_held_back(page: UUID) -> bool:
        return page == removed

    report = await import_warc(write_warc(tmp_path / "a.warc.gz"), Sender(sent.blobs, sent, is_held_back=is_held_back))
    assert report.imported == 2
    assert report.skipped["removed on request"] == 1
    assert report.examples["removed on request"] == "https://example.org/1"
    assert removed not in {event.page_id for event in sent.events.values()}


@pytest.fixture
def sent() -> Sent:
    return Sent(MemoryBlobs())


def write_warc(path: Path, pages: int = 3, targets: Sequence[str] = (), dates: Sequence[str] = ()) -> Path:
    """Write an archive with another library: some pages, and one with status 404; or the pages of these addresses."""
    output = BytesIO()
    writer = WARCWriter(output, gzip=True)
    urls = targets or [f"http://Example.org/{number}#top" for number in range(pages + 1)]
    for number, url in enumerate(urls):
        status = "200 OK" if targets or number < pages else "404 Not Found"
        answer = StatusAndHeaders(status, [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
        record = writer.create_warc_record(
            url,
            "response",
            payload=BytesIO(f"<p>Page {number}".encode()),
            http_headers=answer,
            warc_headers_dict={"WARC-Date": dates[number] if dates else DATE},
        )
        writer.write_record(record)
        record.raw_stream.close()  # a temporary file, which the library leaves open
    path.write_bytes(output.getvalue())
    return path


async def test_each_page_of_a_warc_file_is_sent(tmp_path: Path, sent: Sent) -> None:
    report = await import_warc(write_warc(tmp_path / "a.warc.gz"), Sender(sent.blobs, sent, crawl_id="c1"))
    assert (report.imported, dict(report.skipped), report.done) == (3, {"gone": 1}, report.total)
    first = next(event for event in sent.events.values() if event.url == "https://example.org/0")
    assert first == PageFetched(
        page_id=page_id("https://example.org/0"),
        url="https://example.org/0",
        host="example.org",
        outcome="ok",
        generation=GENERATION,
        max_depth=0,
        crawl_id="c1",
        status=200,
        headers={"content-type": "text/html; charset=utf-8"},
        body_ref=first.body_ref,
        body_bytes=9,
        source="warc",
        seen_at=first.seen_at,
    )


def without_import_time(sent: Sent) -> dict[str, PageFetched]:
    return {cause: event.model_copy(update={"seen_at": None}) for cause, event in sent.events.items()}


async def test_a_repeated_import_sends_the_same_events(tmp_path: Path, sent: Sent) -> None:
    path = write_warc(tmp_path / "a.warc.gz")
    await import_warc(path, Sender(sent.blobs, sent))
    first = without_import_time(sent)
    await import_warc(path, Sender(sent.blobs, sent))
    assert without_import_time(sent) == first
    assert sent.calls == 2 * len(first)


async def test_an_interrupted_import_is_completed_by_a_repetition(tmp_path: Path) -> None:
    path, blobs = write_warc(tmp_path / "a.warc.gz", IN_FLIGHT + 5), MemoryBlobs()
    interrupted, repeated = Sent(blobs, fails_after=IN_FLIGHT + 2), Sent(blobs)
    with pytest.raises(StoreUnavailable, match="Kafka is unavailable"):
        await import_warc(path, Sender(blobs, interrupted))
    await import_warc(path, Sender(blobs, repeated))
    first, second = without_import_time(interrupted), without_import_time(repeated)
    assert [second[cause] for cause in first] == list(first.values())
    assert len(repeated.events) == IN_FLIGHT + 5


async def test_progress_is_reported_up_to_the_end(tmp_path: Path, sent: Sent) -> None:
    reports: list[tuple[int, int]] = []

    def note(report: ImportReport) -> None:
        reports.append((report.seen, report.done))

    report = await import_warc(write_warc(tmp_path / "a.warc.gz", 100), Sender(sent.blobs, sent, note))
    assert reports == sorted(reports)
    assert len(reports) > 2
    assert reports[-1] == (101, report.total)


async def test_complete_records_of_a_file_that_ends_early_are_imported(tmp_path: Path, sent: Sent) -> None:
    path = write_warc(tmp_path / "a.warc.gz", 10)
    path.write_bytes(path.read_bytes()[:-900])
    report = await import_warc(path, Sender(sent.blobs, sent))
    assert 0 < report.imported < 10
    assert report.skipped["damaged record"] == 1
    assert "ends early" in report.examples["damaged record"]


@pytest.mark.parametrize("content", [b"", b"<html>", gzip.compress(b"<html>", mtime=0), b"\x1f\x8b\x08"])
async def test_a_file_that_is_not_warc_is_named_in_the_error(tmp_path: Path, sent: Sent, content: bytes) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"page\.html is not a WARC file"):
        await import_warc(path, Sender(sent.blobs, sent))


async def test_a_missing_file_is_named_in_the_error(tmp_path: Path, sent: Sent) -> None:
    with pytest.raises(UsageError, match=r"no\.warc can't be read: No such file"):
        await import_warc(tmp_path / "no.warc", Sender(sent.blobs, sent))
    with pytest.raises(UsageError, match="no is not a folder"):
        await import_html(tmp_path / "no", Sender(sent.blobs, sent))


def write_html(folder: Path, *names: str) -> Path:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<p>{name}")
        seconds = datetime(2024, 5, 1, tzinfo=UTC).timestamp()
        os.utime(file, (seconds, seconds))
    return folder


async def test_each_html_file_below_a_host_is_sent(tmp_path: Path, sent: Sent) -> None:
    folder = write_html(
        tmp_path, "a.example/x.html", "a.example/sub/y.HTM", "b.example/z.html", "b.example/z.css", "l.html"
    )
    report = await import_html(folder, Sender(sent.blobs, sent))
    assert {(event.url, event.generation, event.source) for event in sent.events.values()} == {
        ("https://a.example/x.html", GENERATION, "html"),
        ("https://a.example/sub/y.HTM", GENERATION, "html"),
        ("https://b.example/z.html", GENERATION, "html"),
    }
    assert report.skipped == {
        "not in a folder named like its host": 1,
        "style sheets, scripts and data are left out": 1,
    }
    assert (report.done, report.total) == (5, 5)


async def test_files_with_one_address_are_one_page(tmp_path: Path, sent: Sent) -> None:
    """The wait for searchable pages ends when each page is searchable, however many files a page has."""
    folder, place = write_html(tmp_path, "index.html", "index.htm", "x.html"), Placing("https://a.example/")
    report = await import_html(
        folder, Sender(sent.blobs, sent, limits=Limits(MAX_BODY_BYTES, now_micros(), place=place))
    )
    assert (report.imported, len(report.pages)) == (3, 2)


@pytest.mark.parametrize("batch", [1, 7, MAX_RECENT])
def test_the_pages_of_an_archive_are_counted_in_8_bytes_each(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_ids, "MAX_RECENT", batch)
    found = PageIds()
    assert not len(found)
    for number in [*range(100), *range(50), 7]:
        found.add(page_id(f"https://a.example/{number}"))
    assert len(found) == len(found) == 100
    assert found._sorted.nbytes == 800


async def test_only_the_small_letters_of_index_are_the_page_of_a_folder(tmp_path: Path, sent: Sent) -> None:
    """Manuals have an index of terms in `Index.html`, which took the place of their first page."""
    folder, place = write_html(tmp_path, "index.html", "Index.html"), Placing("https://a.example/")
    await import_html(folder, Sender(sent.blobs, sent, limits=Limits(MAX_BODY_BYTES, now_micros(), place=place)))
    assert {event.url for event in sent.events.values()} == {"https://a.example/", "https://a.example/Index.html"}


@pytest.mark.parametrize("trust_dates", [False, True])
async def test_only_trusted_dates_of_an_archive_are_the_age_of_its_pages(
    tmp_path: Path, sent: Sent, trust_dates: bool
) -> None:
    before = time.time_ns() // 1_000
    await import_html(write_html(tmp_path, "a.example/x.html"), Sender(sent.blobs, sent, trust_dates=trust_dates))
    await import_warc(write_warc(tmp_path / "a.warc.gz"), Sender(sent.blobs, sent, trust_dates=trust_dates))
    assert {event.source for event in sent.events.values()} == {"html", "warc"}
    for event in sent.events.values():
        if trust_dates:
            assert event.seen_at is None
        else:
            assert event.seen_at is not None
            assert before <= event.seen_at <= time.time_ns() // 1_000


CLAIMED = [
    "2005-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2024-02-30T00:00:00Z", "20240501000000",
    "2024-05-01T00:00:00+14:00", "2024-05-01T00:00:00.000000001Z", "2024-W18-3", "9999-12-31T23:59:59Z", "yesterday",
    "-1", "2024-05-01",
]  # fmt: skip
"""Dates of records, as the standard has them (WARC 1.1, section 5.4), at its limits, and as it does not have them."""


async def test_no_date_of_a_record_makes_its_page_older_than_the_import(tmp_path: Path, sent: Sent) -> None:
    before = time.time_ns() // 1_000
    file = write_warc(
        tmp_path / "a.warc.gz", targets=[f"https://a.example/{n}" for n in range(len(CLAIMED))], dates=CLAIMED
    )
    report = await import_warc(file, Sender(sent.blobs, sent))
    assert report.imported + sum(report.skipped.values()) == len(CLAIMED)
    assert report.imported == len(sent.events) > 0
    for event in sent.events.values():
        assert event.seen_at is not None
        assert before <= event.seen_at <= time.time_ns() // 1_000


async def test_symbolic_links_are_not_followed(tmp_path: Path, sent: Sent) -> None:
    folder = write_html(tmp_path / "in", "a.example/x.html")
    write_html(tmp_path / "out", "secret.html")
    (folder / "a.example" / "link.html").symlink_to(tmp_path / "out" / "secret.html")
    (folder / "b.example").symlink_to(tmp_path / "out")
    await import_html(folder, Sender(sent.blobs, sent))
    assert [event.url for event in sent.events.values()] == ["https://a.example/x.html"]


async def test_the_error_for_a_folder_without_hosts_describes_the_layout(tmp_path: Path, sent: Sent) -> None:
    with pytest.raises(UsageError, match=r"contains no page: 1 files can be read.*a folder for each host"):
        await import_html(write_html(tmp_path, "guide.html"), Sender(sent.blobs, sent))


async def test_an_import_waits_for_room_before_each_batch(tmp_path: Path, sent: Sent) -> None:
    calls: list[int] = []

    async def wait() -> None:
        calls.append(len(sent.events))

    path = write_warc(tmp_path / "a.warc.gz", 3 * IN_FLIGHT)
    await import_warc(path, Sender(sent.blobs, sent, wait_for_room=wait))
    assert calls[:3] == [0, IN_FLIGHT, 2 * IN_FLIGHT]


async def test_a_built_site_is_imported_under_the_address_that_people_read_it_at(tmp_path: Path, sent: Sent) -> None:
    for name in ("index.html", "guide/index.html", "guide/a b?.html", "api/x.htm", "api/print.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<p>{name}")
    place = Placing("https://docs.example/v2/")
    report = await import_html(
        tmp_path,
        Sender(sent.blobs, sent, limits=Limits(MAX_BODY_BYTES, now_micros(), place=place, patterns=("-*/print.html",))),
    )
    assert sorted(event.url for event in sent.events.values()) == [
        "https://docs.example/v2/",
        "https://docs.example/v2/api/x.htm",
        "https://docs.example/v2/guide/",
        "https://docs.example/v2/guide/a%20b%3F.html",
    ]
    assert report.skipped == {"left out by the patterns": 1}


@pytest.mark.parametrize(
    ("address", "urls"),
    [
        ("https://docs.example/", ["https://docs.example/1", "https://docs.example/a/"]),
        ("http://wiki:8000/x/", ["http://wiki:8000/x/1", "http://wiki:8000/x/a/"]),
    ],
)
async def test_a_copy_of_a_local_server_gets_the_address_of_the_web(
    tmp_path: Path, sent: Sent, address: str, urls: list[str]
) -> None:
    targets = ("http://LocalHost:8000/1", "http://localhost:8000/a/", "http://localhost:9000/other")
    file = write_warc(tmp_path / "a.warc.gz", targets=targets)
    report = await import_warc(
        file, Sender(sent.blobs, sent, limits=Limits(MAX_BODY_BYTES, now_micros(), place=Placing(address)))
    )
    assert sorted(event.url for event in sent.events.values()) == urls
    assert report.skipped == {"URL not allowed": 1}
    assert "--as https://docs.example/" in report.examples["URL not allowed"]
