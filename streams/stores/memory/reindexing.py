"""The progress of `riffle reindex` in memory."""

from streams.stores.protocols import PartProgress


class MemoryReindexing:
    """See `Reindexing`."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], dict[int, PartProgress]] = {}

    async def progress(self, collection: str, host: str) -> dict[int, PartProgress]:
        return dict(self._parts.get((collection, host), {}))

    async def put(self, collection: str, host: str, part: int, progress: PartProgress) -> None:
        self._parts.setdefault((collection, host), {})[part] = progress

    async def clear(self, collection: str, host: str) -> None:
        self._parts.pop((collection, host), None)
