"""The requests of a rendered page: through the crawler's client, its guard on addresses, and robots.txt.

A script of another host is fetched only if that host's robots.txt allows it. Each host's rules are kept for a while.
"""

import time
from collections import OrderedDict

import aiohttp

from streams.crawl.fetch.http import Answer, close_session, get, limits_of, open_session, user_agent
from streams.crawl.robots import Rules, parse
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.render.page import Resource
from streams.settings import CrawlSettings

MAX_REDIRECTS = 3
"""Maximum redirects of a script or of data."""
MAX_HOSTS = 1_000
"""Maximum hosts whose rules are kept."""
RULES_SECONDS = 3_600.0
"""Time until the rules of a host are fetched again (seconds)."""


class ResourceLoader:
    """Fetches what the scripts of pages ask for. `close` ends it."""

    def __init__(self, settings: CrawlSettings) -> None:
        self._settings = settings
        self._limits = limits_of(settings)
        self._agent = user_agent(settings)
        self._session: aiohttp.ClientSession | None = None
        self._rules: OrderedDict[str, tuple[float, Rules | None]] = OrderedDict()

    async def load(self, url: str) -> Resource | None:
        """Return a script, a style sheet or data; None if it may not be fetched, or can't be."""
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
        """Close all connections."""
        if self._session is not None:
            await close_session(self._session)
            self._session = None

    async def _is_allowed(self, url: str) -> bool:
        """Return whether robots.txt of the URL's host allows it. A robots.txt that can't be read forbids everything."""
        host = host_of(url)
        known = self._rules.get(host)
        if known is None or known[0] <= time.monotonic():
            known = (time.monotonic() + RULES_SECONDS, await self._read_rules(host))
            self._rules[host] = known
            while len(self._rules) > MAX_HOSTS:
                self._rules.popitem(last=False)
        return known[1] is not None and known[1].allowed(url)

    async def _read_rules(self, host: str) -> Rules | None:
        answer = await self._get(f"https://{host}/robots.txt", robots=True)
        if answer.verdict.outcome == "ok":
            return parse(answer.body or b"", self._settings.user_agent)
        has_none = answer.verdict.outcome in ("gone", "refused", "client_error")
        return parse(b"", self._settings.user_agent) if has_none else None

    async def _get(self, url: str, *, robots: bool) -> Answer:
        if self._session is None:
            self._session = open_session(self._settings)
        return await get(
            self._session,
            url,
            purpose="robots" if robots else "page",
            limits=self._limits,
            monotonic=time.monotonic,
            any_type=True,
        )
