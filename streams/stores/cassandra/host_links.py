"""The graph of hosts in Cassandra: a row for each pair of hosts, beside what is known of the linked host.

The links to the pages of a host have rows in the same partition, so all that an event of links stores under the host is
one write. A host with many such rows has its further ones in `page_links`, a partition for each linked page. How many
rows a host has is in the row of no source (""). Rows that are written again count again, so they are counted when there
seem to be too many.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from streams.caches import RecentCache
from streams.stores.cassandra.records import name_of_group, read_group, write_of_group
from streams.stores.cassandra.session import CassandraSession, Params
from streams.stores.protocols import HostRank, LinkGroup, PageLink

MAX_PAGE_ROWS = 10_000
"""Maximum number of links to pages in the partition of their host: about 2 MB."""
_FULL = 2**31 - 1
"""The number of rows of a host whose further rows are in `page_links`."""
_MAX_COUNTS = 100_000
"""Maximum number of hosts whose numbers of rows are in memory: about 15 MB."""
_NO_PAGE = UUID(int=0)
"""The page id in the rows of linking hosts. It is less than all others."""
_SOURCES = (
    "SELECT source, source_url, page_rows FROM host_links "
    "WHERE host = :host AND page_id = :no_page AND place = 0 LIMIT :most"
)
_PAGE_ROWS = "SELECT page_rows FROM host_links WHERE host = :host AND page_id = :no_page AND place = 0 AND source = ''"
_ALL_SOURCES = "SELECT source FROM host_links WHERE host = :host AND page_id = :no_page AND place = 0"
_ADD = (
    "INSERT INTO host_links (host, page_id, place, source, source_url) "
    "VALUES (:host, :no_page, 0, :source, :source_url) USING TIMESTAMP :at"
)
_PUT_PAGE_ROWS = (
    "INSERT INTO host_links (host, page_id, place, source, page_rows) VALUES (:host, :no_page, 0, '', :rows)"
)
_SOURCE_PAGE = (
    "SELECT source_url, WRITETIME(source_url) FROM host_links "
    "WHERE host = :host AND page_id = :no_page AND place = 0 AND source = :source"
)
_REMOVE = (
    "DELETE FROM host_links USING TIMESTAMP :at "
    "WHERE host = :host AND page_id = :no_page AND place = 0 AND source = :source"
)
_PUT_IN_LINKS = "INSERT INTO host_links (host, in_links) VALUES (:host, :in_links)"
_PUT_RANK = "INSERT INTO host_links (host, rank) VALUES (:host, :rank)"
_RANK = "SELECT DISTINCT in_links, rank FROM host_links WHERE host = :host"
_SCAN = (
    "SELECT DISTINCT host, token(host) FROM host_links WHERE token(host) > :after AND token(host) <= :upto LIMIT :most"
)
_COUNT = "SELECT place FROM host_links WHERE host = :host AND page_id > :no_page LIMIT :most"
_PUT_WITH_HOST = (
    "INSERT INTO host_links (host, page_id, place, source, source_url, anchor, nofollow) "
    "VALUES (:host, :page_id, :place, '', :source_url, :anchor, :nofollow) USING TIMESTAMP :at"
)
_PUT_PAGE_LINK = (
    "INSERT INTO page_links (page_id, place, source_url, anchor, nofollow) "
    "VALUES (:page_id, :place, :source_url, :anchor, :nofollow) USING TIMESTAMP :at"
)
_LINKS_WITH_HOST = (
    "SELECT place, source_url, anchor, nofollow, WRITETIME(source_url) FROM host_links "
    "WHERE host = :host AND page_id = :page_id AND place >= :first_place LIMIT :most"
)
_PAGE_LINKS = (
    "SELECT place, source_url, anchor, nofollow, WRITETIME(source_url) FROM page_links "
    "WHERE page_id = :page_id AND place >= :first_place LIMIT :most"
)
_REMOVE_WITH_HOST = (
    "DELETE FROM host_links USING TIMESTAMP :at "
    "WHERE host = :host AND page_id = :page_id AND place = :place AND source = ''"
)
_REMOVE_PAGE_LINK = "DELETE FROM page_links USING TIMESTAMP :at WHERE page_id = :page_id AND place = :place"
_LINKS_OF = "SELECT value, WRITETIME(value) FROM pages WHERE page_id = :source AND kind = 2"
_REMOVE_LINKS_OF = "DELETE FROM pages USING TIMESTAMP :at WHERE page_id = :source AND kind = 2 AND name = :name"


class CassandraHostLinks:
    """See `HostLinks`."""

    def __init__(self, session: CassandraSession, max_page_rows: int = MAX_PAGE_ROWS) -> None:
        self._session = session
        self._max_page_rows = max_page_rows
        self._page_rows: RecentCache[str, int] = RecentCache(_MAX_COUNTS)

    async def sources(self, host: str, limit: int) -> dict[str, str]:
        rows = await self._session.execute(_SOURCES, {**_of(host), "most": limit + 1})
        self._page_rows.put(host, next((count for source, _, count in rows if not source), 0))
        sources = [(source, source_url) for source, source_url, _ in rows if source]
        return dict(sources[:limit])

    async def source_page(self, host: str, source: str) -> tuple[str, int] | None:
        rows = await self._session.execute(_SOURCE_PAGE, {**_of(host), "source": source})
        return (rows[0][0], rows[0][1]) if rows else None

    async def add(
        self,
        host: str,
        source: str,
        source_url: str,
        at: int,
        in_links: int | None = None,
        links: Collection[PageLink] = (),
    ) -> None:
        row = {**_of(host), "source": source, "source_url": source_url, "at": at}
        counted = [] if in_links is None else [(_PUT_IN_LINKS, {"host": host, "in_links": in_links})]
        beside = await self._put_apart_or_beside(links, at)
        await self._session.execute_grouped((_ADD, row), *counted, *beside)

    async def remove(self, host: str, source: str, at: int) -> None:
        await self._session.execute(_REMOVE, {**_of(host), "source": source}, at=at)

    async def put_in_links(self, host: str, in_links: int) -> None:
        await self._session.execute(_PUT_IN_LINKS, {"host": host, "in_links": in_links})

    async def put_ranks(self, ranks: Mapping[str, float]) -> None:
        await self._session.execute_many(_PUT_RANK, [{"host": host, "rank": rank} for host, rank in ranks.items()])

    async def ranks(self, hosts: Collection[str]) -> dict[str, HostRank]:
        asked = list(hosts)
        answers = await self._session.execute_many(_RANK, [{"host": host} for host in asked])
        return {
            host: HostRank(in_links or 0, rank)
            for host, rows in zip(asked, answers, strict=True)
            for in_links, rank in rows
            if in_links is not None or rank is not None
        }

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, str, tuple[str, ...]]]:
        while rows := await self._session.execute(_SCAN, {"after": after, "upto": upto, "most": limit}):
            answers = await self._session.execute_many(_ALL_SOURCES, [_of(host) for host, _ in rows])
            hosts = [
                (token, host, tuple(source for (source,) in sources if source))
                for (host, token), sources in zip(rows, answers, strict=True)
            ]
            if found := [host for host in hosts if host[2]]:
                return found
            after = hosts[-1][0]  # all of these have a rank, and no links any more
        return []

    async def put_page_links(self, links: Collection[PageLink], at: int) -> None:
        if beside := await self._put_apart_or_beside(links, at):
            await self._session.execute_grouped(*beside)

    async def _put_apart_or_beside(self, links: Collection[PageLink], at: int) -> Sequence[tuple[str, Params]]:
        """Return the writes of links to pages into the partition of their host. None if they are stored apart now."""
        if not links:
            return ()
        host = next(iter(links)).host
        count = await self._count_after(host, len(links))
        columns = ("page_id", "place", "source_url", "anchor", "nofollow")
        rows = [{name: getattr(link, name) for name in columns} for link in links]
        if count == _FULL:
            await self._session.execute_together(_PUT_PAGE_LINK, rows, at=at)
            return ()
        writes = [(_PUT_WITH_HOST, {"host": host, "at": at, **row}) for row in rows]
        return (*writes, (_PUT_PAGE_ROWS, {**_of(host), "rows": count}))

    async def _count_after(self, host: str, more: int) -> int:
        """Return the number of rows of a host after a write of some more. _FULL: they go into `page_links`."""
        count = self._page_rows.get(host)
        if count is None:
            found = await self._session.execute(_PAGE_ROWS, _of(host))
            count = int(found[0][0] or 0) if found else 0
        if count != _FULL and count + more > self._max_page_rows:
            asked = {**_of(host), "most": self._max_page_rows}
            count = len(await self._session.execute(_COUNT, asked))
            if count > self._max_page_rows // 2:
                count = _FULL
                await self._session.execute(_PUT_PAGE_ROWS, {**_of(host), "rows": count})
        count = count if count == _FULL else count + more
        self._page_rows.put(host, count)
        return count

    async def page_links(self, host: str, page_id: UUID, limit: int, first_place: int = 0) -> list[PageLink]:
        asked = {"page_id": page_id, "first_place": first_place, "most": limit}
        with_host, apart = await asyncio.gather(
            self._session.execute(_LINKS_WITH_HOST, {"host": host, **asked}),
            self._session.execute(_PAGE_LINKS, asked),
        )
        rows = {row[0]: row for row in sorted((*with_host, *apart), key=lambda row: row[-1])}
        found = [rows[place] for place in sorted(rows)[:limit]]
        return [
            PageLink(host, page_id, place, url, anchor or "", bool(nofollow))
            for place, url, anchor, nofollow, _ in found
        ]

    async def remove_page_link(self, link: PageLink, at: int) -> None:
        row = {"page_id": link.page_id, "place": link.place}
        await self._session.execute(_REMOVE_WITH_HOST, {"host": link.host, **row}, at=at)
        await self._session.execute(_REMOVE_PAGE_LINK, row, at=at)

    async def put_links_of(self, source: UUID, group: LinkGroup) -> None:
        await self._session.execute_grouped(write_of_group(source, group))

    async def links_of(self, source: UUID) -> list[LinkGroup]:
        return [read_group(*row) for row in await self._session.execute(_LINKS_OF, {"source": source})]

    async def remove_links_of(self, source: UUID, group: LinkGroup) -> None:
        row = {"source": source, "name": name_of_group(group)}
        await self._session.execute(_REMOVE_LINKS_OF, row, at=group.generation)


def _of(host: str) -> dict[str, str | UUID]:
    """Return the parameters of statements about the rows of a host itself."""
    return {"host": host, "no_page": _NO_PAGE}
