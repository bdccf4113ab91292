"""Counts the links that a crawl left out, by reason, when it ends with few pages.

The links are read from the documents of the pages: nothing is stored for them while a crawl runs.
"""

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from schemas import PageDiscovered
from streams.allowed_origins import AllowedOrigins
from streams.crawl.domains import are_twins
from streams.crawl.scope import CrawlScope, belongs
from streams.crawl.urls import InvalidUrl, host_of, reason_not_to_crawl, resolve
from streams.errors import MissingBlob
from streams.pages.document.codec import decode_document
from streams.stores.opener import Stores

FEW_PAGES = 5
"""Maximum number of pages of a crawl whose left out links are counted."""
_WORDS = {
    "host": "to other hosts (--any-host follows them)",
    "depth": "beyond the depth (--depth)",
    "pattern": "outside of --include and --exclude",
    "nofollow": "that their pages ask not to be followed",
    "type": "that no page has (files, other schemes, traps)",
}


async def count_left_out(
    stores: Stores, pages: Iterable[UUID], seeds: list[PageDiscovered], origins: AllowedOrigins
) -> dict[str, int]:
    """Count the links of these pages that the crawl of the seeds left out, each address once, by reason."""
    hosts, found = {seed.host for seed in seeds}, dict[str, str]()
    scope, patterns = CrawlScope.of(seeds[0]), seeds[0].patterns
    for identity in pages:
        record = await stores.pages.get(identity)
        if not (reference := record.normalized.document_ref):
            continue
        try:
            document = decode_document(await stores.blobs.get(reference))
        except MissingBlob:
            continue
        asks = "nofollow" in record.normalized.directives
        for link in document.links:
            try:
                url = origins.place(resolve(document.url, link.url))
            except InvalidUrl:
                found[link.url] = "type"
                continue
            host = host_of(url)
            is_own = host in hosts or host == host_of(document.url) or any(are_twins(host, each) for each in hosts)
            if reason_not_to_crawl(url, origins):
                found[url] = "type"
            elif scope.same_host and not is_own:
                found[url] = "host"
            elif asks or link.nofollow:
                found[url] = "nofollow"
            elif not belongs(url, patterns):
                found[url] = "pattern"
            elif not scope.includes(1) and url not in {seed.url for seed in seeds}:
                found[url] = "depth"
    return dict(Counter(found.values()))


def describe_left_out(counts: dict[str, int]) -> str:
    """Return the counts as a sentence; empty without any."""
    parts = [f"{counts[reason]:,} {words}" for reason, words in _WORDS.items() if counts.get(reason)]
    return f"Links that were left out: {'; '.join(parts)}." if parts else ""
