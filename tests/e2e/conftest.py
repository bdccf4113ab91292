"""The demo web in the real gateway on loopback, and a browser."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.evaluation.snippet_labels import add_snippets
from benchmarks.evaluation.snippet_rule import Snippet
from benchmarks.labelling.snippets import FILE_NAME
from tests.e2e.browser import Tab, browser, chromium
from tests.e2e.demo import demo_stores, served
from tests.stages.gateway_fakes import labelling


@pytest.fixture(scope="session")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    labels = tmp_path_factory.mktemp("labels")
    context = ("Write-Ahead Logging", "The log has these advantages:")
    shown = [
        Snippet("why a log", "https://sqlite.org/wal.html", "readers do not wait for writers", "item", context, ""),
        Snippet("open a log", "https://sqlite.org/wal.html", "PRAGMA journal_mode=WAL;\nCOMMIT;", "code", (), ""),
    ]
    add_snippets(labels / FILE_NAME, shown, {})
    app = labelling(await demo_stores(), labels)
    async with served(app) as address:
        yield address
    await app.state.gateway.close()


@pytest.fixture(scope="session")
async def tab() -> AsyncIterator[Tab]:
    program = chromium()
    if program is None:
        pytest.skip("no Chromium here: the browser tests need Debian's package `chromium`")
    async with browser(program) as opened:
        yield opened


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pictures: RIFFLE_SCREENSHOTS, or the test's temporary folder."""
    folder = Path(os.environ.get("RIFFLE_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
