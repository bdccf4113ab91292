"""The map of the index: drawn by a command on any machine, and shown by the pages of operators on another."""

from typing import Protocol


class IndexMaps(Protocol):
    """The last map of the index, as bytes. It is kept for 60 days."""

    async def put(self, made: int, value: bytes) -> None:
        """Keep a map in place of all maps that were drawn before `made` (microseconds since 1970 UTC)."""
        ...

    async def purge(self) -> None:
        """Delete the map: it may have queries of people."""
        ...

    async def newest(self) -> int:
        """Return when the last whole map was drawn (microseconds since 1970 UTC), or 0 if there is none."""
        ...

    async def read(self, made: int) -> bytes | None:
        """Return the map that was drawn at this time, or None if another one has taken its place."""
        ...
