"""The contract of the graph of hosts, in memory and in Cassandra."""

from uuid import uuid4

import pytest

from streams.stores.cassandra import CassandraHostLinks
from streams.stores.memory import MemoryHostLinks
from streams.stores.protocols import HostLinks, HostRank, PageLink
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH

RING = (-(2**63), 2**63 - 1)


@pytest.fixture(params=BOTH)
def links(request: pytest.FixtureRequest) -> HostLinks:
    if request.param == "memory":
        return MemoryHostLinks()
    return CassandraHostLinks(request.getfixturevalue("cassandra_session"))


def fresh_host() -> str:
    return f"{fresh_name('host').replace('_', '-')}.example"


async def test_the_sources_of_a_host_are_a_set(links: HostLinks) -> None:
    host = fresh_host()
    assert await links.sources(host, 10) == {}
    for _ in range(2):  # a redelivery
        await links.add(host, "a.example", "https://a.example/1")
    await links.add(host, "b.example", "https://b.example/")
    await links.add(host, "a.example", "https://a.example/2")
    assert await links.sources(host, 10) == {"a.example": "https://a.example/2", "b.example": "https://b.example/"}
    assert len(await links.sources(host, 1)) == 1


async def test_a_link_is_removed_with_its_page_alone(links: HostLinks) -> None:
    host = fresh_host()
    await links.add(host, "a.example", "https://a.example/1")
    await links.add(host, "b.example", "https://b.example/")
    others = ["https://a.example/2", "https://b.example/"]
    assert not await links.remove(host, "a.example", others), "another page is behind it"
    assert not await links.remove(host, "c.example", others), "there is no such link"
    assert await links.remove(host, "b.example", others)
    assert not await links.remove(host, "b.example", others)
    assert await links.sources(host, 10) == {"a.example": "https://a.example/1"}
    assert await links.remove(host, "a.example", ["https://a.example/1"])
    assert await links.sources(host, 10) == {}
    after, upto = RING
    assert host not in {found for _, found, _ in await links.scan(after, upto, 10_000)}


async def test_counts_and_ranks_are_written_apart(links: HostLinks) -> None:
    counted, ranked, unknown = fresh_host(), fresh_host(), fresh_host()
    await links.put_in_links(counted, 3)
    await links.put_ranks({ranked: 2.5, counted: 1.85})
    await links.put_in_links(counted, 4)
    assert await links.ranks([counted, ranked, unknown]) == {counted: HostRank(4, 1.85), ranked: HostRank(0, 2.5)}
    await links.put_in_links(unknown, 1)
    assert await links.ranks([unknown]) == {unknown: HostRank(1, None)}
    assert await links.ranks([]) == {}


async def test_a_scan_gives_each_linked_host_once_by_token(links: HostLinks) -> None:
    hosts = {fresh_host() for _ in range(7)}
    for host in hosts:
        for source in ("a.example", "b.example"):
            await links.add(host, source, f"https://{source}/")
    after, upto = RING
    found: list[str] = []
    while rows := await links.scan(after, upto, 3):
        assert len(rows) <= 3
        assert all(after < token <= upto for token, _, _ in rows)
        assert rows == sorted(rows)
        found += [host for _, host, _ in rows]
        assert all(set(sources) == {"a.example", "b.example"} for _, host, sources in rows if host in hosts)
        after = rows[-1][0]
    assert hosts <= set(found)
    assert len(found) == len(set(found))


async def test_links_to_a_page_have_one_row_for_each_place(links: HostLinks) -> None:
    page = uuid4()
    assert await links.page_links(page, 10) == []
    first = PageLink(page, 7, "https://a.example/1", "an anchor", True)
    for _ in range(2):  # a redelivery
        await links.put_page_links([first, PageLink(page, 9, "https://b.example/")])
    assert await links.page_links(page, 10) == [first, PageLink(page, 9, "https://b.example/")]
    await links.put_page_links([PageLink(page, 9, "https://c.example/")])
    assert [link.source_url for link in await links.page_links(page, 10)][1:] == ["https://c.example/"]
    assert page in {found for _, found in await links.scan_page_links(*RING, 100_000)}
    await links.remove_page_link(first)
    assert len(await links.page_links(page, 10)) == 1
    await links.put_page_links([])
