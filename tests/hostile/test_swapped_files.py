"""Folders that are imported or followed, into which somebody else writes between the look and the reading."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas import Event, PageFetched
from streams.crawl.archives import file_importer
from streams.crawl.archives.common_crawl_importer import import_common_crawl
from streams.crawl.archives.file_importer import CHANGING, UNREADABLE, import_files, import_html, stamp_files
from streams.crawl.archives.importer import open_archive
from streams.crawl.archives.readers import Limits, Placing
from streams.crawl.archives.sending import Sender
from streams.errors import UsageError
from streams.stores.memory import MemoryBlobs

NOW = 1_800_000_000_000_000
LIMITS = Limits(1_000, NOW, place=Placing("https://docs.example/"))
SECRET = "-----BEGIN PRIVATE KEY-----"


class Sent:
    """The bodies that were sent."""

    def __init__(self) -> None:
        self.blobs = MemoryBlobs()
        self.bodies: list[bytes] = []
        self.sender = Sender(self.blobs, self._emit, limits=LIMITS)

    async def _emit(self, event: Event, cause: str) -> None:
        assert isinstance(event, PageFetched)
        self.bodies.append(await self.blobs.get(event.body_ref or ""))


def replace_by(make: Callable[[Path, Path], object]) -> Callable[[Path, Path], object]:
    def swap(file: Path, secret: Path) -> None:
        file.unlink()
        make(file, secret)

    return swap


def make_chain(file: Path, secret: Path) -> None:
    file.symlink_to("b.md")
    (file.parent / "b.md").symlink_to(secret)


def swap_parent(file: Path, secret: Path) -> None:
    file.unlink()
    file.parent.rmdir()
    elsewhere = secret.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / file.name).write_text(SECRET)
    file.parent.symlink_to(elsewhere)


def exchange_bytes(file: Path, _: Path) -> None:
    stamp = file.stat()
    file.write_text("# Moved")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))


SWAPS = [
    # why, what somebody does to the file sub/a.md (beside the folder is a secret), the reason why it is no page
    ("a link to a secret", replace_by(lambda file, secret: file.symlink_to(secret)), UNREADABLE),
    (
        "a chain of links",
        replace_by(make_chain),
        UNREADABLE,
    ),
    ("its folder is a link", swap_parent, UNREADABLE),
    ("a pipe", replace_by(lambda file, _: os.mkfifo(file)), UNREADABLE),
    ("a link to a device", replace_by(lambda file, _: file.symlink_to("/dev/zero")), UNREADABLE),
    ("a link to itself", replace_by(lambda file, _: file.symlink_to(file)), UNREADABLE),
    ("deleted", replace_by(lambda _, __: None), UNREADABLE),
    ("grown", lambda file, _: file.write_text("# Tides\n\nThey rise, and"), CHANGING),
    ("truncated", lambda file, _: os.truncate(file, 3), CHANGING),
    ("as long as before", exchange_bytes, CHANGING),
]


@pytest.mark.parametrize(("_why", "swap", "reason"), SWAPS, ids=[case[0] for case in SWAPS])
async def test_a_followed_file_is_read_as_it_was_looked_at_or_by_a_later_look(
    _why: str, swap: Callable[[Path, Path], object], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(SECRET)
    (file := tmp_path / "docs" / "sub" / "a.md").parent.mkdir(parents=True)
    file.write_text("# Tides")
    stamps, sent = stamp_files(tmp_path / "docs"), Sent()
    swap(file, tmp_path / "key")
    async with asyncio.timeout(5):
        report = await import_files(tmp_path / "docs", stamps, sent.sender)
    assert (sent.bodies, dict(report.skipped), report.unread) == ([], {reason: 1}, ["sub/a.md"])


async def test_half_of_a_file_that_is_being_written_is_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "a.md").write_text("# Tides")
    (tmp_path / "b.md").write_text("# Rivers")

    def write(name: str, head: bytes) -> str:
        if name == "a.md":
            file.write_bytes(head * 100)
        return ""

    monkeypatch.setattr(file_importer, "why_no_page", write)
    sent = Sent()
    report = await import_html(tmp_path, sent.sender)
    assert (sent.bodies, dict(report.skipped)) == ([b"# Rivers"], {CHANGING: 1})


async def test_an_endless_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "a.md").open("wb") as file:
        file.truncate(1 << 40)
    sent = Sent()
    report = await import_files(tmp_path, stamp_files(tmp_path), sent.sender)
    assert (sent.bodies, dict(report.skipped)) == ([], {"too large": 1})


LED_OUT = [
    # why, what is made in the folder of WARC files (outside is a WARC file), the name that an index has
    ("a link", lambda folder, outside: (folder / "a.warc").symlink_to(outside), "a.warc"),
    ("a folder that is a link", lambda folder, outside: (folder / "b").symlink_to(outside.parent), "b/outside.warc"),
    ("a way up", lambda _, __: None, "../outside.warc"),
    ("a pipe", lambda folder, _: os.mkfifo(folder / "a.warc"), "a.warc"),
    ("a name with a zero byte", lambda _, __: None, "a\0.warc"),
]


@pytest.mark.parametrize(("_why", "make", "name"), LED_OUT, ids=[case[0] for case in LED_OUT])
async def test_no_name_of_an_index_leads_out_of_the_folder(
    _why: str, make: Callable[[Path, Path], object], name: str, tmp_path: Path
) -> None:
    (outside := tmp_path / "outside.warc").write_bytes(b"WARC/1.0\r\n")
    (folder := tmp_path / "warcs").mkdir()
    make(folder, outside)
    row = {"url": "https://a.example/", "status": "200", "filename": name, "offset": 0, "length": 10}
    (tmp_path / "cdx").write_text(f"example,a)/ 20260101120000 {json.dumps(row)}\n")
    sent = Sent()
    async with asyncio.timeout(5):
        report = await import_common_crawl([tmp_path / "cdx"], sent.sender, hosts=frozenset(), warc_folder=folder)
    assert (sent.bodies, dict(report.skipped)) == ([], {"WARC file is not here": 1})


def test_an_archive_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zim")
    for path in (tmp_path / "a.zim", tmp_path, Path("/dev/zero")):
        with pytest.raises(UsageError, match="can't be read"):
            open_archive(path)
