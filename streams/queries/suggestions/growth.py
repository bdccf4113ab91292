"""The change of the index since the last build of suggestions, by the number of its statements."""

from streams.stores.opener import Stores
from streams.stores.protocols import Suggestions

GROWTH = 1.05
"""Factor by which the index grows between two builds. An index that shrinks by it is built from anew, too."""


async def count_statements(stores: Stores) -> int:
    """Return the number of statements that searches find; 0 before the first one."""
    collection = await stores.vectors.active()
    return await stores.vectors.count(collection) if collection else 0


async def has_grown(store: Suggestions, statements: int) -> bool:
    """Return True if the last build had noticeably fewer or more statements, or if there is none."""
    found = await store.parts("", "statements", 0)
    if not found:
        return statements > 0
    before = int.from_bytes(found[0], "big")
    return statements != before and not before / GROWTH < statements < before * GROWTH


async def note_statements(store: Suggestions, statements: int) -> None:
    """Note the number of statements of a build."""
    await store.put_part("", "statements", 0, "", statements.to_bytes(8, "big"))
