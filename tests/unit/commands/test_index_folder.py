"""`riffle export index`, and what `riffle import` makes of such a folder before it asks a server."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from streams.cli import app
from streams.commands.pages import index_folder
from streams.commands.pages.import_source import Kind, guess_kind
from streams.stores.opener import Stores
from tests.inline_sandbox import inline_parse_pool
from tests.stages.whole_journey import WholeJourney
from tests.unit.commands.stores_in_memory import open_in_memory

URL = "https://sea.example/otters"
PAGE = "<title>Otters</title><h1>Otters</h1><p>Sea otters hold hands while they sleep at night.</p>"


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Stores:
    made = open_in_memory(monkeypatch, index_folder)
    asyncio.run(_fill(made))
    return made


async def _fill(stores: Stores) -> None:
    await WholeJourney(inline_parse_pool(), stores).fetch(URL, PAGE, 0)


def riffle(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_an_exported_folder_is_known_as_an_index(stores: Stores, tmp_path: Path) -> None:
    folder = tmp_path / "sea"
    done = riffle("export", "index", str(folder), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {
        "folder": str(folder), "pages": 1, "statements": 1, "removals": 0, "left_out": {},
    }  # fmt: skip
    assert guess_kind(folder) is Kind.handed_on
    assert "# `sea`, an index of Riffle" in (folder / "README.md").read_text()
    assert not folder.with_name("sea.partial").exists()
    refused = riffle("import", str(folder), "--as", "https://docs.example/")
    assert (refused.exit_code, "and this is an index" in refused.output) == (2, True), refused.output


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("index",), "`riffle export index DIR`"),
        (("index", "a", "b"), "`riffle export index DIR`"),
        (("a.warc.gz", "b.warc.gz"), "give one file"),
        ((".",), ". is a folder"),
        (("index", "."), "exists already"),
    ],
)
def test_wrong_arguments_are_refused(typed: tuple[str, ...], message: str, stores: Stores) -> None:
    done = riffle("export", *typed)
    assert (done.exit_code, message in done.output) == (2, True), done.output


def test_without_pages_the_answer_is_no(stores: Stores, tmp_path: Path) -> None:
    assert riffle("export", "index", str(tmp_path / "none"), "--host", "hill.example").exit_code == 1
