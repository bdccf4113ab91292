"""Dumps in pieces: any packing, any cut, and going on behind any item."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.knowledge.dumps import reading
from streams.knowledge.dumps.reading import Cut, Dump

LINES = [b'{"id": "Q%d", "text": "%s"}' % (number, b"x" * (number * 37 % 400)) for number in range(1, 60)]
ARRAY = b"[\n" + b",\n".join(LINES) + b"\n]\n"
PAGES = [b"<page><title>T%d</title>%s</page>" % (number, b"y" * (number * 53 % 500)) for number in range(1, 60)]
EXPORT = b"<mediawiki>\n<siteinfo/>" + b"\n ".join(PAGES) + b"\n</mediawiki>\n"


def members(content: bytes, pack: Callable[[bytes], bytes]) -> bytes:
    """Return the content in three compressed members, as a multistream dump has it."""
    third = len(content) // 3
    return b"".join(pack(part) for part in (content[:third], content[third : 2 * third], content[2 * third :]))


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "gzip members": lambda content: members(content, gzip.compress),
    "bzip2 members": lambda content: members(content, bz2.compress),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BLOCK_BYTES", 300)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize(("cut", "content", "items"), [("lines", ARRAY, LINES), ("pages", EXPORT, PAGES)])
def test_reading_goes_on_behind_any_item(
    packing: str, cut: Cut, content: bytes, items: list[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "dump"
    path.write_bytes(PACKINGS[packing](content))
    dump = Dump(path, cut)
    found = list(dump.items())
    assert [item.content for item in found] == items
    assert dump.is_whole
    for number, item in enumerate(found):
        later = Dump(path, cut, item.place, in_array=dump.in_array)
        assert [one.content for one in later.items()] == items[number + 1 :]
        assert later.is_whole


@pytest.mark.parametrize(("cut", "content"), [("lines", ARRAY), ("pages", EXPORT)])
def test_a_part_of_a_dump_is_not_whole(cut: Cut, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(content[: len(content) // 2])
    dump = Dump(path, cut)
    assert len(list(dump.items())) > 10
    assert not dump.is_whole


def test_lines_without_an_array_end_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(b"\n".join(LINES))
    dump = Dump(path, "lines")
    assert [item.content for item in dump.items()] == LINES
    assert dump.is_whole


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress], ids=["gzip", "bzip2"])
@pytest.mark.parametrize("harm", ["cut off", "damaged"])
def test_a_damaged_file_is_an_error_with_the_place(pack: Callable[[bytes], bytes], harm: str, tmp_path: Path) -> None:
    content = bytearray(pack(ARRAY))
    if harm == "cut off":
        del content[-20:]
    else:
        content[40:60] = b"\xff" * 20
    path = tmp_path / "dump"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="can't be read at byte"):
        list(Dump(path, "lines").items())


@pytest.mark.parametrize(
    ("cut", "large", "small"),
    [("lines", b"x" * 4_000 + b"\n", b"small\n"), ("pages", b"<page>" + b"x" * 4_000, b"<page>s</page>")],
)
def test_an_item_beyond_all_measure_is_left_out(
    cut: Cut, large: bytes, small: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_ITEM_BYTES", 1_000)
    path = tmp_path / "dump"
    path.write_bytes(small + large + small * 200)
    dump = Dump(path, cut)
    assert len(list(dump.items())) >= 190
    assert dump.too_large >= 1
