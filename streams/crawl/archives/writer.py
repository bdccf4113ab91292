"""The records of a WARC file (ISO 28500, version 1.1), each compressed by itself, as other programs expect. Pure.

The exchanges of a page become `request`, `response`, `metadata` and `revisit` records. An exchange whose received bytes
were not kept (a page that was imported, or a failure) becomes a `resource` or nothing.
"""

import gzip
from base64 import b32encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from uuid import NAMESPACE_URL, UUID, uuid5

from schemas import PageFetched
from schemas.envelope import utc_from_micros
from streams.crawl.exchange import Exchange

VERSION_LINE = b"WARC/1.1\r\n"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_RENAMED = frozenset({b"transfer-encoding"})
"""Headers about the transfer, which are not true of a stored body: its chunks are joined."""
_COMPRESSION = 6


@dataclass(frozen=True, slots=True)
class Visit:
    """One fetch of a page, with what is stored of it."""

    event: PageFetched
    body: bytes | None = None
    """The stored body. None: the fetch had none, or it is no longer kept."""
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True)
class _Original:
    """The record that later records refer to."""

    date: str
    digest: str


def warcinfo(file_name: str, software: str, at: datetime) -> bytes:
    """Return the first record of a file."""
    fields = f"software: {software}\r\nformat: WARC File Format 1.1\r\n".encode()
    headers = {"WARC-Filename": file_name, "Content-Type": "application/warc-fields"}
    return _record("warcinfo", _record_id("warcinfo", file_name, at.isoformat()), _date(at), headers, fields)


def records_of(visits: Sequence[Visit]) -> Iterator[bytes]:
    """Yield the records of a page's visits, oldest first. A visit without anything to store has none."""
    original: _Original | None = None
    for visit in visits:
        event = visit.event
        date = _date(utc_from_micros(event.generation))
        if event.outcome == "not_modified" and original:
            yield _revisit(visit, date, original, NOT_MODIFIED)
        elif event.outcome == "ok" and visit.body is not None:
            payload = _payload(visit)
            digest = _digest(payload)
            if original and original.digest == digest:
                yield _revisit(visit, date, original, IDENTICAL)
                continue
            yield from _first_visit(visit, date, payload, digest)
            original = _Original(date, digest)


def _first_visit(visit: Visit, date: str, payload: bytes, digest: str) -> Iterator[bytes]:
    event, exchange = visit.event, visit.exchange
    target = {"WARC-Target-URI": event.url, "WARC-Payload-Digest": digest}
    if exchange is None:
        kind = event.headers.get("content-type") or "application/octet-stream"
        identity = _record_id("resource", event.url, date)
        yield _record("resource", identity, date, {**target, "Content-Type": kind}, payload)
    else:
        identity = _record_id("response", event.url, date)
        address = {"WARC-IP-Address": exchange.address} if exchange.address else {}
        http = {"Content-Type": "application/http;msgtype=response"}
        yield _record(
            "response", identity, date, {**target, **address, **http}, _stored_head(exchange.response) + payload
        )
        yield _record(
            "request",
            _record_id("request", event.url, date),
            date,
            {
                "WARC-Target-URI": event.url,
                "WARC-Concurrent-To": _in_brackets(identity),
                **address,
                "Content-Type": "application/http;msgtype=request",
            },
            exchange.request,
        )
    yield _metadata(event, date, identity)


def _metadata(event: PageFetched, date: str, concurrent_to: UUID) -> bytes:
    """Return the record of what the crawler knows of a fetch."""
    facts = {
        "fetchTimeMs": round(event.elapsed_ms),
        "hopsFromSeed": event.depth,
        "crawlId": event.crawl_id,
        "source": event.source,
    }
    fields = "".join(f"{name}: {value}\r\n" for name, value in facts.items() if value not in ("", None)).encode()
    headers = {
        "WARC-Target-URI": event.url,
        "WARC-Concurrent-To": _in_brackets(concurrent_to),
        "Content-Type": "application/warc-fields",
    }
    return _record("metadata", _record_id("metadata", event.url, date), date, headers, fields)


def _revisit(visit: Visit, date: str, original: _Original, profile: str) -> bytes:
    event = visit.event
    head = _stored_head(visit.exchange.response) if visit.exchange else _head_of_event(event)
    headers = {
        "WARC-Target-URI": event.url,
        "WARC-Profile": profile,
        "WARC-Refers-To-Target-URI": event.url,
        "WARC-Refers-To-Date": original.date,
        "WARC-Payload-Digest": original.digest,
        "Content-Type": "application/http;msgtype=response",
    }
    return _record("revisit", _record_id("revisit", event.url, date), date, headers, head)


def _payload(visit: Visit) -> bytes:
    """Return the body as it was received, where it is known."""
    received = visit.exchange.received if visit.exchange else None
    return received if received is not None else visit.body or b""


def _stored_head(head: bytes) -> bytes:
    """Return the head of a response with the headers of its transfer renamed, as other crawlers do it."""
    lines = head.split(b"\r\n")
    return b"\r\n".join(
        b"X-Archive-Orig-" + line if line.partition(b":")[0].strip().lower() in _RENAMED else line for line in lines
    )


def _head_of_event(event: PageFetched) -> bytes:
    lines = [f"HTTP/1.1 {event.status or 200}", *(f"{name}: {value}" for name, value in event.headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")


def _record(kind: str, identity: UUID, date: str, headers: Mapping[str, str], block: bytes) -> bytes:
    """Return a record, compressed by itself so that a program can begin to read at it."""
    fields = {
        "WARC-Type": kind,
        "WARC-Record-ID": _in_brackets(identity),
        "WARC-Date": date,
        **headers,
        "WARC-Block-Digest": _digest(block),
        "Content-Length": str(len(block)),
    }
    head = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in fields.items()).encode("utf-8", "replace")
    return gzip.compress(VERSION_LINE + head + b"\r\n" + block + b"\r\n\r\n", _COMPRESSION, mtime=0)


def _one_line(value: str) -> str:
    return " ".join(value.split())


def _record_id(kind: str, url: str, date: str) -> UUID:
    """Return the same id for the same record each time."""
    return uuid5(NAMESPACE_URL, f"{kind} {url} {date}")


def _in_brackets(identity: UUID) -> str:
    return f"<urn:uuid:{identity}>"


def _date(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _digest(content: bytes) -> str:
    return "sha1:" + b32encode(sha1(content, usedforsecurity=False).digest()).decode()
