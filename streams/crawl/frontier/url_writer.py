"""Writes the rows of a URL: its state, its place in the queue, and its state in its crawl.

They are put among the unwritten rows of the host. `Hosts.write`, or the end of the event, writes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from streams.crawl.frontier.decisions import crawl_state
from streams.crawl.frontier.hosts.live_host import HEAD_ENTRIES, LiveHost
from streams.crawl.frontier.hosts.live_hosts import Hosts
from streams.crawl.frontier.scheduling.recrawl import waits_for_visit
from streams.stores.protocols import CrawlState, FrontierStore, FrontierUrl, QueueEntry

NONE_REFUSED: Mapping[str, Sequence[UUID]] = {}
MAX_MARKED = 1_024
"""Maximum number of queued URLs that are marked again when a host is deferred, or answers again."""


class UrlWriter:
    """Writes URLs of locked hosts. The same URL is always written the same way, so a repetition is harmless."""

    def __init__(self, hosts: Hosts, store: FrontierStore) -> None:
        self._hosts = hosts
        self._store = store

    async def write(
        self,
        urls: Sequence[FrontierUrl],
        live: LiveHost,
        *,
        persist: bool = False,
        refused: Mapping[str, Sequence[UUID]] = NONE_REFUSED,
    ) -> None:
        """Write URLs of a host, their queue entries, their crawls' marks, and the host if necessary.

        `persist`: the host is written at once.
        `refused`: pages by crawl without a row, which robots.txt disallows.
        """
        await self._hosts.fill(live)  # before the push: a complete head in memory must hold the whole queue
        entries = sorted(self._waiting(urls, live))
        for entry in entries:
            live.head.push(entry)
        live.count_queued(len(entries))
        self.write_settled(urls, live, refused)
        if entries:
            live.rows.put_entries(entries)
            if not self._hosts.covers(live, entries[0].position):
                live.rows.put_host()
        if persist:
            live.rows.put_host(at_once=True)

    def _waiting(self, urls: Sequence[FrontierUrl], live: LiveHost) -> Iterator[QueueEntry]:
        """Yield the queue entries of URLs that wait for a fetch, and that the cursor has not passed."""
        cursor = live.host.cursor
        for url in urls:
            entry = QueueEntry(url.position, url.page_id)
            if (url.state == "queued" or waits_for_visit(url)) and (cursor is None or cursor < entry):
                yield entry

    def write_settled(
        self, urls: Sequence[FrontierUrl], live: LiveHost, refused: Mapping[str, Sequence[UUID]] = NONE_REFUSED
    ) -> None:
        """Write URLs that keep their places in the queue."""
        for url in urls:
            self._hosts.put_url(live, url)
        self.mark(urls, live, refused)

    async def requeue(self, url: FrontierUrl, live: LiveHost) -> None:
        """Write a URL after the end of its lease."""
        entry = QueueEntry(url.position, url.page_id)
        if url.state == "queued":
            live.rows.put_entries([entry])
            live.count_queued(1)
        self.write_settled([url], live)
        await self._hosts.write(live)
        if url.state == "queued":
            live.head.push(entry)

    async def mark_queue(self, live: LiveHost) -> None:
        """Mark the first queued URLs in their crawls again: the host was deferred, or answers again.

        The marks are only for the crawl's progress, so a longer queue is not read to its end.
        """
        await self._hosts.write(live)
        marked, after = 0, live.host.cursor
        while marked < MAX_MARKED and (entries := await self._store.queued(live.name, after, HEAD_ENTRIES)):
            urls = await self._hosts.urls(live, [entry.page_id for entry in entries])
            self.mark([url for url in urls.values() if url and url.state == "queued"], live)
            marked, after = marked + len(entries), entries[-1]
        await self._hosts.write(live)

    def mark(
        self, urls: Sequence[FrontierUrl], live: LiveHost, refused: Mapping[str, Sequence[UUID]] = NONE_REFUSED
    ) -> None:
        """Write the state of URLs of a host in their crawls. `refused`: further pages, by crawl."""
        crawls: dict[str, dict[UUID, CrawlState]] = {
            crawl_id: dict.fromkeys(page_ids, "disallowed") for crawl_id, page_ids in refused.items()
        }
        for url in urls:
            crawls.setdefault(url.crawl_id, {})[url.page_id] = crawl_state(url, live.host)
        for crawl_id, states in crawls.items():
            live.rows.put_states(crawl_id, states)

    def mark_in(self, crawl_id: str, page_id: UUID, state: CrawlState, live: LiveHost) -> None:
        """Write the state of one URL in one crawl."""
        live.rows.put_states(crawl_id, {page_id: state})
