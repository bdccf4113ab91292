"""The contract of the counts of queries, in memory and in Cassandra."""

import pytest

from streams.stores.cassandra import CassandraQueryCounts
from streams.stores.memory import MemoryQueryCounts
from streams.stores.protocols import CountedQuery, DayCounts, QueryCounts
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH

DAY = 20_000
FIRST, LATER = DayCounts(10, 1, {4: 9, 95: 1}, 2, 30), DayCounts(11, 1, {4: 9, 95: 2}, 2, 31)


@pytest.fixture(params=BOTH)
def counts(request: pytest.FixtureRequest) -> QueryCounts:
    if request.param == "memory":
        return MemoryQueryCounts()
    return CassandraQueryCounts(request.getfixturevalue("cassandra_session"))


async def test_the_newest_counts_of_a_day_stay(counts: QueryCounts) -> None:
    query = fresh_name("query")
    assert await counts.days("en", query) == {}
    for _ in range(2):  # a redelivery
        await counts.put("en", query, DAY, LATER, 2)
    await counts.put("en", query, DAY, FIRST, 1)
    await counts.put("en", query, DAY + 1, FIRST, 3)
    assert await counts.days("en", query) == {DAY: LATER, DAY + 1: FIRST}
    assert await counts.days("de", query) == {}


async def test_the_queries_of_a_day_are_listed_and_purged(counts: QueryCounts) -> None:
    queries = {fresh_name("query") for _ in range(5)}
    for query in queries:
        await counts.put("en", query, DAY + 7, FIRST, 1)
    found = await counts.of_day(DAY + 7, 100)
    assert {each.query for each in found} == queries
    assert all(each == CountedQuery("en", each.query, FIRST) for each in found)
    assert len(await counts.of_day(DAY + 7, 3)) == 3
    await counts.purge()
    assert await counts.of_day(DAY + 7, 100) == []
    assert await counts.days("en", queries.pop()) == {}
