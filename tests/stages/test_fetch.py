"""The fetch stage over memory stores, against a real server on loopback."""

import asyncio
import errno
import gzip
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import cycle, product
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs

from schemas import Envelope, PageFetched, PageScheduled
from schemas.envelope import utc_from_micros
from schemas.ids import page_id
from streams.clock import now_micros
from streams.crawl.exchange import decode_exchange
from streams.crawl.fetch.agent import FetchAgent
from streams.crawl.fetch.outcomes import KEPT_HEADERS
from streams.crawl.fetch.thread import FetchThread
from streams.errors import StoreUnavailable, ThreadEnded, is_outage
from streams.runtime.agent import Delivery
from streams.settings import CrawlSettings
from streams.stores.blobs import is_of_page
from streams.stores.memory import MemoryBlobs, MemoryPaceHolds, MemoryPages
from streams.stores.opener import Stores
from streams.stores.page_record import Fetched, Removed, Withheld
from streams.stores.removals import withdrawal
from tests.hostile.servers import BadServer, Script, bad_server, raw, response
from tests.sizes import FULL

URL = "https://bad.example/x"


def scheduled(seconds: float = 600, **fields: Any) -> PageScheduled:
    until = utc_from_micros(now_micros()) + timedelta(seconds=seconds)
    values = {"page_id": page_id(URL), "url": URL, "host": "bad.example", "lease_id": uuid4(), "attempt": 2, "depth": 3}
    return PageScheduled(lease_until=until, **{**values, "crawl_id": "c", **fields})


def delivery(event: PageScheduled) -> Delivery:
    envelope = Envelope(id=UUID(int=1), type="x", source="/test", time=utc_from_micros(now_micros()))
    return Delivery(event, envelope, event.topic, 0, 0)


class Stage:
    """The agent with its stores, and the server that it reaches."""

    def __init__(self, server: BadServer, stores: Stores) -> None:
        self.server = server
        self.stores = stores
        self.agent = FetchAgent(server.settings(timeout_seconds=10, delay_seconds=0, clock_bound_seconds=300), stores)

    async def fetch(self, event: PageScheduled) -> list[PageFetched]:
        outputs = await self.agent.handle(delivery(event))
        assert all(isinstance(output, PageFetched) for output in outputs)
        return list(outputs)  # type: ignore[arg-type] # just checked


async def run(folder: Path, script: Script, *events: PageScheduled) -> tuple[list[list[PageFetched]], Stores, int]:
    """Handle the events in order. Returns their outputs, the stores, and the number of requests."""
    stores = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs))
    async with bad_server(folder, {"/x": script}) as server:
        stage = Stage(server, stores)
        try:
            return [await stage.fetch(event) for event in events], stores, len(server.requests)
        finally:
            await stage.agent.stop()


@pytest.mark.parametrize(
    ("target", "purpose", "is_noted"),
    [
        ("https://bad.example/new", "page", True),
        ("https://www.bad.example/", "page", True),
        ("https://other.example/", "page", False),
        ("https://bad.example/robots.txt", "robots", False),
    ],
    ids=["of its host", "of its domain", "of another owner", "no page"],
)
async def test_the_record_of_a_page_names_the_address_that_moved_there(
    tmp_path: Path, target: str, purpose: str, is_noted: bool
) -> None:
    answer = raw(f"HTTP/1.1 301 Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n".encode())
    ([fetched],), stores, _ = await run(tmp_path, answer, scheduled(purpose=purpose))
    assert (fetched.outcome, fetched.redirect_to) == ("redirect", target)
    assert (await stores.pages.get(page_id(target))).moved.source == (URL if is_noted else "")


async def test_a_page_is_stored_and_emitted(tmp_path: Path) -> None:
    event = scheduled()
    ([fetched],), stores, _ = await run(tmp_path, response(b"<p>Hi", etag='"1"'), event)
    assert (fetched.outcome, fetched.status, fetched.headers["etag"]) == ("ok", 200, '"1"')
    assert (fetched.lease_id, fetched.attempt, fetched.depth, fetched.crawl_id) == (event.lease_id, 2, 3, "c")
    assert fetched.body_ref
    assert await stores.blobs.get(fetched.body_ref) == b"<p>Hi"
    record = (await stores.pages.get(event.page_id)).rows["fetched"]
    assert PageFetched.model_validate(record) == fetched


async def test_a_failure_is_stored_and_emitted(tmp_path: Path) -> None:
    ([fetched],), stores, _ = await run(tmp_path, response(status="503 Later", retry_after="7"), scheduled())
    assert (fetched.outcome, fetched.retryable, fetched.headers["retry-after"]) == ("server_error", True, "7")
    assert (fetched.body_ref, fetched.body_bytes) == (None, 0)
    assert (await stores.pages.get(fetched.page_id)).rows["fetched"]["outcome"] == "server_error"


STATUSES, NAMES = ["200 OK", "302 Found", "404 Not Found"], sorted(KEPT_HEADERS - {"content-encoding"})


@pytest.mark.parametrize(
    ("status", "name"), list(product(STATUSES, NAMES) if FULL else zip(cycle(STATUSES), NAMES, strict=False))
)
async def test_header_bytes_that_are_not_utf8_are_recorded(tmp_path: Path, name: str, status: str) -> None:
    head = f"HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n{name}: ".encode()
    ([fetched],), stores, _ = await run(tmp_path, raw(head + b"/caf\xe9\xff\r\n\r\nHi"), scheduled())
    assert fetched.headers[name] == "/caféÿ"
    assert PageFetched.model_validate_json(fetched.model_dump_json()) == fetched
    assert (await stores.pages.get(fetched.page_id)).rows["fetched"]["headers"][name] == "/caféÿ"


HOSTILE_HEADS = {
    "status line": b"HTTP/1.1 2\xff0 OK\r\n\r\n",
    "reason": b"HTTP/1.1 500 \xff\xfe\r\n\r\n",
    "header name": b"HTTP/1.1 200 OK\r\nx\xff: y\r\n\r\n",
    "content encoding": b"HTTP/1.1 200 OK\r\ncontent-encoding: \xff\xed\xb3\xbf\r\n\r\n",
    "location of another scheme": b"HTTP/1.1 302 Found\r\nlocation: \xff:\xfe\r\n\r\n",
    "media type": b"HTTP/1.1 200 OK\r\ncontent-type: \xff/\xfe\r\n\r\n",
}


@pytest.mark.parametrize("head", HOSTILE_HEADS.values(), ids=HOSTILE_HEADS.keys())
async def test_errors_about_such_bytes_are_recorded(tmp_path: Path, head: bytes) -> None:
    ([fetched],), _, _ = await run(tmp_path, raw(head), scheduled())
    assert PageFetched.model_validate_json(fetched.model_dump_json()) == fetched


async def test_a_page_that_was_removed_on_request_is_not_requested_until_that_is_withdrawn(tmp_path: Path) -> None:
    stores, page = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs)), page_id(URL)
    await stores.pages.put(page, Removed.of_row({"reason": "request", "generation": 5, "at": 5}), 5)
    async with bad_server(tmp_path, {"/x": response(b"<p>Hi")}) as server:
        stage = Stage(server, stores)
        try:
            (held,) = await stage.fetch(scheduled(generation=99))
            assert (held.outcome, held.retryable, held.generation, held.body_ref) == ("refused", False, 99, None)
            assert held.removed_on_request
            assert "riffle remove --undo" in str(held.error)
            assert server.requests == []
            assert set((await stores.pages.get(page)).rows) == {"removed"}, "nothing is stored"
            record = withdrawal(await stores.pages.get(page), 7)
            await stores.pages.put(page, record, record.at)
            (fetched,) = await stage.fetch(scheduled())
            assert (fetched.outcome, len(server.requests)) == ("ok", 1)
        finally:
            await stage.agent.stop()


async def test_a_page_that_a_program_removed_is_not_requested_until_it_is_written_again(tmp_path: Path) -> None:
    stores, page = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs)), page_id(URL)
    await stores.pages.put(page, Withheld(url=URL, generation=5, at=5), 5)
    async with bad_server(tmp_path, {"/x": response(b"<p>Hi")}) as server:
        stage = Stage(server, stores)
        try:
            (held,) = await stage.fetch(scheduled(generation=99))
            assert (held.outcome, held.removed_on_request, server.requests) == ("refused", True, [])
            assert set((await stores.pages.get(page)).rows) == {"withheld"}, "so the next visit is refused, too"
            await stores.pages.put(page, Fetched.of_row({"url": URL, "generation": 7, "source": "html"}), 7)
            (fetched,) = await stage.fetch(scheduled())
            assert (fetched.outcome, len(server.requests)) == ("ok", 1)
        finally:
            await stage.agent.stop()


async def test_a_second_delivery_emits_the_same_without_a_request(tmp_path: Path) -> None:
    event = scheduled()
    (first, again), _, requests = await run(tmp_path, response(b"<p>Hi"), event, event)
    assert first == again
    assert requests == 1


async def test_another_lease_of_the_page_is_another_request(tmp_path: Path) -> None:
    (first, second), _, requests = await run(tmp_path, response(b"<p>Hi"), scheduled(), scheduled())
    assert first[0].lease_id != second[0].lease_id
    assert first[0].generation < second[0].generation
    assert requests == 2


async def test_an_expired_lease_is_not_fetched(tmp_path: Path) -> None:
    (outputs,), _, requests = await run(tmp_path, response(b"<p>Hi"), scheduled(seconds=-3_600, generation=7))
    [answer] = outputs
    assert (answer.outcome, answer.retryable, answer.lease_expired, answer.generation) == ("timeout", True, True, 7)
    assert requests == 0


async def test_a_lease_that_expired_within_the_clock_bound_is_fetched(tmp_path: Path) -> None:
    (outputs,), _, requests = await run(tmp_path, response(b"<p>Hi"), scheduled(seconds=-2, generation=7))
    assert (outputs[0].outcome, outputs[0].generation, requests) == ("ok", 7, 1)


@pytest.mark.parametrize("purpose", ["page", "robots"])
async def test_a_request_that_would_come_too_soon_is_sent_back(tmp_path: Path, purpose: str) -> None:
    """Robots files of other hosts that are redirected here are asked for at the pace of this host, too."""
    stores = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs), pace_holds=MemoryPaceHolds())
    hosts = [f"h{number}.example" if purpose == "robots" else "bad.example" for number in range(3)]
    async with bad_server(tmp_path, {"/x": response(b"User-agent: *")}) as server:
        agent = FetchAgent(server.settings(delay_seconds=3_600), stores)
        answers = [await agent.handle(delivery(scheduled(purpose=purpose, host=host))) for host in hosts]
        await agent.stop()
    (first,), *others = answers
    assert isinstance(first, PageFetched)
    assert (first.outcome, len(server.requests)) == ("ok", 1)
    postponed = [one for answer in others for one in answer if isinstance(one, PageFetched)]
    assert [(one.outcome, one.retryable, one.attempt) for one in postponed] == [("rate_limited", True, 2)] * 2
    first_wait, second_wait = (one.postponed_seconds or 0 for one in postponed)
    assert 3_500 < first_wait < 3_601 < 7_100 < second_wait < 7_201, "one after the other"


async def test_a_stalled_response_does_not_stop_the_loop_of_the_kafka_client(tmp_path: Path) -> None:
    stalled = threading.Event()

    def clock() -> float:
        """Stop the thread that makes the requests, as a slow decoder would, until the test ends it."""
        stalled.wait()
        return time.monotonic()

    async with bad_server(tmp_path, {"/x": response(b"<p>Hi")}) as server:
        fetching = await FetchThread.start(server.settings(), clock)
        answer = asyncio.create_task(fetching.get(scheduled()))
        try:
            for _ in range(100):  # turns of this loop, while the other one stands still
                await asyncio.sleep(0.001)
            assert not answer.done()
        finally:
            stalled.set()
        assert (await answer).body == b"<p>Hi"
        await fetching.stop()


async def test_invalid_settings_of_the_fetch_thread_are_raised_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only loopback addresses"):
        await FetchThread.start(CrawlSettings(local_hosts={"a.example": "10.0.0.1:443"}))


async def test_a_cancelled_fetch_cancels_its_request(tmp_path: Path) -> None:
    cancelled = asyncio.Event()

    async def silent(writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            await asyncio.sleep(0.01)
        cancelled.set()

    async with bad_server(tmp_path, {"/x": silent}) as server:
        fetching = await FetchThread.start(server.settings())
        answer = asyncio.create_task(fetching.get(scheduled()))
        while not server.requests:
            await asyncio.sleep(0.01)
        answer.cancel()
        async with asyncio.timeout(30):
            await cancelled.wait()
        await fetching.stop()


def leave() -> None:
    raise SystemExit("a callback of the loop")


@pytest.mark.parametrize("way", ["a callback leaves", "the loop stops"])
async def test_the_end_of_the_thread_is_an_outage_at_once_and_the_next_request_starts_another(
    tmp_path: Path, way: str
) -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with bad_server(tmp_path, {"/slow": silent, "/x": response(b"<p>Hi")}) as server:
        stage = Stage(server, Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs)))
        ended = await stage.agent._started()
        slow = "https://bad.example/slow"
        waiting = asyncio.create_task(stage.fetch(scheduled(url=slow, page_id=page_id(slow))))
        while not server.requests:
            await asyncio.sleep(0.01)
        loop, *_ = ended._opened.result()
        with capture_logs() as logs:
            loop.call_soon_threadsafe(leave if way == "a callback leaves" else loop.stop)
            async with asyncio.timeout(60):
                with pytest.raises(ThreadEnded) as raised:
                    await waiting
                await asyncio.to_thread(ended._thread.join)
                with pytest.raises(ThreadEnded):
                    await ended.get(scheduled())
                with pytest.raises(ThreadEnded):
                    await ended.addresses(scheduled().url)
        assert is_outage(raised.value)
        assert [entry["log_level"] for entry in logs if "the thread" in entry["event"]] == ["error"]
        [fetched] = await stage.fetch(scheduled())
        assert fetched.outcome == "ok"
        await ended.stop()
        await stage.agent.stop()


async def test_a_machine_without_threads_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ThreadEnded):
        await FetchThread.start(CrawlSettings())


async def test_a_thread_without_a_loop_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller waited for ever."""

    def refuse() -> asyncio.AbstractEventLoop:
        raise OSError(errno.EMFILE, "too many open files")

    policy = asyncio.get_event_loop_policy()
    monkeypatch.setattr(policy, "new_event_loop", refuse)
    async with asyncio.timeout(60):
        with pytest.raises(ThreadEnded):
            await FetchThread.start(CrawlSettings())


class FailingOnce(MemoryPages):
    """A store whose first write fails, like one that is unavailable for a moment."""

    failed = False

    async def put(self, *args: Any) -> None:
        if not self.failed:
            self.failed = True
            raise StoreUnavailable("unavailable")
        await super().put(*args)


async def test_a_crash_between_blob_and_record_leads_to_one_record(tmp_path: Path) -> None:
    event = scheduled()
    stores = Stores(blobs=(blobs := MemoryBlobs()), pages=FailingOnce(blobs))
    async with bad_server(tmp_path, {"/x": response(b"<p>Hi")}) as server:
        stage = Stage(server, stores)
        with pytest.raises(StoreUnavailable):
            await stage.fetch(event)
        [fetched] = await stage.fetch(event)
        assert [fetched] == await stage.fetch(event)
        await stage.agent.stop()
    assert (await stores.pages.get(event.page_id)).rows["fetched"]["lease_id"] == str(event.lease_id)
    assert len(blobs.of_page(event.page_id)) == 2, "the body and the exchange, each once"


VISITS = [
    # Hours since the last visit, purpose, whether the contents are in the partition of the page.
    pytest.param(None, "page", True, id="the first visit"),
    pytest.param(25, "page", True, id="a visit of the next day"),
    pytest.param(23, "page", False, id="two visits on a day: the partition would grow"),
    pytest.param(None, "robots", False, id="a file that is equal on many hosts"),
]


@pytest.mark.parametrize(("hours", "purpose", "is_of_record"), VISITS)
async def test_the_contents_of_a_page_that_is_rarely_visited_are_stored_with_its_record(
    tmp_path: Path, hours: int | None, purpose: str, is_of_record: bool
) -> None:
    stores = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs))
    event, now = scheduled(purpose=purpose), 1_700_000_000_000_000
    if hours:
        known = Fetched.of_row({"url": URL, "generation": now - hours * 3_600_000_000, "outcome": "ok"})
        await stores.pages.put(event.page_id, known, 1)
    async with bad_server(tmp_path, {"/x": response(b"<p>Hi")}) as server:
        stage = Stage(server, stores)
        (fetched,) = await stage.fetch(event.model_copy(update={"generation": now}))
        await stage.agent.stop()
    assert fetched.body_ref
    refs = [ref for ref in (fetched.body_ref, fetched.exchange_ref) if ref]
    assert {is_of_page(ref) for ref in refs} == {is_of_record}
    assert all([await stores.blobs.get(ref) for ref in refs])
    assert len(blobs.of_page(event.page_id)) == len(refs) * is_of_record


async def test_a_server_on_this_machine_is_fetched_only_if_it_is_allowed_and_named_as_such(tmp_path: Path) -> None:
    """The page is at a loopback address with http and a port. A public name that leads there stays forbidden."""
    async with plain_server(b"<p>Mine") as port:
        allowed = await FetchThread.start(CrawlSettings(allow_loopback=True))
        strict = await FetchThread.start(CrawlSettings())
        own = scheduled(url=f"http://localhost:{port}/", host=f"localhost:{port}")
        assert (await allowed.get(own)).body == b"<p>Mine"
        assert (await strict.get(own)).verdict.outcome == "guarded"
        for url in (f"http://127.0.0.1.nip.example:{port}/", f"https://127.0.0.1:{port}/", f"http://0.0.0.0:{port}/"):
            assert (await strict.get(scheduled(url=url, host="x"))).body is None
        await allowed.stop()
        await strict.stop()


@asynccontextmanager
async def plain_server(body: bytes) -> AsyncIterator[int]:
    """Serve one page over HTTP on loopback, and yield the port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_the_exchange_is_kept_as_it_was(tmp_path: Path) -> None:
    packed = gzip.compress(b"<p>Hi", mtime=0)
    head = b"HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nX-Odd: a  b\r\nContent-Encoding: gzip\r\n"
    length = b"Content-Length: %d\r\n\r\n" % len(packed)
    ([fetched],), stores, _ = await run(tmp_path, raw(head + length + packed), scheduled())
    assert fetched.exchange_ref
    exchange = decode_exchange(await stores.blobs.get(fetched.exchange_ref))
    assert exchange.response.startswith(b"HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nX-Odd: a  b\r\n")
    assert exchange.request.startswith(b"GET /x HTTP/1.1\r\n")
    assert b"User-Agent: RiffleBot" in exchange.request
    assert (exchange.address, exchange.received) == ("127.0.0.1", packed)
