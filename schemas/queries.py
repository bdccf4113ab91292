"""Events of people searching: keyed by the query's hash. No address, cookie or account is ever in them."""

from typing import ClassVar
from uuid import UUID

from schemas.envelope import Event


class QueryMade(Event):
    """What was asked, and what was shown."""

    topic: ClassVar[str] = "queries.made"
    key_field: ClassVar[str] = "query_hash"

    query_hash: str
    query: str
    results: tuple[UUID, ...] = ()
    """Page ids, best first."""
    partial: bool = False
    took_ms: float = 0.0


class ResultClicked(Event):
    """Which result was opened."""

    topic: ClassVar[str] = "results.clicked"
    key_field: ClassVar[str] = "query_hash"

    query_hash: str
    page_id: UUID
    position: int
