"""The meaning of an HTTP response for the crawl: from its status and headers to an outcome. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from schemas.crawl import Outcome, Purpose
from streams.crawl.content_signals import robot_of
from streams.crawl.file_kinds import is_readable
from streams.crawl.urls import InvalidUrl, resolve

KEPT_HEADERS = frozenset({
    "content-type", "content-language", "content-signal", "content-usage", "content-encoding", "date", "etag",
    "last-modified", "link", "location", "retry-after", "tdm-policy", "tdm-reservation", "x-robots-tag",
})  # fmt: skip
"""Headers that a later stage reads: validators, date, language, robots directives, opt-outs of text and data mining."""
MAX_HEADER_CHARS = 2_048
MAX_RETRY_AFTER_SECONDS = 86_400.0

_SPACE_FOR_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_FEED_TYPES = {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"}
_SITEMAP_TYPES = (
    _PAGE_TYPES
    | _FEED_TYPES
    | {"text/xml", "application/xml", "application/json", "text/plain", "application/gzip", "application/x-gzip"}
)
_NEVER_BETTER = frozenset({501, 505, 508, 510, 511})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a request, with a reason for people. `retryable`: another attempt may have another outcome."""

    outcome: Outcome
    retryable: bool = False
    error: str | None = None
    redirect_to: str | None = None


def classify_response(
    url: str, status: int, headers: Mapping[str, Sequence[str]], purpose: Purpose, conditional: bool
) -> Verdict:
    """Classify a response by its status and headers (lower-case names). The body is read only after `ok`."""
    if status in _REDIRECTS:
        return _report_redirect(url, _first(headers, "location"))
    match status:
        case 200 | 203:
            return _check_type(url, _first(headers, "content-type"), purpose)
        case 304 if conditional:
            return Verdict("not_modified")
        case 304:
            return Verdict("invalid", error="304 to a request that was not conditional")
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
    return Verdict("invalid", error=f"status {status} is not expected after a plain GET")


def header_text(value: bytes) -> str:
    """Decode a header's value: UTF-8, or else Latin-1 (RFC 9110, section 5.5). Control characters become spaces."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return text.translate(_SPACE_FOR_CONTROLS)


def select_headers(headers: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Select the headers that a later stage reads (lower-case names), each cut at MAX_HEADER_CHARS."""
    return {name: _join(name, headers[name])[:MAX_HEADER_CHARS] for name in sorted(KEPT_HEADERS & headers.keys())}


def _join(name: str, values: Sequence[str]) -> str:
    """Join the values of one header. An X-Robots-Tag without a robot's name, behind one with a name, is for all."""
    if name == "x-robots-tag" and any(map(_names_robot, values)):
        return ", ".join(value if _names_robot(value) else f"*: {value}" for value in values)
    return ", ".join(values)


def _names_robot(value: str) -> bool:
    """Return whether the first item of an X-Robots-Tag names a robot."""
    return bool(robot_of(value[:MAX_HEADER_CHARS].partition(",")[0])[0])


def retry_after_seconds(value: str | None, now: datetime) -> float:
    """Parse a Retry-After header (RFC 9110, section 10.2.3) as seconds, at most a day. 0 if it is invalid."""
    value = (value or "").strip()
    if value.isascii() and value.isdigit():
        seconds = float(value[:12])
    else:
        try:
            moment = parsedate_to_datetime(value)
            seconds = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
        except (ValueError, OverflowError):  # OverflowError: an offset from UTC of millions of years
            return 0.0
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)


def _first(headers: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(headers.get(name, ())), "")


def _report_redirect(url: str, location: str) -> Verdict:
    """Report a redirect without following it: its target passes the same checks as any other URL."""
    if not location:
        return Verdict("invalid", error="a redirect without Location")
    try:
        return Verdict("redirect", redirect_to=resolve(url, location))
    except InvalidUrl as error:
        outcome: Outcome = "guarded" if error.rule in ("host", "credentials") else "invalid"
        return Verdict(outcome, error=f"redirect to a URL that is not allowed: {error}")


def _check_type(url: str, content_type: str, purpose: Purpose) -> Verdict:
    """Accept the media types that can be read. A missing type is trusted, and a robots.txt may have any type."""
    media_type = content_type.partition(";")[0].strip().lower()
    if purpose == "robots" or not media_type:
        return Verdict("ok")
    if media_type in _SITEMAP_TYPES if purpose == "sitemap" else is_readable(media_type, url):
        return Verdict("ok")
    return Verdict("unsupported_type", error=f"media type {media_type[:100]}")
