"""Readers of archives: the pages of a WARC file or of a folder of HTML files. Pure: the caller opens the files.

A reader yields a page, or the reason why a record is skipped. A page's generation is the time of its archiving (a
record's WARC-Date, a file's modification time). So a repeated import changes nothing, and never replaces a page that
was fetched later. A file without a possible time (1970 in Nix, 1980 in a ZIP) is as new as its import.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from typing import BinaryIO, Literal

from schemas.envelope import micros_from_utc
from streams.allowed_origins import NO_ORIGINS, Origins, origin_of
from streams.crawl.archives.folder_pages import named_in, path_of
from streams.crawl.archives.revisits import SPENT, Originals
from streams.crawl.archives.warc import HttpResponse, WarcFile, WarcRecord, content_of
from streams.crawl.fetch.content_encoding import BodyDecoder, InvalidBody
from streams.crawl.fetch.outcomes import classify_response, select_headers
from streams.crawl.scope import belongs
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.crawl.web_dates import parse_date
from streams.media_types import media_type

MAX_HEAD_BYTES = 256 * 1024
"""Maximum length of the HTTP head in front of a body (bytes)."""
AS_ADVICE = "Say where people read these pages: --as https://docs.example/"
_EARLIEST = micros_from_utc(datetime(1990, 1, 1, tzinfo=UTC))
"""Minimum date of a page: the web is not older."""
_TEXT_BYTES = b"\t\n\f\r" + bytes(range(0x20, 0x100))


Source = Literal["warc", "html"]
"""The kind of what a page was read from."""


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A page from an archive."""

    url: str
    """The canonical URL."""
    generation: int
    """Time of the archiving, microseconds since 1970 UTC."""
    body: bytes
    source: Source
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    """The name of the index that hands the page on."""
    brought: bytes = b""
    """The vectors that the index hands on with it. Empty: none."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that is not imported. There are only a few different reasons, so that they can be counted."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Placing:
    """The address of the pages, where it is not the one in the archive: `--as`."""

    address: str = ""
    """Canonical URL of the folder or server that the pages belong to. Empty: as the archive says."""
    origin: str = ""
    """The origin in a WARC file that the address replaces. Empty: the origin of the file's first page."""
    allowed: Origins = NO_ORIGINS
    """The origins that pages keep also if they are not public."""

    def allows(self, origin: str) -> bool:
        """Return whether pages keep an origin that is not public: one that the operator named."""
        return (bool(self.address) and origin == origin_of(self.address)) or self.allowed.allows(origin)

    def of_file(self, path: Sequence[str]) -> str:
        """Return the URL of a file below the folder."""
        return f"{self.address.rstrip('/')}/{path_of(path)}"

    def of_record(self, target: str) -> str:
        """Return the URL of a WARC record."""
        same = self.address and origin_of(target).lower() == self.origin
        return f"{self.address.rstrip('/')}/{target[len(self.origin) :].lstrip('/')}" if same else target


NO_PLACE = Placing()


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an import, and where its pages are."""

    max_body_bytes: int
    latest: int
    """Maximum date (microseconds since 1970 UTC): a page with a later date would win over each later fetch."""
    patterns: tuple[str, ...] = ()
    """Globs of the URLs to import (`streams.crawl.scope`)."""
    place: Placing = NO_PLACE
    hosts: frozenset[str] = frozenset()
    """The hosts whose records of a WARC file are read. Empty: all hosts."""

    def allow_host(self, target: str) -> bool:
        """Return whether a record with this URL is read."""
        try:
            return not self.hosts or host_of(canonicalize(target)) in self.hosts
        except InvalidUrl:
            return False


def read_warc(file: BinaryIO, limits: Limits) -> Iterator[ArchivedPage | Skipped]:
    """Read each page of a WARC file (responses, resources, revisits of these), and each text of a WET file.

    Every other record is skipped with a reason; of hosts that were not asked for, nothing is. Raises NotWarc.
    """
    archive = WarcFile(file, limits.max_body_bytes + MAX_HEAD_BYTES)
    reader = _Reader(limits, Originals(archive))
    for record in archive.records():
        if record.damage:
            yield Skipped("damaged record", record.damage)
        elif limits.allow_host(_target(record)):
            try:
                yield reader.read(record)
            except Exception as error:  # one bad record never ends an import
                yield Skipped("damaged record", f"{record.headers.get('warc-target-uri', '')}: {error!r}")


_NO_PAGES = frozenset({"warcinfo", "request", "metadata", "continuation"})
"""Types of records that are never pages."""


class _Reader:
    """Reads the records of one file, each of which may need what came before it."""

    def __init__(self, limits: Limits, originals: Originals) -> None:
        self._limits, self._originals = limits, originals
        self._has_pages = False
        """True behind the first page: then a conversion is another form of a page, and not a text of a WET file."""

    def read(self, record: WarcRecord) -> ArchivedPage | Skipped:
        kind, target = record.headers.get("warc-type", "").lower(), _target(record)
        if kind in _NO_PAGES:
            return Skipped(f"no page, but a record of type {kind}", target)
        if record.headers.get("warc-segment-number"):
            return Skipped("one of several records of a page", target)
        if kind == "conversion":
            other = Skipped("another form of a page in this file (conversion)", target)
            return other if self._has_pages else _page_of_text(record, self._limits)
        if kind not in ("response", "resource", "revisit"):
            return Skipped("a record of an unknown type", f"{kind[:40]} {target}")
        if kind == "resource" and not target.lower().startswith(("http:", "https:")):
            return Skipped("no page of the web", target)
        return self._read_page(kind, record)

    def _read_page(self, kind: str, record: WarcRecord) -> ArchivedPage | Skipped:
        self._has_pages = True
        place = self._limits.place
        if place.address and not place.origin:
            self._limits = replace(self._limits, place=replace(place, origin=origin_of(_target(record)).lower()))
        target = self._limits.place.of_record(_target(record))
        if record.block is None:
            return Skipped("too large", target)
        if kind == "revisit":
            if self._originals.is_spent:
                return Skipped(SPENT, target)
            response = self._originals.response_of(record)
            missing = "the same content as a record that is not in front of it in this file (revisit)"
        else:
            self._originals.note(record)
            response = content_of(record)
            missing = "no HTTP response"
        if response is None:
            return Skipped(missing, target)
        if response.status == HTTPStatus.NOT_MODIFIED:
            return Skipped("not modified", target)
        return _page_of_response(record, response, target, self._limits)


def _page_of_response(
    record: WarcRecord, response: HttpResponse, target: str, limits: Limits
) -> ArchivedPage | Skipped:
    verdict = classify_response(target, response.status, response.headers, "page", False)
    if verdict.outcome != "ok":
        return Skipped(verdict.outcome.replace("_", " "), f"{target}: {verdict.error or verdict.redirect_to or ''}")
    try:
        body = _body(response, limits.max_body_bytes)
    except InvalidBody as error:
        return Skipped("damaged body", f"{target}: {error}")
    if body is None:
        return Skipped("too large", target)
    headers = {name: value for name, value in select_headers(response.headers).items() if name != "content-encoding"}
    generation = generation_of(record.headers.get("warc-date", ""))
    return make_page(target, generation, body, "warc", limits, response.status, headers)


def _page_of_text(record: WarcRecord, limits: Limits) -> ArchivedPage | Skipped:
    """Return the page of a text that another crawler extracted (WET)."""
    target = limits.place.of_record(_target(record))
    kind = record.headers.get("content-type", "")
    if record.block is None:
        return Skipped("too large", target)
    if media_type(kind).essence != "text/plain":
        return Skipped("conversion to another type than text", f"{target}: {kind[:100]}")
    generation = generation_of(record.headers.get("warc-date", ""))
    headers = {"content-type": "text/plain; charset=utf-8"}
    return make_page(target, generation, record.block, "warc", limits, 200, headers)


def _target(record: WarcRecord) -> str:
    return record.headers.get("warc-target-uri", "").strip("<>")


def make_page(
    url: str,
    generation: int | None,
    body: bytes,
    source: Source,
    limits: Limits,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ArchivedPage | Skipped:
    """Make a page, after the checks for all sources. `generation`: None if its date is not known."""
    if generation is None or not _EARLIEST <= generation <= limits.latest:
        return Skipped("date missing or impossible", url)
    if len(body) > limits.max_body_bytes:
        return Skipped("too large", url)
    try:
        canonical = canonicalize(url, limits.place)
    except InvalidUrl as error:
        return Skipped("URL not allowed", f"{url[:200]}: {error.detail}. {AS_ADVICE}")
    if not belongs(canonical, limits.patterns):
        return Skipped("left out by the patterns", canonical)
    return ArchivedPage(canonical, generation, body, source, status, headers or {})


def _body(response: HttpResponse, max_bytes: int) -> bytes | None:
    """Decode the body. Return it unchanged if it is stored decoded, and None if it is longer than `max_bytes`.

    Raises InvalidBody if the body is damaged or ends early.
    """
    if not response.complete:
        raise InvalidBody("its last chunk is missing")
    codings = ", ".join(response.headers.get("content-encoding", ()))
    body = bytearray()
    try:
        decoder = BodyDecoder(codings, max_bytes)
        for piece in chain(decoder.feed(response.body), decoder.finish()):
            body += piece
            if len(body) > max_bytes:
                return None
    except InvalidBody:
        if not _is_text(response.body):
            raise
        return response.body
    return bytes(body)


def _is_text(body: bytes) -> bool:
    """Return whether the body is not compressed. Many archives keep Content-Encoding and store the body decoded."""
    return not body[:1_024].translate(None, _TEXT_BYTES)


def generation_of(date: str) -> int | None:
    """Parse a WARC-Date (in UTC: WARC 1.1, section 5.4), also one of 14 digits. None if it is invalid."""
    if date.isdigit() and len(date) == len("20260102030405"):
        date = f"{date[:8]}T{date[8:]}"
    try:
        moment = parse_date(date)
        return micros_from_utc(moment) if moment else None
    except (ValueError, OverflowError):  # OverflowError: in UTC it is before the year 1 or after 9999
        return None


def page_of_file(
    parts: tuple[str, ...], modified_at: int, body: bytes, limits: Limits, *, believes_comments: bool = True
) -> ArchivedPage | Skipped:
    """Make the page of a file below a folder. `parts` are the names of its path: host first, unless `place` has it.

    `believes_comments`: the address that a program has written into the page counts, if it is on the same server.
    """
    generation = modified_at if _EARLIEST <= modified_at <= limits.latest else limits.latest
    if limits.place.address:
        url = limits.place.of_file(parts)
    elif len(parts) < 2:
        return Skipped("not in a folder named like its host", "/".join(parts))
    else:
        url = f"https://{parts[0]}/{path_of(parts[1:])}"
    return make_page(named_in(body, url) if believes_comments else url, generation, body, "html", limits)
