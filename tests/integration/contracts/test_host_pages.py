"""What samples of hosts' pages promise, in memory and in Cassandra."""

from uuid import UUID, uuid4

import pytest

from streams.stores.cassandra import CassandraHostPages
from streams.stores.memory import MemoryHostPages
from streams.stores.protocols import HOST_SLOTS, HostPage, HostPages
from streams.stores.row_codec import HOST_PAGE_BLOCKS
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def store(request: pytest.FixtureRequest) -> HostPages:
    if request.param == "memory":
        return MemoryHostPages()
    return CassandraHostPages(request.getfixturevalue("cassandra_session"))


@pytest.fixture
def host() -> str:
    return f"{fresh_name('host')}.example"


def in_slot(slot: int, number: int = 0) -> UUID:
    return UUID(int=number * HOST_SLOTS + slot)


async def test_what_was_put_is_there_by_slot_and_by_host(store: HostPages, host: str) -> None:
    late, early = HostPage(host, in_slot(5), (1, 2)), HostPage(host, in_slot(3, 7), (3,))
    for page in (late, early, HostPage("other.example", in_slot(4), (4,))):
        await store.put(page, 1)
    assert await store.sample(host) == [early, late]
    assert await store.sample(f"{uuid4()}.example") == []


@pytest.mark.parametrize(
    "blocks", [(), (0, 1 << 63, (1 << 64) - 1), tuple(range(HOST_PAGE_BLOCKS))], ids=["none", "all bits", "most"]
)
async def test_hashes_come_back_as_they_were(store: HostPages, host: str, blocks: tuple[int, ...]) -> None:
    page = HostPage(host, uuid4(), blocks)
    await store.put(page, 1)
    assert await store.sample(host) == [page]


async def test_a_page_that_is_put_twice_counts_once_and_its_later_value_stays(store: HostPages, host: str) -> None:
    page_id = uuid4()
    for at, blocks in ((1, (1,)), (1, (1,)), (3, (3,)), (2, (2,)), (1, (1,))):
        await store.put(HostPage(host, page_id, blocks), at)
    assert await store.sample(host) == [HostPage(host, page_id, (3,))]


async def test_a_slot_holds_the_page_that_came_last_whatever_the_order_of_writes(store: HostPages, host: str) -> None:
    first, last = HostPage(host, in_slot(9, 1), (1,)), HostPage(host, in_slot(9, 2), (2,))
    await store.put(last, 2)
    await store.put(first, 1)
    assert await store.sample(host) == [last]


async def test_two_pages_of_one_time_are_never_mixed(store: HostPages, host: str) -> None:
    one, other = HostPage(host, in_slot(9, 1), (9, 9)), HostPage(host, in_slot(9, 2), (1,))
    for page in (one, other, one):
        await store.put(page, 1)
    assert await store.sample(host) == [other]  # the greater value


async def test_a_hosts_sample_has_a_bound(store: HostPages, host: str) -> None:
    for number in range(5 * HOST_SLOTS):
        await store.put(HostPage(host, UUID(int=number), (number,)), number)
    sample = await store.sample(host)
    assert [page.blocks for page in sample] == [(number,) for number in range(4 * HOST_SLOTS, 5 * HOST_SLOTS)]
    with pytest.raises(ValueError, match="129 blocks"):
        await store.put(HostPage(host, uuid4(), tuple(range(129))), 1)
