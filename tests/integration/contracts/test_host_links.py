"""The contract of the graph of hosts, in memory and in Cassandra."""

from dataclasses import replace
from uuid import uuid4

import pytest

from streams.stores.blobs import page_blob_ref
from streams.stores.cassandra import CassandraHostLinks, CassandraPages
from streams.stores.memory import MemoryHostLinks, MemoryPages
from streams.stores.page_record import Normalized, PageRecord
from streams.stores.protocols import HostLinks, HostRank, LinkGroup, PageLink, Pages
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
        await links.add(host, "a.example", "https://a.example/1", at=1)
    await links.add(host, "b.example", "https://b.example/", at=1)
    await links.add(host, "a.example", "https://a.example/2", at=2)
    await links.add(host, "a.example", "https://a.example/3", at=1)  # it comes late
    assert await links.sources(host, 10) == {"a.example": "https://a.example/2", "b.example": "https://b.example/"}
    assert len(await links.sources(host, 1)) == 1


async def test_a_removed_link_comes_back_only_by_a_later_write(links: HostLinks) -> None:
    host = fresh_host()
    assert await links.source_page(host, "a.example") is None
    await links.add(host, "a.example", "https://a.example/1", at=3)
    await links.add(host, "b.example", "https://b.example/", at=3)
    assert await links.source_page(host, "a.example") == ("https://a.example/1", 3)
    await links.remove(host, "a.example", at=2)
    assert len(await links.sources(host, 10)) == 2, "the row is newer"
    for _ in range(2):
        await links.remove(host, "a.example", at=3)
    await links.add(host, "a.example", "https://a.example/1", at=3)
    assert await links.sources(host, 10) == {"b.example": "https://b.example/"}
    await links.remove(host, "b.example", at=4)
    after, upto = RING
    assert host not in {found for _, found, _ in await links.scan(after, upto, 10_000)}
    await links.add(host, "a.example", "https://a.example/2", at=5)
    assert await links.source_page(host, "a.example") == ("https://a.example/2", 5)


async def test_counts_and_ranks_are_written_apart(links: HostLinks) -> None:
    counted, ranked, unknown = fresh_host(), fresh_host(), fresh_host()
    await links.put_in_links(counted, 3)
    await links.put_ranks({ranked: 2.5, counted: 1.85})
    await links.put_in_links(counted, 4)
    assert await links.ranks([counted, ranked, unknown]) == {counted: HostRank(4, 1.85), ranked: HostRank(0, 2.5)}
    await links.add(unknown, "a.example", "https://a.example/", 5, in_links=1)
    await links.add(unknown, "b.example", "https://b.example/", 5)
    assert await links.ranks([unknown]) == {unknown: HostRank(1, None)}
    assert set(await links.sources(unknown, 10)) == {"a.example", "b.example"}
    assert await links.sources(counted, 10) == {}, "a host with a rank may have no links"
    linked = fresh_host()
    await links.add(linked, "a.example", "https://a.example/", 5)
    assert await links.ranks([linked]) == {}, "it is neither counted nor ranked"
    assert await links.ranks([]) == {}


async def test_a_scan_gives_each_linked_host_once_by_token(links: HostLinks) -> None:
    hosts = {fresh_host() for _ in range(7)}
    for host in hosts:
        for source in ("a.example", "b.example"):
            await links.add(host, source, f"https://{source}/", at=1)
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
    host, page = fresh_host(), uuid4()
    assert await links.page_links(host, page, 10) == []
    first = PageLink(host, page, 7, "https://a.example/1", "an anchor", True)
    second, other = replace(first, place=9, source_url="https://b.example/"), replace(first, page_id=uuid4())
    for _ in range(2):  # a redelivery
        await links.put_page_links([first, second, other], at=1)
    assert await links.page_links(host, page, 10) == [first, second]
    await links.put_page_links([replace(second, source_url="https://c.example/")], at=2)
    assert [link.source_url for link in await links.page_links(host, page, 10)][1:] == ["https://c.example/"]
    assert [link.place for link in await links.page_links(host, page, 10, first_place=8)] == [9]
    assert len(await links.page_links(host, page, 1)) == 1
    await links.remove_page_link(first, at=2)
    await links.put_page_links([first], at=1)  # it comes late
    assert len(await links.page_links(host, page, 10)) == 1
    await links.put_page_links([], at=3)
    assert await links.sources(host, 10) == {}, "a link to a page is no link of a host by itself"
    assert host not in {found for _, found, _ in await links.scan(*RING, 10_000)}
    await links.add(host, "a.example", "https://a.example/1", at=1)
    assert await links.sources(host, 1) == {"a.example": "https://a.example/1"}


@pytest.fixture
def few_rows(links: HostLinks) -> HostLinks:
    """A store whose partition of a host has room for four links to pages."""
    return links if isinstance(links, MemoryHostLinks) else CassandraHostLinks(links._session, 4)  # type: ignore[attr-defined]  # the other one


async def test_further_links_to_a_host_with_many_are_read_and_replaced_as_the_first_ones(few_rows: HostLinks) -> None:
    host, page = fresh_host(), uuid4()
    rows = [PageLink(host, page, place, f"https://s{place}.example/") for place in range(9)]
    for _ in range(2):  # a redelivery
        for first in range(0, 9, 3):
            await few_rows.put_page_links(rows[first : first + 3], at=1)
            await few_rows.put_page_links([rows[0]], at=1)
    assert await few_rows.page_links(host, page, 99) == rows
    assert await few_rows.page_links(host, page, 3, first_place=2) == rows[2:5]
    changed = [replace(row, source_url="https://new.example/") for row in rows]
    await few_rows.put_page_links(changed, at=3)
    await few_rows.put_page_links(rows, at=2)  # it comes late
    assert await few_rows.page_links(host, page, 99) == changed
    for row in changed[::2]:
        await few_rows.remove_page_link(row, at=4)
    assert await few_rows.page_links(host, page, 99) == changed[1::2]


async def test_links_to_pages_are_stored_with_a_link_of_hosts(few_rows: HostLinks) -> None:
    host, page = fresh_host(), uuid4()
    rows = [PageLink(host, page, place, f"https://s{place}.example/") for place in range(9)]
    for _ in range(2):  # a redelivery
        for number, first in enumerate(range(0, 9, 3), start=1):
            source = f"s{number}.example"
            await few_rows.add(host, source, f"https://{source}/", 1, number, rows[first : first + 3])
    assert await few_rows.page_links(host, page, 99) == rows
    assert set(await few_rows.sources(host, 99)) == {"s1.example", "s2.example", "s3.example"}
    assert await few_rows.ranks([host]) == {host: HostRank(3, None)}


async def test_rows_that_are_written_again_and_again_stay_few(few_rows: HostLinks) -> None:
    """The same link comes each time its page is read: it takes no further room."""
    host, page = fresh_host(), uuid4()
    row = PageLink(host, page, 1, "https://a.example/")
    for at in range(1, 10):
        await few_rows.put_page_links([row], at=at)
    assert await few_rows.page_links(host, page, 99) == [row]
    assert await few_rows.sources(host, 9) == {}
    if isinstance(few_rows, CassandraHostLinks):
        assert few_rows._page_rows.get(host) in range(1, 5), "its links stay beside it"


@pytest.mark.parametrize("store", BOTH)
async def test_the_links_of_a_page_are_written_with_its_record(store: str, request: pytest.FixtureRequest) -> None:
    links: HostLinks
    pages: Pages
    if store == "memory":
        pages = MemoryPages(links=(links := MemoryHostLinks()))
    else:
        session = request.getfixturevalue("cassandra_session")
        links, pages = CassandraHostLinks(session), CassandraPages(session)
    page, content = uuid4(), b"a document"
    groups = [LinkGroup(("https://a.example/1",), 2), LinkGroup(("https://b.example/1",), 2, followed=False)]
    part = Normalized.of_row({"url": "https://c.example/", "generation": 2})
    for _ in range(2):  # a redelivery
        await pages.put(page, part, 9, {page_blob_ref(page, content): content}, groups)
    assert sorted(await links.links_of(page), key=str) == groups
    assert (await pages.get(page)).parts() == [part]
    record, found = await pages.get_with_links(page)
    assert (record.parts(), sorted(found, key=str)) == ([part], groups), "by one read"
    assert await pages.get_with_links(uuid4()) == (PageRecord(), [])
    await links.remove_links_of(page, groups[0])
    await pages.put(page, part, 9, None, groups)
    assert await links.links_of(page) == groups[1:], "it was taken back"
    many = [LinkGroup((f"https://{number}.example/",), 3) for number in range(600)]
    await pages.put(page, part, 9, None, many)
    assert len(await links.links_of(page)) == 601
    await links.put_links_of(unread := uuid4(), groups[0])  # an archive brings links of pages that were never read
    scanned = {found for _, found in await pages.scan(*RING, 10_000)}
    assert (page in scanned, unread in scanned) == (True, False), "a page without a record"
    await pages.erase(page, 10)
    assert (await links.links_of(page), (await pages.get(page)).parts()) == ([], [])


async def test_the_links_of_a_page_are_groups(links: HostLinks) -> None:
    page = uuid4()
    assert await links.links_of(page) == []
    first = LinkGroup(("https://a.example/1", "https://a.example/2"), 2)
    second, third = LinkGroup(first.urls[:1], 2), LinkGroup(first.urls, 3, followed=False)
    for group in (first, first, second, third):  # a redelivery
        await links.put_links_of(page, group)
    assert sorted(await links.links_of(page), key=str) == sorted([first, second, third], key=str)
    await links.remove_links_of(page, replace(second, generation=1))  # an event of an earlier generation
    await links.remove_links_of(page, third)
    await links.put_links_of(page, replace(third, generation=2))  # it comes late
    assert sorted(await links.links_of(page), key=str) == sorted([first, second], key=str)
    await links.put_links_of(page, replace(first, generation=4))
    assert {group.generation for group in await links.links_of(page)} == {2, 4}
