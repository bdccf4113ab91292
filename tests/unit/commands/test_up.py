"""`riffle up` says which stage to replay, if searchable pages were made by an earlier version of it."""

from pathlib import Path

import pytest

from streams.commands.stack import up
from streams.doctor.searchable_pages import Outdated, advice_to_replay
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

    monkeypatch.setattr(up, "advice_to_replay", found)
    up._advise_to_replay(tmp_path)
    printed = capsys.readouterr().out
    assert shown in printed
    assert (f"replay --from {outdated.stage}." in printed) if outdated else not printed


async def test_an_index_that_is_away_has_nothing_to_say(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, qdrant={"url": "http://127.0.0.1:9"})
    assert await advice_to_replay(settings, 5.0) is None
