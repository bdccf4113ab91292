"""The feeds of a host as operators see them: those that name WebSub hubs, with these hubs."""

from collections.abc import Iterator
from uuid import UUID

from schemas.ids import page_id
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.robots import parse
from streams.crawl.sitemaps import DEFAULT_PATH
from streams.crawl.urls import InvalidUrl, resolve
from streams.errors import MissingBlob
from streams.stores.host_buckets import bucket_of
from streams.stores.opener import Stores
from streams.stores.page_record import Feed

MAX_FEEDS = 64
"""Maximum number of files of a robots.txt whose records are read."""


async def feeds_with_hubs(stores: Stores, host: str, allowed: AllowedOrigins = NO_ORIGINS) -> list[Feed]:
    """Return the feeds of a host that name WebSub hubs, wherever Riffle found the feeds.

    Feeds that its robots.txt names come first: records of earlier releases list no others.
    """
    row = await stores.frontier.host(bucket_of(host), host)
    if row is None:
        return []
    ref = Host.from_row(row).robots.ref
    try:
        named = parse(await stores.blobs.get(ref), "").sitemaps if ref else ()
    except MissingBlob:
        named = ()
    origin = allowed.origin_of_host(host)
    urls = list(dict.fromkeys(_resolved(named or (DEFAULT_PATH,), origin, allowed)))[:MAX_FEEDS]
    noted = (await stores.pages.get(page_id(f"{origin}/robots.txt"))).host_feeds.pages
    pages = dict.fromkeys([*map(page_id, urls), *map(UUID, noted)])
    records = [await stores.pages.get(page) for page in pages]
    return [record.feed for record in records if record.feed.hubs]


def _resolved(named: tuple[str, ...], origin: str, allowed: AllowedOrigins) -> Iterator[str]:
    for url in named:
        try:
            yield allowed.place(resolve(f"{origin}/robots.txt", url))
        except InvalidUrl:
            continue
