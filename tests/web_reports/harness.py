"""Runs situations of the web against the crawler, and says which come out as they should.

    python -m tests.web_reports.harness FILE.py ...

A file of situations imports this module, and has a function for each one:

    @case("name", "https://address-of-the-report", "the situation", expected, "why")
    def _() -> object:
        return links("<a href='/x'>x</a>")

Files may be written outside of this repository, also for earlier forms of the crawler: `former_names` says where the
parts are now.
"""

import asyncio
import importlib.util
import sys
import tempfile
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas import PageFetched
from schemas.ids import page_id
from streams.crawl.archives.readers import ArchivedPage, Limits, read_warc
from streams.crawl.fetch.http import Answer, close_session, get, limits_of, open_session
from streams.crawl.robots import Rules, parse
from streams.crawl.sitemaps import read_sitemap
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.pages.link_events import discoveries, feeds, found_links
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.pages.sitemap_events import sitemap_events
from streams.robot_name import ProductToken
from tests.hostile.servers import BadServer, Script, bad_server
from tests.hostile.servers import raw as raw  # files of situations take them from here
from tests.hostile.servers import response as response
from tests.web_reports.former_names import install

TEXT = {"content-type": "text/html; charset=utf-8"}
PAGE = "https://site.example/page"
YEAR_2027 = 1_800_000_000_000_000
"""The generation of pages (microseconds since 1970 UTC)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One situation."""

    name: str
    url: str
    """The address of the report."""
    situation: str
    expect: Any
    why: str
    run: Callable[[], Any]
    """Returns what comes out, or an awaitable of it."""
    judge: Callable[[Any], object] | None = None
    """Returns whether that is right; without it, what comes out equals `expect`."""
    subject: str | None = None


CASES: list[Case] = []


def case(
    name: str,
    url: str,
    situation: str,
    expect: Any,
    why: str,
    judge: Callable[[Any], object] | None = None,
    subject: str | None = None,
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Return the decorator that adds a situation."""

    def decorate(run: Callable[[], Any]) -> Callable[[], Any]:
        CASES.append(Case(name, url, situation, expect, why, run, judge, subject))
        return run

    return decorate


async def run_one(one: Case) -> tuple[bool, Any]:
    """Run a situation. Returns whether it is right, and what came out."""
    try:
        value = one.run()
        if asyncio.iscoroutine(value):
            value = await value
        return bool(one.judge(value) if one.judge else value == one.expect), value
    except Exception as error:
        traceback.print_exc(limit=3)
        return False, f"EXC {type(error).__name__}: {error}"


async def fetch_many(
    scripts: dict[str, Script],
    urls: Sequence[str],
    host: str = "bad.example",
    settings: dict[str, Any] | None = None,
    purpose: Any = "page",
    **fields: Any,
) -> tuple[list[Answer], BadServer]:
    """Return the answers to URLs of a server with these scripts, by path, and the server."""
    with tempfile.TemporaryDirectory() as folder:
        async with bad_server(Path(folder), scripts, host=host) as server:
            crawl = server.settings(host, timeout_seconds=5, **(settings or {}))
            session, limits = open_session(crawl), limits_of(crawl)
            try:
                answers = [
                    await get(session, url, purpose=purpose, limits=limits, monotonic=time.monotonic, **fields)
                    for url in urls
                ]
            finally:
                await close_session(session)
            return answers, server


async def fetch1(script: Script, path: str = "/x", purpose: Any = "page", **fields: Any) -> Answer:
    (answer,), _ = await fetch_many({path: script}, [f"https://bad.example{path}"], purpose=purpose, **fields)
    return answer


def norm(html: str | bytes, url: str = PAGE, headers: dict[str, str] | None = None) -> Any:
    """Return what the normalize stage's process returns for a page."""
    body = html.encode() if isinstance(html, str) else html
    return normalize_to_outcome(body, url=url, headers=TEXT if headers is None else headers)


def links(html: str | bytes, url: str = PAGE, headers: dict[str, str] | None = None) -> list[str]:
    return [link.url for link in norm(html, url, headers).links]


def page_event(url: str = PAGE, **fields: Any) -> PageFetched:
    """Return the event of a page that was fetched."""
    event: dict[str, Any] = {
        "page_id": page_id(url),
        "url": url,
        "host": host_of(url),
        "purpose": "page",
        "outcome": "ok",
    }
    return PageFetched(**{**event, "generation": YEAR_2027, "crawl_id": "c", "max_depth": 3, **fields})


def discovered_of(html: str | bytes, url: str = PAGE, headers: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """Return the reason and the URL of all that the normalize stage announces for a page."""
    event, outcome = page_event(url), norm(html, url, headers)
    followed = filter(None, (found.followed() for found in found_links(event, outcome)))
    named = (*feeds(event, outcome), *discoveries(event, outcome), *followed)
    return [(each.why, one.url) for each in named for one in each.each()]


def sitemap(body: str | bytes, url: str = "https://site.example/sitemap.xml") -> dict[str, list[str]]:
    """Return the canonical URLs of the pages and the sitemaps that a sitemap leads to."""
    found: dict[str, list[str]] = {"page": [], "sitemap": []}
    read = read_sitemap(body.encode() if isinstance(body, str) else body)
    for event in sitemap_events(page_event(url, purpose="sitemap"), read):
        found[event.purpose] += [one.url for one in event.each()]
    return found


def robots(text: str | bytes, agent: str = "RiffleBot") -> Rules:
    return parse(text if isinstance(text, bytes) else text.encode(), ProductToken(agent))


def allowed(text: str | bytes, path: str, agent: str = "RiffleBot") -> bool:
    return robots(text, agent).allowed(f"https://site.example{path}")


def canon(url: str) -> str:
    """Return the canonical URL, or `!` and the rule that refuses the URL."""
    try:
        return canonicalize(url)
    except InvalidUrl as error:
        return f"!{error.rule}"


def warc(data: bytes, **fields: Any) -> list[tuple[Any, ...]]:
    """Return the records of a WARC file: pages with URL and body, others with the reason why they are left out."""
    from io import BytesIO

    limits = Limits(10_000_000, 1_900_000_000_000_000, **fields)
    return [
        ("page", one.url, one.body) if isinstance(one, ArchivedPage) else ("skip", one.reason, one.detail)
        for one in read_warc(BytesIO(data), limits)
    ]


def record(
    kind: str,
    uri: str,
    block: bytes,
    extra: Sequence[str] = (),
    version: str = "1.0",
    date: str = "2026-01-02T03:04:05Z",
    ctype: str = "application/http; msgtype=response",
) -> bytes:
    """Return a record of a WARC file."""
    head = (
        f"WARC/{version}", f"WARC-Type: {kind}", f"WARC-Target-URI: {uri}", f"WARC-Date: {date}",
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>", f"Content-Type: {ctype}", *extra, f"Content-Length: {len(block)}",
    )  # fmt: skip
    return "\r\n".join(head).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def http(
    body: bytes = b"<p>hi",
    status: str = "HTTP/1.1 200 OK",
    headers: Sequence[tuple[str, str]] = (("Content-Type", "text/html"),),
) -> bytes:
    """Return the bytes of a response."""
    return (status + "\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n").encode() + body


def main(files: Sequence[str]) -> int:
    """Run the situations of these files. Returns the number of those that are not right."""
    install()
    sys.modules["harness"] = sys.modules[__name__]
    for file in files:
        spec = importlib.util.spec_from_file_location(Path(file).stem, file)
        if spec is None or spec.loader is None:
            raise ImportError(file)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    failed = 0
    for one in CASES:
        is_right, value = asyncio.run(run_one(one))
        failed += not is_right
        more = "" if is_right else f"\n       expect {one.expect!r}\n       actual {str(value)[:300]!r}"
        print(("ok   " if is_right else "FAIL ") + one.name + more, flush=True)
    print(len(CASES) - failed, "of", len(CASES), "held")
    return failed


if __name__ == "__main__":
    from tests.web_reports import harness

    sys.exit(min(harness.main(sys.argv[1:]), 1))
