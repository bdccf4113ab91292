"""The gateway keeps nothing of the people who search unless its operator wants it, and tells them what it keeps."""

from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from schemas import Event, QueryAsked
from schemas.ids import query_hash
from streams.gateway.search.query_events import DailySecret
from streams.gateway.serve import server_config
from streams.settings import AccessSettings, GatewaySettings, QueriesSettings, Settings
from streams.stores.opener import Stores
from tests.stages.gateway_fakes import FOLLOWED, NOW, TYPED, Dead, client, gateway, searchable, statement

HTML = {"Accept": "text/html"}


@pytest.fixture
async def stores() -> Stores:
    return await searchable(
        [statement("https://sqlite.org/wal.html", "The write-ahead log holds changes.", title="WAL")]
    )


async def test_no_query_leaves_the_process_unless_the_operator_wants_it(stores: Stores) -> None:
    sent: list[Event] = []
    app = gateway(stores, sent=sent)
    async with client(app) as web:
        assert (await web.get("/api/v1/search", params={"q": "zanzibar illness"})).status_code == 200
    await app.state.gateway.search.drain()
    assert sent == []


async def test_no_cookie_is_set_and_no_query_is_in_logs_metrics_and_referrers(
    stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "uvicorn")
    caplog.set_level("DEBUG", "streams")
    app, secret = gateway(stores), "zanzibarillness"
    with capture_logs() as lines:
        async with client(app) as web:
            answers = [
                await web.get(path, params={"q": secret, "host": secret}, headers=HTML)
                for path in ("/search", "/api/v1/search", "/page", "/nothing", "/labs/page")
            ]
            metrics = (await web.get("/metrics")).text
    assert {answer.status_code for answer in answers} > {200, 404}
    for answer in answers:
        assert "set-cookie" not in answer.headers
        assert answer.headers["referrer-policy"] == "same-origin"
    assert secret not in metrics
    assert secret not in str(lines)
    assert secret not in caplog.text


def test_there_is_no_access_log() -> None:
    assert server_config(gateway(Stores()), GatewaySettings()).access_log is False


def test_a_query_has_another_hash_on_another_day_and_in_another_process() -> None:
    hours = iter((0, 0, 23, 24, 47))  # the first one is the start
    secret = DailySecret(lambda: NOW + timedelta(hours=next(hours)))
    first, later, next_day, still_next_day = (query_hash("log", secret.value()) for _ in range(4))
    assert first == later != next_day == still_next_day
    assert query_hash("log", DailySecret(lambda: NOW).value()) not in (first, next_day)


async def test_the_gateway_says_what_it_stores_about_people(stores: Stores) -> None:
    async with client(gateway(stores)) as web:
        assert 'href="/privacy"' in (await web.get("/", headers=HTML)).text
        assert "nothing of it is kept" in (await web.get("/privacy")).text
    async with client(gateway(stores, limits={"publish_queries": True})) as web:
        assert "Your queries are kept for at most a day" in (await web.get("/privacy")).text


async def test_collected_queries_have_a_hash_of_the_person_and_are_sent_once_a_search(stores: Stores) -> None:
    sent: list[Event] = []
    app = gateway(
        stores,
        sent=sent,
        limits={"keys": ("k" * 32,)},
        queries=QueriesSettings(collect=True, min_people=7),
        access=AccessSettings(trusted_proxies=("127.0.0.1",)),
    )
    one, two = {"x-forwarded-for": "198.51.100.1"}, {"x-forwarded-for": "198.51.100.2"}
    async with client(app) as web:
        for person, query in ((one, "The  LOG"), (one, "the log"), (two, "the log"), (two, "x" * 300)):
            await web.get("/search", params={"q": query}, headers={**TYPED, **person, "user-agent": query})
        await web.get("/search", params={"q": "the log", "page": 2}, headers=FOLLOWED)
        for nobody in (HTML, {**TYPED, "sec-fetch-site": "cross-site"}, {**TYPED, "sec-fetch-mode": "no-cors"}):
            await web.get("/search", params={"q": "the log"}, headers=nobody)
        await web.get("/api/v1/search", params={"q": "the log"})
        page = (await web.get("/privacy")).text
    await app.state.gateway.search.drain()
    asked = [event for event in sent if isinstance(event, QueryAsked)]
    assert len(asked) == len(sent) == 3, "programs, other sites, images and further pages ask nothing new"
    assert {(event.query, event.partial) for event in asked} == {("the log", False)}
    assert len({event.query_hash for event in asked}) == 1
    assert [event.person for event in asked] == [asked[0].person, asked[0].person, asked[2].person]
    assert asked[0].person != asked[2].person
    assert "Queries are counted" in page
    assert "7 people" in page
    assert "nothing of it is kept" not in page


@pytest.mark.parametrize(("collect", "keys"), [(False, ("k" * 32,)), (True, ())])
async def test_nothing_is_collected_by_default_or_without_a_key(
    stores: Stores, collect: bool, keys: tuple[str, ...]
) -> None:
    sent: list[Event] = []
    app = gateway(stores, sent=sent, limits={"keys": keys}, queries=QueriesSettings(collect=collect))
    async with client(app) as web:
        await web.get("/search", params={"q": "the log"}, headers=HTML)
        assert "nothing of it is kept" in (await web.get("/privacy")).text
    await app.state.gateway.search.drain()
    assert sent == []
    assert not Settings().queries.collect


async def test_a_search_with_a_failed_part_is_collected_as_such(stores: Stores) -> None:
    sent: list[Event] = []
    stores.embedder = Dead()
    app = gateway(stores, sent=sent, limits={"keys": ("k" * 32,)}, queries=QueriesSettings(collect=True))
    async with client(app) as web:
        await web.get("/search", params={"q": "the log"}, headers=TYPED)
        await web.get("/search", params={"q": "zanzibar"}, headers=TYPED)
    await app.state.gateway.search.drain()
    asked = [(event.query, event.results, event.partial) for event in sent if isinstance(event, QueryAsked)]
    assert asked == [("the log", 1, True), ("zanzibar", 0, True)]
