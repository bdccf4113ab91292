"""The progress of a crawl, from the counts that the frontier keeps."""

from collections.abc import Callable
from dataclasses import dataclass

from streams.stores.opener import Stores

MIN_READ_SECONDS = 2.0
"""Minimum seconds between two reads of a crawl's progress."""
MAX_READ_SHARE = 0.05
"""Maximum share of the time that the reads take."""


@dataclass(frozen=True, slots=True)
class CrawlProgress:
    """Counts of a crawl's URLs. Each URL is in exactly one count; `discovered` is the sum of all."""

    discovered: int = 0
    pending: int = 0
    """URLs in a queue, or given to a fetcher."""
    deferred: int = 0
    """URLs in the queue of a host that does not answer. They are fetched when it answers again."""
    digesting: int = 0
    """URLs that are fetched and not settled yet. They may still lead to more URLs."""
    fetched: int = 0
    """URLs that are fetched and settled."""
    redirected: int = 0
    gone: int = 0
    """URLs that lead to no page, as the server says (404, 410)."""
    failed: int = 0
    disallowed: int = 0
    """URLs that robots.txt forbids."""
    refused: int = 0
    """URLs that are refused by URL rules, budget, network guard, or the server."""
    seen: int = 0
    """URLs that are known from an earlier crawl, or taken over by a later crawl."""

    @property
    def finished(self) -> int:
        """Number of URLs with a final result: those that are not under way, and wait for no host."""
        return self.discovered - self.pending - self.deferred - self.digesting

    @property
    def answered(self) -> bool:
        """True if no URL waits for a fetch at this moment."""
        return self.discovered > 0 and self.pending == 0

    @property
    def done(self) -> bool:
        """True if no URL is under way. Links to other hosts are separate events, so ask twice, a few seconds apart."""
        return self.answered and self.digesting == 0


def describe_results(progress: CrawlProgress) -> str:
    """Return the number of addresses with each final result, for people, such as `214 fetched, 3 refused`."""
    results = {
        "fetched": progress.fetched,
        "redirected": progress.redirected,
        "known from another crawl": progress.seen,
        "forbidden by robots.txt": progress.disallowed,
        "refused": progress.refused,
        "gone": progress.gone,
        "failed": progress.failed,
    }
    return ", ".join(f"{count:,} {name}" for name, count in results.items() if count)


async def crawl_progress(stores: Stores, crawl_id: str) -> CrawlProgress:
    """Read the counts of a crawl. All are zero before the frontier got its first URL."""
    counts = await stores.frontier.crawl_counts(crawl_id)
    return CrawlProgress(
        discovered=sum(counts.values()),
        pending=counts.get("queued", 0),
        deferred=counts.get("deferred", 0),
        digesting=counts.get("fetched", 0),
        fetched=counts.get("settled", 0),
        redirected=counts.get("redirected", 0),
        gone=counts.get("gone", 0),
        failed=counts.get("failed", 0),
        disallowed=counts.get("disallowed", 0),
        refused=counts.get("refused", 0),
        seen=counts.get("seen", 0),
    )


class ProgressReader:
    """Reads the progress of a crawl repeatedly. The reads take at most a small share of the time."""

    def __init__(self, stores: Stores, crawl_id: str, monotonic: Callable[[], float]) -> None:
        self._stores = stores
        self._crawl_id = crawl_id
        self._monotonic = monotonic
        self._next_at = 0.0
        self._last = CrawlProgress()

    async def read(self) -> CrawlProgress:
        """Return the progress, at most some seconds old. The progress of a finished crawl is always read again."""
        begin = self._monotonic()
        if begin < self._next_at and not self._last.done:
            return self._last
        self._last = await crawl_progress(self._stores, self._crawl_id)
        end = self._monotonic()
        self._next_at = end + max(MIN_READ_SECONDS, (end - begin) / MAX_READ_SHARE)
        return self._last
