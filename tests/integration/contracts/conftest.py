"""One contract suite for each store, over its fake and over the real server."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from streams.settings import CassandraSettings
from streams.stores import cassandra

BOTH = ["memory", pytest.param("cassandra", marks=pytest.mark.integration)]
"""Parameters of a fixture that gives a store: `@pytest.fixture(params=BOTH)`; it must not be async."""


@pytest.fixture(scope="session")
def cassandra_settings(stack: Any) -> CassandraSettings:
    """The running Cassandra, and a keyspace of our own."""
    settings: CassandraSettings = stack.settings.cassandra
    return settings.model_copy(update={"keyspace": f"contracts_{uuid4().hex[:8]}", "request_timeout_seconds": 20.0})


@pytest_asyncio.fixture(scope="session")
async def cassandra_session(cassandra_settings: CassandraSettings) -> AsyncIterator[cassandra.CassandraSession]:
    await cassandra.migrate(cassandra_settings)
    session = await cassandra.connect(cassandra_settings)
    yield session
    await session.close()
