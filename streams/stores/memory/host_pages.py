"""Samples of hosts' pages in memory."""

from streams.stores.protocols import HostPage
from streams.stores.row_codec import pack_host_page, unpack_host_page


class MemoryHostPages:
    """A few pages of each host, found by the host alone."""

    def __init__(self) -> None:
        self._hosts: dict[str, dict[int, tuple[int, bytes]]] = {}

    async def put(self, page: HostPage, at: int) -> None:
        slots, slot, cell = self._hosts.setdefault(page.host, {}), page.slot, (at, pack_host_page(page))
        slots[slot] = max(slots.get(slot, cell), cell)  # of two at one time the greater value, as Cassandra does

    async def sample(self, host: str) -> list[HostPage]:
        """By slot."""
        return [unpack_host_page(host, packed) for _, (_, packed) in sorted(self._hosts.get(host, {}).items())]
