"""Events of searches. They are keyed by the query's hash, and contain no address, cookie or account.

The hash has a secret of the gateway that changes each day: the same query has another hash on another day, and after a
restart of the gateway.
"""

from typing import ClassVar
from uuid import UUID

from schemas.envelope import Event


class QueryMade(Event):
    """A query was answered."""

    topic: ClassVar[str] = "queries.made"
    key_field: ClassVar[str] = "query_hash"

    query_hash: str
    query: str
    results: tuple[UUID, ...] = ()
    """Page ids, best first."""
    partial: bool = False
    took_ms: float = 0.0


class ResultClicked(Event):
    """A result was opened."""

    topic: ClassVar[str] = "results.clicked"
    key_field: ClassVar[str] = "query_hash"

    query_hash: str
    page_id: UUID
    position: int
