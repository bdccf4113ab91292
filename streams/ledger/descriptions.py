"""The ledger's sentences for people: a line for each event, and a page's status and next step. Pure.

All sentences about a page, on the why-page and of `riffle page`, are written here. No program reads them: programs use
`streams.ledger.status.PageStatus` and the events' data.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from schemas import (
    Event,
    LinkFound,
    PageChunked,
    PageDeduplicated,
    PageDiscovered,
    PageEmbedded,
    PageFetched,
    PageIndexed,
    PageNormalized,
    PageRemoved,
    PageScheduled,
    PageSettled,
)
from streams.crawl.urls import host_of
from streams.ledger.status import FetchFailure, NextStage, PageStatus, Reason
from streams.plain_text import count_of

_STATUS: dict[Reason, str] = {
    "gone": "Removed: the page is gone",
    "request": "Removed on request",
    "other": "Removed",
    "noindex": "Refused by the page itself: noindex",
    "blocked": "Blocked",
    "refused": "Refused",
    "unsupported": "Not indexed: this kind of content is not supported",
    "soft_404": "Not indexed: a soft 404 (status 200, but the page says that it does not exist)",
    "fetch_failed": "Not indexed: it could not be fetched",
}
"""The sentence for each reason that needs no other field."""
_WAITS_FOR: dict[NextStage, str] = {
    "frontier": "discovered, not yet scheduled",
    "fetch": "scheduled, not yet fetched",
    "normalize": "fetched, not yet normalized",
    "dedup": "normalized, not yet compared with other pages",
    "statements": "unique, not yet split into statements",
    "embed": "split into statements, not yet embedded",
    "index": "embedded, not yet indexed",
}
_FAILURES = {
    "gone": "Gone",
    "refused": "Refused by the server",
    "client_error": "The server rejected the request",
    "server_error": "The server failed",
    "rate_limited": "The server asks for fewer requests",
    "network_error": "The server could not be reached",
    "timeout": "The server did not answer in time",
    "too_large": "Larger than the limit",
    "unsupported_type": "Not a page: its content type is not supported",
    "guarded": "Its address is not on the public network",
    "lease_expired": "Not requested: its lease had expired",
    "postponed": "Not requested yet: its site was asked a moment ago",
    "invalid": "The answer was not valid HTTP, or the URL is not one of a page",
}
"""The sentence for each outcome of a fetch without content."""
_SETTLED = {
    "changed": "the content is new or has changed",
    "unchanged": "the content has not changed",
    "duplicate": "a duplicate of another page",
    "refused": "refused",
    "soft_404": "a soft 404",
    "gone": "gone",
    "failed": "could not be fetched",
}
_IN_PLACE = {"sign_in": "a sign-in page", "refresh": "a page that refreshes to another one"}


def describe_status(status: PageStatus, representative_url: str = "") -> str:
    """Return the page's status in a sentence. A representative is named by its URL where that is known."""
    if status.status == "unknown":
        return "Unknown: Riffle has no event about this page"
    if status.status == "waiting":
        return status.detail or f"Waiting: {_describe_waiting(status)}"
    under_way = status.waits_for not in (None, "frontier")
    return _describe_decided(status, representative_url) + (
        f". Under way again: {_describe_waiting(status)}" if under_way else ""
    )


def describe_next_step(status: PageStatus, url: str = "") -> str:
    """Return a sentence with the next step, of Riffle itself or of a person. `url`: for commands; empty: not known."""
    named = shlex.quote(url) if url else "URL"
    match status.next_step:
        case "wait":
            when = " at its host's pace" if status.waits_for in ("frontier", "fetch") else ""
            return (
                f"The {status.waits_for} stage handles it next{when}. "
                f"If nothing happens: riffle dead-letters list --stage {status.waits_for}"
            )
        case "none" if status.status == "indexed":
            return "Nothing to do: searches find it"
        case "none":
            return "Nothing to do: another crawl would end in the same way"
        case "see_representative":
            return "Nothing to do: its representative is searchable in its place"
        case "see_redirect":
            return "Look at the page that it redirects to"
        case "crawl":
            return f"Crawl it: riffle crawl {named}"
        case "ask_owner":
            return f"Only {_describe_owners_part(status)}. Once that is done: riffle crawl {named}"
        case "ask_operator":
            return _describe_operators_part(status, url)
    return f"Nothing happens by itself. To fetch it again: riffle crawl {named}"


def _describe_owners_part(status: PageStatus) -> str:
    if status.refused_by == "robots":
        return "the owner of its host can change this, in the host's robots.txt"
    return "its owner can change this, by leaving out noindex"


def _describe_operators_part(status: PageStatus, url: str) -> str:
    """Return what an operator of this Riffle can do. Another crawl does not help."""
    named = shlex.quote(url) if url else "URL"
    if status.reason == "request":
        return f"It is never fetched again. To withdraw the removal: riffle remove --undo {named}"
    if status.reason == "blocked":
        host = shlex.quote(host_of(url)) if url else "HOST"
        return f"An operator of this Riffle has blocked its host. To withdraw it: riffle frontier set {host} --unblock"
    too_large = status.failure and status.failure.outcome == "too_large"
    change = "raise RIFFLE_CRAWL__MAX_BODY_BYTES" if too_large else "allow its address: RIFFLE_CRAWL__ALLOWED_NETWORKS"
    return f"Only an operator of this Riffle can {change}. Once that is done: riffle crawl {named}"


def describe(event: Event) -> str:
    """Return the event in one line: what its stage found or decided."""
    line = _LINES.get(type(event))
    return line(event) if line else event.summary().rstrip(".")


def describe_links(referrers: Sequence[str]) -> str:
    """Return the line of a row that stores links to the page."""
    more = f"{count_of(len(referrers), 'page')}, such as " if len(referrers) > 1 else ""
    return f"Linked from {more}{referrers[0]}"


def _describe_waiting(status: PageStatus) -> str:
    if status.failure and status.status == "waiting":
        return _describe_failed(status.failure)
    if not status.waits_for:
        return "nothing was decided yet"
    return _WAITS_FOR.get(status.waits_for, f"not yet handled by the {status.waits_for} stage")


def _describe_decided(status: PageStatus, representative_url: str) -> str:
    match status.status:
        case "indexed":
            return _describe_indexed(status.statements or 0, status.left_out or 0)
        case "duplicate":
            return _describe_duplicate(status, representative_url)
        case "redirected":
            return _describe_redirected(status.redirect_to)
    if status.failure:
        return f"Not indexed: {_describe_failed(status.failure)}"
    reason = status.reason or "other"
    sentence = "Not indexed: refused" if (status.status, reason) == ("not_indexed", "refused") else _STATUS[reason]
    return _with_detail(sentence, status.detail)


def _with_detail(sentence: str, detail: str | None) -> str:
    return f"{sentence} ({detail})" if detail else sentence


def _describe_duplicate(status: PageStatus, representative_url: str = "") -> str:
    page = representative_url or (f"page {status.representative}" if status.representative else "another page")
    near = f" (near: {count_of(status.distance, 'bit')} apart)" if status.distance is not None else ""
    return _with_detail(f"Duplicate of {page}{near}", status.detail)


def _describe_redirected(to: str | None) -> str:
    return f"Redirects to {to}" if to else "Redirects, but not to another page"


def _describe_indexed(statements: int, left_out: int) -> str:
    return f"Indexed: {describe_searchable(statements, left_out)}"


def describe_searchable(statements: int, left_out: int) -> str:
    """Return how many statements of a page searches find, such as `12,000 of 30,000 statements are searchable`."""
    if left_out:
        of = f"{statements:,} of about {statements + left_out:,} statements"
        return f"{of} are searchable: the page is too long for more"
    return f"{count_of(statements, 'statement')} {'is' if statements == 1 else 'are'} searchable"


def _describe_failed(failure: FetchFailure) -> str:
    sentence = _FAILURES.get(failure.outcome, failure.outcome.replace("_", " "))
    return _with_detail(sentence, failure.error) + (", will be tried again" if failure.retryable else "")


def _describe_discovered(event: PageDiscovered) -> str:
    referrer = event.referrer or "another page"
    source = {
        "seed": "Given as a seed",
        "link": f"Linked from {referrer}",
        "sitemap": f"Listed in the sitemap {event.referrer or ''}".rstrip(),
        "redirect": f"Redirected to by {referrer}",
        "canonical": f"Named as canonical by {referrer}",
        "import": "Given by an import",
    }[event.why]
    return f"{source}, depth {event.depth}" if event.depth else source


def _describe_scheduled(event: PageScheduled) -> str:
    attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
    subject = "Scheduled" if event.purpose == "page" else f"{_subject(event.purpose)} of {event.host} scheduled"
    return f"{subject} to be fetched{attempt}"


def _describe_fetched(event: PageFetched) -> str:
    subject = "" if event.purpose == "page" else f"{_subject(event.purpose)}: "
    return subject + _describe_fetch_outcome(event)


def _subject(purpose: str) -> str:
    return {"robots": "robots.txt", "sitemap": "Sitemap"}.get(purpose, "Page")


def _describe_fetch_outcome(event: PageFetched) -> str:
    match event.outcome:
        case "ok":
            sources = {"warc": "Read from a WARC archive", "html": "Read from a folder"}
            status = f" with status {event.status}" if event.status else ""
            size, time = count_of(event.body_bytes, "byte"), f"{event.elapsed_ms:.0f} ms"
            if event.rendered:
                return f"Rendered in a browser, since its scripts make its text: {size} in {time}"
            return f"{sources.get(event.source, 'Fetched')}{status}: {size} in {time}"
        case "not_modified":
            return "Not modified since the last fetch"
        case "redirect":
            kept = ". Its last content stays, since the redirect is temporary" if event.body_ref else ""
            return _describe_redirected(event.redirect_to) + kept
    if event.removed_on_request:
        return "Not requested: the page was removed on request"
    without_request = "postponed" if event.postponed_seconds is not None else ""
    if event.lease_expired:
        without_request = "lease_expired"
    outcome: str = without_request or event.outcome
    return _describe_failed(FetchFailure(outcome=outcome, error=event.error or "", retryable=event.retryable))


def _describe_normalized(event: PageNormalized) -> str:
    language = f" in {event.language}" if event.language else ""
    directives = f"; directives: {', '.join(event.directives)}" if event.directives else ""
    return (
        f"Normalized: {count_of(event.text_chars, 'character')}{language}, {count_of(event.links, 'link')}{directives}"
    )


def _describe_deduplicated(event: PageDeduplicated) -> str:
    decision = _describe_decision(event)
    return decision if event.settles in (None, "duplicate") else f"{decision}; {_SETTLED[event.settles]}"


def _describe_decision(event: PageDeduplicated) -> str:
    if event.verdict == "unique":
        return "Unique"
    if event.canonical_page_id == event.page_id:
        return "Elected as the representative of its duplicates"
    distance = event.distance if event.verdict == "near" else None
    return _describe_duplicate(
        PageStatus(status="duplicate", representative=event.canonical_page_id, distance=distance)
    )


def _describe_settled(event: PageSettled) -> str:
    if event.in_place:
        return f"Settled: {_IN_PLACE[event.in_place]} in place of the page, whose last content stays"
    return f"Settled: {_SETTLED[event.verdict]}"


def _describe_removed(event: PageRemoved) -> str:
    if event.reason == "duplicate":
        representative, detail = event.canonical_page_id, event.detail or ""
        return _describe_duplicate(PageStatus(status="duplicate", representative=representative, detail=detail))
    return _with_detail(_STATUS.get(event.reason, _STATUS["other"]), event.detail)


_LINES: dict[type[Event], Callable[[Any], str]] = {
    PageDiscovered: _describe_discovered,
    PageScheduled: _describe_scheduled,
    PageFetched: _describe_fetched,
    PageNormalized: _describe_normalized,
    PageDeduplicated: _describe_deduplicated,
    PageChunked: lambda event: (
        f"Split into {count_of(event.statements, 'statement')}"
        + (f"; about {event.left_out:,} more are left out, since the page is too long" if event.left_out else "")
    ),
    PageEmbedded: lambda event: (
        f"Embedded: {count_of(event.statements, 'vector')} of {event.dimensions} dimensions by {event.model}"
    ),
    PageIndexed: lambda event: _describe_indexed(event.statements, event.left_out),
    PageRemoved: _describe_removed,
    LinkFound: lambda event: describe_links([event.source_url]),
    PageSettled: _describe_settled,
}
