"""The map of the index in memory."""


class MemoryIndexMaps:
    """See `IndexMaps`."""

    def __init__(self) -> None:
        self._maps: dict[int, bytes] = {}

    async def put(self, made: int, value: bytes) -> None:
        self._maps = {at: kept for at, kept in self._maps.items() if at >= made} | {made: value}

    async def purge(self) -> None:
        self._maps = {}

    async def newest(self) -> int:
        return max(self._maps, default=0)

    async def read(self, made: int) -> bytes | None:
        return self._maps.get(made)
