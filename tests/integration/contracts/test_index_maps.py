"""The contract of the map of the index, in memory and in Cassandra."""

import pytest

from streams.stores.cassandra import CassandraSession
from streams.stores.cassandra.index_maps import MAP_PART_BYTES, CassandraIndexMaps
from streams.stores.memory import MemoryIndexMaps
from streams.stores.protocols import IndexMaps
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def index_maps(request: pytest.FixtureRequest) -> IndexMaps:
    if request.param == "memory":
        return MemoryIndexMaps()
    return CassandraIndexMaps(request.getfixturevalue("cassandra_session"))


async def test_the_last_map_takes_the_place_of_the_one_before(index_maps: IndexMaps) -> None:
    assert await index_maps.newest() == 0
    large = bytes(range(256)) * (2 * MAP_PART_BYTES // 256) + b"end"
    await index_maps.put(1_000, large)
    assert await index_maps.newest() == 1_000
    assert await index_maps.read(1_000) == large
    await index_maps.put(2_000, b"small")
    assert await index_maps.newest() == 2_000
    assert await index_maps.read(2_000) == b"small"
    assert await index_maps.read(1_000) is None
    await index_maps.purge()
    assert await index_maps.newest() == 0


async def test_a_map_of_which_parts_are_missing_is_none(cassandra_session: CassandraSession) -> None:
    """The command ended while it wrote: the map before it is shown on."""
    index_maps = CassandraIndexMaps(cassandra_session)
    await index_maps.put(3_000, b"whole")
    unfinished = {"made": 4_000, "part": 0, "parts": 2, "value": b"half"}
    statement = "INSERT INTO index_maps (shelf, made, part, parts, value) VALUES (0, :made, :part, :parts, :value)"
    await cassandra_session.execute(statement, unfinished)
    assert await index_maps.newest() == 3_000
    assert await index_maps.read(4_000) is None
