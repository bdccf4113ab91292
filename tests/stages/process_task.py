"""A task for the processes of a pool. It stands alone, so that a process imports little to run it."""

import os

from streams.stores.opener import Stores


async def identify(stores: Stores) -> tuple[int, int]:
    """Return which process runs this, and which stores it has."""
    return os.getpid(), id(stores)
