"""The file of word frequencies must exist and have this release's version."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streams.dedup import fingerprinting
from streams.dedup.agent import build
from streams.dedup.fingerprinting import fingerprint
from streams.errors import UsageError
from streams.settings import Settings
from streams.stores.opener import memory_stores

PARTS: dict[str, Any] = {"words": np.array([7], np.uint64), "documents": np.array([3], np.uint16), "total": 9}
FILES = [
    # content of the file (None: no file), part of the message
    (None, "can't be read"),
    (b"no archive", "can't be read"),
    (PARTS, "can't be read"),
    (PARTS | {"version": fingerprinting.VERSION + 1}, f"this release needs version {fingerprinting.VERSION}"),
    (PARTS | {"version": fingerprinting.VERSION, "words": np.zeros(0, np.uint64)}, "this release needs version"),
]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A path that is read in place of the shipped file."""
    monkeypatch.setattr(fingerprinting, "FILE", tmp_path / "frequencies.npz")
    fingerprinting.load_frequencies.cache_clear()
    yield tmp_path / "frequencies.npz"
    fingerprinting.load_frequencies.cache_clear()


def put(file: Path, content: dict[str, Any] | bytes | None) -> None:
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        np.savez_compressed(file, **content)


@pytest.mark.parametrize(("content", "message"), FILES, ids=["missing", "broken", "no version", "another", "empty"])
async def test_without_its_file_nothing_is_fingerprinted_and_no_worker_starts(
    file: Path, content: dict[str, Any] | bytes | None, message: str
) -> None:
    put(file, content)
    with pytest.raises(UsageError, match=message):
        fingerprint("some words")
    with pytest.raises(UsageError, match=message):
        await build(Settings(), memory_stores())


def test_a_fingerprint_has_the_version_of_the_shipped_file() -> None:
    words, documents, total = fingerprinting.load_frequencies()
    assert fingerprint("some words").simhash_version == fingerprinting.VERSION == 1
    assert len(words) == len(documents) == 44_755
    assert total == 2_562
