"""The API does what its description says: schemathesis asks whatever the description allows, and what it does not.

It runs over the app with the memory stores. A text without letters is a valid string and no query, so a refusal of
valid data is not a fault here; each refusal must be a documented problem.
"""

import asyncio
import re
from collections import Counter
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, assume, given, settings
from pydantic import BaseModel
from starlette.responses import JSONResponse, PlainTextResponse, Response

from streams.gateway.http.openapi import operation_id
from streams.stores.opener import Stores
from tests.sizes import FULL
from tests.stages.gateway_fakes import gateway, searchable, statement
from tests.stages.test_gateway_content import PAGE, filled
from tests.stages.test_gateway_content import URL as PAGE_URL

URL = "https://logs.example/wal"
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
]
VALID, WRONG = "positive", "negative"
"""The modes of generated data, as schemathesis names them."""
ANY_DATA_IS_VALID = {"page"}
"""Operations that take any text, and have no wrong data."""
WITHOUT_DATA = {"index"}
"""Operations that take nothing: each is asked in one way."""
OPERATIONS = [
    operation_id(route)
    for route in gateway(Stores()).routes
    if isinstance(route, APIRoute) and route.include_in_schema and route.path.startswith("/api/")
]
ANSWERED = {"search", "batch", "feed", "suggest"}
"""Operations that answer most valid questions. The others ask for pages that are not there."""
IN_PATH: dict[str, dict[str, str]] = {
    "page": {"page": str(PAGE)},
    **{name: {"page_id": str(PAGE)} for name in ("document", "statements", "vectors")},
}
IN_QUERY = {"similar": {"page": str(PAGE)}, "extract": {"url": PAGE_URL}}
"""Parameters by which an operation asks for a page of the index."""
LISTS = ("include", "exclude", "then")
"""Parameters that may be given several times. One value in place of a list is sent as a list of one, and is valid."""
NOT_A_TEXT = re.compile(r"true|false|null|[-+.e\d]+|[\[{].*", re.DOTALL)
MIN_ASKED = 5
ASKED = [
    (name, mode)
    for name in OPERATIONS
    for mode in (VALID, WRONG)
    if mode == VALID or name not in ANY_DATA_IS_VALID | WITHOUT_DATA
]


def described(app: FastAPI, path: str = "/api/v1/openapi.json") -> Any:
    """Return the app's description, as schemathesis reads it."""
    # Here, since it takes a second to import, and each process of the tests collects this file.
    import schemathesis

    return schemathesis.openapi.from_asgi(path, app)


@pytest.fixture(scope="module")
def api() -> Any:
    app = gateway(asyncio.run(searchable([statement(URL, "The write-ahead log.")])), allowed_hosts=("*",))
    return described(app)


@pytest.fixture(scope="module")
def api_of_wrong_data(api: Any) -> Any:
    """The description without lists by day: nearly all wrong lists are sent as valid ones, and drawn for nothing."""
    if FULL:
        return api
    short = described(api.app)
    for operations in short.raw_schema["paths"].values():
        for operation in operations.values():
            operation["parameters"] = [each for each in operation.get("parameters", []) if each["name"] not in LISTS]
    return short


@pytest.fixture(scope="module")
def filled_api() -> Any:
    app = gateway(asyncio.run(filled()), allowed_hosts=("*",), deadline_seconds=60)
    return described(app)


def is_sent_as_it_is(name: str, value: Any) -> bool:
    """A query string holds texts alone, so the server cannot refuse what looks like a right value when it is sent.

    An empty list is not sent, a list of one value looks like that value, and a list of numbers like one of texts.
    """
    if isinstance(value, dict):
        return False
    if isinstance(value, list):
        return len(value) > 1 and all(isinstance(item, str) and not NOT_A_TEXT.fullmatch(item) for item in value)
    return True


def ask(api: Any, name: str, mode: str, *, of_index: bool = False) -> Counter[int]:
    """Ask an operation some times, and compare each answer with the description. Return the number of each status.

    With `of_index` it is asked for a page of the index, and for the newest content.
    """
    from schemathesis import GenerationMode, checks

    checks.load_all_checks()
    compared: Any = checks.CHECKS.get_by_names(CHECKS)
    operation, statuses = api.find_operation_by_id(name), Counter[int]()

    @settings(
        max_examples=25 if FULL else MIN_ASKED,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=GenerationMode(mode)))
    def once(case: Any) -> None:
        query = case.query or {}
        assume(all(isinstance(query.get(each, []), list) for each in LISTS))
        assume(mode == VALID or all(is_sent_as_it_is(name, value) for name, value in query.items()))
        if of_index:
            case.path_parameters = {**(case.path_parameters or {}), **IN_PATH.get(name, {})}
            case.query = {**(case.query or {}), **IN_QUERY.get(name, {})}
            case.query.pop("ref", None)
        statuses[case.call_and_validate(checks=compared).status_code] += 1

    once()
    return statuses


@pytest.mark.parametrize(("name", "mode"), ASKED)
def test_every_answer_is_as_described(api: Any, api_of_wrong_data: Any, name: str, mode: str) -> None:
    statuses = ask(api_of_wrong_data if mode == WRONG else api, name, mode)
    assert statuses.total() >= (1 if name in WITHOUT_DATA else MIN_ASKED), "else nothing was compared"
    if mode == WRONG:
        assert all(400 <= status < 500 for status in statuses), statuses
    elif name in ANSWERED:
        assert statuses[200], statuses


@pytest.mark.parametrize("name", [*IN_PATH, *IN_QUERY])
def test_every_answer_about_a_page_of_the_index_is_as_described(filled_api: Any, name: str) -> None:
    statuses = ask(filled_api, name, VALID, of_index=True)
    assert statuses.total() >= MIN_ASKED
    assert set(statuses) == {200}


WRONG_ANSWERS = [
    # what the app returns in place of {"found": 1}, what the check says
    (JSONResponse({"found": "none"}), "Response violates schema"),
    (JSONResponse({"found": 1}, status_code=418), "Undocumented status code"),
    (PlainTextResponse("found"), "Undocumented Content-Type"),
    (JSONResponse({"found": 1}, status_code=500), "Server error"),
]


@pytest.mark.parametrize(("answer", "says"), WRONG_ANSWERS, ids=[says for _, says in WRONG_ANSWERS])
def test_an_answer_that_is_not_as_described_is_found(answer: Response, says: str) -> None:
    class Count(BaseModel):
        found: int

    app = FastAPI(generate_unique_id_function=lambda route: route.name)

    @app.get("/count", response_model=Count)
    def count(n: int) -> Response:
        return answer

    with pytest.raises(BaseExceptionGroup) as found:
        ask(described(app, "/openapi.json"), "count", VALID)
    assert says in str(found.value)
