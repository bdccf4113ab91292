"""The last deliveries of a hook, for its owner: some that were taken, and some that were not. They end after a week."""

from dataclasses import dataclass, field

from streams.stores.protocols import Notes
from streams.stores.rows import Row, pack_row, unpack_row

KEPT_SECONDS = 7 * 86_400
SLOTS = 50
"""Number of deliveries of each kind that are kept: a shelf of notes is small."""


@dataclass(frozen=True, slots=True)
class Try:
    """One try to deliver an event."""

    at: int
    """Microseconds since 1970 UTC."""
    event_id: str
    type: str
    url: str
    """The page. Empty for a test."""
    attempt: int
    status: int = 0
    """Status of the receiver's answer. 0: there was none."""
    error: str = ""
    """Empty: it was taken."""
    took_ms: float = 0.0
    stored: Row | None = field(default=None, repr=False, compare=False)


async def write_try(notes: Notes, hook_id: str, slot: int, made: Try) -> None:
    """Store a try in place of an older one of its kind."""
    name = f"{'failed' if made.error else 'taken'} {slot % SLOTS}"
    await notes.put(_shelf(hook_id), name, pack_row(made), seconds=KEPT_SECONDS)


async def read_tries(notes: Notes, hook_id: str) -> list[Try]:
    """Return the tries that are kept, the newest first."""
    found = [unpack_row(Try, value) for value in (await notes.of_shelf(_shelf(hook_id))).values()]
    return sorted(found, key=lambda each: each.at, reverse=True)


def _shelf(hook_id: str) -> str:
    return f"hook {hook_id}"
