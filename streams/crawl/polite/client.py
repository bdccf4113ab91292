"""The polite client of all that asks the web outside of a crawl's schedule: it keeps the rules that the crawler keeps.

Before each request come the operator's order for the host, removals on request, robots.txt with its redirects and its
age (by the frontier's own decisions), visit times, the time that the host asked for, and the pace of host, domain and
address, which all workers and gateways share. The guard checks each address: only the pages of an origin that the
operator allowed, and no other page, person or redirect, lead to its private addresses.

A host gets one request of this process at a time. What the scripts of other sites ask for waits behind what the host's
own pages need.
"""

import asyncio
import random as randomness
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from uuid import uuid4

import aiohttp
from yarl import URL

from schemas.crawl import Purpose
from schemas.envelope import utc_from_micros
from schemas.ids import page_id
from streams.allowed_origins import NO_ORIGINS, OwnOrigin, is_public, origin_of
from streams.clock import now_micros
from streams.crawl.content_signals import format_signals, with_signals_of_host
from streams.crawl.domains import may_be_one_owner, surely_one_owner
from streams.crawl.fetch.http import (
    Answer,
    addresses_of,
    close_session,
    get,
    limits_of,
    open_allowed_session,
    open_session,
)
from streams.crawl.fetch.outcomes import retry_after_seconds
from streams.crawl.fetch.pace import Window, windows_of
from streams.crawl.fetch.shared_pace import SharedPace
from streams.crawl.frontier.decisions import slows_host
from streams.crawl.frontier.host_caches import parse_file
from streams.crawl.frontier.hosts.robots_state import RobotsAnswer, robots_after
from streams.crawl.frontier.policy import SECOND, backoff_micros, deferral_micros
from streams.crawl.polite.hosts import KnownHost, KnownHosts
from streams.crawl.polite.places import Places
from streams.crawl.polite.refusals import NotAsked
from streams.crawl.rights import RIGHTS_PATH, parse_rights
from streams.crawl.robots import ROBOTS_TTL_SECONDS, Rules, parse, robots_access, seconds_until_open
from streams.crawl.urls import InvalidUrl, canonicalize, host_of, reason_not_to_crawl
from streams.settings import CrawlSettings
from streams.stores.opener import Stores
from streams.stores.removals import is_held_back

CORS_HEADERS = frozenset({
    "access-control-allow-credentials", "access-control-allow-origin", "access-control-expose-headers",
    "cross-origin-resource-policy",
})  # fmt: skip
"""Headers by which a browser decides which page may read an answer."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, for what, and how long it may wait."""

    for_page: str = ""
    """The page whose scripts ask. Empty: a person or a program asks for a page."""
    max_wait_seconds: float = 5.0
    """Maximum time that a request waits for its host, and again for its turn (seconds)."""
    shows: Callable[[str], bool] = lambda url: True
    """Says whether the asker may see a page with this URL."""

    @property
    def wants_page(self) -> bool:
        """True if the answer is read as a page, so that the wishes of its host count."""
        return not self.for_page

    def is_stranger(self, host: str) -> bool:
        """Return whether a page that is not surely of the host's owner asks."""
        return bool(self.for_page) and not surely_one_owner(host, host_of(self.for_page))


class PoliteClient:
    """The client of one process. `close` ends its connections, and leaves the hosts to others."""

    def __init__(
        self,
        settings: CrawlSettings,
        stores: Stores,
        *,
        now: Callable[[], int] = now_micros,
        monotonic: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self._settings, self._stores = settings, stores
        self._now, self.monotonic, self._random = now, monotonic, random
        self._limits = limits_of(settings)
        self._hosts = KnownHosts(settings, stores, now)
        self._pace = SharedPace(stores.pace_holds, str(uuid4()), monotonic)
        self._places = Places()
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        """The session for all that is public (False), and the one of allowed origins for their own pages (True)."""

    async def follow(self, url: str, asking: Asking, max_redirects: int) -> tuple[str, Answer]:
        """Return an answer behind its redirects, with its URL. Raises NotAsked, also for one to another domain."""
        for _ in range(max_redirects + 1):
            answer = await self.get(url, asking)
            target = answer.verdict.redirect_to
            if answer.verdict.outcome != "redirect" or not target:
                return url, answer
            if not may_be_one_owner(host_of(target), host_of(url)):
                raise NotAsked("elsewhere", f"It leads to another site: {target[:200]}")
            url = target
        raise NotAsked("rule", f"It has more than {max_redirects} redirects.")

    async def get(self, url: str, asking: Asking) -> Answer:
        """Make one request, if every rule allows it. Raises NotAsked."""
        target = self._target(url, asking)
        if is_held_back(await self._stores.pages.get(page_id(target))):
            raise NotAsked("removed", "The page was removed on request.")
        host = host_of(target)
        async with self._places.take(host, asking.max_wait_seconds, is_stranger=asking.is_stranger(host)):
            known = await self._find(target, asking)
            await self._read_files(known, target, asking)
            self._hosts.keep(known)
            if not known.rules.allowed(target):
                raise NotAsked("disallowed", "The robots.txt of its host does not allow it.")
            self._check_time(known)
            answer = await self._ask(known, target, asking)
        return self._with_wishes(answer, known, target) if asking.wants_page else answer

    async def take_turn(self, url: str, max_wait_seconds: float) -> None:
        """Take a turn at a page's host for what its scripts will ask. Raises NotAsked."""
        asking = Asking(url, max_wait_seconds)
        known = await self._find(url, asking)
        self._check_time(known)
        await self._wait_for_turn(known, url, asking)

    async def close(self) -> None:
        await self._pace.release_in_time()
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await close_session(session)

    def _target(self, url: str, asking: Asking) -> str:
        """Return the canonical URL. Raises NotAsked if it may not be asked.

        An origin that is not public is only asked for its own pages.
        """
        try:
            target = canonicalize(url, OwnOrigin(asking.for_page) if asking.for_page else NO_ORIGINS)
        except InvalidUrl as error:
            raise NotAsked("rule", f"{url[:200]} is not allowed: {error}.") from None
        origin = origin_of(target)
        reason = reason_not_to_crawl(target) if asking.wants_page else None
        if not is_public(origin) and not self._is_at_home(target, asking):
            reason = f"origin: {origin} is not public"
        if reason:
            raise NotAsked("rule", f"{target[:200]} is not fetched: {reason}.")
        if not asking.shows(target):
            raise NotAsked("hidden", f"{target[:200]} may not be shown.")
        return target

    def _is_at_home(self, url: str, asking: Asking) -> bool:
        """Return whether a page of an origin that the operator allowed asks that same origin.

        All others pass the strict guard, whatever the operator allowed: also a person who asks for the page, since
        nobody knows who that is.
        """
        origin = origin_of(url)
        return bool(asking.for_page) and origin == origin_of(asking.for_page) and self._settings.origins.allows(origin)

    async def _find(self, url: str, asking: Asking) -> KnownHost:
        """Return what the asker may know of the URL's host. Raises NotAsked."""
        is_apart = self._settings.origins.allows(origin_of(url)) and not self._is_at_home(url, asking)
        host = host_of(url)
        return await self._hosts.find(host, is_apart=is_apart, is_stranger=asking.is_stranger(host))

    async def _read_files(self, known: KnownHost, url: str, asking: Asking) -> None:
        """Read robots.txt if it is due, and for a page also the reservations of rights. Raises NotAsked."""
        if known.robots.is_due(ROBOTS_TTL_SECONDS, self._now()):
            await self._read_robots(known, url, asking)
        address = f"{origin_of(url)}{RIGHTS_PATH}"
        if not (self._settings.rights_files and asking.wants_page) or known.knows_rights(self._now()):
            return
        if known.rules.allowed(address):
            answer = await self._ask(known, address, asking, "robots")
            if not answer.verdict.retryable:
                known.rights = parse_rights(answer.body or b"" if answer.verdict.outcome == "ok" else b"")
        known.rights_at = self._now()

    async def _read_robots(self, known: KnownHost, url: str, asking: Asking) -> None:
        """Read robots.txt with its redirects. Raises NotAsked if it is unreachable."""
        while known.robots.is_due(ROBOTS_TTL_SECONDS, self._now()):
            address = known.robots.url or f"{origin_of(url)}/robots.txt"
            # Where a redirect leads, its host's choice asks, not the page that caused the request.
            by = asking if origin_of(address) == origin_of(url) else replace(asking, for_page=url)
            answer = await self._ask_for_robots(known, address, by)
            verdict, body = answer.verdict, answer.body or b""
            has_rules = robots_access(verdict.outcome, known.robots.redirects) == "rules"
            rules = await self._parse(body) if has_rules else None
            what = verdict.error or verdict.outcome
            received = RobotsAnswer(verdict.outcome, self._now(), what, verdict.redirect_to)
            before, known.robots = known.robots, robots_after(known.robots, received, rules)
            if known.robots.status in ("rules", "allowed"):
                known.rules = rules or await self._parse(b"")
            elif known.robots.redirects <= before.redirects:
                if known.robots.status == "unreachable":
                    await self._hosts.rest(known, deferral_micros(known.robots.outages, self._random()) / SECOND)
                raise NotAsked("unreachable", "The robots.txt of its host does not answer.", 1.0)

    async def _ask_for_robots(self, known: KnownHost, address: str, asking: Asking) -> Answer:
        """Ask for a robots.txt. One that moved to another host keeps that host's visit times and place, too."""
        host = host_of(address)
        if host == known.name:
            return await self._ask(known, address, asking, "robots")
        async with self._places.take(host, asking.max_wait_seconds, is_stranger=asking.is_stranger(host)):
            asked = await self._find(address, asking)
            self._check_time(asked)
            return await self._ask(asked, address, asking, "robots")

    async def _parse(self, body: bytes) -> Rules:
        return await parse_file(partial(parse, agent=self._settings.robot_name), body)

    def _check_time(self, known: KnownHost) -> None:
        if closed := seconds_until_open(known.robots.windows, self._now() // SECOND):
            detail = f"{known.name} may be asked only at some times of day: again in {closed} s."
            raise NotAsked("closed", detail, closed)

    async def _ask(self, known: KnownHost, url: str, asking: Asking, purpose: Purpose = "page") -> Answer:
        """Make a request at its turn, and let the host rest if it is in trouble or asks for time."""
        await self._wait_for_turn(known, url, asking)
        answer = await get(
            self._session(url, asking),
            url,
            purpose=purpose,
            limits=self._limits,
            monotonic=self.monotonic,
            any_type=not asking.wants_page,
            headers={} if purpose == "robots" else _origin_header(url, asking),
            also_kept=frozenset() if asking.wants_page else CORS_HEADERS,
        )
        # A page of another domain may choose a URL that fails. It does not choose robots.txt.
        is_stranger = asking.is_stranger(known.name) and purpose != "robots"
        name = "strangers_failures" if is_stranger else "failures"
        failures = getattr(known, name) + 1 if slows_host(answer.verdict.outcome, purpose) else 0
        setattr(known, name, failures)
        wait = retry_after_seconds(answer.headers.get("retry-after"), utc_from_micros(self._now()))
        if failures:
            wait = max(wait, backoff_micros(failures, self._random()) / SECOND)
        if wait > known.delay_seconds(self._settings):
            await self._hosts.rest(known, wait, is_stranger=is_stranger)
        return answer

    async def _wait_for_turn(self, known: KnownHost, url: str, asking: Asking) -> None:
        """Wait until a request may begin. Raises NotAsked if that takes too long."""
        windows = await self._windows(known, url, asking)
        until = self.monotonic() + asking.max_wait_seconds
        while wait := await self._pace.take(windows):
            if self.monotonic() + wait > until:
                raise NotAsked("busy", f"{known.name} is asked by others just now.", wait)
            await asyncio.sleep(wait)

    async def _windows(self, known: KnownHost, url: str, asking: Asking) -> list[Window]:
        """Return the windows of a request. A page of another domain also pays with a turn at its own host."""
        delay = known.delay_seconds(self._settings)
        if not (delay or self._settings.delay_seconds):
            return []
        addresses = await addresses_of(self._session(url, asking), URL(url, encoded=True).raw_host or "")
        windows = windows_of(known.name, addresses, self._settings, delay)
        if asking.is_stranger(known.name):
            payer = await self._find(asking.for_page, Asking(asking.for_page))
            windows += windows_of(payer.name, (), self._settings, payer.delay_seconds(self._settings))
        return windows

    def _session(self, url: str, asking: Asking) -> aiohttp.ClientSession:
        is_allowed = self._is_at_home(url, asking)
        if is_allowed not in self._sessions:
            self._sessions[is_allowed] = (open_allowed_session if is_allowed else open_session)(self._settings)
        return self._sessions[is_allowed]

    def _with_wishes(self, answer: Answer, known: KnownHost, url: str) -> Answer:
        """Return an answer with what its host wishes about the uses of the page, as if the page said it."""
        signals = format_signals(known.rules.signals_for(url))
        reserved = known.rights.reserves(url.removeprefix(origin_of(url)))
        return replace(answer, headers=with_signals_of_host(answer.headers, signals, tdm_reserved=reserved))


def _origin_header(url: str, asking: Asking) -> Mapping[str, str]:
    """Return the header by which a server decides which page may read its answer, as browsers send it."""
    own = origin_of(asking.for_page) if asking.for_page else ""
    return {"Origin": own} if own and own != origin_of(url) else {}
