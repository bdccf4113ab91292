"""Lines in bounded memory: the same lines for any division into blocks, and no long line is held."""

import tracemalloc
from io import BytesIO
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import UsageError
from streams.lines.bounded import Line, cut_lines, lines_of, read_whole

CASES = [
    # content, lines, why
    (b"", [], "an empty file"),
    (b"\n", [(1, b"")], "a blank line"),
    (b"a\nb", [(1, b"a"), (2, b"b")], "the last line has no end"),
    (b"a\r\nb\n", [(1, b"a\r"), (2, b"b")], "only a line feed ends a line"),
    (b"abcd\nb\n", [(1, b"abcd"), (2, b"b")], "as long as a line may be"),
    (b"abcde\nb\n", [(1, None), (2, b"b")], "a byte longer"),
    (b"a\n" + b"x" * 50, [(1, b"a"), (2, None)], "the last line is too long"),
    (b"x" * 50 + b"\n" + b"y" * 50 + b"\nz", [(1, None), (2, None), (3, b"z")], "two long lines"),
]


@pytest.mark.parametrize(("content", "lines", "_why"), CASES, ids=[why for *_, why in CASES])
def test_lines_and_their_numbers(content: bytes, lines: list[Line], _why: str) -> None:
    assert list(lines_of(BytesIO(content), 4)) == lines
    assert list(cut_lines((bytes([byte]) for byte in content), 4)) == lines


@given(st.lists(st.text("ab\n", max_size=9).map(str.encode)))
def test_blocks_may_end_anywhere(blocks: list[bytes]) -> None:
    *ended, last = b"".join(blocks).split(b"\n")
    lines = [line if len(line) <= 3 else None for line in (ended + ([last] if last else []))]
    assert list(cut_lines(blocks, 3)) == list(enumerate(lines, 1))


def test_a_line_without_an_end_is_not_held() -> None:
    block = b"x" * 65_536
    tracemalloc.start()
    assert list(cut_lines(repeat(block, 1_000), 1_000_000)) == [(1, None)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000, "65 MB were read"


def test_a_whole_file_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_whole(tmp_path / "a", 5) == b"12345"
    with pytest.raises(UsageError, match="more than 4 bytes"):
        read_whole(tmp_path / "a", 4)
    with pytest.raises(UsageError, match="can't be read"):
        read_whole(tmp_path / "b")
