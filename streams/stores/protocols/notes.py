"""Small values that need no table of their own, and the right of one worker to ask a host. They end by themselves."""

from typing import Protocol


class Notes(Protocol):
    """Values by shelf and name: what clients spent, the reports of jobs, the progress of `riffle reindex`, the map.

    A shelf is read as a whole, so it has few and small values. No backup has them.
    """

    async def put(self, shelf: str, name: str, value: bytes, *, seconds: int, at: int | None = None) -> None:
        """Store a value for some seconds. None as the time of the write: now."""

    async def of_shelf(self, shelf: str) -> dict[str, bytes]:
        """Return the values of a shelf, by name."""

    async def clear(self, shelf: str) -> None:
        """Delete the values of a shelf that were written before now."""


class PaceHolds(Protocol):
    """Holds of keys (a host, a domain or an address): one worker at a time holds a key, until its time is over by the
    store's clock.

    A worker that is killed makes no more requests, and nobody knows when it made the last one. So a key stays its own
    until the hold ends, and its next holder knows that enough time has passed.
    """

    async def hold(self, key: str, holder: str, seconds: int) -> float:
        """Hold a key for some seconds from now, in place of what is left of an own hold.

        Return 0, or the time that is left to another holder (seconds). Nothing is written then.
        """

    async def left(self, key: str) -> float:
        """Return the time that is left to the holder of a key (seconds). 0: nobody holds it."""

    async def release(self, key: str, holder: str) -> None:
        """End an own hold. Nothing happens if another worker has the key."""
