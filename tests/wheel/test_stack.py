"""The whole product from the wheel: a stack is started, a page makes its journey, and the stack is stopped."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.wheel.environment import Installed

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PAGE = "<title>Harbours</title><h1>Harbours</h1><p>The harbour of Oulu freezes in November each year.</p>"
URL = "https://harbours.test/"
QUESTION = "when does the harbour of Oulu freeze"


@pytest.fixture(scope="module")
def product(local: Installed) -> Iterator[Installed]:
    """The environment, with a running stack and a crawled web of one page."""
    page = local.folder / "web" / "harbours.test" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE)
    try:
        output_of(local, "up", "--web", "web")
        output_of(local, "crawl", URL)
        yield local
    finally:
        local.run("riffle", "down")


JARS = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")}
"""The downloaded servers belong to this machine's user: other tests have fetched them."""


def output_of(product: Installed, *arguments: object, status: int = 0) -> str:
    """Run a command, and return what it writes to stdout."""
    shown = product.run("riffle", *arguments, **JARS)
    assert shown.returncode == status, shown.stdout + shown.stderr
    return shown.stdout


def answer(product: Installed, *arguments: object, status: int = 0) -> Any:
    return json.loads(output_of(product, *arguments, "--json", status=status))


def test_a_crawled_page_is_found_and_has_its_history(product: Installed) -> None:
    assert answer(product, "search", QUESTION)["results"][0]["url"] == URL
    assert answer(product, "page", URL)["url"] == URL


@pytest.mark.parametrize(
    "use",
    ["status", "status --topics", "doctor", "dead-letters list", "migrate", "links rank", "blobs sweep", "reindex"],
)
def test_commands_of_operators_work_on_the_stack(use: str, product: Installed) -> None:
    output_of(product, *use.split())


def test_an_installation_is_copied(product: Installed) -> None:
    output_of(product, "backup", "copy")
    assert (product.folder / "copy" / "manifest.json").exists()


def test_a_page_makes_a_round_trip(product: Installed) -> None:
    output_of(product, "round-trip")


def test_a_page_is_removed_on_request(product: Installed) -> None:
    output_of(product, "remove", URL, "--yes")
    assert answer(product, "search", QUESTION, status=1)["results"] == []
