"""The graph of hosts in memory."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import islice
from typing import Generic, TypeVar
from uuid import UUID

import xxhash

from streams.stores.protocols import HostRank, LinkGroup, PageLink

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Rows(Generic[Key, Value]):
    """Rows with write times: the latest write or deletion of a row holds. Of two at one time, the deletion does."""

    def __init__(self) -> None:
        self._rows: dict[Key, tuple[int, bool, Value | None]] = {}

    def put(self, key: Key, value: Value | None, at: int) -> None:
        """Write a row, or delete it (None)."""
        former = self._rows.get(key)
        if former is None or (at, value is None) >= former[:2]:
            self._rows[key] = at, value is None, value

    def get(self, key: Key) -> tuple[Value, int] | None:
        at, _, value = self._rows.get(key, (0, True, None))
        return None if value is None else (value, at)

    def items(self) -> list[tuple[Key, Value]]:
        return [(key, value) for key, (_, _, value) in self._rows.items() if value is not None]


class MemoryHostLinks:
    """See `HostLinks`."""

    def __init__(self) -> None:
        self._links: dict[str, _Rows[str, str]] = {}
        self._ranks: dict[str, HostRank] = {}
        self._page_links: dict[UUID, _Rows[int, PageLink]] = {}
        self._links_of: dict[UUID, _Rows[tuple[tuple[str, ...], bool], LinkGroup]] = {}

    async def sources(self, host: str, limit: int) -> dict[str, str]:
        return dict(islice(self._sources(host), limit))

    def _sources(self, host: str) -> list[tuple[str, str]]:
        return self._links[host].items() if host in self._links else []

    async def source_page(self, host: str, source: str) -> tuple[str, int] | None:
        return self._links[host].get(source) if host in self._links else None

    async def add(
        self,
        host: str,
        source: str,
        source_url: str,
        at: int,
        in_links: int | None = None,
        links: Collection[PageLink] = (),
    ) -> None:
        await self.put_page_links(links, at)
        if in_links is not None:
            await self.put_in_links(host, in_links)
        self._links.setdefault(host, _Rows()).put(source, source_url, at)

    async def remove(self, host: str, source: str, at: int) -> None:
        self._links.setdefault(host, _Rows()).put(source, None, at)

    async def put_in_links(self, host: str, in_links: int) -> None:
        self._ranks[host] = replace(self._ranks.get(host, HostRank()), in_links=in_links)

    async def put_ranks(self, ranks: Mapping[str, float]) -> None:
        for host, rank in ranks.items():
            self._ranks[host] = replace(self._ranks.get(host, HostRank()), rank=rank)

    async def ranks(self, hosts: Collection[str]) -> dict[str, HostRank]:
        return {host: self._ranks[host] for host in hosts if host in self._ranks}

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, str, tuple[str, ...]]]:
        rows = ((_token(host), host, tuple(dict(self._sources(host)))) for host in self._links)
        return sorted(row for row in rows if row[2] and after < row[0] <= upto)[:limit]

    async def put_page_links(self, links: Collection[PageLink], at: int) -> None:
        for link in links:
            self._page_links.setdefault(link.page_id, _Rows()).put(link.place, link, at)

    async def page_links(self, host: str, page_id: UUID, limit: int, first_place: int = 0) -> list[PageLink]:
        rows = dict(self._page_links[page_id].items()) if page_id in self._page_links else {}
        return [rows[place] for place in sorted(rows) if place >= first_place][:limit]

    async def remove_page_link(self, link: PageLink, at: int) -> None:
        self._page_links.setdefault(link.page_id, _Rows()).put(link.place, None, at)

    async def put_links_of(self, source: UUID, group: LinkGroup) -> None:
        self._links_of.setdefault(source, _Rows()).put((group.urls, group.followed), group, group.generation)

    async def links_of(self, source: UUID) -> list[LinkGroup]:
        return [group for _, group in self._links_of[source].items()] if source in self._links_of else []

    async def remove_links_of(self, source: UUID, group: LinkGroup) -> None:
        self._links_of.setdefault(source, _Rows()).put((group.urls, group.followed), None, group.generation)


def _token(host: str) -> int:
    return xxhash.xxh3_64_intdigest(host.encode()) - 2**63
