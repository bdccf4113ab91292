"""Rows of the frontier that tests write and read one kind at a time."""

from collections.abc import Sequence

from schemas.ids import page_id
from streams.crawl.urls import host_of
from streams.stores.protocols import FrontierHost, FrontierStore, FrontierUrl, HostRows, QueueEntry


async def put_host(store: FrontierStore, host: FrontierHost) -> None:
    """Write a host, and list it as due."""
    await store.write(HostRows(host.host, host))
    await store.put_due(host)


async def put_urls(store: FrontierStore, urls: Sequence[FrontierUrl]) -> None:
    """Write URLs of any hosts."""
    for url in urls:
        await store.write(HostRows(url.host, urls=[url]))


async def push(store: FrontierStore, host: str, entries: Sequence[QueueEntry], at: int) -> None:
    """Add entries to the queue of a host."""
    await store.write(HostRows(host, entries=entries, at=at))


async def stored_url(store: FrontierStore, address: str) -> FrontierUrl | None:
    """Return what the store has of a URL."""
    return await store.url(host_of(address), page_id(address))
