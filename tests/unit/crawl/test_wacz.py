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
from streams.crawl.archives.wacz import FALSE_PLACE, PACKED, SHARED_PLACE, TOO_MANY, NotWacz, warcs_of
from streams.errors import UsageError
from streams.stores.memory import MemoryBlobs
from tests.unit.crawl.test_revisits import GZIPPED, PLAIN, A, B


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


def directory_of(*entries: tuple[int, int], parts: bytes) -> io.BytesIO:
    """Write a zip with these parts, and a directory of WARC files: the place and size of each, in fields of zip64."""
    made = b""
    for place, size in entries:
        head = struct.pack("<4sHHHHHHIII", b"PK\x01\x02", 45, 45, 0, 0, 0, 0, 0, wacz._FULL, wacz._FULL)
        head += struct.pack("<HHHHHII", 14, 28, 0, 0, 0, 0, wacz._FULL) + b"archive/a.warc"
        made += head + struct.pack("<HHQQQ", 1, 24, size, size, place)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, len(entries), len(entries), len(made), len(parts), 0)
    return io.BytesIO(parts + made + end)


PART = b"PK\x03\x04" + bytes(26) + b"WARC/1.0\r\n"
PLACES = [
    # (place and size of each WARC file, why each has no content, why)
    ([(0, 10), (40, 10)], ["", ""], "one behind the other"),
    ([(40, 10), (0, 10)], ["", ""], "the directory has another order"),
    ([(1 << 63, 10)], [FALSE_PLACE], "a place that no file has"),
    ([((1 << 64) - 1, 10), (0, 10)], [FALSE_PLACE, ""], "and the next one is read"),
    ([(5, 10)], [FALSE_PLACE], "there is no header"),
    ([(0, 1 << 63)], [FALSE_PLACE], "a size that no file has"),
    ([(0, 10)] * 3, ["", SHARED_PLACE, SHARED_PLACE], "the same one three times"),
    ([(0, 50), (40, 10)], ["", SHARED_PLACE], "one in another one"),
    ([(40, 10), (0, 11)], ["", SHARED_PLACE], "one that reaches into the next one"),
    ([(0, 10), (40, 10), (80, 10)], ["", "", TOO_MANY], "too many"),
]


@pytest.mark.parametrize(("entries", "reasons", "why"), PLACES)
def test_no_byte_is_read_for_two_files(
    entries: list[tuple[int, int]], reasons: list[str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wacz, "MAX_WARCS", 2)
    found = list(warcs_of(directory_of(*entries, parts=PART * 3)))
    assert [each.reason for each in found] == reasons, why
    assert [each.file is None for each in found] == [bool(reason) for reason in reasons], why


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
