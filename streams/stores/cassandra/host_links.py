"""The graph of hosts in Cassandra: a row for each pair of hosts, beside what is known of the linked host.

So a new pair and the count of its host are one write.
"""

from collections.abc import Collection, Mapping
from uuid import UUID

from schemas.ids import page_id as page_id_of
from streams.stores.cassandra.session import CassandraSession
from streams.stores.packing import pack, unpack
from streams.stores.protocols import HostRank, LinkGroup, PageLink

_SOURCES = "SELECT source, source_url FROM host_links WHERE host = :host LIMIT :most"
_ALL_SOURCES = "SELECT source FROM host_links WHERE host = :host"
_ADD = "INSERT INTO host_links (host, source, source_url) VALUES (:host, :source, :source_url) USING TIMESTAMP :at"
_SOURCE_PAGE = "SELECT source_url, WRITETIME(source_url) FROM host_links WHERE host = :host AND source = :source"
_REMOVE = "DELETE FROM host_links USING TIMESTAMP :at WHERE host = :host AND source = :source"
_PUT_IN_LINKS = "INSERT INTO host_links (host, in_links) VALUES (:host, :in_links)"
_PUT_RANK = "INSERT INTO host_links (host, rank) VALUES (:host, :rank)"
_RANK = "SELECT DISTINCT in_links, rank FROM host_links WHERE host = :host"
_SCAN = (
    "SELECT DISTINCT host, token(host) FROM host_links WHERE token(host) > :after AND token(host) <= :upto LIMIT :most"
)
_PUT_PAGE_LINK = (
    "INSERT INTO page_links (page_id, place, source_url, anchor, nofollow) "
    "VALUES (:page_id, :place, :source_url, :anchor, :nofollow) USING TIMESTAMP :at"
)
_PAGE_LINKS = (
    "SELECT place, source_url, anchor, nofollow FROM page_links "
    "WHERE page_id = :page_id AND place >= :first_place LIMIT :most"
)
_REMOVE_PAGE_LINK = "DELETE FROM page_links USING TIMESTAMP :at WHERE page_id = :page_id AND place = :place"
_PUT_LINKS_OF = (
    "INSERT INTO links_of_pages (source_page_id, target_page_id, urls) VALUES (:source, :target, :urls) "
    "USING TIMESTAMP :at"
)
_LINKS_OF = "SELECT urls, WRITETIME(urls) FROM links_of_pages WHERE source_page_id = :source"
_REMOVE_LINKS_OF = (
    "DELETE FROM links_of_pages USING TIMESTAMP :at WHERE source_page_id = :source AND target_page_id = :target"
)


class CassandraHostLinks:
    """See `HostLinks`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def sources(self, host: str, limit: int) -> dict[str, str]:
        rows = await self._session.execute(_SOURCES, {"host": host, "most": limit})
        return {source: source_url for source, source_url in rows if source is not None}

    async def source_page(self, host: str, source: str) -> tuple[str, int] | None:
        rows = await self._session.execute(_SOURCE_PAGE, {"host": host, "source": source})
        return (rows[0][0], rows[0][1]) if rows else None

    async def add(self, host: str, source: str, source_url: str, at: int, in_links: int | None = None) -> None:
        row = {"host": host, "source": source, "source_url": source_url, "at": at}
        counted = [] if in_links is None else [(_PUT_IN_LINKS, {"host": host, "in_links": in_links})]
        await self._session.execute_grouped((_ADD, row), *counted)

    async def remove(self, host: str, source: str, at: int) -> None:
        await self._session.execute(_REMOVE, {"host": host, "source": source}, at=at)

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
            answers = await self._session.execute_many(_ALL_SOURCES, [{"host": host} for host, _ in rows])
            hosts = [
                (token, host, tuple(source for (source,) in sources if source is not None))
                for (host, token), sources in zip(rows, answers, strict=True)
            ]
            if found := [host for host in hosts if host[2]]:
                return found
            after = hosts[-1][0]  # all of these have a rank, and no links any more
        return []

    async def put_page_links(self, links: Collection[PageLink], at: int) -> None:
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
        await self._session.execute_together(_PUT_PAGE_LINK, rows, at=at)

    async def page_links(self, page_id: UUID, limit: int, first_place: int = 0) -> list[PageLink]:
        asked = {"page_id": page_id, "first_place": first_place, "most": limit}
        rows = await self._session.execute(_PAGE_LINKS, asked)
        return [PageLink(page_id, place, url, anchor or "", bool(nofollow)) for place, url, anchor, nofollow in rows]

    async def remove_page_link(self, link: PageLink, at: int) -> None:
        await self._session.execute(_REMOVE_PAGE_LINK, {"page_id": link.page_id, "place": link.place}, at=at)

    async def put_links_of(self, source: UUID, group: LinkGroup) -> None:
        packed = pack({"urls": list(group.urls), "followed": group.followed})
        row = {"source": source, "target": _group_id(group), "urls": packed, "at": group.generation}
        await self._session.execute_grouped((_PUT_LINKS_OF, row))

    async def links_of(self, source: UUID) -> list[LinkGroup]:
        rows = await self._session.execute(_LINKS_OF, {"source": source})
        groups = [(unpack(packed), at) for packed, at in rows]
        return [LinkGroup(tuple(group["urls"]), at, group["followed"]) for group, at in groups]

    async def remove_links_of(self, source: UUID, group: LinkGroup) -> None:
        row = {"source": source, "target": _group_id(group)}
        await self._session.execute(_REMOVE_LINKS_OF, row, at=group.generation)


def _group_id(group: LinkGroup) -> UUID:
    return page_id_of(" ".join((*group.urls, "followed" if group.followed else "nofollow")))
