"""The mark of a restore in its order: it is there before the first delete, and goes only when all is restored."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from streams.backup import cassandra, kafka, qdrant, whole
from streams.backup.manifest import Manifest
from streams.errors import RestoreUnfinished, StoreUnavailable
from streams.settings import Settings

CHANGES = {"empty_topics", "empty_tables", "drop_collections", "restore_tables", "ensure_collection", "restore_records"}
"""The steps that delete or write what an installation holds."""


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of a backup or a restore, by the names of their functions. None of them does anything."""
    done: list[str] = []

    def note(name: str, *, is_async: bool) -> Callable[..., Any]:
        async def later(*_: object) -> None:
            done.append(name)

        return later if is_async else lambda *_: done.append(name)

    for module, names, is_async in (
        (whole, ("ensure_collection",), False),
        (whole, ("migrate", "mark_restore", "unmark_restore", "check_restored"), True),
        (kafka, ("empty_topics", "restore_records", "restore_offsets", "verify_records"), False),
        (cassandra, ("refuse_other_schema",), False),
        (cassandra, ("empty_tables", "restore_tables"), True),
        (qdrant, ("drop_collections",), False),
    ):
        for name in names:
            monkeypatch.setattr(module, name, note(name, is_async=is_async))

    @contextmanager
    def no_worker(_: Settings) -> Iterator[None]:
        yield

    monkeypatch.setattr(whole, "_no_worker_runs", no_worker)
    monkeypatch.setattr(whole, "read_manifest", lambda _: Manifest("2026-03-01T00:00:00+00:00", "1"))
    monkeypatch.setattr(whole, "verify", lambda *_: done.append("verify the files"))
    return done


def restore(folder: Path) -> None:
    whole.restore(Settings(), folder, lambda *_: None, replace=True)


def test_the_mark_is_there_from_before_the_first_change_until_all_is_verified(steps: list[str], tmp_path: Path) -> None:
    restore(tmp_path)
    assert steps[0:2] == ["refuse_other_schema", "verify the files"], "a damaged backup changes nothing"
    changed = [number for number, step in enumerate(steps) if step in CHANGES]
    assert {steps[number] for number in changed} == CHANGES
    assert steps.index("mark_restore") < min(changed)
    assert steps.index("verify_records") > max(changed)
    assert steps[-1] == "unmark_restore"


@pytest.mark.parametrize("step", ["empty_topics", "restore_records", "restore_offsets", "verify_records"])
def test_a_restore_that_fails_leaves_the_mark(
    steps: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object) -> None:
        raise StoreUnavailable("Kafka is away")

    monkeypatch.setattr(kafka, step, fail)
    with pytest.raises(StoreUnavailable):
        restore(tmp_path)
    assert "mark_restore" in steps
    assert "unmark_restore" not in steps


def test_half_an_installation_is_not_backed_up(
    steps: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise RestoreUnfinished("a restore is not finished")

    monkeypatch.setattr(whole, "check_restored", refuse)
    with pytest.raises(RestoreUnfinished):
        whole.back_up(Settings(), tmp_path / "new", lambda *_: None)
    assert not (tmp_path / "new").exists()
