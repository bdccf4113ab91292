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
from tests.frontier_rows import put_host
from tests.unit.commands.stores_in_memory import open_in_memory

HOST = "a.example"


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Stores:
    made = open_in_memory(monkeypatch, frontier_module)
    host = Host(bucket_of(HOST), HOST, record=HostRecord(settled=90, unique=60, quality_sum=54, rank=1_000))
    asyncio.run(put_host(made.frontier, host.to_row(None, 1)))
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


def test_all_crawls_are_paused_and_resumed(stores: Stores) -> None:
    paused = json.loads(riffle("set", "all", "--pause", "--json").output)
    assert (paused["host"], paused["paused"]) == ("all", True)
    assert riffle("hosts").output.split().count("paused") == 1
    assert json.loads(riffle("set", "all", "--unpause", "--json").output)["paused"] is False
    refused = riffle("set", "all", "--block")
    assert (refused.exit_code, "all hosts together can only be paused" in refused.output) == (2, True)


def test_an_order_keeps_what_is_not_named(stores: Stores) -> None:
    set_ = ("set", f"https://{HOST}/", "--json")
    first = json.loads(riffle(*set_, "--delay", "2.5", "--note", "a request").output)
    assert first == {
        "host": HOST,
        "blocked": False,
        "paused": False,
        "delay_seconds": 2.5,
        "max_pages": 0,
        "note": "a request",
        "pages": 0,
    }
    assert json.loads(riffle(*set_, "--budget", "500").output) == {**first, "max_pages": 500}
    dropped = riffle("set", HOST, "--delay", "0", "--drop-queue", "--yes")
    assert "a.example: at most 500 pages, a request; the URLs that wait are being dropped." in dropped.output
    stored = asyncio.run(stores.frontier.order(HOST))
    assert stored
    assert (stored.delay_seconds, stored.max_pages, stored.purged_at > 0) == (0, 500, True)


@pytest.mark.usefixtures("stores")
def test_an_order_without_a_change_is_refused() -> None:
    refused = riffle("set", HOST)
    assert (refused.exit_code, "name a change: --block" in refused.output) == (2, True)
