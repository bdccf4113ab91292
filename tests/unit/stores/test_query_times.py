"""The pause of the models for statements after a query."""

import subprocess
import sys
from pathlib import Path

import pytest

from streams.stores.inference import query_times
from streams.stores.inference.encoder import SentenceEncoder
from streams.stores.inference.query_times import QueryTimes
from streams.stores.inference.repository import parameters_of, read_config

SBERT = Path(__file__).parents[3] / "triton_models" / "local" / "sbert"


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(query_times, "sleep", found.append)
    return found


def test_a_pause_lasts_until_the_query_is_long_enough_ago(
    tmp_path: Path, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = QueryTimes.of_server(7, tmp_path)
    assert queries
    now = 1_000.0
    monkeypatch.setattr(query_times, "monotonic", lambda: now)
    queries.pause(0.1)
    assert slept == [], "there was no query"
    queries.mark()
    now = 1_000.04
    queries.pause(0.1)
    assert slept == [pytest.approx(0.06)]
    now = 1_000.2
    queries.pause(0.1)
    assert len(slept) == 1, "the query is long ago"
    now = 3.0
    queries.pause(0.1)
    assert len(slept) == 1, "a time of a machine that was started again is no query"


def test_another_process_sees_the_query(tmp_path: Path, slept: list[float]) -> None:
    mine = QueryTimes.of_server(7, tmp_path)
    assert mine
    code = f"""
from pathlib import Path
from streams.stores.inference.query_times import QueryTimes
QueryTimes.of_server(7, Path({str(tmp_path)!r})).mark()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    mine.pause(60.0)
    assert len(slept) == 1


def test_where_memory_cannot_be_shared_nothing_pauses(tmp_path: Path) -> None:
    assert QueryTimes.of_server(7, tmp_path / "missing") is None


def test_a_link_that_someone_else_placed_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "riffle-query-7").symlink_to(target)
    assert QueryTimes.of_server(7, tmp_path) is None
    assert target.read_text() == "precious"


def test_the_pause_comes_before_each_small_batch() -> None:
    pauses: list[None] = []
    encoder = SentenceEncoder(parameters_of(read_config(SBERT)), SBERT / "1")
    encoder.embed(["a statement"] * 17, before_batch=lambda: pauses.append(None))
    assert len(pauses) == 3
