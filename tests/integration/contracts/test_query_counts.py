"""The contract of the counts of queries, in memory and in Cassandra."""

from uuid import uuid4

import pytest

from streams.stores.cassandra import CassandraQueryCounts
from streams.stores.memory import MemoryQueryCounts
from streams.stores.protocols import CountedQuery, DayCounts, PageClicks, PlaceCounts, QueryCounts
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


async def test_clicks_of_a_query_are_kept_by_day_and_source(counts: QueryCounts) -> None:
    query, page = fresh_name("query"), uuid4()
    first, later = PageClicks({page: PlaceCounts({1: 1}, {})}, 3), PageClicks({page: PlaceCounts({1: 2}, {1: 1})}, 4)
    assert await counts.clicks_of("en", query) == {}
    for _ in range(2):  # a redelivery
        await counts.put_clicks("en", query, DAY, "asked", later, 2)
    await counts.put_clicks("en", query, DAY, "asked", first, 1)
    await counts.put_clicks("en", query, DAY, "clicked a", first, 1)
    assert await counts.clicks_of("en", query) == {(DAY, "asked"): later, (DAY, "clicked a"): first}
    assert await counts.clicks_of("de", query) == {}


async def test_hashes_and_estimates_are_kept_and_purged(counts: QueryCounts) -> None:
    digest = fresh_name("digest")
    assert await counts.of_digest(digest) is None
    await counts.put_digest(digest, "en", "tides", 1)
    await counts.put_examination((1.0, 0.5), 1)
    assert (await counts.of_digest(digest), await counts.examination()) == (("en", "tides"), (1.0, 0.5))
    await counts.purge()
    assert (await counts.of_digest(digest), await counts.examination()) == (None, ())
