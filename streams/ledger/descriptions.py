"""The ledger's sentences for people: a line for each event, and a page's status and next step. Pure.

All sentences about a page, on the why-page and of `riffle page`, are written here. No program reads them: programs use
`streams.ledger.status.PageStatus` and the events' data.
"""

import shlex
from collections.abc import Callable, Sequence
from decimal import Decimal
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
from streams.plain_text import Amount, LanguageTag, clean_line, counted_message, message, shorten
from streams.stores.protocols import Transition

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
    "changed": message("the content is new or has changed"),
    "unchanged": message("the content has not changed"),
    "duplicate": message("a duplicate of another page"),
    "refused": message("refused"),
    "soft_404": message("a soft 404"),
    "gone": message("gone"),
    "failed": message("could not be fetched"),
}
_IN_PLACE = {
    "sign_in": message("Settled: a sign-in page in place of the page, whose last content stays"),
    "refresh": message("Settled: a page that refreshes to another one in place of the page, whose last content stays"),
}
_PURPOSES = {"robots": "robots.txt", "sitemap": message("Sitemap")}
_READ_FROM = {"warc": message("Read from a WARC archive"), "html": message("Read from a file")}
_MAX_ORIGIN_CHARS = 80


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


def describe_step(step: Transition) -> str:
    """Return the line of a row, for a reader of any language; the line that was stored if its data say too little.

    Rows keep the English line of their day, and the data of their event.
    """
    if isinstance(referrers := step.data.get("referrers"), list) and referrers:
        return describe_links(referrers)
    kind = _BY_TOPIC.get(step.topic)
    try:
        event = kind.model_validate(step.data) if kind else None
    except ValueError:  # written by another release, or cut by the store
        event = None
    return describe(event) if event else clean_line(step.outcome)


def describe_links(referrers: Sequence[str]) -> str:
    """Return the line of a row that stores links to the page."""
    first = clean_line(str(referrers[0]))
    if len(referrers) == 1:
        return message("Linked from %(page)s", page=first)
    return counted_message(
        "Linked from %(num)s page, such as %(page)s",
        "Linked from %(num)s pages, such as %(page)s",
        len(referrers),
        page=first,
    )


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
    referrer = clean_line(event.referrer or "") or message("another page")
    source = {
        "seed": message("Given as a seed"),
        "link": message("Linked from %(page)s", page=referrer),
        "sitemap": message("Listed in the sitemap %(page)s", page=referrer)
        if event.referrer
        else message("Listed in the sitemap"),
        "redirect": message("Redirected to by %(page)s", page=referrer),
        "canonical": message("Named as canonical by %(page)s", page=referrer),
        "import": message("Given by an import"),
    }[event.why]
    return message("%(source)s, depth %(depth)s", source=source, depth=event.depth) if event.depth else source


def _describe_scheduled(event: PageScheduled) -> str:
    match event.purpose:
        case "robots":
            line = message("robots.txt of %(host)s scheduled to be fetched", host=event.host)
        case "sitemap":
            line = message("Sitemap of %(host)s scheduled to be fetched", host=event.host)
        case _:
            line = message("Scheduled to be fetched")
    return message("%(line)s, attempt %(number)s", line=line, number=event.attempt) if event.attempt > 1 else line


def _describe_fetched(event: PageFetched) -> str:
    outcome = _describe_fetch_outcome(event)
    if event.purpose == "page":
        return outcome
    return message("%(what)s: %(outcome)s", what=_PURPOSES.get(event.purpose, event.purpose), outcome=outcome)


def _describe_fetch_outcome(event: PageFetched) -> str:
    match event.outcome:
        case "ok":
            size = counted_message("%(num)s byte", "%(num)s bytes", event.body_bytes)
            time = round(event.elapsed_ms)
            elapsed = Amount(f"{time:,} ms", Decimal(time), unit="millisecond", symbol="ms")
            found = {"size": size, "time": elapsed}
            if event.rendered:
                return message("Rendered in a browser, since its scripts make its text: %(size)s in %(time)s", **found)
            how = _READ_FROM.get(event.source) or message("Fetched")
            if event.origin:
                how = message("Handed on by the index %(name)s", name=shorten(event.origin, _MAX_ORIGIN_CHARS))
            if event.status:
                how = message("%(how)s with status %(status)s", how=how, status=str(event.status))
            return message("%(how)s: %(size)s in %(time)s", how=how, **found)
        case "not_modified":
            return message("Not modified since the last fetch")
        case "redirect":
            line = _describe_redirected(event.redirect_to)
            if not event.body_ref:
                return line
            return message("%(line)s. Its last content stays, since the redirect is temporary", line=line)
    if event.removed_on_request:
        return message("Not requested: the page was removed on request")
    without_request = "postponed" if event.postponed_seconds is not None else ""
    if event.lease_expired:
        without_request = "lease_expired"
    outcome: str = without_request or event.outcome
    return _describe_failed(FetchFailure(outcome=outcome, error=event.error or "", retryable=event.retryable))


def _describe_normalized(event: PageNormalized) -> str:
    counts = {
        "size": counted_message("%(num)s character", "%(num)s characters", event.text_chars),
        "links": counted_message("%(num)s link", "%(num)s links", event.links),
    }
    found = (
        message("Normalized: %(size)s in %(language)s, %(links)s", language=LanguageTag(event.language), **counts)
        if event.language
        else message("Normalized: %(size)s, %(links)s", **counts)
    )
    if not event.directives:
        return found
    listed = clean_line(", ".join(event.directives))
    return message("%(found)s; directives: %(directives)s", found=found, directives=listed)


def _describe_deduplicated(event: PageDeduplicated) -> str:
    decision = _describe_decision(event)
    if event.settles in (None, "duplicate"):
        return decision
    return message("%(decision)s; %(verdict)s", decision=decision, verdict=_SETTLED[event.settles])


def _describe_decision(event: PageDeduplicated) -> str:
    if event.verdict == "unique":
        return message("Unique")
    if event.canonical_page_id == event.page_id:
        return message("Elected as the representative of its duplicates")
    distance = event.distance if event.verdict == "near" else None
    return _describe_duplicate(
        PageStatus(status="duplicate", representative=event.canonical_page_id, distance=distance)
    )


def _describe_chunked(event: PageChunked) -> str:
    split = counted_message("Split into %(num)s statement", "Split into %(num)s statements", event.statements)
    if not event.left_out:
        return split
    return message(
        "%(split)s; about %(number)s more are left out, since the page is too long", split=split, number=event.left_out
    )


def _describe_embedded(event: PageEmbedded) -> str:
    vectors = counted_message("%(num)s vector", "%(num)s vectors", event.statements)
    return message(
        "Embedded: %(vectors)s of %(dimensions)s dimensions by %(model)s",
        vectors=vectors,
        dimensions=event.dimensions,
        model=clean_line(event.model),
    )


def _describe_settled(event: PageSettled) -> str:
    if event.in_place:
        return _IN_PLACE[event.in_place]
    return message("Settled: %(verdict)s", verdict=_SETTLED[event.verdict])


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
    PageChunked: _describe_chunked,
    PageEmbedded: _describe_embedded,
    PageIndexed: lambda event: _describe_indexed(event.statements, event.left_out),
    PageRemoved: _describe_removed,
    LinkFound: lambda event: describe_links([event.source_url]),
    PageSettled: _describe_settled,
}
_BY_TOPIC: dict[str, type[Event]] = {kind.topic: kind for kind in _LINES}
