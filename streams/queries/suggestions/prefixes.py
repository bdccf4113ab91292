"""The lists of prefixes that are stored: which prefixes have one, and which suggestions stay in it. Pure.

Only prefixes of some lengths have a list. A longer prefix is answered from the list of its beginning.
"""

from collections.abc import Iterable, Iterator

from streams.queries.suggestions.counts import weight_at
from streams.queries.suggestions.index import MAX_SHOWN
from streams.queries.suggestions.normal_form import key_of
from streams.stores.protocols import PrefixRow, StoredSuggestion

LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)
"""Lengths of the prefixes that have a list (characters)."""
KEPT = 20
"""Maximum suggestions of a list: more than are shown, since some are hidden, or fall behind within two hours."""
ALL_LANGUAGES = ""


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
