"""The writes of entities: how many requests they are."""

import asyncio
from typing import Any

import pytest

from streams.errors import StoreUnavailable
from streams.stores.cassandra import CassandraEntities
from streams.stores.cassandra.entities import _NAME_ARTICLE, _PUT, _PUT_NAME, _PUT_PART, _REMOVE_NAME
from streams.stores.protocols import StoredPart
from tests.unit.stores.test_cassandra_session import Driver, session_of

WRITES: dict[str, Any] = {
    "parts": lambda store, one: store.put_part(one, "wikidata", StoredPart("a" * 64, 1)),
    "articles": lambda store, one: store.name_article(f"enwiki:{one}", one, 1),
    "records": lambda store, one: store.put(one, b"record", 1),
    "names": lambda store, one: store.put_names(one, [f"{one} first", f"{one} second"], 5, 1),
    "removed names": lambda store, one: store.remove_names(one, [f"{one} first"], 5, 1),
}


async def store_over(driver: Driver) -> CassandraEntities:
    session = session_of(driver)
    for cql in (_PUT_PART, _NAME_ARTICLE, _PUT, _PUT_NAME, _REMOVE_NAME):
        await session._prepare(cql)  # all writes come in one turn then
    return CassandraEntities(session)


@pytest.mark.parametrize("kind", WRITES)
async def test_writes_of_several_entities_share_a_request(kind: str) -> None:
    driver = Driver()
    store = await store_over(driver)
    await asyncio.gather(*(WRITES[kind](store, f"Q{number}") for number in range(5)))
    assert driver.writes == [10 if kind == "names" else 5]


async def test_a_failed_write_of_one_name_fails_the_call() -> None:
    store = await store_over(Driver(ConnectionRefusedError("away")))
    with pytest.raises((StoreUnavailable, ConnectionRefusedError)):
        await store.put_names("Q1", ["first", "second"], 5, 1)


async def test_an_entity_without_names_writes_nothing() -> None:
    driver = Driver()
    await (await store_over(driver)).put_names("Q1", [], 5, 1)
    assert driver.writes == []
