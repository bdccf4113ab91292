"""WACZ files: the WARC files in them are read where they are, and false sizes and places end no import."""

import io
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import Event, PageFetched
from streams.crawl.archives import wacz
from streams.crawl.archives.importer import import_warc
from streams.crawl.archives.sending import ImportReport, Sender
from streams.crawl.archives.wacz import NotWacz, warcs_of
from streams.errors import UsageError
from streams.stores.memory import MemoryBlobs
from tests.unit.crawl.test_revisits import GZIPPED, PLAIN, A, B

PACKED = "a WARC file packed by the zip: unpack it with `unzip`, and import it by itself"


def zipped(method: int = zipfile.ZIP_STORED, comment: bytes = b"", force_zip64: bool = False, **files: bytes) -> bytes:
    """Write a WACZ file with its pages and these archives."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", method) as made:
        made.writestr("datapackage.json", "{}", zipfile.ZIP_DEFLATED)
        for name, content in files.items():
            with made.open(f"archive/{name.replace('_', '.')}", "w", force_zip64=force_zip64) as file:
                file.write(content)
        made.writestr("pages/pages.jsonl", '{"format": "json-pages-1.0"}\n', zipfile.ZIP_DEFLATED)
        made.comment = comment
    return output.getvalue()


async def read(folder: Path, content: bytes, skip: int = 0) -> tuple[list[str], ImportReport]:
    sent: list[str] = []

    async def emit(event: Event, cause: str) -> None:
        assert isinstance(event, PageFetched)
        sent.append(event.url)

    (folder / "a.wacz").write_bytes(content)
    report = await import_warc(folder / "a.wacz", Sender(MemoryBlobs(), emit, skip=skip))
    return sent, report


WARC = b"".join(GZIPPED)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(zipped(data_warc_gz=WARC), id="a packed WARC file, with a revisit"),
        pytest.param(zipped(data_warc=b"".join(PLAIN)), id="not packed"),
        pytest.param(zipped(a_warc_gz=GZIPPED[0], b_warc_gz=WARC), id="several"),
        pytest.param(
            zipped(data_warc_gz=WARC, comment=b"PK\x05\x06" * 9 + bytes(30)), id="a comment that looks like an end"
        ),
        pytest.param(zipped(data_warc_gz=WARC, force_zip64=True), id="with the fields of zip64"),
    ],
)
async def test_the_pages_of_its_archives_are_imported(tmp_path: Path, content: bytes) -> None:
    urls, report = await read(tmp_path, content)
    assert (set(urls), report.skipped) == ({A, B}, {})


async def test_a_stopped_import_goes_on_where_it_was(tmp_path: Path) -> None:
    assert (await read(tmp_path, zipped(data_warc_gz=WARC), skip=1))[0] == [B]


async def test_what_the_zip_has_packed_again_is_counted_with_advice(tmp_path: Path) -> None:
    output = io.BytesIO(zipped(data_warc_gz=WARC))
    with zipfile.ZipFile(output, "a", zipfile.ZIP_DEFLATED) as made:
        made.writestr("archive/more.warc", b"".join(PLAIN))
    urls, report = await read(tmp_path, output.getvalue())
    assert (urls, report.skipped) == ([A, B], {PACKED: 1})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK\x03\x04", "no directory"),
        (zipped(data_warc_gz=WARC)[:-30], "no directory"),
        (zipped(), "without any WARC file in its folder `archive`"),
    ],
)
async def test_another_file_is_named_in_the_error(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(UsageError, match=f"a.wacz is not a WACZ file: .*{says}"):
        await read(tmp_path, content)


async def test_an_archive_that_is_no_warc_file_is_counted(tmp_path: Path) -> None:
    urls, report = await read(tmp_path, zipped(a_warc=b"<html>", b_warc_gz=WARC))
    assert (urls, report.skipped) == ([A, B], {"no WARC file": 1})


def test_a_false_size_of_the_directory_takes_no_memory() -> None:
    content = bytearray(zipped(data_warc_gz=WARC))
    struct.pack_into("<I", content, content.rfind(b"PK\x05\x06") + 12, wacz.MAX_DIRECTORY_BYTES + 1)
    with pytest.raises(NotWacz, match="are read"):
        list(warcs_of(io.BytesIO(bytes(content))))


@given(st.binary(min_size=1, max_size=60), st.integers(0, 5_000))
def test_any_bytes_raise_nothing_else(noise: bytes, position: int) -> None:
    content = bytearray(zipped(data_warc_gz=WARC, force_zip64=True))
    position %= len(content)
    content[position : position + len(noise)] = noise
    try:
        for warc in warcs_of(io.BytesIO(bytes(content))):
            assert warc.file is None or len(warc.file.read()) <= len(content)
    except NotWacz:
        return
