"""Contexts of rankings, for the tests of single passes."""

from datetime import UTC, datetime
from typing import Any

from streams.search.options import SearchOptions
from streams.search.ranking.context import RankingContext
from streams.stores.protocols import EVERYTHING, Candidates

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def context_of(text: str, **options: Any) -> RankingContext:
    """Return a ranking of this query, with these options."""
    return RankingContext(text, Candidates(), 0.5, SearchOptions(**options), NOW, wanted=10, visible=EVERYTHING)
