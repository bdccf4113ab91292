"""Takes back the links of pages that are erased.

A row of the graph names one page of the linking host: the first page that was found with the link. Rows with an erased
page are deleted, so its address is not left in the graph. If another page of the host has the link as well, the row
comes back when that page is fetched again, once the links stage has forgotten the row (a restart, or many other links).
Rows with another page stay, since that page has the link.

All rows are read. The links stage takes back the links of a removed page by the rows of that page (`agent`): they lack
what an earlier release stored, and an erasure must find everything.
"""

from collections.abc import Awaitable, Callable, Collection

from streams.crawl.urls import host_of
from streams.links.page_links import DOMAINS, PAGES_PER_DOMAIN
from streams.links.ranking import FIRST_TOKEN, LAST_TOKEN, SCANNED_HOSTS
from streams.stores.protocols import HostLinks

Report = Callable[[str, float], Awaitable[None]]
"""Called after each batch of rows, with the name of the table and the share of its rows that are read."""
TABLE, PAGE_TABLE = "host links", "page links"
MAX_LINKS = DOMAINS * PAGES_PER_DOMAIN


async def take_back_links(store: HostLinks, urls: Collection[str], at: int, report: Report) -> int:
    """Delete the links between hosts that were found on one of these pages until `at`. Returns their number."""
    sources = {host_of(url) for url in urls}
    after, count = FIRST_TOKEN, 0
    while rows := await store.scan(after, LAST_TOKEN, SCANNED_HOSTS):
        for _, host, linking in rows:
            for source in sources.intersection(linking):
                count += await _take_back(store, host, source, urls, at)
        after = rows[-1][0]
        await report(TABLE, (after - FIRST_TOKEN) / (LAST_TOKEN - FIRST_TOKEN))
    return count


async def _take_back(store: HostLinks, host: str, source: str, urls: Collection[str], at: int) -> bool:
    behind = await store.source_page(host, source)
    if behind is None or behind[0] not in urls or behind[1] > at:
        return False
    await store.remove(host, source, at)
    if not await store.sources(host, 1):
        # Without links to it, the host is in no further computation of ranks.
        await store.put_in_links(host, 0)
        await store.put_ranks({host: 1.0})
    return True


async def take_back_page_links(store: HostLinks, urls: Collection[str], at: int, report: Report) -> int:
    """Delete the links to pages that were found on one of these pages until `at`. Returns their number."""
    after, count = FIRST_TOKEN, 0
    while rows := await store.scan_page_links(after, LAST_TOKEN, SCANNED_HOSTS):
        for _, page in rows:
            for link in await store.page_links(page, MAX_LINKS):
                if link.source_url in urls:
                    await store.remove_page_link(link, at)
                    count += 1
        after = rows[-1][0]
        await report(PAGE_TABLE, (after - FIRST_TOKEN) / (LAST_TOKEN - FIRST_TOKEN))
    return count
