"""Samples of hosts' pages in Cassandra: one partition a host, one row a slot. At most 32 rows of 1 KB."""

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import HostPage
from streams.stores.row_codec import pack_host_page, unpack_host_page

_PUT = "INSERT INTO host_pages (host, slot, value) VALUES (:host, :slot, :value) USING TIMESTAMP :at"
_GET = "SELECT value FROM host_pages WHERE host = :host"


class CassandraHostPages:
    """A few pages of each host, found by the host alone."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def put(self, page: HostPage, at: int) -> None:
        row = {"host": page.host, "slot": page.slot, "value": pack_host_page(page)}
        await self._session.execute(_PUT, row, at=at)

    async def sample(self, host: str) -> list[HostPage]:
        """By slot."""
        return [unpack_host_page(host, value) for (value,) in await self._session.execute(_GET, {"host": host})]
