"""`riffle up` of a stack: what to do with its index, and what a stack that runs already has."""

import os
from functools import partial
from pathlib import Path

import psutil
import pytest

from streams.commands.stack import up
from streams.doctor.searchable_pages import OtherModel, Outdated, advice_for_index
from streams.errors import UsageError
from streams.local.home import StackState, environment_digests, read_state, write_state
from streams.models.opening import local_model
from streams.settings import Settings


@pytest.mark.parametrize(
    ("outdated", "shown"),
    [
        (None, ""),
        (
            Outdated("statements", 1_240),
            "1,240 searchable pages were made by an earlier version of the stage statements",
        ),
        (Outdated("normalize", 0), "All searchable pages were made before stages had versions."),
    ],
)
def test_up_names_the_replay(
    outdated: Outdated | None,
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def found(_settings: Settings, _seconds: float) -> Outdated | None:
        return outdated

    monkeypatch.setattr(up, "advice_for_index", found)
    up._advise(tmp_path)
    printed = capsys.readouterr().out
    assert shown in printed
    assert (f"replay --from {outdated.stage}." in printed) if outdated else not printed


def _running(home: Path, web: str) -> None:
    me = psutil.Process()
    home.mkdir(exist_ok=True)
    write_state(home, StackState(me.pid, me.create_time(), "2026-01-31T12:00:00+00:00", state="ready", web=web))


@pytest.mark.parametrize(
    ("runs_with", "asked", "refusal"),
    [
        ("mirror", "mirror", ""),
        ("mirror", "./mirror/../mirror", ""),
        ("mirror", None, ""),
        ("mirror", "other", "with the web .*/mirror.*riffle up --web other"),
        ("", "mirror", "without a web"),
    ],
)
def test_up_knows_the_web_that_runs(
    runs_with: str, asked: str | None, refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(up, "_advise", lambda _: None)
    _running(tmp_path / ".riffle", str(tmp_path / runs_with) if runs_with else "")
    state = read_state(tmp_path / ".riffle")
    assert state is not None
    ask = partial(up._runs_already, state, False, Path(asked) if asked else None, tls=False, triton=False)
    if refusal:
        with pytest.raises(UsageError, match=refusal):
            ask()
    else:
        assert ask() == 0


def test_an_index_of_another_model_is_to_be_filled_again() -> None:
    settings = Settings(triton={"url": "inprocess:"})
    other = OtherModel("statements-multilingual-e5-small-int8-openvino-2", local_model(settings))
    assert "queries are embedded by all-minilm-l6-v2" in other.says
    assert "riffle reindex" in other.advice


def test_a_model_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"no model 'absent'.*only e5, e5_query, sbert"):
        local_model(Settings(triton={"url": "inprocess:", "model": "absent"}))


async def test_an_index_that_is_away_has_nothing_to_say(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, qdrant={"url": "http://127.0.0.1:9"})
    assert await advice_for_index(settings, 5.0) is None


@pytest.mark.parametrize(
    ("started_with", "given", "refusal", "note"),
    [
        ({}, {}, "", ""),
        ({"RIFFLE_ANSWERS__URL": "a"}, {"RIFFLE_ANSWERS__URL": "a", "RIFFLE_HOME": "elsewhere"}, "", ""),
        ({}, {"RIFFLE_ANSWERS__URL": "a"}, "another value of RIFFLE_ANSWERS__URL.*riffle down", ""),
        ({"RIFFLE_A": "1", "RIFFLE_B": "2"}, {"RIFFLE_A": "2", "RIFFLE_B": "3"}, "values of RIFFLE_A, RIFFLE_B", ""),
        ({"RIFFLE_ANSWERS__URL": "a"}, {}, "", "started with RIFFLE_ANSWERS__URL"),
        (None, {"RIFFLE_ANSWERS__URL": "a"}, "", ""),  # a stack of a version that noted no settings
    ],
)
def test_up_names_settings_that_a_running_stack_does_not_have(
    started_with: dict[str, str] | None,
    given: dict[str, str],
    refusal: str,
    note: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    noted = None if started_with is None else environment_digests({"PATH": "/bin", **started_with})
    monkeypatch.setattr(up, "_advise", lambda _: None)
    monkeypatch.setattr(os, "environ", given)
    state = StackState(1, 1.0, "2026-01-31T12:00:00+00:00", state="ready", environment=noted)
    if refusal:
        with pytest.raises(UsageError, match=refusal):
            up._runs_already(state, False, None, tls=False, triton=False)
    else:
        assert up._runs_already(state, False, None, tls=False, triton=False) == 0
        assert note in capsys.readouterr().out
