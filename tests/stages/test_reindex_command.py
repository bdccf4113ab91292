"""The command `riffle reindex`: faults for which it switches to no collection, its options and what it prints."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from typer.testing import CliRunner, Result

from streams.cli import app
from streams.commands.operate import reindex as reindex_module
from streams.commands.operate.reindex import _fill_and_switch, _switch_collection
from streams.errors import UsageError
from streams.maintenance.reindexing import Reindexer
from streams.models.memory import MemoryEmbedder
from streams.stores.opener import Stores, memory_stores
from tests.stages.reindexing import PAGES, filled_stores, lose_statements, url


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits until the workers see a switch."""
    monkeypatch.setattr(reindex_module, "SEEN_SECONDS", 0.0)


@pytest.fixture
async def stores() -> Stores:
    return await filled_stores()


@pytest.mark.parametrize(
    ("lost", "skip_failed", "status", "faults"),
    [
        pytest.param([], False, 0, [], id="all could be read"),
        pytest.param([7], False, 1, ["failed-pages"], id="one page is lost"),
        pytest.param([7], True, 0, [], id="one page is lost, and that is accepted"),
        pytest.param(range(PAGES), False, 1, ["no-pages", "failed-pages"], id="all are lost"),
        pytest.param(range(PAGES), True, 1, ["no-pages"], id="all are lost: nothing is left to search"),
    ],
)
async def test_a_collection_with_missing_pages_is_searched_only_on_request(
    stores: Stores,
    capsys: pytest.CaptureFixture[str],
    lost: Sequence[int],
    skip_failed: bool,
    status: int,
    faults: list[str],
) -> None:
    other = MemoryEmbedder(32, name="other")
    former = await stores.vectors.active()
    collection = await stores.vectors.ensure(await other.info())
    for number in lost:
        await lose_statements(stores, number)
    made = await _fill_and_switch(
        stores, Reindexer(stores, other), collection, switch=True, skip_failed=skip_failed, as_json=True
    )
    answer = json.loads(capsys.readouterr().out)
    assert (made, answer["faults"]) == (status, faults)
    assert answer["passed"] is (status == 0)
    assert sorted(line.partition(": ")[0] for line in answer["failed"]) == sorted(map(url, lost))
    assert await stores.vectors.active() == answer["searched"] == (former if status else collection)


async def test_pages_that_could_not_be_read_are_counted_and_the_first_are_named(
    stores: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        await lose_statements(stores, number)
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    await _fill_and_switch(stores, Reindexer(stores, other), collection, switch=True, as_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("Could not be read: https://") == 10
    assert "Could not be read: 2 more, which --json names" in printed
    assert "Not switched: searches read statements-feature-hashing-1. 12 pages could not be read" in printed
    assert "riffle reindex --skip-failed" in printed


async def test_nothing_is_switched_to_an_empty_collection(capsys: pytest.CaptureFixture[str]) -> None:
    stores = memory_stores()
    former = await stores.vectors.ensure(await stores.embedder.info())
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    assert await _fill_and_switch(stores, Reindexer(stores, other), collection, switch=True, as_json=False) == 1
    assert "Cassandra has no page of the index" in " ".join(capsys.readouterr().out.split())
    assert await stores.vectors.active() == former


@pytest.fixture
def command_stores(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """The stores that `riffle reindex` opens."""

    class Models:
        embedder = MemoryEmbedder(32, name="other")

        async def close(self) -> None: ...

    async def open_models(*_: object) -> Models:
        return Models()

    @asynccontextmanager
    async def open_stores(*_: object, **__: object) -> AsyncIterator[Stores]:
        yield stores

    monkeypatch.setattr(reindex_module, "open_stores", open_stores)
    monkeypatch.setattr(reindex_module, "open_models", open_models)
    return stores


def riffle(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["reindex", *arguments], catch_exceptions=False)


def test_missing_pages_are_accepted_by_an_option(command_stores: Stores) -> None:
    asyncio.run(lose_statements(command_stores, 7))
    assert riffle("--json").exit_code == 1
    accepted = json.loads(riffle("--skip-failed", "--json").stdout)
    assert (accepted["switched"], len(accepted["failed"])) == (True, 1)
    assert riffle("--back", "--skip-failed").exit_code == 2


@pytest.mark.parametrize(
    ("host", "status", "message"),
    [
        pytest.param("even.example", 0, '"pages": 20', id="as in the URLs"),
        pytest.param(" EVEN.example", 0, '"pages": 20', id="in any case"),
        pytest.param("nosuch.example", 2, "The index has no page of nosuch.example", id="unknown"),
        pytest.param("https://even.example/2", 2, "is a URL. Give its host alone: --host even.example", id="a URL"),
        pytest.param("even.example/", 2, "is a URL. Give its host alone: --host even.example", id="a path"),
        pytest.param("even.example?a", 2, "is a URL. Give its host alone: --host even.example", id="a query"),
        pytest.param("even", 2, "is not the name of a host", id="no host"),
    ],
)
def test_a_host_is_given_as_it_is_in_urls(command_stores: Stores, host: str, status: int, message: str) -> None:
    result = riffle("--host", host, "--json")
    assert result.exit_code == status
    assert message in " ".join(result.output.split())


async def test_back_needs_a_name_if_there_are_several_others(stores: Stores) -> None:
    with pytest.raises(UsageError, match="no other collection"):
        await _switch_collection(stores.vectors, "")
    for name in ("a", "b"):
        await stores.vectors.ensure(await MemoryEmbedder(32, name=name).info())
    with pytest.raises(UsageError, match=r"statements-a-1, statements-b-1.*--activate"):
        await _switch_collection(stores.vectors, "")
    assert (await _switch_collection(stores.vectors, "statements-b-1"))["searched"] == "statements-b-1"
