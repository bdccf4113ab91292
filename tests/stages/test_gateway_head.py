"""HEAD is answered wherever GET is (RFC 9110, 9.3.2): the same status and headers, without the content."""

import re

import httpx2
import pytest
from fastapi import FastAPI

from streams.gateway.http.requests import answer_head
from tests.stages.gateway_fakes import client, gateway
from tests.stages.test_gateway_access import EXAMPLES, routes_of
from tests.stages.test_gateway_content import filled
from tests.stages.test_gateway_limits import Patient, serving

COMPARED = ("content-type", "cache-control", "allow", "location", "vary")
GIVEN = {
    "/api/v1/search": "q=log", "/api/v1/feed": "q=log", "/search": "q=log",
    "/api/v1/suggest": "q=lo", "/suggest": "q=lo",
    "/api/v1/similar": "page=https://docs.example/wal", "/api/v1/extract": "url=https://docs.example/wal",
    "/page": "url=https://docs.example/wal",
}  # fmt: skip
"""Parameters with which a path has something to show. The others are asked without: a refusal must be equal, too."""


async def test_every_path_that_answers_get_answers_head() -> None:
    app = gateway(await filled())
    paths = list(routes_of(app.routes))
    assert len(paths) > 30
    async with client(app) as web:
        for path in paths:
            address = path
            for placeholder, value in EXAMPLES.items():
                address = address.replace(placeholder, value)
            address = f"{address}?{GIVEN.get(path, '')}"
            got, head = await web.get(address), await web.head(address)
            assert got.status_code != 405, path
            assert head.status_code == got.status_code, path
            of_both = [{name: answer.headers.get(name) for name in COMPARED} for answer in (got, head)]
            assert of_both[0] == of_both[1], path
    await app.state.gateway.close()


async def test_a_refused_method_is_answered_with_all_methods_of_the_path() -> None:
    """Several routes may have one path, as `PUT` and `DELETE /api/v1/pages` have (RFC 9110, 15.5.6)."""
    app = gateway(await filled())
    async with client(app) as web:
        document = (await web.get("/api/v1/openapi.json")).json()
        for path, operations in document["paths"].items():
            address = re.sub(r"\{\w+\}", "3f9a51c0d2b7", path)
            answer = await web.request("PATCH", address)
            methods = {name.upper() for name in operations} | ({"HEAD"} if "get" in operations else set())
            assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, methods), path
            assert answer.json()["hint"] == f"Use {answer.headers['allow']}."
    await app.state.gateway.close()


async def test_the_server_sends_no_content_with_head() -> None:
    app = gateway(await filled(), allowed_hosts=("127.0.0.1",))
    async with serving(app, protocol=Patient) as port, httpx2.AsyncClient(trust_env=False, timeout=20) as web:
        for path in ("/api/v1/search?q=log", "/healthz", "/robots.txt", "/search?q=log"):
            head = await web.head(f"http://127.0.0.1:{port}{path}")
            assert (head.status_code, head.content) == (200, b""), path
        await app.state.gateway.close()


@pytest.mark.parametrize(("methods", "answered"), [(["GET"], True), (["POST"], False), (["GET", "POST"], True)])
def test_only_routes_with_get_answer_head(methods: list[str], answered: bool) -> None:
    app = FastAPI()
    app.router.add_api_route("/thing", lambda: "x", methods=methods)
    answer_head(app.router.routes)
    [route] = [each for each in app.router.routes if getattr(each, "path", "") == "/thing"]
    assert ("HEAD" in (getattr(route, "methods", None) or ())) is answered
