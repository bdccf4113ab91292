"""One contract suite for each store, over its fake and over the real server."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from streams.settings import CassandraSettings, Settings
from streams.stores import cassandra
from tests.conftest import fresh_name
from tests.integration.contracts.proxy import Proxy

BOTH = ["memory", pytest.param("cassandra", marks=pytest.mark.integration("cassandra"))]
"""Parameters of a fixture that gives a store: `@pytest.fixture(params=BOTH)`; it must not be async."""


@pytest.fixture(scope="session")
def cassandra_settings(stack: Settings) -> CassandraSettings:
    """The running Cassandra, and a keyspace of our own."""
    return stack.cassandra.model_copy(update={"keyspace": fresh_name("contracts"), "request_timeout_seconds": 20.0})


@pytest_asyncio.fixture(scope="session")
async def cassandra_session(cassandra_settings: CassandraSettings) -> AsyncIterator[cassandra.CassandraSession]:
    await cassandra.migrate(cassandra_settings)
    session = await cassandra.connect(cassandra_settings)
    yield session
    await session.close()


@pytest_asyncio.fixture
async def proxy(
    cassandra_session: cassandra.CassandraSession, cassandra_settings: CassandraSettings
) -> AsyncIterator[Proxy]:
    async with Proxy(cassandra_settings.port) as running:
        yield running
