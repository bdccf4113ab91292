"""The Python client writes, crawls and follows what changes, at a real gateway over HTTP; and reads what is hostile."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import httpx2
import pytest

from schemas import PageFetched
from streams.client import ApiError, AsyncRiffle, Forged, NotDone, NotReached, Riffle, page_line, requests, verify
from streams.client.streaming import MAX_EVENT_BYTES, EventReader, StreamEvent
from streams.gateway.changes import stream
from streams.hooks.signing import headers_of, make_secret
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import CrawlCounts
from tests.stages.gateway_fakes import gateway
from tests.stages.test_gateway_changes import Topics, page
from tests.stages.test_gateway_crawls import DOCS, SEED, Sent, key_of
from tests.stages.test_gateway_limits import Patient, serving

HOOK = "https://app.example/hook"


class World:
    """A gateway with a key that may write, and what it sent to Kafka."""

    def __init__(self) -> None:
        self.stores: Stores = memory_stores()
        self.sent, self.topics = Sent(), Topics()
        self.address = self.key = ""


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(stream, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(stream, "PROGRESS_SECONDS", 0.01)
    monkeypatch.setattr(stream, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(requests, "LOOK_SECONDS", 0.01)
    made = World()
    header = await key_of(made.stores, scopes=("write", "changes", "pages"))
    made.key = header["Authorization"].split()[1]
    app = gateway(made.stores, allowed_hosts=("127.0.0.1",), writes=made.sent, follow=made.topics.follow)
    async with serving(app, protocol=Patient) as port:
        made.address = f"http://127.0.0.1:{port}"
        yield made


async def test_pages_are_written_and_removed(world: World) -> None:
    def write() -> tuple[Any, list[Any], Any]:
        with Riffle(world.address, world.key) as riffle:
            one = riffle.put_page(SEED, "# Guide\n\nPress the key.", "text/markdown")
            pages = [
                page_line(f"https://{DOCS}/a", "<p>One"),
                page_line("https://other.example/", "<p>Two"),
                page_line(f"https://{DOCS}/b", b"Three.", "text/plain"),
            ]
            return one, list(riffle.put_pages(pages)), riffle.delete_pages(url=SEED)

    one, many, gone = await asyncio.to_thread(write)
    assert (one["url"], one["status"], gone) == (SEED, "accepted", {"removed": 1, "more": False})
    assert [(each["line"], each["status"]) for each in many] == [(1, "accepted"), (2, "refused"), (3, "accepted")]
    assert many[1]["problem"]["type"] == "urn:riffle:problem:not-writable"
    written = [event for event in world.sent.events if isinstance(event, PageFetched)]
    assert {event.url for event in written} == {SEED, f"https://{DOCS}/a", f"https://{DOCS}/b"}


async def test_many_pages_are_several_requests_and_their_lines_count_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "LINES", 2)
    async with AsyncRiffle(world.address, world.key) as riffle:
        pages = (page_line(f"https://{DOCS}/{number}", f"<p>{number}") for number in range(5))
        found = [each["line"] async for each in riffle.put_pages(pages)]
    assert found == [1, 2, 3, 4, 5]


async def test_a_crawl_is_begun_once_and_waited_for(world: World) -> None:
    async with AsyncRiffle(world.address, world.key) as riffle:
        crawl = await riffle.begin_crawl(SEED, depth=1, include=["/guide*"], idempotency_key="mine")
        again = await riffle.begin_crawl(SEED, depth=1, include=["/guide*"], idempotency_key="mine")
        assert (again["id"], crawl["state"], crawl["include"]) == (crawl["id"], "queued", ["/guide*"])
        with pytest.raises(NotDone, match="is not done after 0 s"):
            await riffle.wait_for_crawl(crawl["id"], timeout_seconds=0.0)
        waiting = asyncio.create_task(riffle.wait_for_crawl(crawl["id"]))
        await world.stores.frontier.put_states(crawl["id"], 0, {}, "worker", CrawlCounts({"settled": 1}, 1))
        assert (await waiting)["state"] == "done"
        assert (await riffle.cancel_crawl(crawl["id"]))["state"] == "cancelled"


async def test_a_request_that_makes_something_is_repeated_with_the_same_key() -> None:
    keys: list[str] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers.get("idempotency-key", ""))
        problem = {"type": "urn:riffle:problem:unavailable"}
        return httpx2.Response(503, json=problem, headers={"retry-after": "0"}) if len(keys) < 3 else ok

    ok = httpx2.Response(201, json={"id": "3f9a51c0d2b7"})
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(handle)) as http:
        riffle = AsyncRiffle("http://riffle.test", http=http)
        assert (await riffle.begin_crawl(SEED))["id"] == "3f9a51c0d2b7"
        assert (len(set(keys)), len(keys[0])) == (1, 32)
        keys.clear()
        with pytest.raises(ApiError):
            await riffle.exchange_secret("3f9a51c0d2b7")
    assert keys == [""], "a second exchange would end the first secret"


async def test_the_events_of_a_crawl_end(world: World) -> None:
    async with AsyncRiffle(world.address, world.key) as riffle:
        crawl = await riffle.begin_crawl(SEED)
        await world.stores.frontier.put_states(crawl["id"], 0, {}, "worker", CrawlCounts({"settled": 1}, 1))
        world.topics.events = (page(SEED, crawl["id"]),)
        found = [event async for event in riffle.crawl_events(crawl["id"])]
    assert {"pages.indexed", "progress"} < {event.name for event in found}
    assert (found[-1].name, found[-1].data) == ("end", {"state": "done"})
    (indexed,) = [event.data for event in found if event.name == "pages.indexed"]
    assert (indexed["type"], indexed["data"]["url"]) == ("riffle.pages.indexed.v1", SEED)


async def test_changes_go_on_behind_the_last_event_when_a_stream_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "MAX_SECONDS", 0.05)
    monkeypatch.setattr(requests, "PAUSE_SECONDS", 0.01)
    urls = [f"https://{DOCS}/{number}" for number in range(3)]
    world.topics.events = tuple(page(url) for url in urls[:2])
    found: list[StreamEvent] = []
    async with AsyncRiffle(world.address, world.key) as riffle:
        changes = riffle.changes()
        async for event in changes:
            found.append(event)
            if len(found) == 2:
                world.topics.events += (page(urls[2]),)
            if len(found) == 3:
                break
        await changes.aclose()
        later = riffle.changes(last_event_id=found[0].id)
        assert (await anext(later)).data["data"]["url"] == urls[1]
        await later.aclose()
    assert [event.data["data"]["url"] for event in found] == urls


async def test_a_stream_that_is_refused_is_an_error_at_once(world: World) -> None:
    async with AsyncRiffle(world.address, world.key) as riffle:
        with pytest.raises(ApiError) as refused:
            await anext(riffle.changes(last_event_id="abc"))
    assert refused.value.status == 400


async def test_a_webhook_is_made_and_removed(world: World) -> None:
    async with AsyncRiffle(world.address, world.key) as riffle:
        hook = await riffle.make_hook(HOOK, events="pages.indexed", note="guide")
        assert (hook["state"], hook["secret"][:6], hook["events"]) == ("on", "whsec_", ["pages.indexed"])
        assert (await riffle.test_hook(hook["id"]))["id"]
        assert (await riffle.exchange_secret(hook["id"]))["secret"] != hook["secret"]
        assert (await riffle.switch_on_hook(hook["id"]))["state"] == "on"
        assert (await riffle.deliveries(hook["id"]))["deliveries"] == []
        await riffle.remove_hook(hook["id"])
        assert (await riffle.list_hooks())["hooks"] == []


SECRET, OTHER = make_secret(b"s" * 32), make_secret(b"o" * 32)
BODY = b'{"type": "riffle.pages.indexed.v1", "data": {}}'


def signed(seconds: float = 0.0, changed: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    return {**headers_of("id", BODY, [SECRET], int((time.time() + seconds) * 1e6)), **changed}


@pytest.mark.parametrize("secrets", [SECRET, [OTHER, SECRET]])
def test_an_event_of_the_gateway_is_known_by_its_signature(secrets: Any) -> None:
    assert verify(BODY, signed(), secrets) == json.loads(BODY)
    assert verify(BODY, {name.title(): value for name, value in signed().items()}, secrets)


# The headers are made when the test runs: minutes later a time of the future would be one of the present.
FORGED: list[tuple[bytes, Callable[[], dict[str, str]], Any]] = [
    (BODY + b" ", signed, SECRET),
    (BODY, signed, OTHER),
    (BODY, signed, []),
    (BODY, partial(signed, -400), SECRET),
    (BODY, partial(signed, 400), SECRET),
    (BODY, dict, SECRET),
    (BODY, partial(signed, changed={"webhook-timestamp": "\u0661" * 10}), SECRET),
    (BODY, partial(signed, changed={"webhook-timestamp": "9" * 5_000}), SECRET),
    (BODY, partial(signed, changed={"webhook-id": "other"}), SECRET),
    (BODY, partial(signed, changed={"webhook-signature": "v1,\u00e9"}), SECRET),
]


@pytest.mark.parametrize(("body", "make_headers", "secrets"), FORGED)
def test_a_forged_event_is_refused(body: bytes, make_headers: Callable[[], dict[str, str]], secrets: Any) -> None:
    with pytest.raises(Forged):
        verify(body, make_headers(), secrets)


STREAM = (
    'id: 1\nevent: a\ndata: {"text": "one\u2028line"}\n\n: beat\n\nevent: b\r\ndata: {\ndata: }\n\ndata: {"cut'.encode()
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_events_are_read_in_any_pieces(size: int) -> None:
    reader = EventReader()
    found = [event for at in range(0, len(STREAM), size) for event in reader.read(STREAM[at : at + size])]
    assert found == [StreamEvent("a", {"text": "one\u2028line"}, "1"), StreamEvent("b", {}, "1")]
    reader.begin()
    assert list(reader.read(b'data: {"new": 1}\n\n')) == [StreamEvent("", {"new": 1}, "1")]


@pytest.mark.parametrize("sent", [b"data: [1]\n\n", b"data: {\n\n", b"data: " + b"x" * MAX_EVENT_BYTES])
def test_a_stream_of_something_else_is_an_error(sent: bytes) -> None:
    with pytest.raises(NotReached):
        list(EventReader().read(sent))


def test_comments_without_an_end_take_no_memory() -> None:
    reader = EventReader()
    for _ in range(40):
        assert list(reader.read(b": beat\n\n" * 65_536)) == []
