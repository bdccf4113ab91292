"""The regular flush of the local Qdrant: no error of a collection ends it, nor keeps other collections waiting."""

import asyncio
from typing import cast

import pytest

from streams.local.qdrant_server.app import VACUUM_TURNS, maintain_regularly
from streams.local.qdrant_server.catalog import Catalog
from streams.local.qdrant_server.collection import Collection
from streams.local.qdrant_server.errors import NotFound


class Panic(BaseException):
    """The kind of error that the engine raises when its code panics."""


class Counting:
    """A collection whose flushes fail with an error."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error, self.flushed, self.vacuumed = error, 0, 0

    def flush(self) -> None:
        self.flushed += 1
        if self.error:
            raise self.error

    def vacuum(self) -> None:
        self.vacuumed += 1


class Collections:
    def __init__(self, *collections: Counting) -> None:
        self._collections = collections

    def all(self) -> list[Collection]:
        return [cast(Collection, collection) for collection in self._collections]


@pytest.mark.parametrize("error", [NotFound("removed"), OSError("no space left on device"), Panic("out of bounds")])
async def test_an_error_of_a_collection_ends_no_flush(error: BaseException) -> None:
    turns = 0

    async def sleep(_: float) -> None:
        nonlocal turns
        turns += 1
        if turns > VACUUM_TURNS:
            raise asyncio.CancelledError

    failing, other = Counting(error), Counting()
    with pytest.raises(asyncio.CancelledError):
        await maintain_regularly(cast(Catalog, Collections(failing, other)), sleep)
    assert (failing.flushed, other.flushed, other.vacuumed) == (VACUUM_TURNS, VACUUM_TURNS, 1)
