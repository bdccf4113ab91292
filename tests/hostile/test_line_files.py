"""Files with an entry on each line: one line without an end costs no memory, and one bad line ends no import."""

import errno
import gzip
import json
import os
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from schemas import Event
from streams.commands.pages.seeds import read_seeds
from streams.crawl.archives import common_crawl_importer
from streams.crawl.archives.common_crawl_importer import find_listed_files, import_common_crawl
from streams.crawl.archives.importer import import_html_dump
from streams.crawl.archives.readers import Limits
from streams.crawl.archives.sending import ImportReport, Sender
from streams.errors import UsageError
from streams.knowledge.dumps.reading import Dump
from streams.lines.jsonl import read_lines, read_objects, read_rows
from streams.queries.suggestions.block_words import read_block_words
from streams.search.block_lists import BlockLists
from streams.stores.memory import MemoryBlobs

NOW = 1_800_000_000_000_000
BOMB_BYTES = 256 << 20


async def ignore(_: Event, __: str) -> None:
    """Send nothing."""


def sender() -> Sender:
    return Sender(MemoryBlobs(), ignore, limits=Limits(1_000_000, NOW))


async def import_index(file: Path) -> ImportReport:
    return await import_common_crawl([file], sender(), hosts=frozenset(), warc_folder=file.parent)


PLACE = {"url": "https://a.example/", "status": "200", "filename": "x.warc.gz", "offset": "0", "length": "10"}
GOOD = f"example,a)/ 20260101120000 {json.dumps(PLACE)}".encode()
NOT_READABLE, IMPOSSIBLE, NO_RECORD = (
    "no readable line of an index",
    "place in the WARC file is impossible",
    "no response at its place",
)
BAD_LINES = [
    # line, the reason that it is counted by
    (GOOD.replace(b'"0"', str(2**70).encode()), IMPOSSIBLE),
    (GOOD.replace(b'"0"', b"-1"), IMPOSSIBLE),
    (GOOD.replace(b'"0"', str(2**41).encode()), NO_RECORD),
    (GOOD.replace(b'"0"', b'"' + b"9" * 5_000 + b'"'), NOT_READABLE),
    (GOOD.replace(b'"0"', b"1e400"), NOT_READABLE),
    (GOOD.replace(b'"0"', b"[]"), NOT_READABLE),
    (GOOD.replace(b'"10"', b'"1e9"'), NOT_READABLE),
    (GOOD.replace(b'"10"', b"99999999999"), IMPOSSIBLE),
    (GOOD.replace(b'"offset"', b'"place"'), NOT_READABLE),
    (GOOD[:-1], NOT_READABLE),
    (b"example,a)/ 2026 " + b"[" * 9_000, NOT_READABLE),
    (b"example,a)/ 2026 {" + b'"a":{' * 3_000, NOT_READABLE),
    (b"example,a)/ 2026 []", NOT_READABLE),
    (b"\xff\xfe{\x00", NOT_READABLE),
    (GOOD + b" " * 30_000, NOT_READABLE),
    (b"no line of an index", NOT_READABLE),
]


@pytest.mark.parametrize(("line", "reason"), BAD_LINES, ids=range(len(BAD_LINES)))
async def test_one_bad_line_ends_no_import(line: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x.warc.gz").write_bytes(b"")
    (tmp_path / "cdx").write_bytes(b"\n".join([GOOD, line, GOOD, b"", GOOD]))
    report = await import_index(tmp_path / "cdx")
    others = report.skipped - Counter([reason])
    assert (others, report.seen) == ({NO_RECORD: 3}, 4)
    if reason == NOT_READABLE:
        assert report.examples[reason] == "cdx, line 2"


@pytest.mark.parametrize(
    ("number", "is_missing"),
    [
        (errno.ENOENT, True),
        (errno.ENAMETOOLONG, True),  # no file has such a name
        (errno.ENXIO, True),  # a socket
        (errno.EACCES, False),
        (errno.EMFILE, False),
        (errno.EIO, False),
    ],
)
async def test_pages_of_a_file_that_cannot_be_opened_now_are_not_passed_over(
    number: int, is_missing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cdx").write_bytes(GOOD)

    def refuse(folder: Path, parts: Sequence[str]) -> NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(common_crawl_importer, "open_below", refuse)
    if is_missing:
        assert (await import_index(tmp_path / "cdx")).skipped == Counter(["WARC file is not here"])
    else:
        with pytest.raises(UsageError, match="Make it readable, and start the same import again"):
            await import_index(tmp_path / "cdx")


DAMAGED = [
    (gzip.compress(GOOD + b"\n") + b"no member", "other bytes"),
    (gzip.compress(GOOD + b"\n" + bytes(99_999))[:-9], "ends early"),
    (gzip.compress(GOOD + b"\n") + b"\x1f\x8b" + bytes(99), "damaged"),
]


@pytest.mark.parametrize(("content", "message"), DAMAGED, ids=[case[1] for case in DAMAGED])
async def test_what_stands_before_the_damage_is_imported(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "cdx.gz").write_bytes(content)
    report = await import_index(tmp_path / "cdx.gz")
    assert report.skipped["WARC file is not here"] == 1
    assert message in report.examples["the rest of a damaged index"]


def gigabytes() -> Iterator[bytes]:
    for _ in range(BOMB_BYTES >> 20):
        yield b"a" * (1 << 20)


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One line of 256 MiB, which takes 1 MB."""
    file = tmp_path_factory.mktemp("bombs") / "cdx-0.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.writelines(gigabytes())
    return file


def read_list(file: Path) -> None:
    named = file.parent / "warc.paths.gz"
    named.write_bytes(gzip.compress(b"a.warc.gz\n") + file.read_bytes())
    with pytest.raises(UsageError, match="none of the 2 files"):
        find_listed_files([named], file.parent)


@pytest.mark.parametrize(
    ("read", "limit_mb"),
    [
        (import_index, 2),
        (lambda file: import_html_dump(file, sender()), 40),
        (lambda file: list(Dump(file, "lines").items()), 80),
        (read_list, 4),
    ],
    ids=["index", "HTML dump", "entities", "list of paths"],
)
async def test_a_line_without_an_end_takes_no_memory(read: Callable[[Path], object], limit_mb: int, bomb: Path) -> None:
    tracemalloc.start()
    running = read(bomb)
    if hasattr(running, "__await__"):
        await running
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < limit_mb << 20


@pytest.mark.parametrize(
    "read",
    [
        lambda file: list(read_lines(file)),
        lambda file: list(read_rows(file)),
        lambda file: list(read_objects(file)),
        lambda file: read_seeds((), file),
        lambda file: read_block_words([file]),
    ],
    ids=["lines", "rows", "objects", "seeds", "words"],
)
def test_a_file_of_an_operator_says_what_is_too_long(read: Callable[[Path], object], tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(100 << 20)
    tracemalloc.start()
    with pytest.raises(UsageError, match=r"longer than|more than"):
        read(tmp_path / "file")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 << 20


async def test_a_block_list_keeps_its_other_lines(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"\xef\xbb\xbfspam.example\n" + b"x" * 99_999 + b"\n\xff\xfe\nfarm.example")
    rules = await BlockLists([tmp_path / "list"]).current()
    assert (sorted(rules.blocked), rules.left_out) == (["farm.example", "spam.example"], 2)
