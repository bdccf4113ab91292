"""The demo web in the real gateway on loopback, and a browser."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.browser import Tab, browser, chromium
from tests.e2e.demo import demo_stores, served
from tests.stages.gateway_fakes import labelling


@pytest.fixture(scope="session")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    app = labelling(await demo_stores(), tmp_path_factory.mktemp("labels"))
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
