"""`riffle frontier` over stores in memory."""

import asyncio
import json

import pytest
from typer.testing import CliRunner, Result

from streams.cli import app
from streams.commands.operate import frontier as frontier_module
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.host_quality import HostRecord
from streams.stores.host_buckets import bucket_of
from streams.stores.opener import Stores
from tests.unit.commands.stores_in_memory import open_in_memory

HOST = "a.example"


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Stores:
    made = open_in_memory(monkeypatch, frontier_module)
    host = Host(bucket_of(HOST), HOST, record=HostRecord(settled=90, unique=60, quality_sum=54, rank=1_000))
    asyncio.run(made.frontier.put_host(host.to_row(None, 1)))
    return made


def riffle(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["frontier", *arguments], catch_exceptions=False)


@pytest.mark.usefixtures("stores")
def test_a_host_is_shown_with_its_quality() -> None:
    shown = " ".join(riffle("show", HOST).output.replace("│", "").split())
    assert "Quality of the host 80 of 100" in shown
    assert "Unique pages 60 of 90 settled" in shown
    found = json.loads(riffle("show", HOST, "--json").output)["quality"]
    assert (round(found["score"], 2), found["settled"], found["unique"]) == (0.8, 90, 60)
    assert round(found["budget_factor"], 2) == 1.75


@pytest.mark.usefixtures("stores")
def test_a_host_that_nobody_knows_is_named() -> None:
    refused = riffle("show", "b.example")
    assert (refused.exit_code, "does not know b.example" in refused.output) == (1, True)
