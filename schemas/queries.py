"""Events of searches. They are keyed by the query's hash, and contain no address, cookie or account.

The hash has a secret of the gateway that changes each day: the same query has another hash on another day, and after a
restart of the gateway.
"""

from typing import ClassVar
from uuid import UUID

from pydantic import Field

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


class QueryAsked(Event):
    """A query was asked, for counts of queries. It is sent only where the operator collects queries."""

    topic: ClassVar[str] = "queries.asked"
    key_field: ClassVar[str] = "query_hash"

    query_hash: str
    """Hash of language and query, with a key of the day."""
    query: str
    """The query in its normal form."""
    language: str = ""
    person: str
    """Hash of address and browser, with a key of the day. It is in no store."""
    results: int = Field(ge=0)
    nearest_only: bool = False
    """No page answers the query: the results are only the nearest by meaning. It counts as a query without results."""
    partial: bool = False
    """A part of the search failed or was left out, so its results don't say what the index has. It never counts as a
    query without results."""
    shown: tuple[UUID, ...] = ()
    """Page ids of the first ten results, best first."""


class ResultClicked(Event):
    """A result was opened."""

    topic: ClassVar[str] = "results.clicked"
    key_field: ClassVar[str] = "query_hash"

    query_hash: str
    page_id: UUID
    position: int
    asked_hash: str = ""
    """Hash of the query as `queries.asked` has it. Empty where queries are not collected."""
    person: str = ""
    """Hash of address and browser, as in `queries.asked`. Empty where queries are not collected."""
