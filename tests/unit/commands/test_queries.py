"""`riffle queries purge` over stores in memory: no text of a query is left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.commands.operate import queries as queries_module
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import PrefixRow, StoredSuggestion


def test_a_purge_deletes_suggestions_and_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = memory_stores()

    @asynccontextmanager
    async def open_stores(*_: object) -> AsyncIterator[Stores]:
        yield stores

    monkeypatch.setattr(queries_module, "open_stores", open_stores)
    row = PrefixRow("en", "fro", StoredSuggestion("frobnicate", "en", 1.0))
    asyncio.run(stores.suggestions.put([row], 1))
    asyncio.run(stores.index_maps.put(1, b"a map with a query"))
    done = CliRunner().invoke(app, ["queries", "purge", "--yes"], catch_exceptions=False)
    assert (done.exit_code, "the map are deleted" in done.output) == (0, True)
    assert asyncio.run(stores.suggestions.of_prefix("en", "fro")) == []
    assert asyncio.run(stores.index_maps.newest()) == 0
