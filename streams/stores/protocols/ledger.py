"""The history of each page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of a page's life, as the ledger keeps it."""

    page_id: UUID
    event_id: UUID
    topic: str
    source: str
    at: int
    """The event's time, microseconds since 1970 UTC."""
    outcome: str = ""
    """One line for people: what was found or decided."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The event's data."""


class Ledger(Protocol):
    """Every transition of every page, by page."""

    async def record(self, *transitions: Transition) -> None:
        """Store transitions of one page together: all or none of them."""

    async def history(self, page_id: UUID) -> list[Transition]:
        """Return the transitions of the page, the oldest first."""

    async def delete(self, *transitions: Transition) -> None:
        """Delete transitions of one page together. A copy that is recorded later is lost, unless its time is later."""

    async def erase(self, page_id: UUID, before: int) -> None:
        """Erase the transitions before this time. A transition that is recorded later with such a time is lost, too."""
