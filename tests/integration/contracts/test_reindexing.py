"""The contract of the progress of `riffle reindex`, in memory and in Cassandra."""

import pytest

from streams.stores.cassandra import CassandraReindexing
from streams.stores.memory import MemoryReindexing
from streams.stores.protocols import PartProgress, Reindexing
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def reindexing(request: pytest.FixtureRequest) -> Reindexing:
    if request.param == "memory":
        return MemoryReindexing()
    return CassandraReindexing(request.getfixturevalue("cassandra_session"))


async def test_progress_is_kept_by_collection_host_and_part_until_it_is_cleared(reindexing: Reindexing) -> None:
    name = fresh_name("collection")
    assert await reindexing.progress(name, "") == {}
    await reindexing.put(name, "", 0, PartProgress(-5, 1, 2))
    await reindexing.put(name, "", 0, PartProgress(2**63 - 1, 3, 4))
    await reindexing.put(name, "", 63, PartProgress(-(2**63)))
    await reindexing.put(name, "a.example", 0, PartProgress(7))
    assert await reindexing.progress(name, "") == {0: PartProgress(2**63 - 1, 3, 4), 63: PartProgress(-(2**63))}
    await reindexing.clear(name, "")
    assert await reindexing.progress(name, "") == {}
    assert await reindexing.progress(name, "a.example") == {0: PartProgress(7)}
