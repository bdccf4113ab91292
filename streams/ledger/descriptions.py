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
from streams.plain_text import clean_line, count_of, counted_message, message

_STATUS: dict[Reason, str] = {
    "gone": message("Removed: the page is gone"),
    "request": message("Removed on request"),
    "other": message("Removed"),
    "noindex": message("Refused by the page itself: noindex"),
    "blocked": message("Blocked"),
    "refused": message("Refused"),
    "unsupported": message("Not indexed: this kind of content is not supported"),
    "soft_404": message("Not indexed: a soft 404 (status 200, but the page says that it does not exist)"),
    "fetch_failed": message("Not indexed: it could not be fetched"),
}
"""The sentence for each reason that needs no other field."""
_WAITS_FOR: dict[NextStage, str] = {
    "frontier": message("discovered, not yet scheduled"),
    "fetch": message("scheduled, not yet fetched"),
    "normalize": message("fetched, not yet normalized"),
    "dedup": message("normalized, not yet compared with other pages"),
    "statements": message("unique, not yet split into statements"),
    "embed": message("split into statements, not yet embedded"),
    "index": message("embedded, not yet indexed"),
}
_FAILURES = {
    "gone": message("Gone"),
    "refused": message("Refused by the server"),
    "client_error": message("The server rejected the request"),
    "server_error": message("The server failed"),
    "rate_limited": message("The server asks for fewer requests"),
    "network_error": message("The server could not be reached"),
    "timeout": message("The server did not answer in time"),
    "too_large": message("Larger than the limit"),
    "unsupported_type": message("Not a page: its content type is not supported"),
    "guarded": message("Its address is not on the public network"),
    "lease_expired": message("Not requested: its lease had expired"),
    "postponed": message("Not requested yet: its site was asked a moment ago"),
    "invalid": message("The answer was not valid HTTP, or the URL is not one of a page"),
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
        return message("Unknown: Riffle has no event about this page")
    if status.status == "waiting":
        return status.detail or message("Waiting: %(what)s", what=_describe_waiting(status))
    decided = _describe_decided(status, representative_url)
    if status.waits_for in (None, "frontier"):
        return decided
    return message("%(status)s. Under way again: %(what)s", status=decided, what=_describe_waiting(status))


def describe_next_step(status: PageStatus, url: str = "") -> str:
    """Return a sentence with the next step, of Riffle itself or of a person. `url`: for commands; empty: not known."""
    crawl = f"riffle crawl {_argument(url)}"
    match status.next_step:
        case "wait":
            found = {"stage": status.waits_for, "command": f"riffle dead-letters list --stage {status.waits_for}"}
            if status.waits_for in ("frontier", "fetch"):
                return message(
                    "The %(stage)s stage handles it next at its host's pace. If nothing happens: %(command)s", **found
                )
            return message("The %(stage)s stage handles it next. If nothing happens: %(command)s", **found)
        case "none" if status.status == "indexed":
            return message("Nothing to do: searches find it")
        case "none":
            return message("Nothing to do: another crawl would end in the same way")
        case "see_representative":
            return message("Nothing to do: its representative is searchable in its place")
        case "see_redirect":
            return message("Look at the page that it redirects to")
        case "crawl":
            return message("Crawl it: %(command)s", command=crawl)
        case "ask_owner" if status.refused_by == "robots":
            return message(
                "Only the owner of its host can change this, in the host's robots.txt. Once that is done: %(command)s",
                command=crawl,
            )
        case "ask_owner":
            return message(
                "Only its owner can change this, by leaving out noindex. Once that is done: %(command)s", command=crawl
            )
        case "ask_operator":
            return _describe_operators_part(status, url)
    return message("Nothing happens by itself. To fetch it again: %(command)s", command=crawl)


def _describe_operators_part(status: PageStatus, url: str) -> str:
    """Return what an operator of this Riffle can do. Another crawl does not help."""
    if status.reason == "request":
        undo = f"riffle remove --undo {_argument(url)}"
        return message("It is never fetched again. To withdraw the removal: %(command)s", command=undo)
    if status.reason == "blocked":
        host = shlex.quote(host_of(url)) if url else "HOST"
        return message(
            "An operator of this Riffle has blocked its host. To withdraw it: %(command)s",
            command=f"riffle frontier set {host} --unblock",
        )
    crawl = f"riffle crawl {_argument(url)}"
    if status.failure and status.failure.outcome == "too_large":
        return message(
            "Only an operator of this Riffle can raise %(setting)s. Once that is done: %(command)s",
            setting="RIFFLE_CRAWL__MAX_BODY_BYTES",
            command=crawl,
        )
    return message(
        "Only an operator of this Riffle can allow its address: %(setting)s. Once that is done: %(command)s",
        setting="RIFFLE_CRAWL__ALLOWED_NETWORKS",
        command=crawl,
    )


def _argument(url: str) -> str:
    return shlex.quote(url) if url else "URL"


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
        return message("nothing was decided yet")
    return _WAITS_FOR.get(status.waits_for) or message("not yet handled by the %(stage)s stage", stage=status.waits_for)


def _describe_decided(status: PageStatus, representative_url: str) -> str:
    match status.status:
        case "indexed":
            return _describe_indexed(status.statements or 0, status.left_out or 0)
        case "duplicate":
            return _describe_duplicate(status, representative_url)
        case "redirected":
            return _describe_redirected(status.redirect_to)
    if status.failure:
        return message("Not indexed: %(why)s", why=_describe_failed(status.failure))
    reason = status.reason or "other"
    is_refused = (status.status, reason) == ("not_indexed", "refused")
    return _with_detail(message("Not indexed: refused") if is_refused else _STATUS[reason], status.detail)


def _with_detail(sentence: str, detail: str | None) -> str:
    return message("%(sentence)s (%(detail)s)", sentence=sentence, detail=clean_line(detail)) if detail else sentence


def _describe_duplicate(status: PageStatus, representative_url: str = "") -> str:
    page: str = clean_line(representative_url) or message("another page")
    if not representative_url and status.representative:
        page = message("page %(id)s", id=str(status.representative))
    sentence = message("Duplicate of %(page)s", page=page)
    if status.distance is not None:
        bits = counted_message("%(num)s bit", "%(num)s bits", status.distance)
        sentence = message("Duplicate of %(page)s (near: %(bits)s apart)", page=page, bits=bits)
    return _with_detail(sentence, status.detail)


def _describe_redirected(to: str | None) -> str:
    if not to:
        return message("Redirects, but not to another page")
    return message("Redirects to %(address)s", address=clean_line(to))


def _describe_indexed(statements: int, left_out: int) -> str:
    return message("Indexed: %(what)s", what=describe_searchable(statements, left_out))


def describe_searchable(statements: int, left_out: int) -> str:
    """Return how many statements of a page searches find, such as `12,000 of 30,000 statements are searchable`."""
    if left_out:
        return message(
            "%(shown)s of about %(all)s statements are searchable: the page is too long for more",
            shown=statements,
            all=statements + left_out,
        )
    return counted_message("%(num)s statement is searchable", "%(num)s statements are searchable", statements)


def _describe_failed(failure: FetchFailure) -> str:
    sentence = _FAILURES.get(failure.outcome) or failure.outcome.replace("_", " ")
    described = _with_detail(sentence, failure.error)
    return message("%(sentence)s, will be tried again", sentence=described) if failure.retryable else described


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
