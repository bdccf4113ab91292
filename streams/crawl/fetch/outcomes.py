"""The meaning of an HTTP response for the crawl: from its status and headers to an outcome. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from schemas.crawl import Outcome, Purpose
from streams.crawl.content_signals import robot_of
from streams.crawl.file_kinds import is_readable
from streams.crawl.refresh import MAX_REDIRECT_SECONDS, read_refresh
from streams.crawl.urls import InvalidUrl, resolve
from streams.crawl.web_dates import parse_date
from streams.media_types import media_type

KEPT_HEADERS = frozenset({
    "content-type", "content-language", "content-signal", "content-usage", "content-encoding", "date", "etag",
    "last-modified", "link", "location", "refresh", "retry-after", "tdm-policy", "tdm-reservation", "x-robots-tag",
})  # fmt: skip
"""Headers that a later stage reads: validators, date, language, robots directives, opt-outs of text and data mining."""
MAX_HEADER_CHARS = 2_048
MAX_RETRY_AFTER_SECONDS = 86_400.0
MAX_WAITS = 10
"""Maximum number of times in a Retry-After header that are read."""
_WAIT = re.compile(r"\+?(?:pt)?(\d++(?:\.\d*+)?|\.\d++)\s*+((?:ms|milli|s|m|h|d)[a-z]*+)?\.?")
_UNIT_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_EARLIEST_EPOCH_SECONDS = 1e9
"""Smallest number that is a time since 1970 (seconds, the year 2001), and no time to wait of 31 years."""

_SPACE_FOR_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")
_NO_SITEMAPS = frozenset({"audio", "font", "image", "model", "multipart", "video"})
"""Families of media types that no sitemap or feed has. The bytes decide for all others."""
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
        case _ if 200 <= status < 300 and purpose == "robots":  # RFC 9309, section 2.3.1.1: each success
            return Verdict("ok")
        case 200 | 203 if target := _refresh_target(url, _first(headers, "refresh")):
            return _report_redirect(url, target)
        case 200 | 203:
            return _check_type(url, ", ".join(headers.get("content-type", ())), purpose)
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


def select_headers(headers: Mapping[str, Sequence[str]], also_kept: frozenset[str] = frozenset()) -> dict[str, str]:
    """Select the headers that a later stage reads (lower-case names), each cut at MAX_HEADER_CHARS."""
    names = sorted((KEPT_HEADERS | also_kept) & headers.keys())
    return {name: _join(name, headers[name])[:MAX_HEADER_CHARS] for name in names}


def _join(name: str, values: Sequence[str]) -> str:
    """Join the values of one header. An X-Robots-Tag without a robot's name, behind one with a name, is for all."""
    if name == "x-robots-tag" and any(map(_names_robot, values)):
        return ", ".join(value if _names_robot(value) else f"*: {value}" for value in values)
    return ", ".join(values)


def _names_robot(value: str) -> bool:
    """Return whether the first item of an X-Robots-Tag names a robot."""
    return bool(robot_of(value[:MAX_HEADER_CHARS].partition(",")[0])[0])


def retry_after_seconds(value: str | None, now: datetime) -> float:
    """Parse a Retry-After header (RFC 9110, section 10.2.3) as seconds, at most a day. 0 if it is invalid.

    Servers also send fractions, units, lists, ISO dates and seconds since 1970. A list counts by its longest time.
    """
    text = (value or "").strip(" \t\"'")
    items = [text, *text.split(",")] if "," in text else [text]
    waits = [_wait_seconds(item.strip(" \t\"'"), now) for item in items[:MAX_WAITS]]
    return min(max(*waits, 0.0), MAX_RETRY_AFTER_SECONDS)


def _wait_seconds(text: str, now: datetime) -> float:
    if found := _WAIT.fullmatch(text.lower()):
        number, unit = float(found[1][:20]), found[2] or ""
        if not unit and number >= _EARLIEST_EPOCH_SECONDS:
            number = number / 1_000 if number >= 1_000 * _EARLIEST_EPOCH_SECONDS else number
            return number - now.timestamp() if number < 10 * _EARLIEST_EPOCH_SECONDS else number
        return number * (0.001 if unit.startswith(("ms", "milli")) else _UNIT_SECONDS[unit[:1]])
    moment = parse_date(text)
    return (moment - now).total_seconds() if moment else 0.0


def _first(headers: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(headers.get(name, ())), "")


def _report_redirect(url: str, location: str) -> Verdict:
    """Report a redirect without following it: its target passes the same checks as any other URL."""
    if not location:
        return Verdict("invalid", error="a redirect without Location")
    try:
        target = resolve(url, location)
        return Verdict("redirect", redirect_to=target, error=_why_itself(location) if target == url else None)
    except InvalidUrl as error:
        outcome: Outcome = "guarded" if error.rule in ("host", "credentials") else "invalid"
        return Verdict(outcome, error=f"redirect to a URL that is not allowed: {error}")


def _why_itself(location: str) -> str:
    """Return why a server may redirect a URL to itself."""
    if location.strip().lower().startswith("http:"):
        return "it sends https back to http. To crawl it with http: RIFFLE_CRAWL__ALLOWED_ORIGINS"
    return "servers do so that wait for a cookie, which Riffle never sends back"


def _refresh_target(url: str, refresh: str) -> str:
    """Return the address to which a browser goes on within a few seconds; empty if it stays at this URL."""
    seconds, address = read_refresh(refresh) or (0, "")
    if not address or seconds > MAX_REDIRECT_SECONDS:
        return ""
    try:
        return address if resolve(url, address) != url.partition("#")[0] else ""
    except InvalidUrl:
        return ""


def _check_type(url: str, content_type: str, purpose: Purpose) -> Verdict:
    """Accept the media types that can be read. Without a valid type the bytes decide; a robots.txt may have any."""
    kind = media_type(content_type).essence
    accepted = kind.partition("/")[0] not in _NO_SITEMAPS if purpose == "sitemap" else is_readable(content_type, url)
    return Verdict("ok") if purpose == "robots" or accepted else unsupported(kind)


def unsupported(kind: str) -> Verdict:
    return Verdict("unsupported_type", error=f"media type {kind[:100]}")
