"""The addition of one suggestion to the stored lists of its prefixes, without a lock and without an owner.

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


async def offer(store: Suggestions, suggestion: StoredSuggestion, quarter: int, at: int) -> None:
    """Add a suggestion to the lists in which it is among the best. The same call twice changes nothing.

    All its lists of a language are read with one request, since a text has up to twelve of them.
    """
    rows = list(rows_of(suggestion))
    languages = list(dict.fromkeys(row.language for row in rows))
    lists = await asyncio.gather(
        *(store.of_prefixes(each, [row.prefix for row in rows if row.language == each]) for each in languages)
    )
    lists_of = dict(zip(languages, lists, strict=True))
    new: list[PrefixRow] = []
    gone: list[PrefixRow] = []
    for row in rows:
        found = lists_of[row.language][row.prefix]
        if _is_among_best(suggestion, found, quarter):
            new.append(row)
            gone += [PrefixRow(row.language, row.prefix, each) for each in _too_many(suggestion, found, quarter)]
    await store.put(new, at)
    await store.remove(gone, at)


def _is_among_best(new: StoredSuggestion, found: Sequence[StoredSuggestion], quarter: int) -> bool:
    """Return True if a list needs this row: it is heavier than the row of its text and than the last of the best."""
    weight = weight_at(new, quarter)
    if any(each.text == new.text and each.weight >= 0 and weight_at(each, quarter) >= weight for each in found):
        return False
    kept = best(found, quarter, KEPT)
    return len(kept) < KEPT or weight > weight_at(kept[-1], quarter)


def _too_many(new: StoredSuggestion, found: Sequence[StoredSuggestion], quarter: int) -> list[StoredSuggestion]:
    """Return the rows that a list needs no longer once it has the new one; none while the list is short."""
    after = [each for each in found if each.text != new.text] + [new]
    return superfluous(after, quarter) if len(after) > FULL else []
