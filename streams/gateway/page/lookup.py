"""The look-up of all that is known of one page: its record, its history, its duplicates, its statements.

Without the record and the history there is nothing to show. Duplicates and statements are optional: if their store
fails, the answer names them as missing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

from schemas.envelope import micros_from_utc
from schemas.ids import page_id as id_of
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.host_quality import HostQuality, judge_host
from streams.crawl.urls import InvalidUrl, page_urls
from streams.errors import MissingBlob, PoisonError, RiffleError
from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import Problem, ProblemError, records_unavailable, unknown_page
from streams.links.page_links import LinkingDomain, group_by_domain
from streams.maintenance.frontier_hosts import NOT_READ, InFrontier
from streams.maintenance.page_copies import directive_against_copies
from streams.search.deadline import OptionalPart
from streams.seen.stores import SeenPage
from streams.servers import Store
from streams.stores.page_record import PageRecord, StoredPart
from streams.stores.protocols import Hit, PageLink, Transition, Visible
from streams.stores.removals import has_left

MAX_STATEMENTS = 200
"""Maximum statements shown of a page."""
MAX_DUPLICATES = 50
"""Maximum duplicates shown of a page."""
MAX_LINKS = 1_000
"""Maximum links to a page that are read."""
HOST_PART = "what is known of its host"
"""Name of the optional part that the page's host says."""
OPTIONAL_SHARE = 0.4
"""Share of the deadline for the optional parts. The rest of the time is for the record and the history."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RelatedPage:
    """Another page. An unknown URL is empty."""

    page_id: UUID
    url: str = ""


@dataclass(frozen=True, slots=True)
class PageData:
    """All that is known of a page."""

    page_id: UUID
    url: str
    visible: Visible
    """The pages that the reader of this may see."""
    record: PageRecord
    history: tuple[Transition, ...]
    """Oldest first."""
    representative: RelatedPage | None = None
    """The page that is indexed in place of this one, if this is a duplicate."""
    duplicates: tuple[RelatedPage, ...] = ()
    statements: tuple[Hit, ...] = ()
    linked_from: tuple[LinkingDomain, ...] = ()
    """The domains that link to the page."""
    frontier: InFrontier = NOT_READ
    host_quality: HostQuality | None = None
    """The quality of its host, as the frontier has it. None: the frontier does not know the host."""
    missing: tuple[str, ...] = ()
    """The optional parts whose store failed, in words for people."""


@dataclass(slots=True)
class _OptionalParts:
    """Reads the parts that may fail, and remembers which failed."""

    context: GatewayContext
    missing: list[str] = field(default_factory=list)

    async def get(self, store: Store, part: str, read: Callable[[], Awaitable[T]], default: T) -> T:
        seconds = self.context.settings.gateway.deadline_seconds * OPTIONAL_SHARE
        found = await OptionalPart(part, partial(self._note, store)).read(
            lambda: _in_tuple(read), asyncio.timeout(seconds), lambda _: self.missing.append(part)
        )
        return default if found is None else found[0]

    def _note(self, store: Store, error: BaseException) -> None:
        # A store that refuses is not down: the page's collection may be gone since the index was switched.
        if not isinstance(error, PoisonError):
            self.context.metrics.count_failure(store, error)


async def _in_tuple(read: Callable[[], Awaitable[T]]) -> tuple[T]:
    """Return the value read, even None, in a tuple."""
    return (await read(),)


def resolve(subject: str) -> tuple[UUID, str]:
    """Return the page's id, and its canonical URL if the subject is a URL, even without scheme. Raises ProblemError."""
    return _candidates(subject)[0]


def _candidates(subject: str) -> list[tuple[UUID, str]]:
    """Return what the subject may name: a page's id, or the page of a URL, as a public one or at its own origin."""
    subject = subject.strip()
    try:
        return [(UUID(subject), "")]
    except ValueError:
        pass
    try:
        return [(id_of(url), url) for url in page_urls(subject)]
    except InvalidUrl as error:
        raise ProblemError(
            Problem(
                "invalid-url",
                str(error).capitalize().rstrip(".") + ".",
                "Give one like `https://sqlite.org/wal.html`, or a page's id.",
                "url",
            )
        ) from None


async def _known_page(
    context: GatewayContext, candidates: list[tuple[UUID, str]], visible: Visible
) -> tuple[UUID, SeenPage]:
    """Return the first page with a record that the client may see, or else the first known one. Raises ProblemError.

    An unseen page has the error of a page that is not there: it says no more than what the client gave.
    """
    seconds = context.settings.gateway.deadline_seconds * (1 - OPTIONAL_SHARE)
    known: list[tuple[UUID, SeenPage]] = []
    for page_id, given in candidates:
        async with or_problem(context, "The store of page records does not answer.", seconds):
            if (found := await context.stores.page(page_id, given, visible=visible)) is not None:
                known.append((page_id, found))
                if found.record.rows:
                    return page_id, found
    if known:
        return known[0]
    page_id, url = candidates[0]
    frontier = await _OptionalParts(context).get(
        "records", HOST_PART, partial(_in_frontier, context, page_id, url, visible), NOT_READ
    )
    raise ProblemError(unknown_page(url or f"the page {page_id}", frontier.left_out))


async def look_up(context: GatewayContext, subject: str, visible: Visible) -> PageData:
    """Return all that is known of a page, without other pages that the client may not see.

    Raises ProblemError for a subject that is no address, a page that is unknown or that the client may not see, or
    records that don't answer.
    """
    page_id, found = await _known_page(context, _candidates(subject), visible)
    optional, stores = _OptionalParts(context), context.stores
    url, record = found.url, found.record
    no_pages: list[RelatedPage] = []
    no_hits: list[Hit] = []
    no_links: list[PageLink] = []
    representative, duplicates, statements, links, frontier = await asyncio.gather(
        optional.get(
            "records", "its representative", partial(_representative, context, page_id, record, visible), None
        ),
        optional.get("records", "its duplicates", partial(_duplicates, context, page_id, visible), no_pages),
        optional.get("vectors", "its statements", partial(_statements, context, page_id, record, visible), no_hits),
        optional.get(
            "records",
            "who links to it",
            partial(stores.page_links, url, page_id, MAX_LINKS, visible=visible),
            no_links,
        ),
        optional.get("records", HOST_PART, partial(_in_frontier, context, page_id, url, visible), NOT_READ),
    )
    return PageData(
        page_id=page_id,
        url=url,
        visible=visible,
        record=record,
        history=found.history,
        representative=representative,
        duplicates=tuple(duplicates),
        statements=tuple(statements),
        linked_from=tuple(group_by_domain(links)),
        frontier=frontier,
        host_quality=judge_host(Host.from_row(frontier.host).record) if frontier.host else None,
        missing=tuple(optional.missing),
    )


async def _representative(
    context: GatewayContext, page_id: UUID, record: PageRecord, visible: Visible
) -> RelatedPage | None:
    """Return the representative by the page's fingerprint, which holds the last decision, or else by its record.

    A URL that an alias rule maps to another was never fetched: it has no fingerprint, only the record of its removal.
    """
    fingerprint = await context.stores.fingerprint(page_id, visible=visible)
    decided = fingerprint.representative if fingerprint else None
    representative = decided or record.deduplicated.canonical_page_id or record.removed.canonical_page_id
    if not representative or representative == page_id:
        return None
    other = await context.stores.fingerprint(representative, visible=visible)
    if other is None and visible.is_limited:
        return None
    return RelatedPage(representative, other.url if other else "")


async def _duplicates(context: GatewayContext, page_id: UUID, visible: Visible) -> list[RelatedPage]:
    pages = await context.stores.duplicates(page_id, MAX_DUPLICATES, visible=visible)
    return [RelatedPage(page.page_id, page.url) for page in pages]


async def _in_frontier(context: GatewayContext, page_id: UUID, url: str, visible: Visible) -> InFrontier:
    robot, now = context.settings.crawl.robot_name, micros_from_utc(context.clock())
    return await context.stores.in_frontier(url, page_id, robot, now, visible=visible)


async def _statements(context: GatewayContext, page_id: UUID, record: PageRecord, visible: Visible) -> list[Hit]:
    """Return the page's statements that searches can find now."""
    collection = record.indexed.collection
    if not collection:
        return []
    return (await context.stores.statements(collection, page_id, visible=visible))[:MAX_STATEMENTS]


async def read_blob(context: GatewayContext, data: PageData, part: StoredPart, ref: str) -> bytes | None:
    """Return a blob that a part of a page's record refers to, or None if it no longer exists.

    Raises ProblemError if its store doesn't answer.
    """
    seconds = context.settings.gateway.deadline_seconds
    async with or_problem(context, "The store of page contents does not answer.", seconds):
        try:
            return await context.stores.content(part, ref, visible=data.visible)
        except MissingBlob:
            return None


@asynccontextmanager
async def or_problem(context: GatewayContext, detail: str, seconds: float | None = None) -> AsyncIterator[None]:
    """Limit the time of a read without which there is no answer. Raises ProblemError with this detail if it fails."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except (RiffleError, TimeoutError) as error:
        context.metrics.count_failure("records", error)
        raise ProblemError(records_unavailable(detail, error)) from error


def refuse_copies(data: PageData) -> None:
    """Raise ProblemError for a page that asks for no copies (`noarchive`), or left the index, also on request."""
    refuse_directives(data.record.normalized.directives)
    if data.record.removed.reason == "request":
        raise ProblemError(_no_copies("The page was removed on request."))
    if has_left(data.record):
        raise ProblemError(_no_copies("The page left the index."))


def refuse_directives(directives: Iterable[str]) -> None:
    """Raise ProblemError for the directives of a page that asks for no copies."""
    if directive := directive_against_copies(directives):
        raise ProblemError(_no_copies(f"The page says `{directive}`."))


def _no_copies(why: str) -> Problem:
    return Problem("no-copies", why, "Its history is shown at /page.")
