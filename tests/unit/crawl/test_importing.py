"""Imports: every page once, blob before event, and the same again when it is run again."""

import gzip
import os
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from schemas import Event, PageFetched
from schemas.ids import page_id
from streams.crawl.archives.importer import IN_FLIGHT, ImportReport, import_html, import_warc
from streams.errors import StoreUnavailable, UsageError
from streams.stores.memory import MemoryBlobs

DATE = "2024-05-01T00:00:00Z"
GENERATION = 1_714_521_600_000_000


class Sent:
    """Where events go; checks that each event's blob is there before it."""

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
            raise StoreUnavailable("Kafka is away")
        self.events[cause] = event


@pytest.fixture
def sent() -> Sent:
    return Sent(MemoryBlobs())


def write_warc(path: Path, pages: int = 3) -> Path:
    """An archive as another library writes it: a page each, and one that isn't there."""
    output = BytesIO()
    writer = WARCWriter(output, gzip=True)
    for number in range(pages + 1):
        status = "200 OK" if number < pages else "404 Not Found"
        answer = StatusAndHeaders(status, [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
        record = writer.create_warc_record(
            f"http://Example.org/{number}#top",
            "response",
            payload=BytesIO(f"<p>Page {number}".encode()),
            http_headers=answer,
            warc_headers_dict={"WARC-Date": DATE},
        )
        writer.write_record(record)
        record.raw_stream.close()  # a temporary file, which the library leaves open
    path.write_bytes(output.getvalue())
    return path


async def test_every_page_of_a_warc_is_sent(tmp_path: Path, sent: Sent) -> None:
    report = await import_warc(write_warc(tmp_path / "a.warc.gz"), sent.blobs, sent, crawl_id="c1")
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
    )


async def test_an_import_that_is_run_again_sends_the_same(tmp_path: Path, sent: Sent) -> None:
    path = write_warc(tmp_path / "a.warc.gz")
    await import_warc(path, sent.blobs, sent)
    once = dict(sent.events)
    await import_warc(path, sent.blobs, sent)
    assert sent.events == once
    assert sent.calls == 2 * len(once)


async def test_an_import_that_was_cut_off_is_completed_when_it_is_run_again(tmp_path: Path) -> None:
    path, blobs = write_warc(tmp_path / "a.warc.gz", IN_FLIGHT + 5), MemoryBlobs()
    cut_off, again = Sent(blobs, fails_after=IN_FLIGHT + 2), Sent(blobs)
    with pytest.raises(StoreUnavailable, match="Kafka is away"):
        await import_warc(path, blobs, cut_off)
    await import_warc(path, blobs, again)
    assert cut_off.events.items() <= again.events.items()
    assert len(again.events) == IN_FLIGHT + 5


async def test_progress_is_told_and_ends_at_the_end(tmp_path: Path, sent: Sent) -> None:
    told: list[tuple[int, int]] = []

    def tell(report: ImportReport) -> None:
        told.append((report.seen, report.done))

    report = await import_warc(write_warc(tmp_path / "a.warc.gz", 100), sent.blobs, sent, tell)
    assert told == sorted(told)
    assert len(told) > 2
    assert told[-1] == (101, report.total)


async def test_what_is_whole_in_a_file_that_is_cut_off_is_imported(tmp_path: Path, sent: Sent) -> None:
    path = write_warc(tmp_path / "a.warc.gz", 10)
    path.write_bytes(path.read_bytes()[:-900])
    report = await import_warc(path, sent.blobs, sent)
    assert 0 < report.imported < 10
    assert report.skipped["damaged record"] == 1
    assert "cut off" in report.examples["damaged record"]


@pytest.mark.parametrize("content", [b"", b"<html>", gzip.compress(b"<html>"), b"\x1f\x8b\x08"])
async def test_a_file_that_is_no_warc_is_named(tmp_path: Path, sent: Sent, content: bytes) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"page\.html is not a WARC file"):
        await import_warc(path, sent.blobs, sent)


async def test_a_file_that_is_not_there_is_named(tmp_path: Path, sent: Sent) -> None:
    with pytest.raises(UsageError, match=r"no\.warc can't be read: No such file"):
        await import_warc(tmp_path / "no.warc", sent.blobs, sent)
    with pytest.raises(UsageError, match="no is not a folder"):
        await import_html(tmp_path / "no", sent.blobs, sent)


def write_html(folder: Path, *names: str) -> Path:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<p>{name}")
        seconds = datetime(2024, 5, 1, tzinfo=UTC).timestamp()
        os.utime(file, (seconds, seconds))
    return folder


async def test_every_html_file_below_a_host_is_sent(tmp_path: Path, sent: Sent) -> None:
    folder = write_html(
        tmp_path, "a.example/x.html", "a.example/sub/y.HTM", "b.example/z.html", "b.example/z.css", "l.html"
    )
    report = await import_html(folder, sent.blobs, sent)
    assert {(event.url, event.generation, event.source) for event in sent.events.values()} == {
        ("https://a.example/x.html", GENERATION, "html"),
        ("https://a.example/sub/y.HTM", GENERATION, "html"),
        ("https://b.example/z.html", GENERATION, "html"),
    }
    assert report.skipped == {"not below a folder that is named as its host": 1}
    assert (report.done, report.total) == (4, 4)


async def test_symbolic_links_are_not_followed(tmp_path: Path, sent: Sent) -> None:
    folder = write_html(tmp_path / "in", "a.example/x.html")
    write_html(tmp_path / "out", "secret.html")
    (folder / "a.example" / "link.html").symlink_to(tmp_path / "out" / "secret.html")
    (folder / "b.example").symlink_to(tmp_path / "out")
    await import_html(folder, sent.blobs, sent)
    assert [event.url for event in sent.events.values()] == ["https://a.example/x.html"]


async def test_a_folder_without_hosts_says_how_it_must_be(tmp_path: Path, sent: Sent) -> None:
    with pytest.raises(UsageError, match=r"holds no page: 1 HTML files were found.*a folder for each host"):
        await import_html(write_html(tmp_path, "guide.html"), sent.blobs, sent)
