"""The requests to the process that reads an index, and its answers, as plain values. Pure.

What reads Parquet is not imported here: only that process has it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgpack

from streams.sandbox.limits import Limits
from streams.sandbox.pool import Sandbox, SandboxPool
from streams.vectors.brought import Made

READ_PART = "streams.maintenance.shared_index.reading:read_part"
READ_REMOVALS = "streams.maintenance.shared_index.reading:read_removals"
LIMITS = Limits(cpu_seconds=60.0, memory_bytes=2 * 1024 * 1024 * 1024)
"""The limits of a part. One of 501 pages, the last with 40,000 statements, took 7 s of a busy machine and 570 MB."""
SAMPLES = 8
"""Number of texts of a part whose vectors are compared."""


class TakenPage(NamedTuple):
    """A page of an index. Its address, its time and its text are not checked yet."""

    page_id: bytes
    url: str
    fetched: int
    """Microseconds since 1970 UTC."""
    html: bytes
    directives: Sequence[str]
    alternates: Sequence[tuple[str, str]]
    """Language and URL of its versions in other languages."""
    is_private: bool
    is_of_model: bool
    """Its vectors are said to be of the model that was asked for."""
    has_valid_vectors: bool
    """False: they have another shape or length than the model's."""
    brought: bytes
    """Its vectors (`BroughtVectors`); empty if they can't be taken."""


class Wanted(NamedTuple):
    """The vectors that can be taken."""

    made: Made
    are_normalized: bool
    """They are of unit length."""


class Part(NamedTuple):
    """The pages of a part, and texts of it with the vectors that came with them."""

    pages: Sequence[TakenPage]
    samples: Sequence[tuple[str, bytes]]


def reading_pool() -> SandboxPool:
    """Return a pool with a process that reads an index. The pool is not started."""
    return SandboxPool((READ_PART, READ_REMOVALS), processes=1, limits=LIMITS, name="import")


async def read_part(sandbox: Sandbox, documents: bytes, statements: bytes, wanted: Wanted, seed: int) -> Part:
    """Read a part. Raises Refused, and the errors of `Sandbox.run`."""
    made = wanted.made
    names = (made.model, made.model_version, made.dimensions, made.stage_version)
    request = msgpack.packb([documents, statements, names, wanted.are_normalized, seed], use_bin_type=True)
    pages, samples = msgpack.unpackb(await sandbox.run(READ_PART, request), raw=False)
    return Part([TakenPage(*page) for page in pages], [(text, vector) for text, vector in samples])


async def read_removals(sandbox: Sandbox, content: bytes) -> list[tuple[bytes, int, str]]:
    """Return the removals of a file: page id, time (microseconds since 1970 UTC) and reason. Raises Refused."""
    found = msgpack.unpackb(await sandbox.run(READ_REMOVALS, content), raw=False)
    return [(page_id, removed, reason) for page_id, removed, reason in found]
