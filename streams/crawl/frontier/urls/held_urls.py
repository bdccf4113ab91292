"""Held URLs: aliases that wait beside their target, in the store.

A held URL is released when a rule turns out to be wrong, when its target can't be fetched, or as a probe of the rules.
A released URL is discovered again: the event is sent first, and the row is deleted afterwards.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from schemas.crawl import PageDiscovered
from schemas.ids import page_id as page_id_of
from streams.caches import RecentCache
from streams.crawl.url_rules import rewrite
from streams.runtime.agent import Emit
from streams.stores.protocols import FrontierStore, HeldUrl

MAX_IN_MEMORY = 20_000
"""Maximum number of held URLs in memory, about 13 MB. A further link to one of them costs no write."""
SLOTS = 16
"""Maximum held URLs of one target."""
RELEASED_AT_ONCE = 500
"""Maximum number of rows in one read, while a host's held URLs are released."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The reason why a URL is held."""

    target: UUID
    believed: frozenset[str]
    cause: str
    """Id of the event that had the URL held. Its redelivery is handled again: its outputs may never have been sent."""


class HeldUrls:
    """The held URLs in the store. The last held URLs are also in memory."""

    def __init__(self, store: FrontierStore, emit: Emit) -> None:
        self._store = store
        self._emit = emit
        self._held: RecentCache[UUID, _Held] = RecentCache(MAX_IN_MEMORY)

    def believed_for(self, page_id: UUID, cause: str) -> frozenset[str] | None:
        """Return the believed rules of another event that had the URL held, or None."""
        held = self._held.get(page_id)
        return None if held is None or held.cause == cause else held.believed

    async def hold(
        self, event: PageDiscovered, host: str, target: UUID, believed: frozenset[str], cause: str, at: int
    ) -> None:
        """Hold the discovered URL beside its target, a page of `host`."""
        slot = (event.page_id.int >> 8) % SLOTS
        text = event.model_dump_json(exclude_defaults=True)
        await self._store.hold(HeldUrl(host, target, slot, text, at))
        self._held.put(event.page_id, _Held(target, believed, cause))

    async def release_retired(self, host: str, believed: frozenset[str], retired: frozenset[str]) -> None:
        """Release the URLs of this host that the believed rules no longer map to their targets."""
        mirrors = {rule.removeprefix("host:") for rule in retired if rule.startswith("host:")}
        for where in sorted({host, *mirrors}):
            after: HeldUrl | None = None
            while rows := await self._store.held(where, after, RELEASED_AT_ONCE):
                for held in rows:
                    event = PageDiscovered.model_validate_json(held.discovered)
                    if event.host == host and page_id_of(rewrite(event.url, believed)) != held.target:
                        await self._release(held, event)
                after = rows[-1]

    async def release_probes(self, host: str, target: UUID, is_probe: Callable[[PageDiscovered], bool]) -> None:
        """Release the probes among the URLs that wait for a page. The page is settled, so they can be compared."""
        for held in await self._store.held_for(host, target):
            event = PageDiscovered.model_validate_json(held.discovered)
            if event.host == host and is_probe(event):
                await self._release(held, event)

    async def release_for(self, host: str, target: UUID) -> None:
        """Release all URLs that wait for a page. The page can't be fetched."""
        rows = await self._store.held_for(host, target)
        if rows:  # aliases without a slot are fetched, too, when they are linked again
            self._held.drop_if(lambda _, held: held.target == target)
        for held in rows:
            await self._release(held, PageDiscovered.model_validate_json(held.discovered))

    async def _release(self, held: HeldUrl, event: PageDiscovered) -> None:
        self._held.take(event.page_id)
        await self._emit(event, f"{held.target}/{event.page_id}/{held.at}")
        await self._store.release(held)

    def forget(self) -> None:
        """Forget all held URLs in memory, after another worker may have changed the store."""
        self._held.clear()
