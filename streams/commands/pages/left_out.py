"""Counts the links that a crawl leaves out, by reason, while it runs.

The links are read from the documents of the crawl's first pages: nothing is stored for them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from uuid import UUID

from schemas import PageDiscovered
from streams.allowed_origins import AllowedOrigins
from streams.crawl.domains import are_twins
from streams.crawl.scope import CrawlScope, belongs
from streams.crawl.urls import InvalidUrl, host_of, reason_not_to_crawl, resolve
from streams.errors import MissingBlob
from streams.pages.document.codec import decode_document
from streams.pages.document.model import Document
from streams.stores.opener import Stores

MAX_PAGES = 200
"""Maximum number of pages of a crawl whose links are looked at."""
PAGES_PER_LOOK = 8
"""Maximum number of pages that are read at one look."""
MAX_LINKS = 50_000
"""Maximum number of links that are looked at."""
_WORDS = {
    "host": ("to other hosts", " (--any-host follows them)"),
    "depth": ("beyond the depth", " (--depth)"),
    "pattern": ("outside of --include and --exclude", ""),
    "nofollow": ("that their pages ask not to be followed", ""),
    "type": ("that no page has", " (files, other schemes, traps)"),
}


class LeftOutLinks:
    """The links that a crawl left out, each address once."""

    def __init__(self, seeds: list[PageDiscovered], origins: AllowedOrigins) -> None:
        self._seeds, self._origins = {seed.url for seed in seeds}, origins
        self._hosts = {seed.host for seed in seeds}
        self._scope, self._patterns = CrawlScope.of(seeds[0]), seeds[0].patterns
        self._found: dict[str, str] = {}
        self._followed: set[str] = set()
        self._read: set[UUID] = set()

    @property
    def counts(self) -> dict[str, int]:
        """The number of links by reason."""
        return dict(Counter(self._found.values()))

    @property
    def is_part(self) -> bool:
        """True if only the first pages of the crawl were looked at."""
        return len(self._read) >= MAX_PAGES or len(self._found) + len(self._followed) >= MAX_LINKS

    async def look(self, stores: Stores, pages: Iterable[UUID], max_pages: int = PAGES_PER_LOOK) -> None:
        """Read the documents of some pages that were not read yet."""
        unread = (page for page in pages if not self.is_part and page not in self._read)
        for identity in list(islice(unread, max_pages)):
            self._read.add(identity)
            record = await stores.pages.get(identity)
            if not (reference := record.normalized.document_ref):
                continue
            try:
                document = decode_document(await stores.blobs.get(reference))
            except MissingBlob:
                continue
            row = await stores.frontier.url(host_of(document.url), identity)
            depth = row.depth if row else 0
            self._add(document, depth, asks_nofollow="nofollow" in record.normalized.directives)

    def _add(self, document: Document, depth: int, *, asks_nofollow: bool) -> None:
        for link in document.links:
            try:
                url = self._origins.place(resolve(document.url, link.url))
            except InvalidUrl:
                self._found[link.url] = "type"
                continue
            reason = self._reason(url, document.url, depth, nofollow=asks_nofollow or link.nofollow)
            if not reason:  # another page may have left it out, such as by its depth
                self._followed.add(url)
                self._found.pop(url, None)
            elif url not in self._followed:
                self._found[url] = reason

    def _reason(self, url: str, page: str, depth: int, *, nofollow: bool) -> str:
        """Return why a link of a page at this depth is left out; empty if it is not."""
        host = host_of(url)
        is_own = host in self._hosts or host == host_of(page) or any(are_twins(host, each) for each in self._hosts)
        if reason_not_to_crawl(url, self._origins):
            return "type"
        if self._scope.same_host and not is_own:
            return "host"
        if nofollow:
            return "nofollow"
        if not belongs(url, self._patterns):
            return "pattern"
        return "depth" if not self._scope.includes(depth + 1) and url not in self._seeds else ""


def describe_left_out(counts: Mapping[str, int], *, with_help: bool = True) -> str:
    """Return the counts in words, such as `2 to other hosts`; empty without any. `with_help`: name what helps, too."""
    parts = [
        f"{counts[reason]:,} {words}{advice if with_help else ''}"
        for reason, (words, advice) in _WORDS.items()
        if counts.get(reason)
    ]
    return "; ".join(parts)
