"""What the pages of a host have in common, from a sample of them that a store keeps.

A host's sample is read once in a while, and kept up to date meanwhile by what this agent itself puts into it, since one
agent handles all pages of a host. After a change of hands it may be some seconds old.
"""

from collections import OrderedDict
from collections.abc import Callable
from uuid import UUID

from streams.pages.content.host_boilerplate import template_of
from streams.stores.protocols import HostPage, HostPages

FRESH_SECONDS = 30.0
HOSTS = 500
"""That are remembered: at most 32 KB each."""


class HostTemplates:
    """`await templates.of(host, page_id)` before a page is read, `await templates.note(page, at)` after it was."""

    def __init__(self, store: HostPages, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, dict[int, HostPage]]] = OrderedDict()

    async def of(self, host: str, page_id: UUID) -> frozenset[int]:
        """The hashes of the blocks that are the host's, judged by its other pages."""
        sample = await self._sample(host)
        return template_of([page.blocks for page in sample.values() if page.page_id != page_id])

    async def note(self, page: HostPage, at: int) -> None:
        await self._store.put(page, at)
        if page.host in self._known:
            self._known[page.host][1][page.slot] = page

    async def _sample(self, host: str) -> dict[int, HostPage]:
        now = self._clock()
        read_at, sample = self._known.get(host, (-FRESH_SECONDS, {}))
        if now - read_at >= FRESH_SECONDS:
            sample = {page.slot: page for page in await self._store.sample(host)}
            self._known[host] = now, sample
            while len(self._known) > HOSTS:
                self._known.popitem(last=False)
        self._known.move_to_end(host)
        return sample
