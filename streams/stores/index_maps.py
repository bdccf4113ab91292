"""The map of the index: drawn by a command on any machine, and shown by the pages of operators on another.

A map is cut into parts that a server writes and reads easily, on a shelf of its own. The note that names the newest map
is written behind its parts, so a reader finds a whole map.
"""

from streams.stores.packing import pack, unpack
from streams.stores.protocols import Notes

PART_BYTES = 512 * 1024
KEPT_SECONDS = 60 * 86_400
"""Time after which a map is forgotten (seconds). Its queries are of 30 days, and no query is kept for more than 90."""
_SHELF, _NEWEST = "index map", "newest"


async def put_map(notes: Notes, made: int, value: bytes) -> None:
    """Keep a map in place of a map that was drawn before `made` (microseconds since 1970 UTC)."""
    former = await newest_map(notes)
    if former > made:
        return
    parts = range(0, len(value), PART_BYTES)
    for number, first in enumerate(parts):
        part = value[first : first + PART_BYTES]
        await notes.put(_shelf_of(made), f"{number:06}", part, seconds=KEPT_SECONDS)
    await notes.put(_SHELF, _NEWEST, pack({"made": made, "parts": len(parts)}), seconds=KEPT_SECONDS)
    if former != made:
        await notes.clear(_shelf_of(former))


async def newest_map(notes: Notes) -> int:
    """Return when the last map was drawn (microseconds since 1970 UTC), or 0 if there is none."""
    return (await _newest(notes))[0]


async def read_map(notes: Notes, made: int) -> bytes | None:
    """Return the map that was drawn at this time, or None if another one has taken its place."""
    newest, count = await _newest(notes)
    parts = await notes.of_shelf(_shelf_of(made))
    return b"".join(parts[number] for number in sorted(parts)) if (newest, count) == (made, len(parts)) else None


async def purge_map(notes: Notes) -> None:
    """Delete the map: it may have queries of people."""
    made = await newest_map(notes)
    await notes.clear(_SHELF)
    await notes.clear(_shelf_of(made))


async def _newest(notes: Notes) -> tuple[int, int]:
    """Return when the newest map was drawn, and the number of its parts."""
    found = (await notes.of_shelf(_SHELF)).get(_NEWEST)
    row = unpack(found) if found else {"made": 0, "parts": 0}
    return row["made"], row["parts"]


def _shelf_of(made: int) -> str:
    return f"{_SHELF} {made}"
