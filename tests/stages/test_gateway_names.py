"""Pages that a query names, through the whole gateway: by their address, their title and the name of their site."""

from typing import Any

import pytest

from streams.stores.opener import Stores
from tests.stages.gateway_fakes import client, gateway, searchable, statement

WAL = statement("https://www.sqlite.org/wal.html", "Readers do not block writers.", title="Write-Ahead Logging")
OTHERS = [
    statement(f"https://other{n}.example/", f"See sqlite org wal html number {n}.", title=f"Links, part {n}")
    for n in range(230)
]
"""More statements with the words of the address than a list has."""


async def results(stores: Stores, query: str, **given: Any) -> list[str]:
    async with client(gateway(stores, deadline_seconds=30)) as web:
        answer = await web.get("/api/v1/search", params={"q": query, **given})
        assert answer.status_code == 200, answer.text
        return [result["url"] for result in answer.json()["results"]]


ADDRESSES = [
    "https://www.sqlite.org/wal.html",
    "http://www.sqlite.org/wal.html#overview",
    "www.sqlite.org/wal.html",
    "SQLite.org/wal.html",
]


@pytest.mark.parametrize("query", ADDRESSES)
async def test_the_page_at_an_address_is_the_first_result(query: str) -> None:
    stores = await searchable([*OTHERS, WAL])
    assert (await results(stores, query))[0] == WAL["url"]


async def test_an_address_opens_no_page_that_the_request_leaves_out() -> None:
    stores = await searchable([*OTHERS, WAL])
    for given in ({"exclude": "www.sqlite.org"}, {"language": "de"}, {"host": "other1.example"}):
        assert WAL["url"] not in await results(stores, ADDRESSES[0], **given), given


async def test_an_address_of_no_page_is_searched_by_its_words() -> None:
    stores = await searchable([*OTHERS, WAL])
    found = await results(stores, "https://www.sqlite.org/nothing.html")
    assert len(found) == 10
    assert WAL["url"] not in found


async def test_the_page_with_the_title_and_the_first_page_of_the_site_come_first() -> None:
    pages = [
        statement("https://sqlite.org/famous.html", "SQLite is used by many.", title="Users of SQLite"),
        statement("https://sqlite.org/index.html", "SQLite is, among others, a small and fast library.", title="Home"),
        statement("https://sqlite.org/wal.html", "Write-ahead logging is a mode.", title="Modes"),
        statement("https://a.example/1", "Write-ahead logging lets readers go on.", title="3. Write-Ahead Logging"),
    ]
    stores = await searchable(pages)
    assert (await results(stores, "sqlite"))[0] == "https://sqlite.org/index.html"
    assert (await results(stores, "logging write-ahead"))[0] == "https://a.example/1"
