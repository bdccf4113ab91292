"""Watches pages on their way to the index: what `riffle crawl`, `riffle import` and the benchmark have in common."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

from schemas import Event, PageFetched, PageIndexed, PageRemoved

LOOK_SECONDS = 0.5
IDLE_SECONDS = 360.0
"""Without any event for so long, a crawl is said to be stuck rather than waited for. Well above the time after which a
worker that hangs is found out and started again."""
FOLLOWED = (PageFetched, PageIndexed, PageRemoved)
PROGRESS_COLUMNS = (
    SpinnerColumn(),
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeElapsedColumn(),
)


@dataclass(slots=True)
class Seen:
    """What became of the pages of one crawl or import, by the events that passed."""

    crawl_id: str
    fetched: set[UUID] = field(default_factory=set)
    indexed: set[UUID] = field(default_factory=set)
    removed: dict[UUID, str] = field(default_factory=dict)
    last_event_at: float = 0.0

    def note(self, events: Iterable[Event], now: float) -> None:
        for event in events:
            if getattr(event, "crawl_id", None) != self.crawl_id:
                continue
            self.last_event_at = now
            match event:
                case PageFetched(purpose="page", outcome="ok"):
                    self.fetched.add(event.page_id)
                case PageIndexed():
                    self.indexed.add(event.page_id)
                case PageRemoved():
                    self.removed[event.page_id] = event.reason

    @property
    def searchable(self) -> int:
        """Pages that became searchable and were not taken out again."""
        return len(self.indexed - self.removed.keys())

    @property
    def settled(self) -> int:
        """Pages that became searchable or were set aside."""
        return len(self.indexed | self.removed.keys())

    def reasons(self) -> dict[str, int]:
        """How many pages were set aside, by reason."""
        counts: dict[str, int] = {}
        for reason in self.removed.values():
            counts[reason] = counts.get(reason, 0) + 1
        return dict(sorted(counts.items()))

    @property
    def under_way(self) -> int:
        """Pages that were fetched and neither became searchable nor were set aside."""
        return len(self.fetched - self.indexed - self.removed.keys())
