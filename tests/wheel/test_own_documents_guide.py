"""The commands of the guide for one's own documents, run word by word on bundled pages of git-doc and sqlite3-doc.

The stack runs already, with other pages in its index: `riffle up` finds it.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx2
import pytest

from docs.generate import ROOT
from streams.commands.console import EXIT_INTERRUPTED
from streams.commands.operate.suggest import UNCHANGED
from streams.local.demo import unpack
from streams.local.ports import free_ports
from streams.local.supervision.scheduled import QUARTER_SECONDS
from tests.integration.collector import find_leaks
from tests.sizes import FULL
from tests.wheel.environment import Product

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1_800)]

GUIDE = ROOT / "docs" / "guide" / "own-documents.md"
PATIENCE_SECONDS = 900.0
LOOK_SECONDS = 0.2


OF_GIT: tuple[str, ...] = ("git-clean.html", "git-mv.html", "git-var.html")
OF_GIT += ("gittutorial.html", "git-reflog.html", "git-restore.html", "git-revert.html") if FULL else ()
"""Some of the bundled pages of Debian's package `git-doc`: the commands are tried, not the models."""
OF_SQLITE = 24 if FULL else 8
"""Number of pages of `sqlite3-doc`, the smallest ones, in a folder of their own."""


def copy_site(web: Path, demo: Path, site: Path) -> None:
    """Copy pages of both packages that the demo has not crawled, and write a first page that links to those of Git."""
    others = [page for page in (web / "sqlite.test").glob("*.html") if not (demo / "sqlite.test" / page.name).exists()]
    (site / "sqlite").mkdir(parents=True)
    for page in sorted(others, key=lambda page: page.stat().st_size)[:OF_SQLITE]:
        shutil.copy(page, site / "sqlite")
    for name in OF_GIT:
        shutil.copy(web / "git-scm.test" / "html" / name, site)
    links = "".join(f'<li><a href="{name}">The page of {name.removesuffix(".html")}</a></li>' for name in OF_GIT)
    text = "Each of these pages explains one command of Git, with its options and some examples."
    (site / "index.html").write_text(f"<title>Some commands</title><h1>Some commands</h1><p>{text}</p><ul>{links}</ul>")


@pytest.fixture
def shell(product: Product, tmp_path: Path) -> "Shell":
    copy_site(unpack(tmp_path / "web"), product.home / "web" / "demo", tmp_path / "site")
    return Shell(product, tmp_path)


class Shell:
    """Runs lines of the guide in a folder, with the `riffle` of the wheel and a free port for 8000."""

    def __init__(self, product: Product, folder: Path) -> None:
        self.home, self.folder = product.home, folder
        (self._port,) = free_ports(1)
        self._riffle = str(product.installed.prefix / "bin" / "riffle")
        self._environment = product.installed.environ(**product.variables)
        self.background: list[subprocess.Popen[bytes]] = []

    def run(self, line: str, status: int = 0) -> str:
        line = line.replace(".venv/bin/riffle", self._riffle).replace("8000", str(self._port))
        if line.endswith("&"):
            arguments = [sys.executable, *line.removesuffix("&").split()[1:]]
            self.background.append(subprocess.Popen(arguments, cwd=self.folder, stderr=subprocess.DEVNULL))
            return ""
        done = subprocess.run(
            line, shell=True, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=400
        )
        assert done.returncode == status, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @contextmanager
    def start(self, line: str) -> Iterator[subprocess.Popen[str]]:
        """Run a line that does not end by itself."""
        line = f"exec {line.replace('.venv/bin/riffle', self._riffle)}"
        process = subprocess.Popen(
            line,
            shell=True,
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def build_suggestions(self) -> str:
        """Let a quarter of an hour pass for the build of suggestions, and wait for its end. Return its last line."""
        mark, log = self.home / "suggested", self.home / "logs" / "suggest-build.log"
        wait_until(mark.exists, "the stack looks whether suggestions are due")
        due = time.time() - QUARTER_SECONDS
        os.utime(mark, (due, due))
        wait_until(
            lambda: mark.stat().st_mtime > due + QUARTER_SECONDS / 2,
            "the build of suggestions ends",
            lambda: log.read_text() if log.exists() else "it has no log: it was not started",
        )
        return log.read_text().splitlines()[-1]


def wait_until(is_so: Callable[[], bool], what: str, found: Callable[[], str] = str) -> None:
    """Wait until it is so. `found`: says what was found in place of it."""
    for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
        if is_so():
            return
        time.sleep(LOOK_SECONDS)
    raise AssertionError(f"after {PATIENCE_SECONDS:.0f} s it is not so that {what}. {found()}")


def lines() -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def follow_until_interrupted(shell: Shell, line: str) -> None:
    """Let a change, a deletion and Ctrl-C follow one another, as while somebody builds a site."""
    with shell.start(line) as following:
        assert following.stdout
        assert following.stderr
        wait_for_line(following.stderr, "Ctrl-C ends it")
        for text in ("# Zebras\n\nA zebra has stripes.\n", "# Zebras\n\nA zebra is striped, in black and white.\n"):
            (shell.folder / "site" / "zebra.md").write_text(text)
            wait_for_line(following.stdout, "1 pages imported")
        (shell.folder / "site" / "zebra.md").unlink()
        wait_for_line(following.stdout, "1 pages of deleted files are removed")
        following.send_signal(signal.SIGINT)
        output, errors = following.communicate(timeout=PATIENCE_SECONDS)
        assert following.returncode == EXIT_INTERRUPTED, output + errors
        assert "Traceback" not in errors


def wait_for_line(output: IO[str], part: str) -> None:
    """Read lines until one has this part. `pytest.mark.timeout` ends a wait in vain."""
    for line in output:
        if part in line:
            return
    raise AssertionError(f"the output ended without {part!r}")


STAGES = [f"process pages.{step}" for step in ("fetched", "normalized", "deduplicated", "chunked", "embedded")]


def test_the_guide_word_by_word(product: Product, shell: Shell) -> None:
    """The stack of this guide also sends its traces: one search, and one page from its import to the index."""
    up, imported, asked, watched, served, crawled, shown = lines()
    site, traces = shell.folder / "site", product.traces
    pages = len(list(site.rglob("*.html")))
    (gateway,) = re.findall(r"Search  (http\S+)", shell.run(up))
    traces.spans.clear()
    assert f"Searchable: {pages};" in shell.run(imported)
    assert "https://docs.example/" in shell.run(asked)
    stores = ("SELECT ", "POST points/query", "model ")
    search = traces.wait_for(lambda trace: trace.has("GET /api/v1/search", *stores), 60)
    page = traces.wait_for(
        lambda trace: trace.has(*STAGES, "SELECT ", "PUT points", "model ", "send pages.indexed"), 60
    )
    query = asked.split('"')[1]
    texts = [re.sub(r"<[^>]*>", " ", path.read_text()) for path in site.rglob("*.html")]
    for trace in (search, page):
        print(trace.tree())
        assert find_leaks(trace.texts(), query, texts) == [], "a span has no word of the query, and no text of a page"
    (read,) = re.findall(r"suggestions from (\d+) pages", shell.build_suggestions())
    assert int(read) > pages, "the stack builds them by itself when the index has grown"
    suggested = f"{gateway.rstrip('/')}/api/v1/suggest?q=git"
    wait_until(lambda: "git-clean" in httpx2.get(suggested).text, "the gateway has the suggestions")
    assert shell.build_suggestions() == UNCHANGED
    shell.run(watched)
    new = site / "zebra.md"
    new.write_text("# Zebras\n\nA zebra repository has black and white stripes, and commits them in pairs.\n")
    assert "1 pages imported" in shell.run(watched)
    new.unlink()
    assert "1 pages of deleted files are removed" in shell.run(watched)
    follow_until_interrupted(shell, watched.removesuffix(" --once"))
    shell.run(served)
    try:
        # The same texts are in the index already, from the import.
        linked = len(OF_GIT) + 1
        assert re.search(rf"\b{linked} fetched.*\b{linked} duplicate", shell.run(crawled), re.DOTALL)
        assert "uplicate" in shell.run(shown)
    finally:
        for process in shell.background:
            process.terminate()
            process.wait()
