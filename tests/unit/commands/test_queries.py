"""`riffle queries` over stores in memory."""

import asyncio

import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.commands.operate import queries as queries_module
from streams.stores.index_maps import newest_map, put_map
from streams.stores.protocols import PrefixRow, StoredSuggestion
from tests.unit.commands.stores_in_memory import open_in_memory


def test_a_purge_deletes_suggestions_and_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = open_in_memory(monkeypatch, queries_module)
    row = PrefixRow("en", "fro", StoredSuggestion("frobnicate", "en", 1.0))
    asyncio.run(stores.suggestions.put([row], 1))
    asyncio.run(put_map(stores.notes, 1, b"a map with a query"))
    done = CliRunner().invoke(app, ["queries", "purge", "--yes"], catch_exceptions=False)
    assert (done.exit_code, "the map are deleted" in done.output) == (0, True)
    assert asyncio.run(stores.suggestions.of_prefix("en", "fro")) == []
    assert asyncio.run(newest_map(stores.notes)) == 0
