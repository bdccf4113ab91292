"""The contract of the keys of the API, the sites and what clients spent, in memory and in Cassandra."""

import pytest

from streams.stores.cassandra import CassandraApiKeys, CassandraApiSpending
from streams.stores.memory import MemoryApiKeys, MemoryApiSpending
from streams.stores.protocols import ApiKey, ApiKeys, ApiSpending, Site, Spending
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH

DAY = 20_000


@pytest.fixture(params=BOTH)
def keys(request: pytest.FixtureRequest) -> ApiKeys:
    if request.param == "memory":
        return MemoryApiKeys()
    return CassandraApiKeys(request.getfixturevalue("cassandra_session"))


@pytest.fixture(params=BOTH)
def spending(request: pytest.FixtureRequest) -> ApiSpending:
    if request.param == "memory":
        return MemoryApiSpending()
    return CassandraApiSpending(request.getfixturevalue("cassandra_session"))


async def test_the_newest_state_of_a_key_stays(keys: ApiKeys) -> None:
    name = fresh_name("key")
    valid = ApiKey(name, "a program", b"\x01\xff", ("search", "pages"), 1, 9, 0, 60, 1000, "docs")
    revoked = ApiKey(name, "a program", b"\x01\xff", ("search", "pages"), 1, 9, 5, 60, 1000, "docs")
    assert await keys.get(name) is None
    await keys.put(valid, 1)
    assert await keys.get(name) == valid
    for _ in range(2):
        await keys.put(revoked, 5)
    await keys.put(valid, 2)
    assert await keys.get(name) == revoked
    assert [key for key in await keys.all() if key.id == name] == [revoked]


async def test_sites_are_replaced_and_removed(keys: ApiKeys) -> None:
    name = fresh_name("site")
    await keys.put_site(Site(name, "Docs", ("docs.example",)), 1)
    await keys.put_site(Site(name, "Docs", ("docs.example", "blog.example"), is_private=True), 2)
    assert Site(name, "Docs", ("docs.example", "blog.example"), is_private=True) in await keys.sites()
    await keys.remove_site(name, 3)
    assert name not in {site.name for site in await keys.sites()}


async def test_each_gateway_has_a_row_of_its_own(spending: ApiSpending) -> None:
    client = fresh_name("client")
    first, later = Spending(3, 57.5, 1_000), Spending(9, 51.5, 2_000)
    assert await spending.of_day(client, DAY) == {}
    await spending.put(client, DAY, "one", later)
    await spending.put(client, DAY, "one", first)  # a late write
    await spending.put(client, DAY, "two", first)
    await spending.put(client, DAY + 1, "two", first)
    assert await spending.of_day(client, DAY) == {"one": later, "two": first}
