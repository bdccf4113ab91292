"""`riffle links` over stores in memory."""

import asyncio
import json

import pytest
from typer.testing import CliRunner, Result

from streams.cli import app
from streams.commands.operate import links as links_module
from streams.stores.opener import Stores
from tests.unit.commands.stores_in_memory import open_in_memory


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Stores:
    return open_in_memory(monkeypatch, links_module)


def riffle(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["links", *arguments], catch_exceptions=False)


async def link(stores: Stores, *sources: str) -> None:
    for number, source in enumerate(sources, 1):
        await stores.host_links.put_in_links("hub.example", number)
        await stores.host_links.add("hub.example", source, f"https://{source}/page", at=1)


def test_ranks_are_computed_and_shown(stores: Stores) -> None:
    asyncio.run(link(stores, "a.example", "b.example"))
    ranked = riffle("rank")
    assert ranked.exit_code == 0
    assert "3 hosts, 2 links between them; 1 ranks changed." in ranked.output
    assert json.loads(riffle("rank", "--json").output)["written"] == 0
    shown = riffle("show", "hub.example")
    assert shown.exit_code == 0
    assert "rank 2.70" in shown.output
    assert "https://b.example/page" in shown.output


def test_a_host_before_its_ranking(stores: Stores) -> None:
    asyncio.run(link(stores, "a.example"))
    found = json.loads(riffle("show", "HUB.example", "--json").output)
    assert found == {
        "host": "hub.example",
        "in_links": 1,
        "rank": None,
        "sources": {"a.example": "https://a.example/page"},
    }
    assert "not computed yet: riffle links rank" in riffle("show", "hub.example").output


def test_without_links_the_answer_names_the_next_step(stores: Stores) -> None:
    assert "No page of one host has linked to another host yet" in riffle("rank").output
    nobody = riffle("show", "lonely.example")
    assert (nobody.exit_code, "No page of another host links to lonely.example" in nobody.output) == (1, True)


def test_an_address_is_no_host(stores: Stores) -> None:
    refused = riffle("show", "https://hub.example/")
    assert refused.exit_code == 2
    assert "leave out https:// and the path" in " ".join(refused.output.split())
