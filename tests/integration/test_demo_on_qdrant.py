"""`riffle demo` on a real Qdrant: the stack uses the server whose address is set, and answers from it.

Pages that answer no question are left out, all but some: whether the answers are found among those of all pages is
tested without servers (tests/unit/benchmarks/evaluation/test_demo_questions.py). By day the demo runs on the local
stack's own Qdrant (tests/wheel/test_stack.py).
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from streams.local.demo import QUESTIONS
from tests.integration.qdrant_process import NO_REAL_QDRANT, RealQdrantProcess, real_qdrant

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.night, pytest.mark.timeout(1_800)]
DEMO = [sys.executable, "-c", "from streams.cli import main; main()", "demo", "--exit", "--pages", "70"]


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[RealQdrantProcess]:
    if not real_qdrant():
        pytest.skip(NO_REAL_QDRANT)
    server = RealQdrantProcess(tmp_path / "qdrant")
    server.start()
    yield server
    server.stop()


def test_the_demo_answers_from_a_real_qdrant(qdrant: RealQdrantProcess, tmp_path: Path) -> None:
    environment = {**os.environ, "RIFFLE_HOME": str(tmp_path / "home"), "RIFFLE_QDRANT__URL": qdrant.url}
    done = subprocess.run(DEMO, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(QUESTIONS)} of {len(QUESTIONS)} questions have their answer" in done.stdout
    assert "in English. Only by words, 0 of these" in done.stdout, "a keyword search doesn't answer them"
    assert f"not started: uses {qdrant.url}" in done.stdout
    assert not (tmp_path / "home" / "data" / "qdrant").exists(), "no server of the stack was started"
    (alias,) = httpx2.get(f"{qdrant.url}/aliases").json()["result"]["aliases"]
    assert alias["alias_name"] == "statements"
    count = httpx2.post(f"{qdrant.url}/collections/{alias['collection_name']}/points/count", json={}).json()["result"]
    assert count["count"] > 2_000
