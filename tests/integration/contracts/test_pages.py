"""The contract of records, in memory and in Cassandra."""

import asyncio
from datetime import UTC, datetime
from itertools import permutations
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.stores.cassandra import CassandraPages
from streams.stores.memory import MemoryPages
from streams.stores.page_record import Fetched, Indexed, Normalized
from streams.stores.protocols import Pages
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def pages(request: pytest.FixtureRequest) -> Pages:
    if request.param == "memory":
        return MemoryPages()
    return CassandraPages(request.getfixturevalue("cassandra_session"))


async def test_nothing_is_known_of_an_unknown_page(pages: Pages) -> None:
    assert (await pages.get(uuid4())).rows == {}


async def test_each_part_is_kept_by_itself(pages: Pages) -> None:
    page = uuid4()
    await pages.put(page, Fetched.of_row({"status": 200}), 2)
    await pages.put(page, Normalized.of_row({"title": "A title"}), 1)
    assert (await pages.get(page)).rows == {"fetched": {"status": 200}, "normalized": {"title": "A title"}}


async def test_one_part_of_several_pages_is_read_at_once(pages: Pages) -> None:
    page, other, unknown = uuid4(), uuid4(), uuid4()
    await pages.put(page, Normalized.of_row({"title": "A title", "typed": {"rating": "4.5"}}), 1)
    await pages.put(page, Fetched.of_row({"status": 200}), 1)
    await pages.put(other, Fetched.of_row({"status": 200}), 1)
    found = await pages.get_normalized([page, other, unknown])
    assert {each: (part.title, part.typed) for each, part in found.items()} == {page: ("A title", {"rating": "4.5"})}
    assert await pages.get_normalized([]) == {}


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
async def test_the_latest_write_stands_whatever_the_order(pages: Pages, order: tuple[int, ...]) -> None:
    page = uuid4()
    for at in order:
        await pages.put(page, Fetched.of_row({"generation": at}), at)
    assert (await pages.get(page)).rows == {"fetched": {"generation": 3}}


async def test_write_times_are_those_of_the_parts_that_stand(pages: Pages) -> None:
    page = uuid4()
    for at in (3, 5, 4):
        await pages.put(page, Fetched.of_row({"generation": at}), at)
    await pages.put(page, Normalized.of_row({"title": "A title"}), 2)
    assert await pages.write_times(page) == {"fetched": 5, "normalized": 2}
    assert await pages.write_times(uuid4()) == {}


async def test_writers_at_once_leave_the_latest(pages: Pages) -> None:
    page = uuid4()
    await asyncio.gather(*(pages.put(page, Fetched.of_row({"generation": at}), at) for at in range(100)))
    assert (await pages.get(page)).rows == {"fetched": {"generation": 99}}


async def test_the_same_write_twice_is_one(pages: Pages) -> None:
    page = uuid4()
    for _ in range(2):
        await pages.put(page, Fetched.of_row({"status": 200}), 7)
    assert (await pages.get(page)).rows == {"fetched": {"status": 200}}


async def test_two_values_at_one_time_leave_the_same_one_in_either_order(pages: Pages) -> None:
    one, other = uuid4(), uuid4()
    values: tuple[dict[str, Any], ...] = ({"status": 200}, {"status": 404})
    for value in values:
        await pages.put(one, Fetched.of_row(value), 7)
    for value in reversed(values):
        await pages.put(other, Fetched.of_row(value), 7)
    assert await pages.get(one) == await pages.get(other)


async def test_a_value_replaces_the_whole_former_value(pages: Pages) -> None:
    page = uuid4()
    await pages.put(page, Fetched.of_row({"error": "refused", "status": 500}), 1)
    await pages.put(page, Fetched.of_row({"status": 200}), 2)
    assert (await pages.get(page)).rows == {"fetched": {"status": 200}}


async def test_what_was_given_is_not_shared(pages: Pages) -> None:
    page, value = uuid4(), {"headers": {"etag": "1"}}
    await pages.put(page, Fetched.of_row(value), 1)
    value["headers"]["etag"] = "changed by the caller"
    (await pages.get(page)).rows["fetched"]["headers"]["etag"] = "changed by a reader"
    assert (await pages.get(page)).rows == {"fetched": {"headers": {"etag": "1"}}}


async def test_what_a_record_can_hold(pages: Pages) -> None:
    page, value = uuid4(), {"directives": ("noindex",), "page_id": uuid4(), "seen": datetime(2024, 5, 1, tzinfo=UTC)}
    await pages.put(page, Normalized.of_row(value), 1)
    assert (await pages.get(page)).rows == {"normalized": {**value, "directives": ["noindex"]}}


async def test_what_a_record_cannot_hold_is_refused(pages: Pages) -> None:
    with pytest.raises(TypeError, match="a record can't hold object"):
        await pages.put(uuid4(), Fetched.of_row({"status": object()}), 1)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(st.tuples(st.integers(0, 5), st.dictionaries(st.text(), st.integers() | st.text())), min_size=1))
async def test_any_order_of_the_same_writes_leaves_the_same(
    pages: Pages, writes: list[tuple[int, dict[str, Any]]]
) -> None:
    one, other = uuid4(), uuid4()
    for at, value in writes:
        await pages.put(one, Indexed.of_row(value), at)
    for at, value in reversed(writes):
        await pages.put(other, Indexed.of_row(value), at)
    assert await pages.get(one) == await pages.get(other)
    assert (await pages.get(one)).rows["indexed"] in [
        value for at, value in writes if at == max(at for at, _ in writes)
    ]


FIRST, LAST = -(2**63), 2**63 - 1


async def test_a_scan_visits_each_page_once_and_goes_on_behind_a_token(pages: Pages) -> None:
    expected = {uuid4() for _ in range(30)}
    for page in expected:
        for part in (Fetched, Indexed):
            await pages.put(page, part.of_row({"generation": 1}), 1)
    seen, token = [], FIRST
    while found := await pages.scan(token, LAST, 7):
        assert len(found) <= 7
        assert [one for one, _ in found] == sorted(one for one, _ in found)
        seen += [page for _, page in found]
        token = found[-1][0]
    assert len(seen) == len(set(seen))
    assert expected <= set(seen), "the keyspace may hold pages of other tests"


async def test_a_scan_of_a_part_of_the_ring_has_the_tokens_of_that_part(pages: Pages) -> None:
    for _ in range(20):
        await pages.put(uuid4(), Fetched.of_row({}), 1)
    halves = [await pages.scan(FIRST, 0, 10_000), await pages.scan(0, LAST, 10_000)]
    assert all(token <= 0 for token, _ in halves[0])
    assert all(token > 0 for token, _ in halves[1])
    assert len(halves[0]) + len(halves[1]) == len(await pages.scan(FIRST, LAST, 10_000))
