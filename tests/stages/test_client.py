"""The Python client asks a real gateway over HTTP: both of its forms, its paging, its errors and its patience."""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from streams.client import ApiError, AsyncRiffle, NotReached, Riffle, requests
from streams.settings import AccessSettings
from streams.stores.opener import Stores
from tests.stages.gateway_fakes import gateway, searchable, statement
from tests.stages.test_gateway_access import new_key
from tests.stages.test_gateway_content import PAGE, TEXTS, URL, filled
from tests.stages.test_gateway_limits import Patient, serving


@pytest.fixture
async def stores() -> Stores:
    return await filled()


@pytest.fixture
async def address(stores: Stores) -> AsyncIterator[str]:
    async with serving(gateway(stores, allowed_hosts=("127.0.0.1",)), protocol=Patient) as port:
        yield f"http://127.0.0.1:{port}"


async def test_the_plain_form_answers_what_the_api_answers(address: str) -> None:
    def ask() -> dict[str, Any]:
        with Riffle(address) as riffle:
            return {
                "search": riffle.search("log", per_page=1, include=["docs.example"]),
                "results": [result["url"] for result in riffle.results("log", limit=5)],
                "page": riffle.page(URL)["page_id"],
                "extract": riffle.extract(URL)["statement_count"],
                "document": riffle.document(str(PAGE))["document"]["blocks"][0]["text"],
                "statements": [each["text"] for each in riffle.statements(str(PAGE))],
                "vectors": len(list(riffle.vectors(str(PAGE)))),
                "similar": [each["url"] for each in riffle.similar(URL)["pages"]],
                "feed": riffle.feed("log"),
            }

    found = await asyncio.to_thread(ask)
    assert [result["host"] for result in found["search"]["results"]] == ["docs.example"]
    assert sorted(found["results"]) == [URL, "https://other.example/"]
    assert (found["page"], found["extract"], found["document"]) == (str(PAGE), 7, TEXTS[0])
    assert (found["statements"], found["vectors"]) == (TEXTS, 7)
    assert found["similar"] == ["https://other.example/"]
    assert "http://www.w3.org/2005/Atom" in found["feed"]


async def test_the_form_for_asyncio_answers_the_same(address: str) -> None:
    async with AsyncRiffle(address) as riffle:
        assert [result["url"] async for result in riffle.results("log", limit=1)]
        assert [each["text"] async for each in riffle.statements(str(PAGE))] == TEXTS


@pytest.mark.parametrize("form", [Riffle, AsyncRiffle])
def test_each_operation_of_the_api_is_a_method(form: type) -> None:
    paths = gateway(Stores()).openapi()["paths"]
    named = {each["operationId"] for path, of in paths.items() if path.startswith("/api/") for each in of.values()}
    assert len(named) > 30
    assert {name for name in named if not callable(getattr(form, name, None))} == set()


async def test_results_come_page_by_page_and_each_once() -> None:
    many = await searchable([statement(f"https://h{n}.example/", f"The log number {n}.") for n in range(23)])
    app = gateway(many, allowed_hosts=("127.0.0.1",))
    async with serving(app, protocol=Patient) as port, AsyncRiffle(f"http://127.0.0.1:{port}") as riffle:
        found = [each["url"] async for each in riffle.results("log number", limit=100, per_page=5)]
        few = [each["url"] async for each in riffle.results("log number", limit=7, per_page=5)]
    assert len(found) == len(set(found)) == 23
    assert few == found[:7]


async def test_a_problem_is_an_error_with_its_kind_and_advice(address: str) -> None:
    async with AsyncRiffle(address, key="rfl_wrong") as riffle:
        with pytest.raises(ApiError, match="401 The key is refused") as refused:
            await riffle.search("log")
    async with AsyncRiffle(address) as riffle:
        with pytest.raises(ApiError) as unknown:
            await riffle.page("https://unknown.example/")
    assert (refused.value.kind, unknown.value.kind, unknown.value.status) == ("key-refused", "unknown-page", 404)
    assert "riffle crawl" in unknown.value.hint


async def test_the_client_waits_as_long_as_the_gateway_asks(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    header = await new_key(stores, per_minute=120)
    paused = list[float]()

    async def sleep(seconds: float) -> None:
        paused.append(seconds)
        bucket.tokens = 5

    app = gateway(stores, allowed_hosts=("127.0.0.1",), access=AccessSettings(anonymous=False))
    key = header["Authorization"].split()[1]
    async with serving(app, protocol=Patient) as port, AsyncRiffle(f"http://127.0.0.1:{port}", key) as riffle:
        await riffle.search("log")
        ((_, client),) = app.state.gateway.guard.limiter._clients.items()
        bucket = client.bucket
        bucket.tokens = 0
        monkeypatch.setattr("streams.client.aio.asyncio", SimpleNamespace(sleep=sleep))
        assert (await riffle.search("log"))["results"]
    assert paused == [1.0]


def test_an_address_without_a_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    paused = list[float]()
    monkeypatch.setattr("streams.client.plain.time", SimpleNamespace(sleep=paused.append))
    with (
        Riffle("http://127.0.0.1:9") as riffle,
        pytest.raises(NotReached, match=r"http://127\.0\.0\.1:9 does not answer"),
    ):
        riffle.search("log")
    assert paused == [0.5, 1.0]


@pytest.mark.parametrize("form", [Riffle, AsyncRiffle])
def test_an_address_that_cannot_be_read_is_refused_at_once(form: Callable[[str], Riffle | AsyncRiffle]) -> None:
    with pytest.raises(ValueError, match="can't be read"):
        form("http://search.example:port")


@pytest.mark.parametrize("address", ["search.example", "127.0.0.1:8080", "ftp://search.example", ""])
@pytest.mark.parametrize("form", [Riffle, AsyncRiffle])
def test_an_address_of_no_web_server_is_refused_at_once(
    address: str, form: Callable[[str], Riffle | AsyncRiffle]
) -> None:
    with pytest.raises(ValueError, match="begins with http:// or https://"):
        form(address)


SECRET = "rfl_aaaaaaaaaaaa_SECRET"


@pytest.mark.parametrize("key", [f"{SECRET}\n{SECRET}", f"{SECRET} {SECRET}", f"{SECRET}\x00", f"{SECRET}\u2013x"])
@pytest.mark.parametrize("form", [Riffle, AsyncRiffle])
def test_a_key_that_no_header_can_carry_is_refused_at_once_and_not_shown(
    key: str, form: Callable[..., Riffle | AsyncRiffle]
) -> None:
    with pytest.raises(ValueError, match="the key has a character that no key has") as refused:
        form("http://riffle.test", key=key)
    assert "SECRET" not in str(refused.value)


def test_white_space_around_a_key_is_no_part_of_it() -> None:
    assert requests.headers_of(f" {SECRET}\r\n")["Authorization"] == f"Bearer {SECRET}"
    assert "Authorization" not in requests.headers_of("\n")


async def test_an_illegal_header_of_the_callers_own_client_is_not_shown(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sleep(_: float) -> None:
        return None

    monkeypatch.setattr("streams.client.aio.asyncio", SimpleNamespace(sleep=sleep))
    async with httpx2.AsyncClient(headers={"X-Secret": f"{SECRET}\n"}) as http:
        with pytest.raises(NotReached, match="LocalProtocolError") as refused:
            await AsyncRiffle(address, http=http).search("log")
    assert "SECRET" not in str(refused.value)


def test_an_answer_of_something_else_is_an_error() -> None:
    proxy = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(404, text="<h1>nginx</h1>")))
    with (
        Riffle("http://riffle.test", http=proxy) as riffle,
        pytest.raises(ApiError, match="No answer of a Riffle gateway"),
    ):
        riffle.search("log")


PAUSES = [
    (1, ApiError(503, {}), 0.5),
    (2, ApiError(503, {}), 1.0),
    (3, ApiError(503, {}), None),
    (1, ApiError(429, {}, 12.0), 12.0),
    (1, ApiError(429, {}, 3_600.0), None),
    (1, ApiError(400, {}), None),
    (1, ApiError(502, {"type": "urn:riffle:problem:not-fetched"}), None),
    (1, None, 0.5),
]


@pytest.mark.parametrize(("tried", "error", "pause"), PAUSES)
def test_what_is_tried_again(tried: int, error: ApiError | None, pause: float | None) -> None:
    assert requests.pause_before(tried, error) == pause


def over(answer: httpx2.Response | Exception) -> httpx2.Client:
    """A client of HTTP that gets this answer to everything."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return httpx2.Client(transport=httpx2.MockTransport(handle))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(httpx2.Response(200, html="<h1>Sign in</h1>"), ApiError, id="the page of a proxy"),
        pytest.param(httpx2.Response(200, json=[1]), ApiError, id="no object"),
        pytest.param(httpx2.DecodingError("no gzip"), NotReached, id="broken gzip"),
        pytest.param(httpx2.TooManyRedirects("around"), NotReached, id="redirects"),
    ],
)
def test_each_fault_of_an_answer_is_one_of_two_errors(
    answer: httpx2.Response | Exception, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.client.plain.time.sleep", lambda seconds: None)
    with pytest.raises(error):
        Riffle(http=over(answer)).search("x")


def test_an_answer_that_broke_off_is_an_error() -> None:
    begun = 'event: sentence\ndata: {"text": "A log is wri'
    with pytest.raises(NotReached, match="broke off"):
        Riffle(http=over(httpx2.Response(200, text=begun))).answer("x")


def test_a_client_of_http_that_was_given_stays_open() -> None:
    given = over(httpx2.Response(200, json={"results": []}))
    with Riffle(http=given) as riffle:
        riffle.search("x")
    assert not given.is_closed


def test_one_domain_is_a_list_of_one() -> None:
    asked: list[httpx2.URL] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url)
        return httpx2.Response(200, json={"results": []})

    Riffle(http=httpx2.Client(transport=httpx2.MockTransport(handle))).search("x", include="docs.example")
    assert asked[0].params.get_list("include") == ["docs.example"]


@pytest.mark.parametrize(
    ("after", "seconds"),
    [
        ("7", 7.0),
        ("Fri, 27 Nov 2026 08:00:30 GMT", 30.0),
        ("Fri, 27 Nov 2026 07:00:00 GMT", 0.0),
        ("\u00b2", None),
        ("soon", None),
        ("", None),
    ],
)
def test_the_time_to_wait_is_a_number_or_a_date(after: str, seconds: float | None) -> None:
    headers = {"retry-after": after, "date": "Fri, 27 Nov 2026 08:00:00 GMT"}
    assert requests.error_of(503, headers, None).retry_after_seconds == seconds
