"""The requests of a rendered page: through the polite client, so that each rule of the crawler holds for them.

A page reads what a browser would let it read: the server's own headers for other origins (CORS) are handed on, and
Chromium judges. A page of one site makes other sites work only for scripts and style sheets that its static HTML names,
and for a few requests of data; each of them also takes a turn of the page's own host. Scripts and style sheets are kept
for a while, since the pages of a site share them.
"""

from html import escape

from streams.allowed_origins import origin_of
from streams.crawl.domains import may_be_one_owner
from streams.crawl.polite.client import CORS_HEADERS, Asking, PoliteClient
from streams.crawl.polite.refusals import NotAsked
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.errors import Refused
from streams.render.kept_resources import KeptResources
from streams.render.page import Load, Resource

MAX_REDIRECTS = 3
"""Maximum redirects of a script or of data."""
MAX_FOREIGN_DATA = 8
"""Maximum requests of data (`fetch`, XMLHttpRequest) of a page to sites of other domains."""
HOST_WAIT_SECONDS = 60.0
"""Maximum time that a page waits for its host before its browser starts, and each of its requests for its turn
(seconds). A fetcher that asks the host gives it up after 20 s, and a killed one after 7 s."""
_NAMED_KINDS = frozenset({"Script", "Stylesheet"})


class ResourceLoader:
    """Fetches what the scripts of pages ask for. `close` ends it."""

    def __init__(self, client: PoliteClient) -> None:
        self._client, self._kept = client, KeptResources(client.monotonic)

    async def wait_for_host(self, url: str) -> None:
        """Take the page's turn at its host, before a browser starts for it. Raises Refused if it gets none.

        The turn is for the page itself: a fetcher has just asked for it, and only that fetcher knows when.
        """
        try:
            await self._client.take_turn(url, HOST_WAIT_SECONDS)
        except NotAsked as refusal:
            raise Refused("render", str(refusal)) from None

    def of_page(self, url: str, body: bytes) -> Load:
        """Return the loader of one page. `body`: its static HTML."""
        return PageLoader(self._client, self._kept, url, body).load

    async def close(self) -> None:
        """Leave the hosts to other workers, and close all connections."""
        await self._client.close()


class PageLoader:
    """Fetches what the scripts of one page ask for."""

    def __init__(self, client: PoliteClient, kept: KeptResources, page: str, body: bytes) -> None:
        self._client, self._kept = client, kept
        self._page, self._body = page, body
        self._foreign_data = 0
        self._asking = Asking(for_page=page, max_wait_seconds=HOST_WAIT_SECONDS)

    async def load(self, url: str, kind: str) -> Resource | None:
        """Return a script, a style sheet or data; None if it may not be fetched, or can't be."""
        if not self._may_ask(url, kind):
            return None
        # Another origin may have got another answer: its headers name who may read it.
        key = f"{origin_of(self._page)} {url}"
        if kept := self._kept.get(key):
            return kept
        found = await self._load(url)
        if found:
            self._kept.put(key, found)
        return found

    def _may_ask(self, url: str, kind: str) -> bool:
        """Return whether the page may have its host's domain asked, or another one, and count requests of data."""
        try:
            is_own = may_be_one_owner(host_of(canonicalize(url)), host_of(self._page))
        except InvalidUrl:
            is_own = origin_of(url) == origin_of(self._page)
        if is_own:
            return True
        if kind in _NAMED_KINDS:
            return self._names(url)
        self._foreign_data += 1
        return self._foreign_data <= MAX_FOREIGN_DATA

    def _names(self, url: str) -> bool:
        """Return whether the static HTML has the URL, with or without its scheme."""
        address = url.partition("#")[0].partition(":")[2]
        return any(text.encode() in self._body for text in (address, escape(address, quote=False)))

    async def _load(self, url: str) -> Resource | None:
        try:
            _, answer = await self._client.follow(url, self._asking, MAX_REDIRECTS)
        except NotAsked:
            return None
        if answer.verdict.outcome != "ok" or answer.body is None:
            return None
        kind = answer.headers.get("content-type", "text/plain")
        handed_on = {name: value for name, value in answer.headers.items() if name in CORS_HEADERS}
        return Resource(200, {"content-type": kind, **handed_on}, answer.body)
