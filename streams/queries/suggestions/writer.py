"""The addition of one suggestion to the stored lists of its prefixes, without a lock and without an owner.

A list is a row for each text. A writer reads a list, adds its row if the row is among the best, and removes what the
list needs no longer. Two writers at one moment add two rows, and neither is lost. A row that one of them removed by
mistake comes back with the next event or build.
"""

import asyncio

from streams.queries.suggestions.counts import weight_at
from streams.queries.suggestions.prefixes import KEPT, best, rows_of, superfluous
from streams.stores.protocols import PrefixRow, StoredSuggestion, Suggestions

FULL = KEPT + 12
"""Number of rows of a list above which the superfluous ones are removed."""


async def offer(store: Suggestions, suggestion: StoredSuggestion, quarter: int, at: int) -> None:
    """Add a suggestion to the lists in which it is among the best. The same call twice changes nothing."""
    await asyncio.gather(*(_offer(store, row, quarter, at) for row in rows_of(suggestion)))


async def _offer(store: Suggestions, row: PrefixRow, quarter: int, at: int) -> None:
    found = {each.text: each for each in await store.of_prefix(row.language, row.prefix)}
    new = row.suggestion
    known = found.get(new.text)
    if known is not None and known.weight >= 0 and weight_at(known, quarter) >= weight_at(new, quarter):
        return
    kept = best(found.values(), quarter, KEPT)
    if len(kept) == KEPT and weight_at(new, quarter) <= weight_at(kept[-1], quarter):
        return
    await store.put([row], at)
    found[new.text] = new
    if len(found) > FULL:
        gone = [PrefixRow(row.language, row.prefix, each) for each in superfluous(found.values(), quarter)]
        await store.remove(gone, at)
