"""The file that weighs the words of a SimHash: there, of this release's version, or nothing is fingerprinted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streams.dedup import frequencies
from streams.dedup.agent import build
from streams.dedup.fingerprinting import fingerprint
from streams.errors import UsageError
from streams.settings import Settings
from streams.stores.opener import memory_stores

PARTS: dict[str, Any] = {"words": np.array([7], np.uint64), "documents": np.array([3], np.uint16), "total": 9}
FILES = [
    # what is in the file (None: there is no file), what is said
    (None, "can't be read"),
    (b"no archive", "can't be read"),
    (PARTS, "can't be read"),
    (PARTS | {"version": frequencies.VERSION + 1}, f"this release fingerprints with {frequencies.VERSION}"),
    (PARTS | {"version": frequencies.VERSION, "words": np.zeros(0, np.uint64)}, "this release fingerprints with"),
]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """In place of the shipped one."""
    monkeypatch.setattr(frequencies, "FILE", tmp_path / "frequencies.npz")
    frequencies.load.cache_clear()
    yield tmp_path / "frequencies.npz"
    frequencies.load.cache_clear()


def put(file: Path, content: dict[str, Any] | bytes | None) -> None:
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        np.savez_compressed(file, **content)


@pytest.mark.parametrize(("content", "said"), FILES, ids=["missing", "broken", "no version", "another", "empty"])
async def test_without_its_file_nothing_is_fingerprinted_and_no_worker_starts(
    file: Path, content: dict[str, Any] | bytes | None, said: str
) -> None:
    put(file, content)
    with pytest.raises(UsageError, match=said):
        fingerprint("some words")
    with pytest.raises(UsageError, match=said):
        await build(Settings(), memory_stores())


def test_a_fingerprint_says_the_version_of_the_shipped_file() -> None:
    words, documents, total = frequencies.load()
    assert fingerprint("some words").simhash_version == frequencies.VERSION == 1
    assert len(words) == len(documents) == 44_755
    assert total == 2_562
