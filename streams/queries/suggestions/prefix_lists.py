"""The stored lists of suggestions: which prefixes have one, what stays in it, and how suggestions are added.

Only prefixes of some lengths have a list. A longer prefix is answered from the list of its beginning. The weight of a
suggestion is a blend of its long-term weight and of the last two hours, so a query of the day rises, and falls again.

A title of a new page is in no list until the next build: the titles with a prefix are a range of all new titles.

Suggestions are added without a lock and without an owner. A list is a row for each text. A writer reads a list, adds
its row if the row is among the best, and removes what the list needs no longer. Two writers at one moment add two rows,
and neither is lost. A row that one of them removed by mistake comes back with the next event or build.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from streams.queries.counts import RECENT_QUARTERS
from streams.queries.suggestions.index import MAX_SHOWN
from streams.queries.suggestions.normal_form import key_of
from streams.seen.stores import SeenSuggestions
from streams.stores.protocols import NewTitle, PrefixRow, StoredSuggestion, Suggestions, Visible

RECENT_WEIGHT = 10.0
"""Weight of a count of the last two hours, in counts of former days."""
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)
"""Lengths of the prefixes that have a list (characters)."""
KEPT = 20
"""Maximum suggestions of a list: more than are shown, since some are hidden, or fall behind within two hours."""
ALL_LANGUAGES = ""
FULL = KEPT + 12
"""Number of rows of a list above which the superfluous ones are removed."""


def weight_at(stored: StoredSuggestion, quarter: int) -> float:
    """Return the weight in this quarter of an hour (number since 1970): after two hours, only the long-term weight."""
    is_recent = stored.recent and quarter - stored.quarter < RECENT_QUARTERS
    return stored.weight + (RECENT_WEIGHT * stored.recent if is_recent else 0.0)


def stored_prefix(prefix: str) -> str:
    """Return the longest beginning of the prefix that may have a list; empty for an empty prefix."""
    return prefix[: max((length for length in LENGTHS if length <= len(prefix)), default=0)]


def rows_of(suggestion: StoredSuggestion) -> Iterator[PrefixRow]:
    """Yield the places of a suggestion: in the lists of its language, and in the lists of all languages."""
    key = key_of(suggestion.text)
    for language in dict.fromkeys((suggestion.language, ALL_LANGUAGES)):
        for length in LENGTHS:
            if length <= len(key):
                yield PrefixRow(language, key[:length], suggestion)


def best(stored: Iterable[StoredSuggestion], quarter: int, limit: int = MAX_SHOWN) -> list[StoredSuggestion]:
    """Return the heaviest suggestions in this quarter of an hour, the heaviest first, without hidden ones."""
    shown = [each for each in stored if each.weight >= 0]
    return sorted(shown, key=lambda each: (-weight_at(each, quarter), each.text))[:limit]


def superfluous(stored: Iterable[StoredSuggestion], quarter: int) -> list[StoredSuggestion]:
    """Return the suggestions that a list needs no longer: those behind the first KEPT. Hidden ones stay."""
    every = list(stored)
    kept = {each.text for each in best(every, quarter, KEPT)}
    return [each for each in every if each.weight >= 0 and each.text not in kept]


def new_title(text: str, language: str, weight: float, at: int, host: str = "") -> NewTitle:
    """Return the title of a new page of this host as it is stored. `text` is a normal form that is not empty."""
    return NewTitle(key_of(text), StoredSuggestion(text, language, weight, hosts=(host,)), at)


async def read_list(
    store: SeenSuggestions, language: str, prefix: str, since: int, visible: Visible
) -> list[StoredSuggestion]:
    """Return the rows of a list, as a reader sees them. The list of all languages has the new titles with this prefix,
    too.

    `since`: when the last build began (microseconds since 1970 UTC). A build writes the lists of the prefixes that it
    has, so a list that is older is of texts that nobody has any more.
    """
    if language != ALL_LANGUAGES:
        return await store.of_prefix(language, prefix, since, visible=visible)
    rows, titles = await asyncio.gather(
        store.of_prefix(language, prefix, since, visible=visible), store.titles(prefix, visible=visible)
    )
    listed = {row.text for row in rows}
    return [*rows, *(title for title in titles if title.text not in listed)]


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
