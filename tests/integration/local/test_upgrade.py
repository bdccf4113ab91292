"""The upgrade of a single machine, as docs/operate/upgrade.md describes it: a home with data, and the way back.

The former version is the last tag, or the commit before this one, or what RIFFLE_TEST_FORMER names. Its whole tree
runs with the packages of this one. Kafka, Cassandra and Qdrant keep their data from version to version: records, tables
and points of one are read by the other.
"""

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.short_lives import NEVER_STARTED_AGAIN
from tests.wheel.environment import JARS

pytestmark = [pytest.mark.integration, pytest.mark.night, pytest.mark.timeout(2_400)]

ROOT = Path(__file__).parents[3]
PAGES = {
    "harbours": "The harbour of Oulu freezes in November each year.",
    "lighthouses": "Lighthouses flash in a rhythm of their own, so that sailors know which one they see.",
}
LATER = {"canals": "A lock lifts barges by filling its chamber from the upper level."}
QUESTIONS = {
    "harbours": "when does the harbour freeze",
    "lighthouses": "how do sailors recognise a lighthouse",
    "canals": "how are barges lifted",
}


@dataclass(frozen=True)
class Version:
    """A tree of Riffle's sources, with a home that several versions share."""

    tree: Path
    folder: Path

    def run(self, *arguments: object, status: int = 0) -> str:
        """Run a command of this version, and return what it writes to stdout."""
        given = {**JARS, **NEVER_STARTED_AGAIN, "RIFFLE_HOME": str(self.folder / "home"), "COLUMNS": "200"}
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        program = [sys.executable, "-c", "from streams.cli import main; raise SystemExit(main())"]
        done = subprocess.run(
            [*program, *map(str, arguments)],
            cwd=self.folder,
            env={**kept, **given, "PYTHONPATH": str(self.tree)},
            capture_output=True,
            text=True,
            timeout=1_200,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def first_result(self, question: str) -> str:
        answer: dict[str, Any] = json.loads(self.run("search", question, "--json"))
        return str(answer["results"][0]["url"])


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode else done.stdout.strip()


@pytest.fixture
def former(tmp_path: Path) -> Version:
    """The version before this one."""
    wanted = os.environ.get("RIFFLE_TEST_FORMER") or git("describe", "--tags", "--abbrev=0", "HEAD~1") or "HEAD~1"
    commit = git("rev-parse", "--verify", f"{wanted}^{{commit}}")
    if not commit:
        pytest.skip(f"this clone has no history up to {wanted}: git fetch --deepen 1")
    packed, tree = tmp_path / "former.tar", tmp_path / "former"
    git("archive", "--output", str(packed), commit)
    with tarfile.open(packed) as archive:
        archive.extractall(tree, filter="data")
    return Version(tree, tmp_path)


def write_pages(folder: Path, pages: dict[str, str]) -> None:
    for name, text in pages.items():
        page = folder / "web" / f"{name}.test" / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text(f"<title>{name}</title><h1>{name}</h1><p>{text}</p>")


def test_a_home_with_data_goes_on_with_the_next_version_and_back(former: Version, tmp_path: Path) -> None:
    present = Version(ROOT, tmp_path)
    write_pages(tmp_path, PAGES)
    try:
        former.run("up")
        former.run("import", "web")
        for name in PAGES:
            assert former.first_result(QUESTIONS[name]) == f"https://{name}.test/"
        former.run("down")

        present.run("up")
        for name in PAGES:
            assert present.first_result(QUESTIONS[name]) == f"https://{name}.test/"
        history = json.loads(present.run("page", "https://harbours.test/", "--json"))
        assert history["url"] == "https://harbours.test/", "rows of the former version are read"
        write_pages(tmp_path, LATER)
        present.run("import", "web")
        assert present.first_result(QUESTIONS["canals"]) == "https://canals.test/"
        present.run("doctor", "--only", "kafka")
        present.run("down")

        former.run("up")  # the way back, with all that the next version wrote
        for name, question in QUESTIONS.items():
            assert former.first_result(question) == f"https://{name}.test/"
    finally:
        present.run("down")
