"""A page of the web that is fetched now, for a program: within the rules of the crawler, and stored nowhere.

The polite client asks, so that robots.txt, orders of operators, visit times and the pace hold as in a crawl. A redirect
is followed within the site's own domain, and only to pages that the client of the gateway may see. What the host wishes
about uses of its content counts as if the page said it. A client has one page fetched at a time. Parsing and drafting
run in killable processes, which start with the first page.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import structlog

from schemas.ids import page_id
from streams.crawl.fetch.http import Answer
from streams.crawl.polite.client import Asking, PoliteClient
from streams.crawl.polite.refusals import WILL_PASS, NotAsked
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

MAX_REDIRECTS = 5
"""Maximum redirects of a page."""
MAX_AT_ONCE = 64
"""Maximum pages that one gateway fetches at the same time."""
MAX_WAIT_SECONDS = 10.0
"""Maximum time that a request waits for the pace of its host (seconds). A fetcher that asked a moment ago has the host
for 7 s."""
FETCH_SECONDS = 40.0
"""Maximum time from the request to the page's statements (seconds)."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page that was fetched now."""

    url: str
    document: Document
    statements: tuple[Statement, ...]
    directives: tuple[str, ...]


class WebPages:
    """The fetcher of one gateway. `close` ends its processes."""

    def __init__(self, context: GatewayContext, open_client: Callable[[], PoliteClient]) -> None:
        self._context, self._open_client = context, open_client
        self._client: PoliteClient | None = None
        self._asking: set[str] = set()
        """The clients that have a page fetched."""
        self._parsing: ParsePool | None = None
        self._drafting: SandboxPool | None = None

    async def fetch(self, url: str, client: str, shows: Callable[[str], bool]) -> WebPage:
        """Fetch a page now for a client of the gateway. Raises ProblemError: why it was not fetched, or can't be read.

        `shows`: whether the client may see a page with this URL.
        """
        if client in self._asking or len(self._asking) >= MAX_AT_ONCE:
            raise ProblemError(_one_at_a_time())
        self._asking.add(client)
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                final, answer = await self._follow(url, shows)
                return await self._read(final, answer)
        except TimeoutError:
            raise ProblemError(_not_fetched(f"There was no page within {FETCH_SECONDS:g} seconds.")) from None
        except Refused as refusal:
            raise ProblemError(_unreadable(refusal.detail or refusal.rule)) from None
        except PoisonError as error:
            raise ProblemError(_unreadable("it is damaged")) from error
        finally:
            self._asking.discard(client)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        if self._parsing is not None:
            await self._parsing.close()
        if self._drafting is not None:
            await self._drafting.close()

    async def _follow(self, url: str, shows: Callable[[str], bool]) -> tuple[str, Answer]:
        """Return the page behind its redirects."""
        if self._client is None:
            self._client = self._open_client()
        asking = Asking(max_wait_seconds=MAX_WAIT_SECONDS, shows=shows)
        try:
            final, answer = await self._client.follow(url, asking, MAX_REDIRECTS)
        except NotAsked as refusal:
            raise ProblemError(_problem(refusal, url)) from None
        if answer.verdict.outcome != "ok":
            raise ProblemError(_not_fetched(_sentence(answer)))
        return final, answer

    async def _read(self, url: str, answer: Answer) -> WebPage:
        if self._parsing is None:
            self._parsing = ParsePool(1)
        headers = with_robot(answer.headers, self._context.settings.crawl.robot_name)
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


def _problem(refusal: NotAsked, url: str) -> Problem:
    if refusal.reason == "hidden":  # as for a page that the index has not: nobody learns that there is one
        return not_indexed(url)
    if refusal.reason not in WILL_PASS:
        return _not_fetched(refusal.detail)
    return Problem("host-busy", refusal.detail, headers={"Retry-After": str(max(ceil(refusal.wait_seconds), 1))})


def not_indexed(url: str) -> Problem:
    """Return the problem of a page that is not there for a client."""
    return Problem(
        "no-content",
        f"The index has no document of {url[:200]}.",
        "With `fetch=true` it is fetched now, if the operator allows it.",
        "url",
    )


def _not_fetched(why: str) -> Problem:
    return Problem("not-fetched", why, "Check the address.", "url")


def _unreadable(why: str) -> Problem:
    return Problem("not-readable", f"It was fetched, but {why}.", parameter="url")


def _one_at_a_time() -> Problem:
    return Problem("too-many-requests", "A page is being fetched for you just now.", headers={"Retry-After": "5"})
