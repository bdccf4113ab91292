"""`riffle migrate`: single steps, and waiting for a server."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.commands.operate import migrate as module
from streams.errors import StoreUnavailable

TOPICS, TABLES, COLLECTION = "topics", "tables", "collection"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The steps that were taken. The servers' sides are recorded instead of called."""
    taken: list[str] = []

    def step(name: str) -> Any:
        async def take(*_: object) -> str:
            taken.append(name)
            return name

        return take

    for name in (TOPICS, TABLES, COLLECTION):
        monkeypatch.setattr(module, f"_{name}", step(name))
    monkeypatch.setenv("RIFFLE_HOME", str(tmp_path))
    return taken


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], [TOPICS, TABLES, COLLECTION]),
        (["--only", "tables"], [TABLES]),
        (["--only=collection", "--only=topics"], [TOPICS, COLLECTION]),
    ],
)
def test_steps_are_taken_in_their_order(arguments: list[str], expected: list[str], steps: list[str]) -> None:
    result = CliRunner().invoke(app, ["migrate", *arguments])
    assert result.exit_code == 0, result.output
    assert steps == expected


def test_a_server_that_comes_late_is_waited_for(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    async def late(*_: object) -> str:
        tries.append(1)
        if len(tries) < 3:
            raise StoreUnavailable("Kafka doesn't answer")
        return "done"

    monkeypatch.setattr(module, "_topics", late)
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    assert CliRunner().invoke(app, ["migrate", "--only=topics"]).exit_code == 3
    assert CliRunner().invoke(app, ["migrate", "--only=topics", "--wait=60"]).exit_code == 0
    assert len(tries) == 3


def test_an_unknown_step_is_named() -> None:
    result = CliRunner().invoke(app, ["migrate", "--only=topic"])
    assert result.exit_code == 2
    assert "topic" in result.output
