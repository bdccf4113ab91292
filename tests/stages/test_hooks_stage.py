"""The hooks stage: who hears of what, signatures, and receivers that are away, slow, or at a forbidden address."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from schemas import Envelope, Event, HookDue, PageIndexed, PageRemoved
from schemas.ids import event_id, page_id
from streams.errors import NotHeard, PoisonError, StoreUnavailable
from streams.hooks import agent as hooks_agent
from streams.hooks import signing
from streams.hooks.agent import MAX_REST_SECONDS, READ_SECONDS, HooksAgent, rest_seconds
from streams.hooks.failing import MIN_FAILURES, OFF_AFTER_SECONDS, put_failing, read_failing
from streams.hooks.log import SLOTS, read_tries
from streams.hooks.sending import HookPost, Reply
from streams.hooks.signing import MEDIA_TYPE, headers_of, secrets_at, sign
from streams.runtime.agent import Delivery
from streams.settings import CrawlSettings
from streams.stores.memory import MemoryNotes
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import ApiKey, Hook, HookSecret, Site
from tests.stages.gateway_fakes import NOW
from tests.stages.suggested_pages import indexed

SECRET = "whsec_" + b64encode(b"s" * 32).decode()
URL = "https://docs.example/guide"
RECEIVER = "https://app.example/hook"
ALL = ("pages.indexed", "pages.removed")
NOW_MICROS = int(NOW.timestamp() * 1e6)


class Receiver:
    """A receiver that keeps what it hears, and answers with these replies, then that it took it."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.heard: list[tuple[str, Mapping[str, str], bytes]] = []

    async def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        self.heard.append((url, headers, body))
        await asyncio.sleep(0)
        return self.replies.pop(0) if self.replies else Reply(204)


class World:
    """The stage with a clock of its own, over stores with some keys and hooks."""

    def __init__(self, *replies: Reply) -> None:
        self.stores: Stores = memory_stores()
        self.receiver, self.seconds = Receiver(*replies), 0.0
        self.agent = self.restarted()

    def restarted(self) -> HooksAgent:
        """The stage as another process begins it."""
        return HooksAgent(
            self.stores.api_keys,
            self.stores.notes,
            self.receiver,
            now=lambda: NOW_MICROS + int(self.seconds * 1e6),
            monotonic=lambda: self.seconds,
            random=lambda: 0.5,
            gateway="https://riffle.example/",
        )

    async def hook(self, hook_id: str = "one", *, key: dict[str, Any] | None = None, **fields: Any) -> Hook:
        made = ApiKey(hook_id, "test", b"", **{"scopes": ("changes",), **(key or {})})
        await self.stores.api_keys.put(made, 1)
        given: dict[str, Any] = {"url": RECEIVER, "events": ALL, "secrets": (HookSecret(SECRET),), **fields}
        hook = Hook(hook_id, hook_id, **given)
        await self.stores.api_keys.put_hook(hook, 1)
        return hook

    async def events_for(self, delivery: Delivery) -> Sequence[Event]:
        self.seconds += READ_SECONDS
        return await self.agent.handle(delivery)

    async def hearing_of(self, delivery: Delivery) -> list[str]:
        """The hooks that hear of an event."""
        return [event.hook_id for event in await self.events_for(delivery) if isinstance(event, HookDue)]


def removed(url: str) -> Delivery:
    event = PageRemoved(page_id=page_id(url), url=url, generation=1, reason="gone")
    envelope = Envelope(id=event_id("t", url, "r"), type=event.event_type(), source="/riffle/frontier", time=NOW)
    return Delivery(event, envelope, event.topic, 0, 0)


def due(event: Event, attempt: int = 1) -> Delivery:
    envelope = Envelope(id=event_id("t", "due", "k"), type=event.event_type(), source="/riffle/hooks", time=NOW)
    return Delivery(event, envelope, event.topic, 0, 0, attempt)


PUBLIC, PRIVATE, INNER = "https://docs.example/a", "https://plans.example/a", "https://in.docs.example/a"
HEARING = [
    ("all pages", {}, {}, {"public", "removed"}),
    ("one topic", {}, {"events": ("pages.removed",)}, {"removed"}),
    ("a prefix", {}, {"prefix": "https://other.example/"}, set()),
    ("its prefix", {}, {"prefix": "https://docs.example/"}, {"public", "removed"}),
    ("no scope", {"scopes": ("search", "pages", "write")}, {}, set()),
    ("revoked", {"revoked": 1}, {}, set()),
    ("expired", {"expires": NOW_MICROS - 1}, {}, set()),
    ("the private site", {"site": "plans"}, {}, {"private"}),
    ("a site around a private one", {"site": "docs"}, {}, {"public", "removed"}),
    ("a site that was removed", {"site": "gone"}, {}, set()),
]


@pytest.mark.parametrize(("key", "fields", "expected"), [row[1:] for row in HEARING], ids=[row[0] for row in HEARING])
async def test_a_hook_hears_of_pages_that_its_key_may_see(key: Any, fields: Any, expected: set[str]) -> None:
    world = World()
    await world.stores.api_keys.put_site(Site("plans", "Plans", ("plans.example",), is_private=True), 1)
    await world.stores.api_keys.put_site(Site("inner", "Inner", ("in.docs.example",), is_private=True), 1)
    await world.stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",)), 1)
    await world.hook(key=key, **fields)
    events = {
        "public": indexed(PUBLIC, "A"), "private": indexed(PRIVATE, "B"), "inner": indexed(INNER, "C"),
        "removed": removed(PUBLIC),
    }  # fmt: skip
    assert {name for name, event in events.items() if await world.hearing_of(event)} == expected


async def test_an_event_that_its_key_may_no_longer_see_is_not_sent() -> None:
    world = World()
    await world.hook()
    (event,) = await world.events_for(indexed(URL, "A"))
    await world.stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",), is_private=True), 1)
    await world.events_for(due(event))
    await world.stores.api_keys.remove_site("docs", 2)
    await world.stores.api_keys.remove_hook("one", 2)
    await world.events_for(due(event))
    assert not world.receiver.heard


async def test_an_event_is_delivered_as_a_signed_cloud_event() -> None:
    world = World()
    await world.hook()
    arrived = indexed(URL, "A guide")
    (event,) = await world.events_for(arrived)
    assert await world.events_for(due(event)) == ()
    ((url, headers, body),) = world.receiver.heard
    made = json.loads(body)
    assert (url, headers["Content-Type"], made["specversion"]) == (RECEIVER, MEDIA_TYPE, "1.0")
    assert made["id"] == headers["webhook-id"] == str(arrived.envelope.id)
    assert (made["type"], made["subject"]) == ("riffle.pages.indexed.v1", str(page_id(URL)))
    assert made["dataschema"] == "https://riffle.example/api/v1/schemas/pages.indexed.v1"
    assert PageIndexed.model_validate(made["data"]) == arrived.event
    timestamp = int(headers["webhook-timestamp"])
    assert headers["webhook-signature"] == sign(SECRET, made["id"], timestamp, body)
    (tried,) = await read_tries(world.stores.notes, "one")
    assert (tried.status, tried.error, tried.url, tried.attempt) == (204, "", URL, 1)


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """The example of its specification."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


SECRETS = [
    ((HookSecret("a"),), 5, ["a"]),
    ((HookSecret("a"), HookSecret("b", until=10)), 9, ["a", "b"]),
    ((HookSecret("a"), HookSecret("b", until=10)), 10, ["a"]),
]


@pytest.mark.parametrize(("secrets", "now", "signing"), SECRETS)
def test_two_secrets_sign_while_one_is_exchanged(secrets: Any, now: int, signing: list[str]) -> None:
    assert secrets_at(secrets, now) == signing
    headers = headers_of("id", b"{}", [SECRET, SECRET], NOW_MICROS)
    assert len(headers["webhook-signature"].split()) == 2


async def test_the_same_event_twice_leads_to_the_same_deliveries_and_a_copy_that_is_known() -> None:
    """Redelivery, and a crash before or after the POST: the receiver hears the same id again."""
    world = World()
    await world.hook()
    events = [tuple(await world.events_for(indexed(URL, "A"))) for _ in range(2)]
    assert events[0] == events[1]
    await world.events_for(due(events[0][0]))
    world.agent = world.restarted()  # killed before the acknowledgement
    await world.events_for(due(events[0][0]))
    assert len({headers["webhook-id"] for _, headers, _ in world.receiver.heard}) == 1
    assert len(world.receiver.heard) == 2


async def test_a_crash_within_the_post_is_a_try_again() -> None:
    world = World()
    await world.hook()
    (event,) = await world.events_for(indexed(URL, "A"))

    async def killed(url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        raise asyncio.CancelledError

    world.agent._post = killed
    with pytest.raises(asyncio.CancelledError):
        await world.events_for(due(event))
    world.agent = world.restarted()
    await world.events_for(due(event))
    assert len(world.receiver.heard) == 1


async def test_a_receiver_that_is_away_rests_longer_each_time_and_one_event_tries_it() -> None:
    world = World(*[Reply(503, "status 503")] * 3)
    await world.hook()
    (event,) = await world.events_for(indexed(URL, "A"))
    for failures in (1, 2, 3):
        with pytest.raises(NotHeard, match="status 503"):
            await world.agent.handle(due(event))
        with pytest.raises(NotHeard, match=f"rests after {failures} failures"):
            await world.agent.handle(due(event))
        world.seconds += rest_seconds(failures, 0.5)
    assert len(world.receiver.heard) == 3
    together = await asyncio.gather(*(world.agent.handle(due(event)) for _ in range(9)), return_exceptions=True)
    assert sum(isinstance(each, NotHeard) for each in together) == 8, "one event tries whether it is back"
    assert await world.agent.handle(due(event)) == ()
    assert {tried.status for tried in await read_tries(world.stores.notes, "one")} == {503, 204}


def test_the_rest_doubles_up_to_a_bound_with_jitter() -> None:
    assert [rest_seconds(failures, 1.0) for failures in (1, 2, 3)] == [1.0, 2.0, 4.0]
    assert rest_seconds(10_000, 1.0) == MAX_REST_SECONDS
    assert rest_seconds(3, 0.0) == 2.0


async def test_a_slow_receiver_keeps_only_its_own_events_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks_agent, "PLACE_SECONDS", 0.01)
    world, answer = World(), asyncio.Event()
    await world.hook()
    await world.hook("two", url="https://quick.example/")
    events = await world.events_for(indexed(URL, "A"))
    quick = world.receiver

    async def post(url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        if url == RECEIVER:
            await answer.wait()
        return await quick(url, headers, body)

    world.agent._post = post
    slow, fast = sorted((event for event in events if isinstance(event, HookDue)), key=lambda event: event.hook_id)
    waiting = [asyncio.create_task(world.agent.handle(due(slow))) for _ in range(hooks_agent.AT_ONCE)]
    await asyncio.sleep(0)
    with pytest.raises(NotHeard, match="is slow"):
        await world.agent.handle(due(slow))
    assert await world.agent.handle(due(fast)) == ()
    answer.set()
    await asyncio.gather(*waiting)


async def test_a_log_that_can_not_be_written_is_no_reason_to_send_an_event_again() -> None:
    class Away(MemoryNotes):
        async def put(self, *args: Any, **fields: Any) -> None:
            raise StoreUnavailable("Cassandra is away")

    world = World()
    world.stores.notes = Away()
    world.agent = world.restarted()
    await world.hook()
    (event,) = await world.events_for(indexed(URL, "A"))
    assert await world.events_for(due(event)) == ()


async def test_the_log_is_bounded() -> None:
    world = World()
    await world.hook()
    (event,) = await world.events_for(indexed(URL, "A"))
    for _ in range(SLOTS + 20):
        await world.agent.handle(due(event))
    assert len(await read_tries(world.stores.notes, "one")) == SLOTS


async def test_a_receiver_that_is_gone_switches_its_hook_off_at_once() -> None:
    world = World(Reply(410, "status 410"))
    await world.hook()
    (event,) = await world.events_for(indexed(URL, "A"))
    assert await world.events_for(due(event)) == (), "nothing tries it again"
    failing = (await read_failing(world.stores.notes))["one"]
    assert (failing.off > 0, "410" in failing.why) == (True, True)
    assert [each.error for each in await read_tries(world.stores.notes, "one")] == [
        "status 410", f"switched off: {failing.why}",
    ]  # fmt: skip
    world.agent = world.restarted()
    assert await world.hearing_of(indexed(URL, "B")) == []
    await world.events_for(due(event))
    assert len(world.receiver.heard) == 1, "what waited for it is dropped"
    await put_failing(world.stores.notes, "one", None)  # its owner switches it on
    assert await world.hearing_of(indexed(URL, "C")) == ["one"]


async def test_a_receiver_that_took_nothing_for_days_switches_its_hook_off() -> None:
    world = World(*[Reply(503, "status 503")] * (MIN_FAILURES + 9))
    await world.hook()
    (event,) = await world.events_for(indexed(URL, "A"))
    for _ in range(MIN_FAILURES):
        assert not any(each.off for each in (await read_failing(world.stores.notes)).values())
        with pytest.raises(NotHeard):
            await world.events_for(due(event))
        world.seconds += OFF_AFTER_SECONDS / MIN_FAILURES
    since = (await read_failing(world.stores.notes))["one"].since
    assert await world.events_for(due(event)) == ()
    failing = (await read_failing(world.stores.notes))["one"]
    assert (failing.since, "3 days" in failing.why) == (since, True)


async def test_two_failures_with_days_between_them_are_no_reason() -> None:
    world = World(*[Reply(503, "status 503")] * 2)
    await world.hook()
    (event,) = await world.events_for(indexed(URL, "A"))
    for _ in range(2):
        with pytest.raises(NotHeard):
            await world.events_for(due(event))
        world.seconds += OFF_AFTER_SECONDS
    await world.events_for(due(event))
    assert await read_failing(world.stores.notes) == {}, "an event was taken"


async def test_a_test_that_is_taken_switches_a_hook_on() -> None:
    world = World(Reply(410, "status 410"))
    hook = await world.hook()
    (event,) = await world.events_for(indexed(URL, "A"))
    await world.events_for(due(event))
    test = HookDue(hook_id=hook.id, cloud_event=signing.test_event(hook.id, "e" * 32, NOW))
    world.seconds += MAX_REST_SECONDS
    await world.events_for(due(test))
    assert await world.hearing_of(indexed(URL, "B")) == ["one"]


async def test_an_event_of_another_type_is_a_fault() -> None:
    other = PageRemoved(page_id=page_id(URL), url=URL, generation=1, reason="gone")
    world = World()
    with pytest.raises(PoisonError):
        await world.agent.handle(replace(removed(URL), event=OtherEvent(**other.model_dump())))


class OtherEvent(Event):
    """An event that the stage does not read."""


@asynccontextmanager
async def served(handler: Any) -> AsyncIterator[str]:
    """A receiver on this machine. Yields its address."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


LOCAL = CrawlSettings(contact_url="https://riffle.test/", allow_loopback=True)
STRICT = CrawlSettings(contact_url="https://riffle.test/")


@pytest.mark.parametrize(("status", "error"), [(204, ""), (200, ""), (500, "status 500"), (410, "status 410")])
async def test_a_real_receiver_answers(status: int, error: str) -> None:
    received: list[tuple[str, bytes]] = []

    async def handler(request: web.Request) -> web.Response:
        received.append((request.headers["webhook-id"], await request.read()))
        return web.Response(status=status)

    post = HookPost(LOCAL)
    async with served(handler) as address:
        reply = await post(f"{address}/hook", headers_of("id", b"{}", [SECRET], NOW_MICROS), b"{}")
    await post.close()
    assert (reply, received) == (Reply(status, error), [("id", b"{}")])


async def test_a_redirect_is_not_followed_and_a_long_answer_is_not_read() -> None:
    paths: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        paths.append(request.path)
        if request.path == "/away":
            return web.Response(status=307, headers={"Location": "/inside"})
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:  # without an end
            await answer.write(b"x" * 65_536)

    post = HookPost(LOCAL, seconds=20)
    async with served(handler) as address:
        away = await post(f"{address}/away", {}, b"{}")
        endless = await post(f"{address}/endless", {}, b"{}")
    await post.close()
    assert (away.status, away.error) == (307, "status 307: redirects are not followed")
    assert endless == Reply(200)
    assert paths == ["/away", "/endless"]


async def test_a_receiver_that_does_not_answer_has_a_deadline() -> None:
    async def handler(request: web.Request) -> web.Response:
        await asyncio.sleep(1)
        return web.Response()

    post = HookPost(LOCAL, seconds=0.3)
    async with served(handler) as address:
        reply = await post(address, {}, b"{}")
    await post.close()
    assert reply.error == "no answer within 0 s"


FORBIDDEN = [
    "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest/meta-data", "https://10.0.0.1/",
    "https://192.168.1.1/", "https://[::ffff:127.0.0.1]/", "https://100.100.100.200/", "https://localhost/",
    "http://127.0.0.1:9042/",
]  # fmt: skip


@pytest.mark.parametrize("url", FORBIDDEN)
async def test_the_guard_checks_the_address_of_each_try(url: str) -> None:
    """No matter who made the hook, or what its name leads to at this moment: nothing private is asked."""
    post = HookPost(STRICT, seconds=20)
    replies = [await post(url, {}, b"{}") for _ in range(2)]
    await post.close()
    for reply in replies:
        assert reply.status == 0
        assert reply.error
