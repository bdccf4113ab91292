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
from streams.crawl.urls import InvalidUrl, host_of, possible_urls
from streams.errors import MissingBlob, PoisonError, RiffleError
from streams.gateway.access.clients import Sight
from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import Problem, ProblemError, records_unavailable, unknown_page
from streams.ledger.history import read_record_and_history
from streams.links.page_links import LinkingDomain, group_by_domain
from streams.maintenance.frontier_hosts import reason_left_out, why_disallowed
from streams.maintenance.page_copies import directive_against_copies
from streams.search.optional import OptionalPart
from streams.servers import Store
from streams.stores.host_buckets import bucket_of
from streams.stores.page_record import PageRecord
from streams.stores.protocols import Hit, PageLink, Transition
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
    record: PageRecord
    history: tuple[Transition, ...]
    """Oldest first."""
    representative: RelatedPage | None = None
    """The page that is indexed in place of this one, if this is a duplicate."""
    duplicates: tuple[RelatedPage, ...] = ()
    statements: tuple[Hit, ...] = ()
    linked_from: tuple[LinkingDomain, ...] = ()
    """The domains that link to the page."""
    left_out: str = ""
    """Why no crawl follows a link to the page. Empty: crawls do."""
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
        return [(id_of(url), url) for url in possible_urls(subject)]
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
    context: GatewayContext, candidates: list[tuple[UUID, str]]
) -> tuple[UUID, str, PageRecord, list[Transition]]:
    """Return the first page of which something is known. Raises ProblemError."""
    for page_id, url in candidates:
        record, history = await _records(context, page_id)
        if record.rows or history:
            return page_id, url, record, history
    page_id, url = candidates[0]
    of_host = await _OptionalParts(context).get("records", HOST_PART, partial(_of_host, context, url), _OfHost())
    raise ProblemError(unknown_page(url or f"the page {page_id}", of_host.left_out))


async def look_up(context: GatewayContext, subject: str, sight: Sight) -> PageData:
    """Return all that is known of a page, without other pages that the client may not see.

    Raises ProblemError for a subject that is no address, a page that is unknown or that the client may not see, or
    records that don't answer.
    """
    page_id, url, record, history = await _known_page(context, _candidates(subject))
    url = url or _url_of(record, history)
    if not sight.shows(url):
        raise ProblemError(unknown_page(url))
    optional, stores = _OptionalParts(context), context.stores
    no_pages: list[RelatedPage] = []
    no_hits: list[Hit] = []
    no_links: list[PageLink] = []
    representative, duplicates, statements, links, of_host = await asyncio.gather(
        optional.get("records", "its representative", lambda: _representative(context, page_id, record), None),
        optional.get("records", "its duplicates", lambda: _duplicates(context, page_id), no_pages),
        optional.get("vectors", "its statements", lambda: _statements(context, page_id, record), no_hits),
        optional.get(
            "records",
            "who links to it",
            lambda: stores.host_links.page_links(host_of(url), page_id, MAX_LINKS),
            no_links,
        ),
        optional.get("records", HOST_PART, partial(_of_host, context, url), _OfHost()),
    )
    return PageData(
        page_id=page_id,
        url=url,
        record=record,
        history=tuple(history),
        representative=representative if representative and sight.shows(representative.url) else None,
        duplicates=tuple(page for page in duplicates if sight.shows(page.url)),
        statements=tuple(statements),
        linked_from=tuple(group_by_domain([link for link in links if sight.shows(link.source_url)])),
        left_out=of_host.left_out,
        host_quality=of_host.quality,
        missing=tuple(optional.missing),
    )


async def _records(context: GatewayContext, page_id: UUID) -> tuple[PageRecord, list[Transition]]:
    seconds = context.settings.gateway.deadline_seconds * (1 - OPTIONAL_SHARE)
    async with or_problem(context, "The store of page records does not answer.", seconds):
        return await read_record_and_history(context.stores, page_id)


def _url_of(record: PageRecord, history: list[Transition]) -> str:
    urls = (*(part.url for part in record.parts()), *(step.data.get("url") for step in history))
    return str(next(filter(None, urls), ""))


async def _representative(context: GatewayContext, page_id: UUID, record: PageRecord) -> RelatedPage | None:
    """Return the representative by the page's fingerprint, which holds the last decision, or else by its record.

    A URL that an alias rule maps to another was never fetched: it has no fingerprint, only the record of its removal.
    """
    fingerprint = await context.stores.fingerprints.get(page_id)
    decided = fingerprint.representative if fingerprint else None
    representative = decided or record.deduplicated.canonical_page_id or record.removed.canonical_page_id
    return await _related(context, representative) if representative and representative != page_id else None


async def _duplicates(context: GatewayContext, page_id: UUID) -> list[RelatedPage]:
    pages = await context.stores.fingerprints.duplicates(page_id, MAX_DUPLICATES)
    return [RelatedPage(page.page_id, page.url) for page in pages]


@dataclass(frozen=True, slots=True)
class _OfHost:
    """The parts of PageData that the row of the page's host says: `host_quality` and `left_out`."""

    quality: HostQuality | None = None
    left_out: str = ""


async def _of_host(context: GatewayContext, url: str) -> _OfHost:
    """Read the host's row once for both."""
    if not url:
        return _OfHost()
    host, store = host_of(url), context.stores.frontier
    known, row = await asyncio.gather(store.url(id_of(url)), store.host(bucket_of(host), host))
    quality = judge_host(Host.from_row(row).record) if row else None
    if known:
        return _OfHost(quality)
    robot = context.settings.crawl.robot_name
    reason = reason_left_out(url, row, micros_from_utc(context.clock()))
    return _OfHost(quality, reason or await why_disallowed(context.stores.blobs, robot, url, row))


async def _related(context: GatewayContext, page_id: UUID) -> RelatedPage:
    fingerprint = await context.stores.fingerprints.get(page_id)
    return RelatedPage(page_id, fingerprint.url if fingerprint else "")


async def _statements(context: GatewayContext, page_id: UUID, record: PageRecord) -> list[Hit]:
    """Return the page's statements that searches can find now."""
    collection = record.indexed.collection
    if not collection:
        return []
    return (await context.stores.vectors.scroll(collection, page_id))[:MAX_STATEMENTS]


async def read_blob(context: GatewayContext, ref: str) -> bytes | None:
    """Return a blob, or None if it no longer exists. Raises ProblemError if its store doesn't answer."""
    seconds = context.settings.gateway.deadline_seconds
    async with or_problem(context, "The store of page contents does not answer.", seconds):
        try:
            return await context.stores.blobs.get(ref)
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
