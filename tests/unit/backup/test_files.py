"""The files of a backup: what is written is read again, and damage is noticed."""

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.backup.manifest import ItemWriter, Manifest, Part, read_items, read_manifest, verify
from streams.errors import UsageError

VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.binary(max_size=50), st.text(max_size=50), st.uuids()
)


def written(folder: Path, items: list[Any], file: str = "kafka/t.msgpack.zst") -> Part:
    with ItemWriter(folder, file) as writer:
        for item in items:
            writer.write(item)
    return writer.part


@given(items=st.lists(st.lists(VALUES, max_size=5), max_size=20))
def test_items_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, items: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("items")
    part = written(folder, items)
    assert list(read_items(folder, part)) == items
    assert part.items == len(items)


def test_the_same_items_make_the_same_file(tmp_path: Path) -> None:
    items = [[uuid4(), b"x" * 100_000, n] for n in range(30)]
    assert written(tmp_path, items, "a").checksum == written(tmp_path, items, "b").checksum


def test_what_a_backup_can_not_hold_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a backup can't hold a complex"):
        written(tmp_path, [1j])


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_cut_file_is_an_error(tmp_path: Path, keep: int) -> None:
    part = written(tmp_path, [[uuid4().bytes] for _ in range(100)])
    path = tmp_path / part.file
    path.write_bytes(path.read_bytes()[:keep])
    manifest = Manifest("2026-01-01T00:00:00+00:00", "0.1.0", topics={"t": part})
    with pytest.raises(UsageError, match=r"topic t.* is damaged"):
        verify(tmp_path, manifest)


def test_a_manifest_comes_back_as_it_was(tmp_path: Path) -> None:
    part = written(tmp_path, [[UUID(int=1)]])
    manifest = Manifest(
        "2026-01-01T00:00:00+00:00",
        "0.1.0",
        keyspace="riffle",
        tables={"blobs": part},
        partitions={"pages.fetched": 8},
        committed={"fetch": {"pages.scheduled": {"3": 5}}},
        aliases={"statements": "statements-sbert-1"},
        descriptions={"statements-sbert-1": {"vectors": {"dense": {"size": 384}}}},
    )
    manifest.write(tmp_path)
    assert read_manifest(tmp_path) == manifest
    verify(tmp_path, manifest)


def test_a_folder_without_manifest_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no backup"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(UsageError, match="can't be read"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(UsageError, match="format 99"):
        read_manifest(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    part = written(tmp_path, [[1]])
    (tmp_path / part.file).unlink()
    with pytest.raises(UsageError, match=r"lacks .*t\.msgpack\.zst"):
        verify(tmp_path, Manifest("2026-01-01T00:00:00+00:00", "0.1.0", topics={"t": part}))
