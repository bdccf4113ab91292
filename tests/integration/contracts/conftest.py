"""One contract suite for each store, over its fake and over the real server."""

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from uuid import uuid4

import pytest
import pytest_asyncio

from streams.errors import UsageError
from streams.settings import CassandraSettings, QdrantSettings, Settings
from streams.stores import cassandra
from streams.stores.memory.vectors import MemoryIndex
from streams.stores.qdrant.index import QdrantIndex
from tests.conftest import fresh_name
from tests.integration.contracts.indexes import Index, Make
from tests.integration.contracts.proxy import Proxy
from tests.integration.qdrant_process import NO_REAL_QDRANT, QdrantProcess, RealQdrantProcess, real_qdrant

BOTH = ["memory", pytest.param("cassandra", marks=pytest.mark.integration("cassandra"))]
"""Parameters of a fixture that gives a store: `@pytest.fixture(params=BOTH)`; it must not be async."""


@pytest.fixture(scope="session")
def cassandra_settings(stack: Settings) -> CassandraSettings:
    """The running Cassandra, and a keyspace of our own."""
    return stack.cassandra.model_copy(update={"keyspace": fresh_name("contracts"), "request_timeout_seconds": 60.0})


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


@pytest.fixture(scope="session")
def local_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The local server, which builds graphs from four points on: the contract holds in each phase of a build."""
    server = QdrantProcess(tmp_path_factory.mktemp("qdrant") / "data", options=("--seal-points", "4"))
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def real_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not real_qdrant():
        pytest.skip(NO_REAL_QDRANT)
    server = RealQdrantProcess(tmp_path_factory.mktemp("real-qdrant") / "data")
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(params=["memory", "local", "real"])
async def make_index(request: pytest.FixtureRequest) -> AsyncIterator[Make]:
    """Makes indexes under an alias of their own."""
    made: list[Index] = []
    url = "" if request.param == "memory" else request.getfixturevalue(f"{request.param}_url")

    def index() -> Index:
        alias = f"t{uuid4().hex[:12]}"
        if request.param == "memory":
            made.append(MemoryIndex(alias))
        else:
            made.append(QdrantIndex(QdrantSettings(url=url), production=False, alias=alias))
        return made[-1]

    yield index
    for one in made:
        for name in await one.collections():
            with suppress(UsageError):
                await one.drop(name)
        await one.close()


@pytest.fixture
def index(make_index: Make) -> Index:
    return make_index()
