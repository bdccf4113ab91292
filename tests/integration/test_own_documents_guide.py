"""The commands of the guide for one's own documents, run word by word on the bundled pages of git-doc."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docs.generate import ROOT
from streams.commands.operate.suggest import UNCHANGED
from streams.local.demo import unpack
from streams.local.ports import free_ports
from streams.local.supervision.scheduled import QUARTER_SECONDS
from tests.integration.collector import Collector, collector, find_leaks

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1_800)]

GUIDE = ROOT / "docs" / "guide" / "own-documents.md"
PATIENCE_SECONDS = 120.0
LOOK_SECONDS = 0.2
PROGRAM = f"{sys.executable} -c 'from streams.cli import main; main()'"


PAGES = (
    "index.html", "gittutorial.html", "git-clean.html", "git-mv.html", "git-reflog.html", "git-restore.html",
    "git-revert.html", "git-var.html",
)  # fmt: skip
"""A quarter of the bundled pages: the commands are tried, not the models."""


def _only_to_pages(link: "re.Match[str]") -> str:
    return link[0] if link[1] in PAGES else ""


@pytest.fixture
def traces() -> Iterator[Collector]:
    with collector() as traces:
        yield traces


@pytest.fixture
def shell(tmp_path: Path, traces: Collector) -> Iterator["Shell"]:
    documents = unpack(tmp_path / "web") / "git-scm.test" / "html"
    (tmp_path / "site").mkdir()
    for name in PAGES:
        shutil.copy(documents / name, tmp_path / "site")
    index = tmp_path / "site" / "index.html"
    index.write_text(re.sub(r'href="([\w-]+\.html)"', _only_to_pages, index.read_text()))
    shell = Shell(tmp_path, traces.address)
    yield shell
    shell.run(".venv/bin/riffle down --clean")


class Shell:
    """Runs lines of the guide in a folder, with the checkout's `riffle` and a free port for 8000."""

    def __init__(self, folder: Path, traces_address: str) -> None:
        self.folder = folder
        (self._port,) = free_ports(1)
        # Without a delay between pages: a reader of the guide waits a second for each.
        own = {"RIFFLE_HOME": str(self.home), "PYTHONPATH": str(ROOT), "RIFFLE_CRAWL__DELAY_SECONDS": "0"}
        own["RIFFLE_OTLP_ENDPOINT"] = traces_address
        self._environment = {**os.environ, **own}
        self.background: list[subprocess.Popen[bytes]] = []

    def run(self, line: str, status: int = 0) -> str:
        line = line.replace(".venv/bin/riffle", PROGRAM).replace("8000", str(self._port))
        if line.endswith("&"):
            arguments = [sys.executable, *line.removesuffix("&").split()[1:]]
            self.background.append(subprocess.Popen(arguments, cwd=self.folder, stderr=subprocess.DEVNULL))
            return ""
        done = subprocess.run(
            line, shell=True, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=400
        )
        assert done.returncode == status, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def build_suggestions(self) -> str:
        """Let a quarter of an hour pass for the build of suggestions, and wait for its end. Return its last line."""
        mark, log = self.home / "suggested", self.home / "logs" / "suggest-build.log"
        wait_until(mark.exists)
        due = time.time() - QUARTER_SECONDS
        os.utime(mark, (due, due))
        wait_until(lambda: mark.stat().st_mtime > due + QUARTER_SECONDS / 2)
        return log.read_text().splitlines()[-1]


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
        if is_so():
            return
        time.sleep(LOOK_SECONDS)
    raise AssertionError("it did not happen in time")


def lines() -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


STAGES = ("normalize", "dedup", "statements", "embed", "index")


def test_the_guide_word_by_word(shell: Shell, traces: Collector) -> None:
    """The stack of this guide also sends its traces: one search, and one page from its import to the index."""
    up, imported, asked, watched, served, crawled, shown = lines()
    shell.run(up)
    assert f"Searchable: {len(PAGES)};" in shell.run(imported)
    assert "https://docs.example/" in shell.run(asked)
    stores = ("Cassandra SELECT", "POST /collections/", "model ")
    search = traces.wait_for(lambda trace: trace.has("GET /api/v1/search", *stores), 60)
    page = traces.wait_for(lambda trace: trace.has(*STAGES, *stores, "Kafka send pages.indexed", "PUT /coll"), 60)
    query = asked.split('"')[1]
    texts = [re.sub(r"<[^>]*>", " ", path.read_text()) for path in (shell.folder / "site").glob("*.html")]
    for trace in (search, page):
        print(trace.tree())
        assert find_leaks(trace.texts(), query, texts) == [], "a span has no word of the query, and no text of a page"
    pages = f"suggestions from {len(PAGES)} pages"
    assert pages in shell.build_suggestions(), "the stack builds them by itself when the index has grown"
    assert "git-clean" in shell.run(".venv/bin/riffle suggest show git")
    assert shell.build_suggestions() == UNCHANGED
    shell.run(watched)
    new = shell.folder / "site" / "zebra.md"
    new.write_text("# Zebras\n\nA zebra repository has black and white stripes, and commits them in pairs.\n")
    assert "1 pages imported" in shell.run(watched)
    new.unlink()
    assert "1 pages of deleted files are removed" in shell.run(watched)
    shell.run(served)
    try:
        # The same texts are in the index already, from the import.
        assert re.search(rf"\b{len(PAGES)} fetched.*\b{len(PAGES)} duplicate", shell.run(crawled), re.DOTALL)
        assert "uplicate" in shell.run(shown)
    finally:
        for process in shell.background:
            process.terminate()
            process.wait()
