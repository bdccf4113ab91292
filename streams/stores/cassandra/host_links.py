"""The graph of hosts in Cassandra: a row for each pair of hosts, and a row for what is known of a host."""

from collections.abc import Collection, Mapping
from uuid import UUID

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import HostRank, PageLink

_SOURCES = "SELECT source, source_url FROM host_links WHERE host = :host LIMIT :most"
_ALL_SOURCES = "SELECT source FROM host_links WHERE host = :host"
_ADD = "INSERT INTO host_links (host, source, source_url) VALUES (:host, :source, :source_url)"
_SOURCE_URL = "SELECT source_url FROM host_links WHERE host = :host AND source = :source"
_REMOVE = "DELETE FROM host_links WHERE host = :host AND source = :source"
_PUT_IN_LINKS = "INSERT INTO host_ranks (host, in_links) VALUES (:host, :in_links)"
_PUT_RANK = "INSERT INTO host_ranks (host, rank) VALUES (:host, :rank)"
_RANK = "SELECT in_links, rank FROM host_ranks WHERE host = :host"
_SCAN = (
    "SELECT DISTINCT host, token(host) FROM host_links WHERE token(host) > :after AND token(host) <= :upto LIMIT :most"
)
_PUT_PAGE_LINK = (
    "INSERT INTO page_links (page_id, place, source_url, anchor, nofollow) "
    "VALUES (:page_id, :place, :source_url, :anchor, :nofollow)"
)
_PAGE_LINKS = "SELECT place, source_url, anchor, nofollow FROM page_links WHERE page_id = :page_id LIMIT :most"
_REMOVE_PAGE_LINK = "DELETE FROM page_links WHERE page_id = :page_id AND place = :place"
_SCAN_PAGES = (
    "SELECT DISTINCT page_id, token(page_id) FROM page_links "
    "WHERE token(page_id) > :after AND token(page_id) <= :upto LIMIT :most"
)


class CassandraHostLinks:
    """See `HostLinks`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def sources(self, host: str, limit: int) -> dict[str, str]:
        rows = await self._session.execute(_SOURCES, {"host": host, "most": limit})
        return dict(rows)

    async def add(self, host: str, source: str, source_url: str) -> None:
        await self._session.execute(_ADD, {"host": host, "source": source, "source_url": source_url})

    async def remove(self, host: str, source: str, source_urls: Collection[str]) -> bool:
        row = {"host": host, "source": source}
        found = await self._session.execute(_SOURCE_URL, row)
        if not any(url in source_urls for (url,) in found):
            return False
        await self._session.execute(_REMOVE, row)
        return True

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
        }

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, str, tuple[str, ...]]]:
        rows = await self._session.execute(_SCAN, {"after": after, "upto": upto, "most": limit})
        answers = await self._session.execute_many(_ALL_SOURCES, [{"host": host} for host, _ in rows])
        return [
            (token, host, tuple(source for (source,) in sources))
            for (host, token), sources in zip(rows, answers, strict=True)
        ]

    async def put_page_links(self, links: Collection[PageLink]) -> None:
        rows = [
            {
                "page_id": link.page_id,
                "place": link.place,
                "source_url": link.source_url,
                "anchor": link.anchor,
                "nofollow": link.nofollow,
            }
            for link in links
        ]
        await self._session.execute_many(_PUT_PAGE_LINK, rows)

    async def page_links(self, page_id: UUID, limit: int) -> list[PageLink]:
        rows = await self._session.execute(_PAGE_LINKS, {"page_id": page_id, "most": limit})
        return [PageLink(page_id, place, url, anchor or "", bool(nofollow)) for place, url, anchor, nofollow in rows]

    async def scan_page_links(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        rows = await self._session.execute(_SCAN_PAGES, {"after": after, "upto": upto, "most": limit})
        return [(token, page_id) for page_id, token in rows]

    async def remove_page_link(self, link: PageLink) -> None:
        await self._session.execute(_REMOVE_PAGE_LINK, {"page_id": link.page_id, "place": link.place})
