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
    answers = await asyncio.gather(*(store.of_prefixes(language, each) for language, each in prefixes.items()))
    stored = {
        (language, prefix): found
        for language, lists in zip(prefixes, answers, strict=True)
        for prefix, found in lists.items()
    }
    after = dict(stored)
    for row in rows:
        place = row.language, row.prefix
        if _is_among_best(row.suggestion, after[place], quarter):
            after[place] = _with(row.suggestion, after[place], quarter)
    new: list[PrefixRow] = []
    gone: list[PrefixRow] = []
    for place, found in stored.items():
        kept = {each.text for each in after[place]}
        new += [PrefixRow(*place, each) for each in after[place] if each not in found]
        gone += [PrefixRow(*place, each) for each in found if each.text not in kept]
    await store.put(new, at)
    await store.remove(gone, at)


def _is_among_best(new: StoredSuggestion, found: Sequence[StoredSuggestion], quarter: int) -> bool:
    """Return True if a list needs this row: it is heavier than the row of its text and than the last of the best."""
    weight = weight_at(new, quarter)
    if any(each.text == new.text and each.weight >= 0 and weight_at(each, quarter) >= weight for each in found):
        return False
    kept = best(found, quarter, KEPT)
    return len(kept) < KEPT or weight > weight_at(kept[-1], quarter)


def _with(new: StoredSuggestion, found: Sequence[StoredSuggestion], quarter: int) -> list[StoredSuggestion]:
    """Return a list with the new row, without the rows that a long list needs no longer."""
    every = [*(each for each in found if each.text != new.text), new]
    too_many = superfluous(every, quarter) if len(every) > FULL else []
    return [each for each in every if each not in too_many]
