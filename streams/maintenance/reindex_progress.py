"""The progress of `riffle reindex`, by collection and host (empty: all hosts), so that it goes on after a stop."""

from dataclasses import dataclass

from streams.stores.protocols import Notes
from streams.stores.row_codec import pack_fields, read_fields

KEPT_SECONDS = 30 * 86_400
"""Time after which a run that was stopped begins anew (seconds)."""


@dataclass(frozen=True, slots=True)
class PartProgress:
    """The progress of one part of the ring of tokens."""

    token: int
    """The last token that is done."""
    pages: int = 0
    """Number of pages of this part that were written."""
    statements: int = 0


async def read_progress(notes: Notes, collection: str, host: str) -> dict[int, PartProgress]:
    """Return the progress of each part of the ring of tokens that was begun."""
    found = await notes.of_shelf(_shelf(collection, host))
    return {int(part): read_fields(PartProgress, value) for part, value in found.items()}


async def put_progress(notes: Notes, collection: str, host: str, part: int, progress: PartProgress) -> None:
    await notes.put(_shelf(collection, host), str(part), pack_fields(progress), seconds=KEPT_SECONDS)


async def clear_progress(notes: Notes, collection: str, host: str) -> None:
    await notes.clear(_shelf(collection, host))


def _shelf(collection: str, host: str) -> str:
    return f"reindex {collection} {host}"
