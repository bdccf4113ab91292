"""The right of one fetch worker to ask a host, a domain or an address."""

from typing import Protocol


class PaceHolds(Protocol):
    """Holds of keys: one worker at a time holds a key, until its time is over by the store's clock.

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
