"""The quality of suggestions: where the query that a person meant stands while its last letters are still missing.

Of each query the last k characters are hidden, and the suggester is asked for the rest. MRR@10 is the mean of 1/rank of
the query among ten suggestions, and 0 where it is missing. A query that was asked n times counts n times. Pure.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from streams.errors import UsageError
from streams.queries.suggestions.index import MAX_SHOWN, Suggestion
from streams.queries.suggestions.normal_form import normalize_query
from streams.queries.suggestions.suggester import Suggester

HIDDEN = (1, 3, 5)
"""Numbers of hidden characters."""


def read_counts(lines: Iterable[str]) -> dict[str, float]:
    """Return the count of each query: a query a line, and its count behind a tab if it has one. Raises UsageError."""
    counts: dict[str, float] = {}
    for number, line in enumerate(lines, 1):
        text, _, given = line.rstrip("\r\n").partition("\t")
        if query := normalize_query(text):
            counts[query] = counts.get(query, 0.0) + _count_of(given, number)
    if not counts:
        raise UsageError("the file has no queries: one a line, with its count behind a tab if it is known")
    return counts


def suggester_of(counts: Mapping[str, float]) -> Suggester:
    """Return a suggester that knows these queries."""
    return Suggester(Suggestion(query, count) for query, count in counts.items())


def measure(suggester: Suggester, counts: Mapping[str, float]) -> dict[str, Any]:
    """Return MRR@10 for each number of hidden characters, and how many queries were asked."""
    mrr, asked = {}, {}
    for hidden in HIDDEN:
        long_enough = {query: count for query, count in counts.items() if len(query[:-hidden].strip()) > 0}
        total = sum(long_enough.values())
        gained = sum(count * _gain(suggester, query, hidden) for query, count in long_enough.items())
        mrr[str(hidden)] = round(gained / total, 4) if total else 0.0
        asked[str(hidden)] = len(long_enough)
    return {"mrr": mrr, "asked": asked, "queries": len(counts), "suggestions": len(suggester)}


def _gain(suggester: Suggester, query: str, hidden: int) -> float:
    found = [suggestion.text for suggestion in suggester.suggest(query[:-hidden], limit=MAX_SHOWN)]
    return 1.0 / (found.index(query) + 1) if query in found else 0.0


def _count_of(given: str, number: int) -> float:
    if not given.strip():
        return 1.0
    try:
        count = float(given)
    except ValueError:
        count = -1.0
    if not 0 < count < 1e15:
        raise UsageError(f"line {number}: {given.strip()[:30]!r} is not a count above 0")
    return count
