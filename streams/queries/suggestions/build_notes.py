"""Notes of a build beside the lists: the size and the private sites of the index, and the texts of removed pages.

A text of a removed page is hidden in the lists at once, and kept hidden until gateways have a build without it. A build
replaces lists, and with them the rows that hide a text, while gateways still hold the former build. So a hidden text is
remembered beside the build that gateways hold, and the tasks of the next build hide it again in their lists. A text
that was hidden after a build began, or shortly before, may be in that build: it is remembered beside it, too.
"""

from collections.abc import Collection, Iterable, Sequence

import msgpack

from streams.queries.suggestions.prefix_lists import new_title, rows_of
from streams.stores.opener import Stores
from streams.stores.protocols import BuildNotes, PrefixRow, StoredSuggestion, Suggestions, private_hosts

GROWTH = 1.05
"""Factor by which the index grows between two builds. An index that shrinks by it is built from anew, too."""
HIDDEN = -1.0
"""The weight of a text that is not shown."""
SETTLING = 3_600_000_000
"""Maximum time from a removal's request to the page's record, which builds read (microseconds)."""
_TRIES = 5
"""Maximum builds that may end while a text is hidden."""
Hidden = tuple[str, str, int]
"""Language, text, and when it was hidden (microseconds since 1970)."""


async def private_now(stores: Stores) -> tuple[str, ...]:
    """Return the domains whose pages have no part in a build."""
    return private_hosts(await stores.api_keys.sites())


async def count_statements(stores: Stores) -> int:
    """Return the number of statements that searches find; 0 before the first one."""
    collection = await stores.vectors.active()
    return await stores.vectors.count(collection) if collection else 0


async def has_grown(store: Suggestions, statements: int, private: Sequence[str]) -> bool:
    """Return True if the last build had noticeably fewer or more statements, or other private sites, or if there is
    none.
    """
    found = await store.parts("", "statements", 0)
    if not found:
        return statements > 0
    before = int.from_bytes(found[0], "big")
    sites = [msgpack.unpackb(value) for value in await store.parts("", "private", 0)] or [[]]
    is_other = statements != before and not before / GROWTH < statements < before * GROWTH
    return is_other or sites != [list(private)]


async def note_statements(store: Suggestions, statements: int, private: Sequence[str]) -> None:
    """Note the number of statements of a build, and the domains of the private sites of then."""
    await store.put_part("", "statements", 0, "", statements.to_bytes(8, "big"))
    await store.put_part("", "private", 0, "", msgpack.packb(list(private)))


async def hide(store: Suggestions, text: str, language: str, at: int) -> None:
    """Hide a text in all its lists: a page with this title was removed on request."""
    await store.put(_rows(text, language), at)
    await store.remove_title(new_title(text, language, HIDDEN, at))
    build = await current_build(store)
    for _ in range(_TRIES):
        await _remember(store, build, (language, text, at))
        former, build = build, await current_build(store)
        if build == former:
            return


async def current_build(store: BuildNotes) -> str:
    """Return the name of the last whole build; empty if there is none."""
    found = await store.parts("", "current", 0)
    return found[0].decode() if found else ""


async def note_build(store: Suggestions, build: str, at: int) -> None:
    """Make a build the current one. `at`: when it began (microseconds since 1970 UTC)."""
    await store.put_part("", "current", 0, "", build.encode())
    await store.put_part("", "began", 0, "", at.to_bytes(8, "big"))


async def began_at(store: BuildNotes) -> int:
    """Return when the last whole build began (microseconds since 1970 UTC); 0 if there is none."""
    found = await store.parts("", "began", 0)
    return int.from_bytes(found[0], "big") if found else 0


async def hidden_texts(store: BuildNotes, build: str) -> list[Hidden]:
    """Return what was hidden while gateways held a build."""
    return [tuple(msgpack.unpackb(value)) for value in await store.parts(build, "hidden", 0)]


async def hide_again(
    store: Suggestions, texts: Iterable[Hidden], shown: Collection[tuple[str, str]], lengths: range, at: int
) -> None:
    """Hide texts in the lists that a build replaced: in prefixes of these lengths.

    A text that the build still has is not hidden: another page has it. `shown`: the language and text of these. `at`:
    the time of the build (microseconds since 1970).
    """
    for language, text, hidden_at in texts:
        if (language, text) not in shown or hidden_at >= at - SETTLING:
            rows = [row for row in _rows(text, language) if len(row.prefix) in lengths]
            await store.put(rows, max(hidden_at, at + 1))


async def hand_on(store: Suggestions, former: str, build: str, at: int) -> None:
    """Remember, beside a new build, what it may have although it was hidden. `at`: when the build began."""
    for each in await hidden_texts(store, former):
        if each[2] >= at - SETTLING:
            await _remember(store, build, each)


async def _remember(store: Suggestions, build: str, hidden: Hidden) -> None:
    language, text, _ = hidden
    await store.put_part(build, "hidden", 0, f"{language} {text}", msgpack.packb(hidden))


def _rows(text: str, language: str) -> list[PrefixRow]:
    return list(rows_of(StoredSuggestion(text, language, HIDDEN)))
