"""The batches of a call with many texts: texts of similar length together, several batches at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from streams.errors import RiffleError
from streams.models.protocols import Vectors

T = TypeVar("T")
BATCH_SIZE = 64
"""Number of texts in one request: as many as the configurations of the models take."""


async def embed_in_batches(
    texts: Sequence[str], size: int, dimensions: int, embed: Callable[[list[str]], Awaitable[Vectors]]
) -> Vectors:
    """Return the vectors in the order of the texts. `embed` gets batches of at most `size` texts, all at once."""
    order = sorted(range(len(texts)), key=lambda index: (len(texts[index]), index))
    vectors = np.empty((len(texts), dimensions), dtype=np.float32)

    async def embed_batch(batch: list[int]) -> None:
        vectors[batch] = await embed([texts[index] for index in batch])

    await gather_all(embed_batch(order[start : start + size]) for start in range(0, len(order), size))
    return vectors


async def gather_all(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order. The first failure cancels the others, and is raised itself, not as a group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except* RiffleError as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
