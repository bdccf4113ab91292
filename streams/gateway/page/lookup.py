"""Finds all that is known of one page: its record, its life from the ledger, its duplicates, its statements.

The record and the life must answer, or there is nothing to show. Duplicates and statements are extras: when their store
fails, the page says so and shows the rest.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

import structlog

from schemas.ids import page_id as id_of
from streams.crawl.urls import InvalidUrl, with_scheme
from streams.errors import MissingBlob, PoisonError, RiffleError
from streams.gateway.context import Site
from streams.gateway.http.problems import Problem, ProblemError, records_unavailable, unknown_page
from streams.stores.protocols import Hit, Part, Transition

MAX_STATEMENTS = 200
MAX_DUPLICATES = 50
EXTRAS_SHARE = 0.4
"""Of the deadline: for what is shown only if it is there in time. The rest is the record's and the life's."""

T = TypeVar("T")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Related:
    """Another page. Its URL is empty when nothing more is known of it."""

    page_id: UUID
    url: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known of a page."""

    page_id: UUID
    url: str
    parts: dict[Part, dict[str, Any]]
    history: tuple[Transition, ...]
    """Oldest first."""
    canonical: Related | None = None
    """The page that stands for it, when it is a duplicate."""
    duplicates: tuple[Related, ...] = ()
    statements: tuple[Hit, ...] = ()
    missing: tuple[str, ...] = ()
    """What could not be found out, for people."""

    def value(self, part: Part, name: str) -> Any:
        return self.parts.get(part, {}).get(name)


@dataclass(slots=True)
class _Extras:
    """Runs what may fail, and remembers what did."""

    site: Site
    missing: list[str] = field(default_factory=list)

    async def get(self, store: str, what: str, ask: Callable[[], Awaitable[T]], otherwise: T) -> T:
        try:
            async with asyncio.timeout(self.site.settings.gateway.deadline_seconds * EXTRAS_SHARE):
                return await ask()
        except (RiffleError, TimeoutError) as error:
            if not isinstance(error, PoisonError):
                self.site.metrics.store_failed(store, error)
            log.info("a page is shown without a part", part=what, error=str(error))
            self.missing.append(what)
            return otherwise


def resolve(subject: str) -> tuple[UUID, str]:
    """The page's id, and its canonical URL if the subject is one. A URL may lack its scheme. Raises ProblemError."""
    subject = subject.strip()
    try:
        return UUID(subject), ""
    except ValueError:
        pass
    try:
        url = with_scheme(subject)
    except InvalidUrl as error:
        raise ProblemError(
            Problem(
                400,
                "invalid-url",
                "This is not the address of a web page",
                str(error).capitalize().rstrip(".") + ".",
                "Give one like `https://sqlite.org/wal.html`, or a page's id.",
                "url",
            )
        ) from None
    return id_of(url), url


async def look_up(site: Site, subject: str) -> Known:
    """Raises ProblemError: not an address, never seen, or the records don't answer."""
    page_id, url = resolve(subject)
    parts, history = await _records(site, page_id)
    if not parts and not history:
        raise ProblemError(unknown_page(url or f"the page {page_id}"))
    url = url or _url_of(parts, history)
    extras = _Extras(site)
    no_pages: list[Related] = []
    no_hits: list[Hit] = []
    canonical, duplicates, statements = await asyncio.gather(
        extras.get("cassandra", "the page that stands for it", lambda: _canonical(site, page_id, parts), None),
        extras.get("cassandra", "its duplicates", lambda: _duplicates(site, page_id), no_pages),
        extras.get("qdrant", "its statements", lambda: _statements(site, page_id, parts), no_hits),
    )
    return Known(
        page_id=page_id,
        url=url,
        parts=parts,
        history=tuple(history),
        canonical=canonical,
        duplicates=tuple(duplicates),
        statements=tuple(statements),
        missing=tuple(extras.missing),
    )


async def _records(site: Site, page_id: UUID) -> tuple[dict[Part, dict[str, Any]], list[Transition]]:
    try:
        async with asyncio.timeout(site.settings.gateway.deadline_seconds * (1 - EXTRAS_SHARE)):
            parts, history = await asyncio.gather(site.stores.pages.get(page_id), site.stores.ledger.history(page_id))
    except (RiffleError, TimeoutError) as error:
        site.metrics.store_failed("cassandra", error)
        detail = "The store of page records does not answer."
        raise ProblemError(records_unavailable(detail)) from error
    return parts, history


def _url_of(parts: dict[Part, dict[str, Any]], history: list[Transition]) -> str:
    for values in (*parts.values(), *(transition.data for transition in history)):
        if values.get("url"):
            return str(values["url"])
    return ""


async def _canonical(site: Site, page_id: UUID, parts: dict[Part, dict[str, Any]]) -> Related | None:
    """By the fingerprint, which is decided last; without one by the record.

    A URL that is another page's by the rules of its host was never fetched: its record knows its removal alone.
    """
    fingerprint = await site.stores.fingerprints.get(page_id)
    decided = fingerprint.representative if fingerprint else None
    recorded = (_uuid(parts.get(part, {}).get("canonical_page_id")) for part in ("deduplicated", "removed"))
    canonical = decided or next(filter(None, recorded), None)
    return await _related(site, canonical) if canonical and canonical != page_id else None


async def _duplicates(site: Site, page_id: UUID) -> list[Related]:
    ids = await site.stores.fingerprints.duplicates(page_id)
    return await asyncio.gather(*(_related(site, other) for other in ids[:MAX_DUPLICATES]))


async def _related(site: Site, page_id: UUID) -> Related:
    fingerprint = await site.stores.fingerprints.get(page_id)
    return Related(page_id, fingerprint.url if fingerprint else "")


async def _statements(site: Site, page_id: UUID, parts: dict[Part, dict[str, Any]]) -> list[Hit]:
    """What searches can find of the page just now."""
    collection = parts.get("indexed", {}).get("collection")
    if not collection:
        return []
    return (await site.stores.vectors.scroll(str(collection), page_id))[:MAX_STATEMENTS]


def _uuid(value: Any) -> UUID | None:
    try:
        return UUID(str(value)) if value else None
    except ValueError:
        return None


async def read_blob(site: Site, ref: str) -> bytes | None:
    """A blob, or None when it is gone. Raises ProblemError when its store doesn't answer."""
    try:
        async with asyncio.timeout(site.settings.gateway.deadline_seconds):
            return await site.stores.blobs.get(ref)
    except MissingBlob:
        return None
    except (RiffleError, TimeoutError) as error:
        site.metrics.store_failed("cassandra", error)
        raise ProblemError(records_unavailable("The store of page contents does not answer.")) from error
