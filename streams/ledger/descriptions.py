"""A line of words for each event, for the ledger. Pure.

The lines about the outcome of a page are also made of an event's data alone, as `streams.ledger.status` reads it back.
"""

from collections.abc import Callable, Mapping
from typing import Any

from schemas import (
    Event,
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

_Words = Callable[[Any], str]


def describe(event: Event) -> str:
    """One line for people: what this event found or decided."""
    words = _DESCRIBED.get(type(event))
    return words(event) if words else type(event).__name__


def _discovered(event: PageDiscovered) -> str:
    source = f" {event.referrer}" if event.referrer else ""
    how = {
        "seed": "Given as a seed",
        "link": f"Linked from{source or ' another page'}",
        "sitemap": f"Listed in the sitemap{source}",
        "redirect": f"Redirected to by{source or ' another page'}",
        "canonical": f"Named as canonical by{source or ' another page'}",
        "import": "Given by an import",
    }[event.why]
    return f"{how}, depth {event.depth}" if event.depth else how


def _scheduled(event: PageScheduled) -> str:
    again = f", attempt {event.attempt}" if event.attempt > 1 else ""
    what = "Scheduled" if event.purpose == "page" else f"{_what(event.purpose)} of {event.host} scheduled"
    return f"{what} to be fetched{again}"


def _fetched(event: PageFetched) -> str:
    subject = "" if event.purpose == "page" else f"{_what(event.purpose)}: "
    return f"{subject}{fetch_words(event.model_dump())}"


def _what(purpose: str) -> str:
    return {"robots": "robots.txt", "sitemap": "Sitemap"}.get(purpose, "Page")


def fetch_words(data: Mapping[str, Any]) -> str:
    """What a fetch brought, from the data of a PageFetched."""
    outcome, why = data.get("outcome", ""), data.get("error") or ""
    source = {"warc": "Read from a WARC archive", "html": "Read from a folder"}.get(data.get("source", ""), "Fetched")
    match outcome:
        case "ok":
            status = f" with status {data['status']}" if data.get("status") else ""
            return f"{source}{status}: {count(data.get('body_bytes', 0), 'byte')} in {data.get('elapsed_ms', 0):.0f} ms"
        case "not_modified":
            return "Not modified since the last fetch"
        case "redirect":
            return f"Redirects to {data.get('redirect_to') or 'nowhere'}"
    again = ", to be tried again" if data.get("retryable") else ""
    return f"{_FAILURES.get(outcome, outcome.replace('_', ' '))}{f' ({why})' if why else ''}{again}"


_FAILURES = {
    "gone": "Gone",
    "refused": "Refused by the server",
    "client_error": "The server found the request wrong",
    "server_error": "The server failed",
    "rate_limited": "The server asks for fewer requests",
    "network_error": "The server could not be reached",
    "timeout": "The server did not answer in time",
    "too_large": "Larger than the limit",
    "unsupported_type": "Not a page: its content type is not supported",
    "guarded": "Its address is not on the public network",
    "invalid": "The answer was not valid HTTP, or the URL no page",
}


def _normalized(event: PageNormalized) -> str:
    language = f" in {event.language}" if event.language else ""
    directives = f"; directives: {', '.join(event.directives)}" if event.directives else ""
    return f"Understood: {count(event.text_chars, 'character')}{language}, {count(event.links, 'link')}{directives}"


def _deduplicated(event: PageDeduplicated) -> str:
    if event.verdict == "unique" or event.canonical_page_id == event.page_id:
        return "Unique" if event.verdict == "unique" else "Elected to stand for its duplicates"
    return duplicate_words(event.model_dump(mode="json"))


def duplicate_words(data: Mapping[str, Any]) -> str:
    near = f" (near: {count(data.get('distance', 0), 'bit')} apart)" if data.get("verdict") == "near" else ""
    return f"Duplicate of page {data.get('canonical_page_id')}{near}"


def _removed(event: PageRemoved) -> str:
    return removal_words(event.model_dump(mode="json"))


def removal_words(data: Mapping[str, Any]) -> str:
    """Why a page isn't in the index, from the data of a PageRemoved."""
    detail = data.get("detail") or ""
    words = {
        "gone": "Removed: the page is gone",
        "noindex": "Refused by the page itself: noindex",
        "blocked": "Refused by robots.txt" if not detail or "robots" in detail else "Blocked",
        "duplicate": f"Duplicate of page {data.get('canonical_page_id') or 'unknown'}",
        "refused": "Refused",
        "unsupported": "Not indexed: this kind of content is not supported",
        "request": "Removed on request",
    }.get(data.get("reason", ""), "Removed")
    return f"{words} ({detail})" if detail else words


def _settled(event: PageSettled) -> str:
    return f"Settled: {_VERDICTS[event.verdict]}"


_VERDICTS = {
    "changed": "the content is new or has changed",
    "unchanged": "the content has not changed",
    "duplicate": "a duplicate of another page",
    "refused": "not let in",
    "soft_404": "says that there is nothing, though with status 200",
    "gone": "gone",
    "failed": "could not be fetched",
}


def _statements(event: PageChunked) -> str:
    return f"Cut into {count(event.statements, 'statement')}"


def _embedded(event: PageEmbedded) -> str:
    return f"Embedded: {count(event.statements, 'vector')} of {event.dimensions} dimensions by {event.model}"


def indexed_words(data: Mapping[str, Any]) -> str:
    statements = data.get("statements", 0)
    return f"Indexed: {count(statements, 'statement')} {'is' if statements == 1 else 'are'} searchable"


def count(number: int, noun: str) -> str:
    """`1 link`, `1,234 links`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


_DESCRIBED: dict[type[Event], _Words] = {
    PageDiscovered: _discovered,
    PageScheduled: _scheduled,
    PageFetched: _fetched,
    PageNormalized: _normalized,
    PageDeduplicated: _deduplicated,
    PageChunked: _statements,
    PageEmbedded: _embedded,
    PageIndexed: lambda event: indexed_words(event.model_dump()),
    PageRemoved: _removed,
    PageSettled: _settled,
}
