"""The graph of hosts in memory."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import islice
from uuid import UUID

import xxhash

from streams.stores.protocols import HostRank, PageLink


class MemoryHostLinks:
    """See `HostLinks`."""

    def __init__(self) -> None:
        self._links: dict[str, dict[str, str]] = {}
        self._ranks: dict[str, HostRank] = {}
        self._page_links: dict[UUID, dict[int, PageLink]] = {}

    async def sources(self, host: str, limit: int) -> dict[str, str]:
        return dict(islice(self._links.get(host, {}).items(), limit))

    async def add(self, host: str, source: str, source_url: str) -> None:
        self._links.setdefault(host, {})[source] = source_url

    async def remove(self, host: str, source: str, source_urls: Collection[str]) -> bool:
        links = self._links.get(host, {})
        if links.get(source) not in source_urls:
            return False
        del links[source]
        if not links:
            del self._links[host]
        return True

    async def put_in_links(self, host: str, in_links: int) -> None:
        self._ranks[host] = replace(self._ranks.get(host, HostRank()), in_links=in_links)

    async def put_ranks(self, ranks: Mapping[str, float]) -> None:
        for host, rank in ranks.items():
            self._ranks[host] = replace(self._ranks.get(host, HostRank()), rank=rank)

    async def ranks(self, hosts: Collection[str]) -> dict[str, HostRank]:
        return {host: self._ranks[host] for host in hosts if host in self._ranks}

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, str, tuple[str, ...]]]:
        rows = ((_token(host), host, tuple(sources)) for host, sources in self._links.items())
        return sorted(row for row in rows if after < row[0] <= upto)[:limit]

    async def put_page_links(self, links: Collection[PageLink]) -> None:
        for link in links:
            self._page_links.setdefault(link.page_id, {})[link.place] = link

    async def page_links(self, page_id: UUID, limit: int) -> list[PageLink]:
        rows = self._page_links.get(page_id, {})
        return [rows[place] for place in sorted(rows)[:limit]]

    async def scan_page_links(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        rows = ((_token(str(page)), page) for page, links in self._page_links.items() if links)
        return sorted(row for row in rows if after < row[0] <= upto)[:limit]

    async def remove_page_link(self, link: PageLink) -> None:
        self._page_links.get(link.page_id, {}).pop(link.place, None)


def _token(host: str) -> int:
    return xxhash.xxh3_64_intdigest(host.encode()) - 2**63
