"""Says why a seed gave no searchable page, and what would help."""

from collections.abc import AsyncIterator, Callable, Iterable
from uuid import UUID

from schemas import PageDiscovered
from schemas.ids import page_id
from streams.clock import now_micros
from streams.crawl.frontier.scheduling.recrawl import SIGN_IN
from streams.crawl.urls import host_of
from streams.errors import MissingBlob
from streams.ledger.descriptions import describe_status
from streams.ledger.history import history_of
from streams.ledger.status import FetchFailure, PageStatus, status_of
from streams.maintenance.frontier_hosts import describe_wait
from streams.render.needs import needs_rendering
from streams.stores.opener import Stores
from streams.stores.page_record import PageRecord
from streams.stores.protocols import FrontierUrl

MAX_EXPLAINED = 10
"""Maximum number of seeds whose reasons are shown."""
MAX_HOPS = 5
"""Maximum number of redirects from a seed that are followed."""
_NO_STATEMENT = "Nothing of it can be found, since it has no statement"
_SCRIPTS = "Its text is made by scripts: RIFFLE_RENDER__ENABLED=true renders such pages in a browser"
_SIGN_IN = "a sign-in page. To read what is behind it, give a session or a password: RIFFLE_CRAWL__SIGN_INS_FILE"
_NO_SITEMAP = (
    "It names no page of its own domain within the crawl: it is no sitemap, it is damaged, or its pages are elsewhere"
)


async def explain_seeds(
    stores: Stores, seeds: Iterable[PageDiscovered], *, has_listed: bool = True, now: Callable[[], int] = now_micros
) -> AsyncIterator[tuple[str, str]]:
    """Yield the seeds that led to no searchable page, each with the reason in a sentence.

    `has_listed`: the sitemaps of the crawl named pages.
    """
    for one in seeds:
        if reason := await _reason(stores, one, now(), has_listed=has_listed):
            yield one.url, reason


async def _reason(stores: Stores, seed: PageDiscovered, now: int, *, has_listed: bool) -> str:
    """Return why a seed gave nothing, or an empty string if it gave something, perhaps behind redirects."""
    visited = [seed.url]
    for _ in range(MAX_HOPS):
        url, identity = visited[-1], page_id(visited[-1])
        row = await stores.frontier.url(host_of(url), identity)
        if row is None:
            return "The frontier has not seen it. Is a worker running? `riffle status`"
        if row.state == "queued":
            return describe_wait(row, await stores.frontier.host(row.host), (), now)
        if row.purpose == "sitemap" and row.outcome != "redirect":
            is_read = row.outcome in ("ok", "not_modified")
            return _failed(row) if not is_read else "" if has_listed else _NO_SITEMAP
        if len(visited) > 1 and await _is_sign_in(stores, identity):
            return f"Redirects to {visited[-1]}: {_SIGN_IN}"
        if row.verdict == SIGN_IN and row.outcome == "ok":
            return f"Its last content stays, but it answers with a page to sign in now: {_SIGN_IN}"
        status = status_of(await history_of(stores, identity, url))
        if status.status == "redirected" and (target := status.redirect_to):
            if target in visited:
                return _describe_circle(visited, target, row.detail)
            visited.append(target)
        elif status.status == "waiting":  # the ledger comes after the frontier
            return "" if row.outcome in ("ok", "not_modified", "redirect") else _failed(row)
        elif status.status == "indexed" and not status.statements:
            return await _why_empty(stores, identity)
        elif row.outcome == "redirect":
            return await _why_away(stores, identity)
        else:
            return "" if status.status in ("indexed", "duplicate") else describe_status(status)
    return f"More than {MAX_HOPS} redirects in a row"


def _describe_circle(visited: list[str], target: str, detail: str) -> str:
    if target == visited[-1]:
        what = "Redirects to itself" if len(visited) == 1 else f"Redirects to {target}, which redirects to itself"
    else:
        what = f"Redirects in a circle: {' to '.join([*visited, target])}"
    return f"{what}: {detail}" if detail else what


async def _why_away(stores: Stores, identity: UUID) -> str:
    """Return why a page with known content answers with a temporary redirect, if it is to a sign-in page."""
    target = (await stores.pages.get(identity)).fetched.redirect_to
    if not target or not await _is_sign_in(stores, page_id(target)):
        return ""
    return f"Its last content stays, but it redirects to {target} now: {_SIGN_IN}"


async def _is_sign_in(stores: Stores, identity: UUID) -> bool:
    """Return whether the page is little more than a form to sign in."""
    return (await stores.pages.get(identity)).normalized.sign_in == "form"


async def _body_of(stores: Stores, record: PageRecord) -> bytes:
    try:
        return await stores.blobs.get(record.fetched.body_ref) if record.fetched.body_ref else b""
    except MissingBlob:
        return b""


async def _why_empty(stores: Stores, identity: UUID) -> str:
    """Return why a page has no statement: perhaps scripts make its text."""
    record = await stores.pages.get(identity)
    kind = record.fetched.headers.get("content-type", "")
    scripts = needs_rendering(record.normalized.text_chars, await _body_of(stores, record), kind)
    return f"{_NO_STATEMENT}. {_SCRIPTS}" if scripts else _NO_STATEMENT


def _failed(row: FrontierUrl) -> str:
    failure = FetchFailure(outcome=row.outcome, error=row.detail)
    return describe_status(PageStatus(status="not_indexed", reason="fetch_failed", failure=failure))
