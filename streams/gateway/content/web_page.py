"""A page of the web that is fetched now, for a program: within the rules of the crawler, and stored nowhere.

The addresses are checked by the network guard, each hop of a redirect by the rules for URLs and by the robots.txt of
its host. What the host wishes about uses of its content (robots.txt, tdmrep.json) counts as if the page said it, as in
a crawl. A host gets one request at a time, and its crawl delay is kept between two pages, in this gateway: several
gateways each keep their own. Parsing and drafting run in killable processes, which start with the first page.
"""

import asyncio
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import structlog

from schemas.ids import page_id
from streams.allowed_origins import origin_of
from streams.caches import RecentCache
from streams.crawl.content_signals import format_signals, with_signals_of_host
from streams.crawl.fetch.http import Answer, close_session, get, limits_of, open_session
from streams.crawl.rights import RIGHTS_PATH, Rights, parse_rights
from streams.crawl.robots import MAX_ROBOTS_REDIRECTS, ROBOTS_TTL_SECONDS, Rules, parse, robots_access
from streams.crawl.urls import InvalidUrl, reason_not_to_crawl, with_scheme
from streams.errors import PoisonError, Refused, RiffleError
from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import Problem, ProblemError
from streams.pages.document.codec import decode_document
from streams.pages.document.model import Document
from streams.pages.parse.robots_directives import with_robot
from streams.pages.sandbox.pool import ParsePool
from streams.pages.sandbox.worker_messages import PageOutcome
from streams.sandbox.pool import SandboxPool
from streams.statements.chaining import chain_drafts
from streams.statements.sandbox_tasks import DRAFT, decode_drafts, drafting_pool
from streams.statements.statement import Statement

MAX_HOPS = 5
"""Maximum redirects of a page."""
MAX_AT_ONCE = 4
"""Maximum pages that one gateway fetches at the same time."""
MAX_WAIT_SECONDS = 5.0
"""Maximum time that a request waits for the pace of its host. A longer wait is refused (seconds)."""
FETCH_SECONDS = 40.0
"""Maximum time from the request to the page's statements (seconds)."""
MAX_HOSTS = 1_000
"""Maximum number of hosts whose robots.txt and pace are remembered."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page that was fetched now."""

    url: str
    document: Document
    statements: tuple[Statement, ...]
    directives: tuple[str, ...]


@dataclass(slots=True)
class _Host:
    """The rules of a host, and when its next request may begin (seconds of the event loop's clock)."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    rules: Rules | None = None
    rights: Rights = field(default_factory=lambda: parse_rights(b""))
    rules_until: float = 0.0
    next_at: float = 0.0


class WebPages:
    """The fetcher of one gateway. `close` ends its processes."""

    def __init__(self, context: GatewayContext) -> None:
        self._context, self._settings = context, context.settings.crawl
        self._hosts: RecentCache[str, _Host] = RecentCache(MAX_HOSTS)
        self._free = asyncio.Semaphore(MAX_AT_ONCE)
        self._parsing: ParsePool | None = None
        self._drafting: SandboxPool | None = None

    async def fetch(self, url: str) -> WebPage:
        """Fetch a page now. Raises ProblemError: why it was not fetched, or can't be read."""
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                async with self._free:
                    final, answer = await self._follow(url)
                found: WebPage = await self._read(final, answer)
        except TimeoutError:
            raise ProblemError(_not_fetched(f"There was no page within {FETCH_SECONDS:g} seconds.")) from None
        except Refused as refusal:
            raise ProblemError(_unreadable(refusal.detail or refusal.rule)) from None
        except PoisonError as error:
            raise ProblemError(_unreadable("it is damaged")) from error
        return found

    async def close(self) -> None:
        if self._parsing is not None:
            await self._parsing.close()
        if self._drafting is not None:
            await self._drafting.close()

    async def _follow(self, url: str) -> tuple[str, Answer]:
        """Return the page behind its redirects."""
        for _ in range(MAX_HOPS + 1):
            answer = await self._get_page(url)
            if answer.verdict.outcome == "ok":
                return url, answer
            if answer.verdict.outcome != "redirect" or not answer.verdict.redirect_to:
                raise ProblemError(_not_fetched(_sentence(answer)))
            url = answer.verdict.redirect_to
        raise ProblemError(_not_fetched(f"It has more than {MAX_HOPS} redirects."))

    async def _get_page(self, url: str) -> Answer:
        """Make one request, in the pace of its host, if the rules for URLs and its robots.txt allow it."""
        try:
            url = with_scheme(url)
        except InvalidUrl as error:
            raise ProblemError(_not_fetched(f"{url} is not allowed: {error}.")) from None
        if reason := reason_not_to_crawl(url):
            raise ProblemError(_not_fetched(f"{url} is not fetched: {reason}."))
        host = self._host(urlsplit(url).netloc)
        async with host.lock:
            rules = await self._rules(host, url)
            if not rules.allowed(url):
                raise ProblemError(_not_fetched("The robots.txt of its host does not allow it."))
            await self._wait(host, max(rules.delay_seconds, self._settings.delay_seconds))
            answer = await self._get(url, "page")
        reserved = host.rights.reserves(url.removeprefix(origin_of(url)))
        signals = format_signals(rules.signals_for(url))
        return replace(answer, headers=with_signals_of_host(answer.headers, signals, tdm_reserved=reserved))

    async def _rules(self, host: _Host, url: str) -> Rules:
        now = asyncio.get_running_loop().time()
        if host.rules is None or now >= host.rules_until:
            rules = await self._read_rules(url)
            host.rights = await self._read_rights(origin_of(url), rules)
            host.rules, host.rules_until = rules, now + ROBOTS_TTL_SECONDS
        return host.rules

    async def _read_rights(self, origin: str, rules: Rules) -> Rights:
        """Return the reservations of a host, if they are read and robots.txt allows it. Without an answer none."""
        address = f"{origin}{RIGHTS_PATH}"
        if not self._settings.rights_files or not rules.allowed(address):
            return parse_rights(b"")
        answer = await self._get(address, "robots")
        return parse_rights(answer.body or b"" if answer.verdict.outcome == "ok" else b"")

    async def _read_rules(self, url: str) -> Rules:
        """Return the robots rules of a page's host (RFC 9309, section 2.3.1). Raises ProblemError if it is away."""
        agent = self._settings.robot_name
        parts = urlsplit(url)
        address = f"{parts.scheme}://{parts.netloc}/robots.txt"
        for redirects in range(MAX_ROBOTS_REDIRECTS + 1):
            answer = await self._get(address, "robots")
            match robots_access(answer.verdict.outcome, redirects):
                case "rules":
                    return parse(answer.body or b"", agent)
                case "allow":
                    return parse(b"", agent)
                case "redirect" if answer.verdict.redirect_to:
                    address = answer.verdict.redirect_to
                case _:
                    raise ProblemError(_not_fetched("The robots.txt of its host does not answer."))
        return parse(b"", agent)

    async def _get(self, url: str, purpose: str) -> Answer:
        session = open_session(self._settings)
        try:
            return await get(
                session,
                url,
                purpose="robots" if purpose == "robots" else "page",
                limits=limits_of(self._settings),
                monotonic=asyncio.get_running_loop().time,
            )
        finally:
            await close_session(session)

    async def _wait(self, host: _Host, delay_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        wait = host.next_at - loop.time()
        if wait > MAX_WAIT_SECONDS:
            raise ProblemError(_busy(int(wait) + 1))
        await asyncio.sleep(max(0.0, wait))
        host.next_at = loop.time() + delay_seconds

    def _host(self, name: str) -> _Host:
        host = self._hosts.get(name) or _Host()
        self._hosts.put(name, host)
        return host

    async def _read(self, url: str, answer: Answer) -> WebPage:
        if self._parsing is None:
            self._parsing = ParsePool(1)
        headers = with_robot(answer.headers, self._settings.robot_name)
        outcome = await self._parsing.parse(answer.body or b"", url=url, headers=headers)
        return WebPage(url, decode_document(outcome.document), await self._statements(url, outcome), outcome.directives)

    async def _statements(self, url: str, outcome: PageOutcome) -> tuple[Statement, ...]:
        """Return the page's statements. Without the chain model there are none: the document is there all the same."""
        if self._drafting is None:
            self._drafting = drafting_pool("extract")
            self._drafting.start()
        drafted = decode_drafts(await self._drafting.run(DRAFT, outcome.document))
        try:
            return (await chain_drafts(self._context.stores.chains, page_id(url), url, drafted)).statements
        except RiffleError as error:
            self._context.metrics.count_failure("models", error)
            return ()


def _sentence(answer: Answer) -> str:
    verdict = answer.verdict
    status = f" (status {answer.status})" if answer.status else ""
    return f"The server's answer: {verdict.error or verdict.outcome.replace('_', ' ')}{status}."


def _not_fetched(why: str) -> Problem:
    return Problem("not-fetched", why, "Check the address.", "url")


def _unreadable(why: str) -> Problem:
    return Problem("not-readable", f"It was fetched, but {why}.", parameter="url")


def _busy(seconds: int) -> Problem:
    return Problem("host-busy", f"Its next request may begin in {seconds} s.", headers={"Retry-After": str(seconds)})
