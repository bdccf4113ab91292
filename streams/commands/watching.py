"""The progress of pages to the index, as `riffle crawl`, `riffle import` and the benchmark show it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

from schemas import Event, PageFetched, PageIndexed, PageRemoved

LOOK_SECONDS = 0.5
IDLE_SECONDS = 360.0
"""Time without any event after which a crawl counts as stuck (seconds).

It is longer than the time after which a worker without progress is restarted.
"""
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
    """The pages of one crawl or import, counted from their events."""

    crawl_id: str
    fetched: set[UUID] = field(default_factory=set)
    indexed: set[UUID] = field(default_factory=set)
    removed: dict[UUID, str] = field(default_factory=dict)
    last_event_at: float = 0.0

    def note(self, events: Iterable[Event], now: float) -> None:
        """Count these events of the crawl."""
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
        """Number of pages that became searchable and were not removed since."""
        return len(self.indexed - self.removed.keys())

    @property
    def settled(self) -> int:
        """Number of pages that became searchable or were removed."""
        return len(self.indexed | self.removed.keys())

    def reasons(self) -> dict[str, int]:
        """Number of removed pages by reason."""
        counts: dict[str, int] = {}
        for reason in self.removed.values():
            counts[reason] = counts.get(reason, 0) + 1
        return dict(sorted(counts.items()))

    @property
    def under_way(self) -> int:
        """Number of fetched pages that are neither searchable nor removed yet."""
        return len(self.fetched - self.indexed - self.removed.keys())
