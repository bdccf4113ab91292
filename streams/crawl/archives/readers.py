"""Pages out of archives: from a WARC file, or from a folder of HTML files. Pure: files are opened by the caller.

A reader yields a page, or the reason why a record isn't one. The version of a page's content is the time when it was
archived (a record's WARC-Date, a file's modification time), so that an import can be repeated without changing
anything, and never replaces what was fetched later.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import BinaryIO, Literal
from urllib.parse import quote

from schemas.envelope import micros_from_utc
from streams.crawl.archives.warc import HttpResponse, WarcRecord, parse_response, read_records
from streams.crawl.fetch.content_encoding import InvalidBody, decode, decoders, finish
from streams.crawl.fetch.outcomes import judge, kept
from streams.crawl.urls import InvalidUrl, canonicalize

MAX_HEAD_BYTES = 256 * 1024
"""Of the HTTP head in front of a body."""
_THE_WEB_BEGAN = micros_from_utc(datetime(1990, 1, 1, tzinfo=UTC))
_DECODED_ALREADY = frozenset({"content-encoding"})
_TEXT_BYTES = b"\t\n\f\r" + bytes(range(0x20, 0x100))
HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A page as it was fetched once."""

    url: str
    """Canonical."""
    generation: int
    """When it was archived, microseconds since 1970 UTC."""
    body: bytes
    source: Literal["warc", "html"]
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that isn't imported. `reason` is one of few, to be counted."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is let in."""

    max_body_bytes: int
    latest: int
    """Microseconds since 1970 UTC: what is dated after it would stand above every later fetch."""


def read_warc(file: BinaryIO, limits: Limits) -> Iterator[ArchivedPage | Skipped]:
    """Each HTTP response of a WARC file; other records are passed over in silence. Raises NoWarc."""
    for record in read_records(file, limits.max_body_bytes + MAX_HEAD_BYTES):
        if record.damage:
            yield Skipped("damaged record", record.damage)
        elif record.headers.get("warc-type") == "response":
            yield _page_of_record(record, limits)


def _page_of_record(record: WarcRecord, limits: Limits) -> ArchivedPage | Skipped:
    target = record.headers.get("warc-target-uri", "").strip("<>")
    if record.block is None:
        return Skipped("too large", target)
    response = parse_response(record.block)
    if response is None:
        return Skipped("no HTTP response", target)
    verdict = judge(target, response.status, response.headers, "page", False)
    if verdict.outcome != "ok":
        return Skipped(verdict.outcome.replace("_", " "), f"{target}: {verdict.error or verdict.redirect_to or ''}")
    try:
        body = _body(response, limits.max_body_bytes)
    except InvalidBody as error:
        return Skipped("damaged body", f"{target}: {error}")
    if body is None:
        return Skipped("too large", target)
    left = {name: value for name, value in kept(response.headers).items() if name not in _DECODED_ALREADY}
    return _page(target, _micros(record.headers.get("warc-date", "")), body, "warc", limits, response.status, left)


def _page(
    url: str,
    generation: int | None,
    body: bytes,
    source: Literal["warc", "html"],
    limits: Limits,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ArchivedPage | Skipped:
    """The last checks, which all sources share."""
    if generation is None or not _THE_WEB_BEGAN <= generation <= limits.latest:
        return Skipped("date missing or impossible", url)
    if len(body) > limits.max_body_bytes:
        return Skipped("too large", url)
    try:
        canonical = canonicalize(url)
    except InvalidUrl as error:
        return Skipped("URL not let in", f"{url[:200]}: {error}")
    return ArchivedPage(canonical, generation, body, source, status, headers or {})


def _body(response: HttpResponse, max_bytes: int) -> bytes | None:
    """The body out of its content codings; unchanged where it is not in them. None if it is longer than `max_bytes`.

    Raises InvalidBody if it is in them and damaged or cut off.
    """
    codings = ", ".join(response.headers.get("content-encoding", ()))
    body = bytearray()
    try:
        chain = decoders(codings)
        for piece in decode(response.body, chain):
            body += piece
            if len(body) > max_bytes:
                return None
        finish(chain)
    except InvalidBody:
        if not _is_text(response.body):
            raise
        return response.body
    return bytes(body)


def _is_text(body: bytes) -> bool:
    """True if the body isn't compressed. Many archives keep Content-Encoding and store the body decoded."""
    return not body[:1_024].translate(None, _TEXT_BYTES)


def _micros(date: str) -> int | None:
    """Of a WARC-Date, which is in UTC (WARC 1.1, section 5.4)."""
    try:
        found = datetime.fromisoformat(date)
    except ValueError:
        return None
    return micros_from_utc(found if found.tzinfo else found.replace(tzinfo=UTC))


def page_of_file(parts: tuple[str, ...], modified_at: int, body: bytes, limits: Limits) -> ArchivedPage | Skipped:
    """The page of a file HOST/path.html below a folder; `parts` are the names on its way, host first."""
    if len(parts) < 2:
        return Skipped("not below a folder that is named as its host", "/".join(parts))
    host, *path = parts
    # A file's name is taken literally: a question mark in it begins no query.
    return _page(f"https://{host}/{'/'.join(map(quote, path))}", modified_at, body, "html", limits)
