"""The contract of the keys of the API, their webhooks and the sites, in memory and in Cassandra."""

import pytest

from streams.stores.cassandra import CassandraApiKeys
from streams.stores.memory import MemoryApiKeys
from streams.stores.protocols import ApiKey, ApiKeys, Hook, HookSecret, Site
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def keys(request: pytest.FixtureRequest) -> ApiKeys:
    if request.param == "memory":
        return MemoryApiKeys()
    return CassandraApiKeys(request.getfixturevalue("cassandra_session"))


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


async def test_hooks_are_replaced_and_removed_and_an_older_write_replaces_nothing(keys: ApiKeys) -> None:
    name = fresh_name("hook")
    made = Hook(name, "key", "https://app.example/", ("pages.indexed",), (HookSecret("a"),), "https://docs.example/")
    changed = Hook(name, "key", made.url, made.events, (HookSecret("b"), HookSecret("a", until=9)), made.prefix)
    await keys.put_hook(made, 1)
    for _ in range(2):
        await keys.put_hook(changed, 5)
    await keys.put_hook(made, 2)
    assert [hook for hook in await keys.hooks() if hook.id == name] == [changed]
    await keys.remove_hook(name, 6)
    await keys.put_hook(made, 4)
    assert name not in {hook.id for hook in await keys.hooks()}
