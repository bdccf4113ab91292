"""Webhooks and streams of changes by the API: what a key may make, and what a client that comes again is sent."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator

from schemas import Envelope, Event, HookDue, PageFetched, PageIndexed, PageRemoved
from schemas.ids import event_id, page_id
from streams.client.streaming import EventReader
from streams.gateway.changes import stream
from streams.gateway.changes.hooks import MAX_HOOKS, OVERLAP_SECONDS
from streams.hooks.log import Try, write_try
from streams.hooks.signing import SECRET_PREFIX
from streams.runtime.readers.change_reader import MAX_PLACE_CHARS, read_place, write_place
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import CrawlCounts, Site
from tests.stages.gateway_fakes import NOW, client, gateway
from tests.stages.test_gateway_crawls import CRAWLS, SEED, Sent, key_of
from tests.stages.test_gateway_limits import Patient, serving

HOOKS = "/api/v1/hooks"
RECEIVER = "https://app.example/hook"
NOW_MICROS = int(NOW.timestamp() * 1e6)


@pytest.fixture
def stores() -> Stores:
    return memory_stores()


async def listener(stores: Stores, number: int = 1, **fields: Any) -> dict[str, str]:
    return await key_of(stores, number, **{"scopes": ("changes", "search"), "hosts": (), **fields})


async def test_a_hook_is_made_shown_without_its_secret_and_removed(stores: Stores) -> None:
    key, other = await listener(stores), await listener(stores, 2)
    async with client(gateway(stores, writes=Sent())) as web:
        made = await web.post(HOOKS, json={"url": "app.example/hook", "note": "ours"}, headers=key)
        path = made.headers["Location"]
        shown, listed = await web.get(path, headers=key), await web.get(HOOKS, headers=key)
        foreign = [await web.get(path, headers=other), await web.delete(path, headers=other)]
        nothing = await web.get(HOOKS, headers=other)
        removed, gone = await web.delete(path, headers=key), await web.get(path, headers=key)
    assert made.status_code == 201
    assert made.json()["secret"].startswith(SECRET_PREFIX)
    assert made.json()["url"] == RECEIVER
    assert "secret" not in shown.text
    assert listed.json()["hooks"] == [shown.json()]
    assert {each.status_code for each in foreign} == {404}
    assert nothing.json() == {"hooks": []}
    assert (removed.status_code, gone.status_code) == (204, 404)


REFUSED = [
    ("no key", None, {"url": RECEIVER}, 401, "key-needed"),
    ("no scope", {"scopes": ("write", "search")}, {"url": RECEIVER}, 403, "scope-missing"),
    ("no address", {}, {}, 400, "invalid-body"),
    ("a file", {}, {"url": "file:///etc/passwd"}, 400, "invalid-body"),
    ("credentials", {}, {"url": "https://a:b@app.example/"}, 400, "invalid-body"),
    ("an address by number", {}, {"url": "https://169.254.169.254/"}, 400, "invalid-body"),
    ("another topic", {}, {"url": RECEIVER, "events": ["pages.fetched"]}, 400, "invalid-body"),
    ("no topic", {}, {"url": RECEIVER, "events": []}, 400, "invalid-body"),
    ("a prefix without a path", {}, {"url": RECEIVER, "prefix": "https://docs"}, 400, "invalid-body"),
    ("a secret of its own", {}, {"url": RECEIVER, "secret": "mine"}, 400, "invalid-body"),
]


@pytest.mark.parametrize(
    ("fields", "wanted", "status", "kind"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
async def test_a_hook_that_is_not_made(stores: Stores, fields: Any, wanted: Any, status: int, kind: str) -> None:
    key = {} if fields is None else await listener(stores, **fields)
    async with client(gateway(stores, writes=Sent())) as web:
        answer = await web.post(HOOKS, json=wanted, headers=key)
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:riffle:problem:{kind}"), answer.text
    assert not await stores.api_keys.hooks()


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("public_url", ["", "https://riffle.example", "https://riffle.example/search"])
async def test_dataschema_leads_to_the_schema_of_the_data(stores: Stores, public_url: str) -> None:
    """Without a public address it is the schema's name, which the gateway's path takes, too."""
    key = await listener(stores)
    removed = PageRemoved(page_id=page_id(SEED), url=SEED, generation=2, reason="gone")
    app = gateway(stores, follow=Topics(page(SEED), removed).follow, public_url=public_url, allowed_hosts=("*",))
    async with client(app) as web:
        found = [data for _, _, data in events_of((await web.get("/api/v1/changes", headers=key)).text)]
        names = [data["dataschema"].removeprefix(f"{public_url}/api/v1/schemas/") for data in found]
        answers = [await web.get(f"/api/v1/schemas/{name}") for name in names]
        listed = (await web.get("/api/v1/schemas")).json()["schemas"]
        each = [(one["id"], (await web.get(one["self"])).json()["$id"]) for one in listed]
        topics = (await web.get("/api/v1/asyncapi.json")).json()["channels"]
        unknown = await web.get("/api/v1/schemas/..%2Fopenapi")
    assert [name.startswith("urn:") for name in names] == [not public_url] * 2
    for data, answer in zip(found, answers, strict=True):
        assert answer.headers["content-type"] == "application/schema+json"
        Draft202012Validator(answer.json()).validate(data["data"])
        assert not Draft202012Validator(answer.json()).is_valid({**data["data"], "url": 1})
    assert [name for name, named in each if name != named] == []
    assert set(topics) <= {name.removeprefix("urn:riffle:schema:").removesuffix(".v1") for name, _ in each}
    assert (unknown.status_code, unknown.json()["type"]) == (404, "urn:riffle:problem:not-found")


PREFIXES = [
    # domains of the key, what is asked for, what pages have
    ((), "docs.example/", "https://docs.example/"),
    ((), "http://docs.example/a", "https://docs.example/a"),
    (("docs.example",), "http://docs.example:8000/a", "http://docs.example:8000/a"),
    (("localhost",), "http://localhost/h/", "http://localhost/h/"),
    ((), "http://wiki:8000/", "http://wiki:8000/"),
]


@pytest.mark.parametrize(("hosts", "prefix", "placed"), PREFIXES)
async def test_a_prefix_is_written_as_the_addresses_of_pages_are(
    stores: Stores, hosts: Any, prefix: str, placed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "MAX_SECONDS", 0.1)
    monkeypatch.setattr(stream, "POLL_SECONDS", 0.0)
    key, topics = await listener(stores, hosts=hosts), Topics(page(f"{placed}x"), page("https://other.example/"))
    async with client(gateway(stores, writes=Sent(), follow=topics.follow)) as web:
        made = await web.post(HOOKS, json={"url": RECEIVER, "prefix": prefix}, headers=key)
        got = await web.get("/api/v1/changes", params={"prefix": prefix}, headers=key)
        wrong = await web.get("/api/v1/changes", params={"prefix": "docs.example"}, headers=key)
    assert made.json().get("prefix") == placed, made.text
    assert [data["data"]["url"] for _, _, data in events_of(got.text)] == [f"{placed}x"]
    assert (wrong.status_code, wrong.json()["type"]) == (400, "urn:riffle:problem:invalid-parameter")


async def test_a_key_has_a_bounded_number_of_hooks_and_a_repetition_makes_none(stores: Stores) -> None:
    key = await listener(stores)
    async with client(gateway(stores, writes=Sent())) as web:
        once = {**key, "Idempotency-Key": "one"}
        first, second = [await web.post(HOOKS, json={"url": RECEIVER}, headers=once) for _ in range(2)]
        more = [await web.post(HOOKS, json={"url": RECEIVER}, headers=key) for _ in range(MAX_HOOKS)]
    assert first.json() == second.json()
    assert [each.status_code for each in more] == [*[201] * (MAX_HOOKS - 1), 400]


async def test_an_exchanged_secret_signs_beside_the_new_one_for_a_day(stores: Stores) -> None:
    key = await listener(stores)
    async with client(gateway(stores, writes=Sent())) as web:
        made = (await web.post(HOOKS, json={"url": RECEIVER}, headers=key)).json()
        changed = (await web.post(f"{made['self']}/secret", headers=key)).json()
    (hook,) = await stores.api_keys.hooks()
    assert [each.secret for each in hook.secrets] == [changed["secret"], made["secret"]]
    assert [each.until for each in hook.secrets] == [0, NOW_MICROS + OVERLAP_SECONDS * 1_000_000]
    assert changed["former_secret_until"]


async def test_a_test_is_sent_on_its_way_and_the_deliveries_are_shown(stores: Stores) -> None:
    key, sent = await listener(stores), Sent()
    async with client(gateway(stores, writes=sent)) as web:
        hook = (await web.post(HOOKS, json={"url": RECEIVER}, headers=key)).json()
        tested = await web.post(f"{hook['self']}/test", headers=key)
        await write_try(stores.notes, hook["id"], 1, Try(NOW_MICROS, "a", "t", SEED, 1, 204, "", 3.0))
        await write_try(stores.notes, hook["id"], 2, Try(NOW_MICROS + 1, "b", "t", "", 2, 0, "no answer", 3.0))
        deliveries = (await web.get(f"{hook['self']}/deliveries", headers=key)).json()["deliveries"]
    (event,) = sent.events
    assert isinstance(event, HookDue)
    assert (tested.status_code, event.hook_id) == (202, hook["id"])
    assert (event.cloud_event["id"], event.cloud_event["type"]) == (tested.json()["id"], "riffle.hooks.tested.v1")
    assert [(each["id"], each.get("status"), each["error"]) for each in deliveries] == [
        ("b", None, "no answer"), ("a", 204, ""),
    ]  # fmt: skip


PLACES = [
    ("0.0.152", {(0, 0): 152}),
    ("0.0.152-0.1.98-1.0.7", {(0, 0): 152, (0, 1): 98, (1, 0): 7}),
    ("", None),
    ("0.0", None),
    ("0.0.-1", None),
    ("0.0.1;1", None),
    ("0.0." + "9" * 30, None),
    ("-".join(["0.0.1"] * MAX_PLACE_CHARS), None),
]


@pytest.mark.parametrize(("text", "place"), PLACES)
def test_a_place_of_a_client(text: str, place: Any) -> None:
    assert read_place(text) == place
    assert place is None or write_place(place) == text


class Reader:
    """A reader of a list of events, one at each poll."""

    def __init__(self, events: Sequence[Event], begin: int = 0) -> None:
        self.left = [*enumerate(events)][begin:]
        self.closed = False
        self.place = f"0.0.{begin}"

    def poll(self) -> list[tuple[Event, Envelope, str]]:
        if not self.left:
            return []
        number, event = self.left.pop(0)
        self.place = f"0.0.{number + 1}"
        kind = event.event_type()
        envelope = Envelope(id=event_id(kind, "c", event.subject(), number), type=kind, source="/riffle/x", time=NOW)
        return [(event, envelope, f"0.0.{number + 1}")]

    def close(self) -> None:
        self.closed = True


class Topics:
    """Kafka, as the gateway follows it."""

    def __init__(self, *events: Event) -> None:
        self.events, self.readers = events, list[Reader]()
        self.since: datetime | None = None

    async def follow(self, events: Sequence[type[Event]], place: str, since: datetime | None) -> Reader:
        known = read_place(place) if place else {(0, 0): 0}
        if known is None:
            raise ValueError
        wanted = [event for event in self.events if isinstance(event, tuple(events))]
        self.readers.append(Reader(wanted, known[0, 0]))
        self.since = since
        return self.readers[-1]


def page(url: str, crawl_id: str = "") -> PageIndexed:
    return PageIndexed(
        page_id=page_id(url), url=url, generation=1, crawl_id=crawl_id, title="A", statements=1, model="m",
        model_version="1", collection="c",
    )  # fmt: skip


def fetched(url: str, crawl_id: str) -> PageFetched:
    return PageFetched(
        page_id=page_id(url), url=url, host="docs.example", outcome="ok", generation=1, crawl_id=crawl_id
    )


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (
        ("POLL_SECONDS", 0.0),
        ("MAX_SECONDS", 0.3),
        ("QUIET_SECONDS", 0.05),
        ("PROGRESS_SECONDS", 0.01),
    ):
        monkeypatch.setattr(stream, name, seconds)


def events_of(text: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Id, name and data of each event of a stream."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in lines:
            found.append((lines.get("id", ""), lines["event"], json.loads(lines["data"])))
    return found


@pytest.mark.usefixtures("soon")
async def test_a_stream_has_the_pages_that_its_key_may_see_and_goes_on_where_it_ended(stores: Stores) -> None:
    await stores.api_keys.put_site(Site("plans", "Plans", ("plans.example",), is_private=True), 1)
    await stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",)), 1)
    urls = [SEED, "https://plans.example/secret", "https://other.example/", f"{SEED}/2"]
    topics, key = Topics(*map(page, urls)), await listener(stores, site="docs")
    async with client(gateway(stores, writes=Sent(), follow=topics.follow)) as web:
        first = await web.get("/api/v1/changes", headers=key)
        again = await web.get("/api/v1/changes", headers={**key, "Last-Event-ID": events_of(first.text)[0][0]})
        below = await web.get(f"/api/v1/changes?prefix={SEED}/", headers=key)
    assert first.headers["content-type"].startswith("text/event-stream")
    assert [(place, data["data"]["url"]) for place, _, data in events_of(first.text)] == [
        ("0.0.1", urls[0]),
        ("0.0.4", urls[3]),
    ]
    assert [place for place, _, _ in events_of(again.text)] == ["0.0.4"]
    assert [place for place, _, _ in events_of(below.text)] == ["0.0.4"]
    assert all(reader.closed for reader in topics.readers)


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [({"Last-Event-ID": "abc"}, "", 400), ({}, "?prefx=a", 400), ({"Authorization": ""}, "", 401)],
)
async def test_a_stream_that_is_not_opened(stores: Stores, headers: Any, query: str, status: int) -> None:
    key = await listener(stores)
    async with client(gateway(stores, follow=Topics().follow)) as web:
        answer = await web.get(f"/api/v1/changes{query}", headers={**key, **headers})
    assert answer.status_code == status, answer.text


@pytest.mark.usefixtures("soon")
async def test_a_gateway_has_a_bounded_number_of_streams(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_STREAMS", 2)
    key = await listener(stores)
    async with client(gateway(stores, follow=Topics(page(SEED)).follow)) as web:
        answers = await asyncio.gather(*(web.get("/api/v1/changes", headers=key) for _ in range(3)))
        later = await web.get("/api/v1/changes", headers=key)
    assert sorted(each.status_code for each in answers) == [200, 200, 429]
    assert later.status_code == 200


@pytest.mark.usefixtures("soon")
async def test_a_stream_without_events_has_the_place_where_it_goes_on(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its begin, and again and again while pages come that are not shown: so nothing is read twice, or missed."""
    monkeypatch.setattr(stream, "BEAT_SECONDS", 0.05)
    key, topics = await listener(stores), Topics(page("https://other.example/1"), page("https://other.example/2"))
    async with client(gateway(stores, follow=topics.follow)) as web:
        found = await web.get(f"/api/v1/changes?prefix={SEED}", headers={**key, "Last-Event-ID": "0.0.1"})
    assert found.text.startswith("id: 0.0.1\n\nid: 0.0.2\n\n")
    reader = EventReader()
    assert (list(reader.read(found.content)), reader.last_id) == ([], "0.0.2")


@pytest.mark.parametrize("path", ["/api/v1/changes", "/api/v1/crawls/ID/events"])
async def test_only_the_head_of_a_stream_opens_none(stores: Stores, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream lasts an hour, and a gateway has few of them: a connection that stays open must not hold one."""
    monkeypatch.setattr(stream, "MAX_STREAMS", 1)
    key, topics = await key_of(stores, scopes=("write", "changes")), Topics()
    app = gateway(stores, writes=Sent(), follow=topics.follow, allowed_hosts=("127.0.0.1",))
    async with serving(app, protocol=Patient) as port, httpx2.AsyncClient(trust_env=False, timeout=20) as web:
        web.base_url, web.headers = f"http://127.0.0.1:{port}", key
        crawl = (await web.post(CRAWLS, json={"seeds": [SEED]})).json()
        for _ in range(3):
            head = await web.head(path.replace("ID", crawl["id"]))
            assert (head.status_code, head.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        async with asyncio.timeout(20):  # in threads
            while not all(reader.closed for reader in topics.readers):
                await asyncio.sleep(0.01)
        async with web.stream("GET", path.replace("ID", crawl["id"])) as got:
            assert (got.status_code, head.headers.keys() - got.headers.keys()) == (200, set())
        await app.state.gateway.close()


@pytest.mark.usefixtures("soon")
async def test_the_events_of_a_crawl_begin_with_it_and_end_with_it(stores: Stores) -> None:
    key = await key_of(stores, scopes=("write", "changes"))
    topics = Topics()
    async with client(gateway(stores, writes=Sent(), follow=topics.follow)) as web:
        crawl = (await web.post(CRAWLS, json={"seeds": [SEED]}, headers=key)).json()
        await stores.frontier.put_states(crawl["id"], 0, {}, "worker", CrawlCounts({"settled": 1}, 1))
        topics.events = (fetched(SEED, crawl["id"]), page(SEED, crawl["id"]), page(f"{SEED}/x", "another"))
        answer = await web.get(f"{crawl['self']}/events", headers=key)
        foreign = await web.get("/api/v1/crawls/3f9a51c0d2b7/events", headers=key)
    found = events_of(answer.text)
    assert topics.since == datetime.fromisoformat(crawl["created"]).astimezone(UTC)
    assert [name for _, name, _ in found if name.startswith("pages.")] == ["pages.fetched", "pages.indexed"]
    assert {"state": "done"}.items() <= next(data for _, name, data in found if name == "progress").items()
    assert (found[-1][1], found[-1][2]) == ("end", {"state": "done"})
    assert foreign.status_code == 404
