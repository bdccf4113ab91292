"""The requests of a rendered page: through the crawler's client, its guard on addresses, robots.txt, and the pace.

A script of another host is fetched only if that host's robots.txt allows it. Each host's rules are kept for a while.
Each request takes a place in the same windows as the requests of fetchers (`streams.crawl.fetch.pace`), and waits for
it. Scripts and style sheets are kept for a while, since the pages of a site share them.
"""

import asyncio
import time
from collections.abc import Callable
from uuid import uuid4

import aiohttp
from yarl import URL

from streams.caches import TimedCache
from streams.crawl.fetch.http import Answer, addresses_of, close_session, get, limits_of, open_session, user_agent
from streams.crawl.fetch.pace import windows_of
from streams.crawl.fetch.shared_pace import SharedPace
from streams.crawl.robots import Rules, parse
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.errors import Refused
from streams.render.kept_resources import KeptResources
from streams.render.page import Resource
from streams.settings import CrawlSettings
from streams.stores.protocols import PaceHolds

MAX_REDIRECTS = 3
"""Maximum redirects of a script or of data."""
MAX_HOSTS = 1_000
"""Maximum hosts whose rules are kept."""
RULES_SECONDS = 3_600.0
"""Time until the rules of a host are fetched again (seconds)."""
HOST_WAIT_SECONDS = 60.0
"""Maximum time that a page waits for its host before its browser starts (seconds). A fetcher that asks the host gives
it up after 20 s, and a killed one after 7 s."""


class ResourceLoader:
    """Fetches what the scripts of pages ask for. `close` ends it."""

    def __init__(
        self, settings: CrawlSettings, pace: SharedPace, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._pace = pace
        self._monotonic = monotonic
        self._kept = KeptResources(monotonic)
        self._limits = limits_of(settings)
        self._agent = user_agent(settings)
        self._session: aiohttp.ClientSession | None = None
        self._rules: TimedCache[str, Rules | None] = TimedCache(RULES_SECONDS, MAX_HOSTS, monotonic)

    async def wait_for_host(self, url: str) -> None:
        """Take the page's place at its host, before a browser starts for it. Raises Refused after a long wait.

        The place is for the page itself: a fetcher has just asked for it, and only that fetcher knows when.
        """
        try:
            async with asyncio.timeout(HOST_WAIT_SECONDS):
                await self._wait_for_turn(url)
        except TimeoutError:
            raise Refused("render", f"its host was not free within {HOST_WAIT_SECONDS:g} s") from None

    async def load(self, url: str) -> Resource | None:
        """Return a script, a style sheet or data; None if it may not be fetched, or can't be."""
        if kept := self._kept.get(url):
            return kept
        found = await self._load(url)
        if found:
            self._kept.put(url, found)
        return found

    async def _load(self, url: str) -> Resource | None:
        for _ in range(MAX_REDIRECTS + 1):
            try:
                target = canonicalize(url)
            except InvalidUrl:
                return None
            if not await self._is_allowed(target):
                return None
            answer = await self._get(target, robots=False)
            if answer.verdict.outcome == "redirect" and answer.verdict.redirect_to:
                url = answer.verdict.redirect_to
                continue
            if answer.verdict.outcome != "ok" or answer.body is None:
                return None
            kind = answer.headers.get("content-type", "text/plain")
            # No cookie and no secret is in the browser, so every page may read every answer.
            return Resource(200, {"content-type": kind, "access-control-allow-origin": "*"}, answer.body)
        return None

    async def close(self) -> None:
        """Leave the hosts to other workers, and close all connections."""
        await self._pace.release_in_time()
        if self._session is not None:
            await close_session(self._session)
            self._session = None

    async def _is_allowed(self, url: str) -> bool:
        """Return whether robots.txt of the URL's host allows it. A robots.txt that can't be read forbids everything."""
        host = host_of(url)
        known = self._rules.find(host)
        if known is not None and known.is_fresh:
            rules = known.value
        else:
            rules = await self._read_rules(host)
            self._rules.keep(host, rules)
        return rules is not None and rules.allowed(url)

    async def _read_rules(self, host: str) -> Rules | None:
        answer = await self._get(f"https://{host}/robots.txt", robots=True)
        if answer.verdict.outcome == "ok":
            return parse(answer.body or b"", self._settings.robot_name)
        has_none = answer.verdict.outcome in ("gone", "refused", "client_error")
        return parse(b"", self._settings.robot_name) if has_none else None

    async def _get(self, url: str, *, robots: bool) -> Answer:
        await self._wait_for_turn(url)
        return await get(
            self._opened_session(),
            url,
            purpose="robots" if robots else "page",
            limits=self._limits,
            monotonic=self._monotonic,
            any_type=True,
        )

    async def _wait_for_turn(self, url: str) -> None:
        """Wait until the request of a URL may begin. The caller's time is the limit."""
        host = host_of(url)
        known = self._rules.find(host)
        delay = known.value.delay_seconds if known and known.value else None
        if not (self._settings.delay_seconds or delay):
            return
        addresses = await addresses_of(self._opened_session(), URL(url, encoded=True).raw_host or "")
        windows = windows_of(host, addresses, self._settings, delay)
        while wait := await self._pace.take(windows):  # noqa: ASYNC110 - a place is asked for, nothing tells of it
            await asyncio.sleep(wait)

    def _opened_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = open_session(self._settings)
        return self._session


def open_loader(settings: CrawlSettings, holds: PaceHolds) -> ResourceLoader:
    """Make the loader of a worker, which shares the pace with all fetchers."""
    return ResourceLoader(settings, SharedPace(holds, str(uuid4()), time.monotonic))
