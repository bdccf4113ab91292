"""The addition of suggestions to the stored lists of their prefixes, without a lock and without an owner.

A list is a row for each text. A writer reads a list, adds its row if the row is among the best, and removes what the
list needs no longer. Two writers at one moment add two rows, and neither is lost. A row that one of them removed by
mistake comes back with the next event or build.
"""

import asyncio
from collections.abc import Sequence

from streams.queries.suggestions.counts import weight_at
from streams.queries.suggestions.prefixes import KEPT, best, rows_of, superfluous
from streams.stores.protocols import PrefixRow, StoredSuggestion, Suggestions

FULL = KEPT + 12
"""Number of rows of a list above which the superfluous ones are removed."""


async def offer(store: Suggestions, suggestions: Sequence[StoredSuggestion], quarter: int, at: int) -> None:
    """Add suggestions to the lists in which they are among the best. The same call twice changes nothing.

    A text has up to twelve lists in a language. All lists of a language are read with one request, and the list of a
    short prefix has many texts: so suggestions that come together cost fewer reads.
    """
    rows = [row for each in suggestions for row in rows_of(each)]
    prefixes: dict[str, dict[str, None]] = {}
    for row in rows:
        prefixes.setdefault(row.language, {})[row.prefix] = None
    lists = await asyncio.gather(*(store.of_prefixes(language, each) for language, each in prefixes.items()))
    lists_of = dict(zip(prefixes, lists, strict=True))
    new: dict[tuple[str, str, str], PrefixRow] = {}
    gone: dict[tuple[str, str, str], PrefixRow] = {}
    for row in rows:
        found = lists_of[row.language][row.prefix]
        if not _is_among_best(row.suggestion, found, quarter):
            continue
        after = [*(each for each in found if each.text != row.suggestion.text), row.suggestion]
        too_many = superfluous(after, quarter) if len(after) > FULL else []
        new[_key_of(row)] = row
        gone.pop(_key_of(row), None)
        for each in too_many:
            key = (row.language, row.prefix, each.text)
            if not new.pop(key, None):
                gone[key] = PrefixRow(row.language, row.prefix, each)
        left_out = {each.text for each in too_many}
        lists_of[row.language][row.prefix] = [each for each in after if each.text not in left_out]
    await store.put(new.values(), at)
    await store.remove(gone.values(), at)


def _key_of(row: PrefixRow) -> tuple[str, str, str]:
    return (row.language, row.prefix, row.suggestion.text)


def _is_among_best(new: StoredSuggestion, found: Sequence[StoredSuggestion], quarter: int) -> bool:
    """Return True if a list needs this row: it is heavier than the row of its text and than the last of the best."""
    weight = weight_at(new, quarter)
    if any(each.text == new.text and each.weight >= 0 and weight_at(each, quarter) >= weight for each in found):
        return False
    kept = best(found, quarter, KEPT)
    return len(kept) < KEPT or weight > weight_at(kept[-1], quarter)
