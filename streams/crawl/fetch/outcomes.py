"""What an HTTP answer means for a crawl: a status and headers in, an outcome out. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from schemas.crawl import Outcome, Purpose
from streams.crawl.urls import InvalidUrl, resolve

KEPT_HEADERS = frozenset(
    {
        "content-type",
        "content-language",
        "content-encoding",
        "date",
        "etag",
        "last-modified",
        "link",
        "location",
        "retry-after",
        "tdm-policy",
        "tdm-reservation",
        "x-robots-tag",
    }
)
"""What a later stage reads: validators, day and language, robots directives, opt-outs from text and data mining."""
MAX_HEADER_CHARS = 2_048
MAX_RETRY_AFTER_SECONDS = 86_400.0

_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_SITEMAP_TYPES = _PAGE_TYPES | {"text/xml", "application/xml", "text/plain", "application/gzip", "application/x-gzip"}
_NEVER_BETTER = frozenset({501, 505, 508, 510, 511})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome, whether another try may end otherwise, and a line for people."""

    outcome: Outcome
    retryable: bool = False
    error: str | None = None
    redirect_to: str | None = None


def judge(url: str, status: int, headers: Mapping[str, Sequence[str]], purpose: Purpose, conditional: bool) -> Verdict:
    """What the status line and headers (by lower-case name) say; only after `ok` is the body worth reading."""
    if status in _REDIRECTS:
        return _redirect(url, _first(headers, "location"))
    match status:
        case 200 | 203:
            return _by_type(_first(headers, "content-type"), purpose)
        case 304 if conditional:
            return Verdict("not_modified")
        case 304:
            return Verdict("invalid", error="304, though nothing conditional was asked")
        case 404 | 410:
            return Verdict("gone", error=f"status {status}")
        case 401 | 402 | 403 | 407 | 451:
            return Verdict("refused", error=f"status {status}")
        case 408 | 425:
            return Verdict("server_error", retryable=True, error=f"status {status}")
        case 429:
            return Verdict("rate_limited", retryable=True, error="status 429")
    if 400 <= status < 500:
        return Verdict("client_error", error=f"status {status}")
    if 500 <= status < 600:
        return Verdict("server_error", retryable=status not in _NEVER_BETTER, error=f"status {status}")
    return Verdict("invalid", error=f"status {status} is no answer to a plain GET")


def kept(headers: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The headers worth keeping, of lower-case names and their values, no longer than they need to be."""
    return {name: ", ".join(headers[name])[:MAX_HEADER_CHARS] for name in sorted(KEPT_HEADERS & headers.keys())}


def retry_after_seconds(value: str | None, now: datetime) -> float:
    """Seconds that a Retry-After header asks for (RFC 9110, section 10.2.3), at most a day. 0 when it says nothing."""
    if not value:
        return 0.0
    if value.strip().isascii() and value.strip().isdigit():
        seconds = float(value[:12])
    else:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return 0.0
        seconds = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)


def _first(headers: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(headers.get(name, ())), "")


def _redirect(url: str, location: str) -> Verdict:
    """The next hop, not followed: it goes through URL rules, robots and guard as any other URL does."""
    if not location:
        return Verdict("invalid", error="a redirect without Location")
    try:
        return Verdict("redirect", redirect_to=resolve(url, location))
    except InvalidUrl as error:
        outcome: Outcome = "guarded" if error.rule in ("host", "credentials") else "invalid"
        return Verdict(outcome, error=f"redirect to a URL that is not let in: {error}")


def _by_type(content_type: str, purpose: Purpose) -> Verdict:
    """Which media types are read. A missing one is trusted; robots.txt is read whatever it claims."""
    media_type = content_type.partition(";")[0].strip().lower()
    allowed = _SITEMAP_TYPES if purpose == "sitemap" else _PAGE_TYPES
    if purpose == "robots" or not media_type or media_type in allowed:
        return Verdict("ok")
    return Verdict("unsupported_type", error=f"media type {media_type[:100]}")
