"""Own pages by the API: what becomes a page, what a key may write, a thousand in one request, and removals."""

import json
from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest

from schemas import PageFetched, PageRemoved
from schemas.ids import page_id
from streams.gateway.writing.pages import MAX_LINES
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched, Removed
from streams.stores.protocols import FrontierUrl, HostRows
from streams.writing import pages as own_pages
from tests.stages.gateway_fakes import client, gateway
from tests.stages.test_gateway_crawls import DOCS, Sent, key_of

PAGES = "/api/v1/pages"
URL = f"https://{DOCS}/guide.html"
HTML = b"<title>Guide</title><p>Press the red key twice."
LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture
def stores() -> Stores:
    return memory_stores()


def at(url: str) -> str:
    return f"{PAGES}?url={quote(url, safe='')}"


FILES = [
    ("text/html; charset=utf-8", HTML, "guide.html"),
    ("text/markdown", b"# Guide\n\nPress the key.", "guide"),
    ("text/plain", b"Press the key.", "guide.txt"),
    ("application/pdf", b"%PDF-1.7 ...", "guide.pdf"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"PK\x03\x04 ...", "guide.docx"),
    ("application/vnd.oasis.opendocument.text", b"PK\x03\x04 ...", "guide.odt"),
]


@pytest.mark.parametrize(("content_type", "body", "name"), FILES, ids=[row[2] for row in FILES])
async def test_a_file_becomes_the_event_of_an_import(stores: Stores, content_type: str, body: bytes, name: str) -> None:
    sent, key = Sent(), await key_of(stores)
    async with client(gateway(stores, writes=sent)) as web:
        answer = await web.put(
            at(f"https://{DOCS}/{name}"), content=body, headers={**key, "content-type": content_type}
        )
    assert answer.status_code == 200, answer.text
    (event,) = sent.events
    assert isinstance(event, PageFetched)
    assert (event.url, event.source, event.outcome) == (f"https://{DOCS}/{name}", "html", "ok")
    assert event.headers == {"content-type": content_type}
    assert event.body_ref is not None
    assert await stores.blobs.get(event.body_ref) == body
    assert answer.json() == {
        "url": event.url, "page_id": str(event.page_id), "status": "accepted", "history": f"{PAGES}/{event.page_id}",
    }  # fmt: skip


REFUSED = [
    ("no key", {}, URL, "text/html", HTML, 401, "key-needed"),
    ("no scope", {"scopes": ("pages", "search")}, URL, "text/html", HTML, 403, "scope-missing"),
    ("a foreign host", {}, "https://other.example/", "text/html", HTML, 403, "not-writable"),
    ("the end of a host", {}, f"https://x{DOCS}/", "text/html", HTML, 403, "not-writable"),
    ("a file", {}, "file:///etc/passwd", "text/html", HTML, 400, "invalid-body"),
    ("credentials", {}, f"https://a:b@{DOCS}/", "text/html", HTML, 400, "invalid-body"),
    ("an image", {}, f"https://{DOCS}/a.png", "image/png", b"\x89PNG\r\n\x1a\n", 400, "invalid-body"),
    ("a program", {}, f"https://{DOCS}/a", "text/html", b"\x7fELF\x02\x01\x01\0\0", 400, "invalid-body"),
    ("no address", {}, "", "text/html", HTML, 400, "invalid-parameter"),
    ("a long file", {}, URL, "text/html", b"x" * (10 * 1024 * 1024 + 1), 413, "too-large"),
    ("no quota", {"writes_per_day": 1}, URL, "text/html", HTML, 429, "quota-spent"),
]


@pytest.mark.parametrize(
    ("fields", "url", "kind_of_file", "body", "status", "problem"),
    [r[1:] for r in REFUSED],
    ids=[r[0] for r in REFUSED],
)
async def test_a_page_that_is_not_written(
    stores: Stores, fields: Any, url: str, kind_of_file: str, body: bytes, status: int, problem: str
) -> None:
    sent, key = Sent(), {} if problem == "key-needed" else await key_of(stores, **fields)
    async with client(gateway(stores, writes=sent)) as web:
        if problem == "quota-spent":
            await web.put(at(URL), content=HTML, headers={**key, "content-type": "text/html"})
            sent.events.clear()
        answer = await web.put(at(url), content=body, headers={**key, "content-type": kind_of_file})
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:riffle:problem:{problem}"), answer.text
    assert answer.json()["detail"]
    assert not sent.events


@pytest.mark.parametrize(("hosts", "status"), [(("wiki.internal",), 200), (("*",), 403)])
async def test_an_address_that_is_not_public_is_written_where_the_key_names_it(
    stores: Stores, hosts: Any, status: int
) -> None:
    """A key for every domain keeps it as a public address, as a crawl does: here https://wiki.internal/."""
    sent, key = Sent(), await key_of(stores, hosts=hosts)
    async with client(gateway(stores, writes=sent)) as web:
        answer = await web.put(
            at("http://wiki.internal:8000/a"), content=HTML, headers={**key, "content-type": "text/html"}
        )
    urls = [event.url for event in sent.events if isinstance(event, PageFetched)]
    assert (urls == ["http://wiki.internal:8000/a"]) is (status == 200), answer.text


async def test_what_was_removed_on_request_stays_away(stores: Stores) -> None:
    await stores.pages.put(page_id(URL), Removed.of_row({"url": URL, "generation": 9, "reason": "request"}), 9)
    sent, key = Sent(), await key_of(stores)
    async with client(gateway(stores, writes=sent)) as web:
        answer = await web.put(at(URL), content=HTML, headers={**key, "content-type": "text/html"})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:riffle:problem:not-writable")
    assert "riffle remove --undo" in answer.json()["hint"]
    assert not sent.events


def lines(*pages: Any) -> bytes:
    return b"\n".join(page if isinstance(page, bytes) else json.dumps(page).encode() for page in pages)


async def put_lines(stores: Stores, body: bytes, sent: Sent, **fields: Any) -> list[dict[str, Any]]:
    key = await key_of(stores, **fields)
    async with client(gateway(stores, writes=sent)) as web:
        answer = await web.put(PAGES, content=body, headers={**key, **LINES})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_each_line_has_an_answer_of_its_own(stores: Stores) -> None:
    sent = Sent()
    body = lines(
        {"url": URL, "text": "<p>One"},
        {"url": f"https://{DOCS}/b.txt", "content_type": "text/plain", "base64": b64encode(b"Two.").decode()},
        {"url": "https://other.example/", "text": "<p>Three"},
        {"url": f"https://{DOCS}/d", "text": "<p>", "base64": "PHA+"},
        {"url": f"https://{DOCS}/e", "base64": "???"},
        {"url": f"https://{DOCS}/f", "txt": "<p>"},
        b'{"url": "https://docs.example/g", ',
        b"[" * 100_000,
        b"\xff\xfe",
        b"",
        {"url": f"https://{DOCS}/h", "text": "<p>Eight"},
    )
    answers = await put_lines(stores, body, sent)
    kinds = [answer.get("problem", {}).get("type", "").rpartition(":")[2] for answer in answers]
    assert kinds == ["", "", "not-writable", *["invalid-body"] * 6, ""]
    assert [answer["line"] for answer in answers] == list(range(1, 11))
    assert [event.url for event in sent.events if isinstance(event, PageFetched)] == [
        URL, f"https://{DOCS}/b.txt", f"https://{DOCS}/h",
    ]  # fmt: skip


async def test_a_thousand_pages_are_one_request_and_one_more_is_too_many(stores: Stores) -> None:
    sent = Sent()
    body = lines(*({"url": f"https://{DOCS}/{n}", "text": f"<p>Page {n}"} for n in range(MAX_LINES + 1)))
    answers = await put_lines(stores, body, sent)
    assert len(sent.events) == MAX_LINES
    assert [answer["status"] for answer in answers] == [*["accepted"] * MAX_LINES, "refused"]
    assert answers[-1]["problem"]["type"] == "urn:riffle:problem:too-large"


async def test_the_quota_ends_within_a_request(stores: Stores) -> None:
    sent = Sent()
    body = lines(*({"url": f"https://{DOCS}/{n}", "text": "<p>"} for n in range(5)))
    answers = await put_lines(stores, body, sent, writes_per_day=3)
    assert [answer["status"] for answer in answers] == [*["accepted"] * 3, *["refused"] * 2]
    assert {answer["problem"]["type"] for answer in answers[3:]} == {"urn:riffle:problem:quota-spent"}


async def known(stores: Stores, *urls: str, removed: str = "") -> None:
    """Pages that the frontier and the stages know, one of which was removed."""
    rows = [FrontierUrl(page_id(url), url, DOCS, "done", 1, ok_generation=1) for url in urls]
    await stores.frontier.write(HostRows(DOCS, urls=rows))
    for url in urls:
        await stores.pages.put(page_id(url), Fetched.of_row({"url": url, "generation": 5, "outcome": "ok"}), 5)
        if url == removed:
            await stores.pages.put(page_id(url), Removed.of_row({"url": url, "generation": 9, "reason": "gone"}), 9)


async def test_a_page_is_removed_as_gone_with_a_later_generation_than_all_that_is_known(stores: Stores) -> None:
    await known(stores, URL)
    sent, key = Sent(), await key_of(stores)
    async with client(gateway(stores, writes=sent)) as web:
        answer = await web.delete(at(URL), headers=key)
        foreign = await web.delete(at("https://other.example/"), headers=key)
    assert (answer.json(), foreign.status_code) == ({"removed": 1, "more": False}, 403)
    (event,) = sent.events
    assert isinstance(event, PageRemoved)
    assert (event.url, event.reason, event.generation > 5) == (URL, "gone", True)


async def test_a_prefix_removes_what_is_below_it_and_not_what_left_before(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [f"https://{DOCS}/old/{n}" for n in range(5)]
    await known(stores, *old, f"https://{DOCS}/older", f"https://{DOCS}/new", removed=old[0])
    monkeypatch.setattr(own_pages, "MAX_REMOVED", 3)
    monkeypatch.setattr(own_pages, "LISTED_AT_ONCE", 2)
    sent, key = Sent(), await key_of(stores)
    async with client(gateway(stores, writes=sent)) as web:
        first = await web.delete(f"{PAGES}?prefix=https://{DOCS}/old/", headers=key)
    assert first.json() == {"removed": 3, "more": True}
    assert {event.url for event in sent.events if isinstance(event, PageRemoved)} < set(old[1:])


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        (f"url={URL}&prefix={URL}", 400),
        (f"prefix=https://{DOCS}", 400),
        ("prefix=https://other.example/", 403),
    ],
)
async def test_a_removal_that_names_nothing_it_may(stores: Stores, query: str, status: int) -> None:
    sent, key = Sent(), await key_of(stores)
    async with client(gateway(stores, writes=sent)) as web:
        answer = await web.delete(f"{PAGES}?{query}", headers=key)
    assert answer.status_code == status, answer.text
    assert not sent.events
