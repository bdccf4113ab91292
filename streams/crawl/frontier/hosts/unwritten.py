"""The rows of a host that wait to be written together. Pure."""

from collections.abc import Callable, Sequence
from uuid import UUID

from streams.errors import TransientError, is_outage
from streams.stores.protocols import CrawlState, FrontierUrl, QueueEntry


class NotWritten(TransientError):
    """The rows of an event were not written, perhaps because of another event's rows beside them."""


ANSWERS_PATIENCE = 18
"""Rows of answered URLs wait N times as long as others, until their pages are settled: on a busy machine a minute."""


class UnwrittenRows:
    """URLs of a host, their places in its queue and their states in crawls."""

    def __init__(self, patience: int = 1) -> None:
        self.patience = patience
        self.urls: dict[UUID, FrontierUrl] = {}
        self.entries: list[QueueEntry] = []
        self.states: dict[str, dict[UUID, CrawlState]] = {}
        """States by crawl and page."""
        self.with_host = False
        """The host's own row is to be written with them."""
        self.at_once = False
        """They wait for no others."""
        self.changes = 0
        """Number of changes of these rows."""
        self.events: set[object] = set()
        """The events that led to these rows."""
        self.waiting = 0
        """Number of events that wait for them."""
        self.is_ended = False
        """They were written, or failed."""
        self.on_end: Callable[[], None] | None = None
        self._error: BaseException | None = None

    def __bool__(self) -> bool:
        return self.changes > 0

    def put_url(self, url: FrontierUrl) -> None:
        self.urls[url.page_id] = url
        self.changes += 1

    def put_entries(self, entries: list[QueueEntry]) -> None:
        self.entries += entries
        self.changes += len(entries)

    def put_states(self, crawl_id: str, states: dict[UUID, CrawlState]) -> None:
        """Put states of URLs in a crawl. A URL without a crawl has no state."""
        if crawl_id and states:
            self.states.setdefault(crawl_id, {}).update(states)
            self.changes += 1

    def note_urls_written(self) -> None:
        """Note that the URLs and entries were written with the host. Without states nothing is left, and they end."""
        self.urls, self.entries, self.with_host, self.at_once = {}, [], False, False
        if not self.states:
            self.end()

    def put_host(self, *, at_once: bool = False) -> None:
        """Let the host's own row be written with these rows."""
        self.with_host, self.at_once = True, self.at_once or at_once
        self.changes += 1

    def end(self, error: BaseException | None = None) -> None:
        """Note that the rows were written, or why not."""
        self.is_ended, self._error = True, error
        if self.on_end:
            self.on_end()

    def require_written(self) -> None:
        """Raise what the store raised, if the rows were not written.

        If the store refused a row of several events, nobody knows whose it was: each event is tried again.
        """
        if self._error is None:
            return
        if isinstance(self._error, Exception):
            is_passing = isinstance(self._error, TransientError) or is_outage(self._error)
            if is_passing or len(self.events) <= 1:
                raise self._error
        raise NotWritten(f"rows of a host were not written: {self._error!r}") from self._error


def end_all(taken: Sequence[UnwrittenRows], error: BaseException | None = None) -> None:
    """End rows that were written together. Raises as `require_written` does."""
    events = set[object]().union(*(rows.events for rows in taken))
    for rows in taken:
        rows.events = events
        rows.end(error)
    if isinstance(error, Exception):
        for rows in taken:
            rows.require_written()


def will_be_settled(url: FrontierUrl) -> bool:
    """Return whether later stages will settle the page: its last answer has content."""
    is_answered = url.state == "done" and url.outcome == "ok" and url.purpose == "page"
    return is_answered and url.settled_generation < url.generation
