"""The gateway's admin port: health, metrics and labs pages leave the public port."""

import pytest

from streams.stores.opener import memory_stores
from tests.stages.gateway_fakes import client, gateway

PUBLIC = ["/", "/search?q=x", "/api/v1/search?q=x", "/page", "/robots.txt", "/opensearch.xml", "/healthz"]
ADMIN = ["/readyz", "/metrics", "/healthz"]


@pytest.mark.parametrize("path", PUBLIC)
async def test_the_public_port_answers_people(path: str) -> None:
    async with client(gateway(memory_stores(), admin_port=0, deadline_seconds=60.0)) as web:
        assert (await web.get(path)).status_code == 200


@pytest.mark.parametrize("path", ["/readyz", "/metrics", "/labs/page?url=https://a.example/"])
async def test_the_public_port_has_nothing_for_operators(path: str) -> None:
    async with client(gateway(memory_stores(), admin_port=0, deadline_seconds=60.0)) as web:
        assert (await web.get(path)).status_code == 404
        document = (await web.get("/api/v1/openapi.json")).json()
        paths = set(document["paths"])
        assert {"/api/v1/search", "/api/v1/pages/{page}", "/healthz"} <= paths
        assert not {"/readyz", "/metrics"} & paths


@pytest.mark.parametrize("path", ADMIN)
async def test_the_admin_port_answers_operators(path: str) -> None:
    app = gateway(memory_stores(), admin_port=0, deadline_seconds=60.0)
    async with client(app.state.admin) as web:
        assert (await web.get(path)).status_code == 200
        assert (await web.get("/search?q=x")).status_code == 404
        assert (await web.get("/page")).status_code == 200, "its links lead to the labs pages"


async def test_both_ports_count_in_the_same_metrics() -> None:
    app = gateway(memory_stores(), admin_port=0, deadline_seconds=60.0)
    async with client(app) as public, client(app.state.admin) as admin:
        await public.get("/api/v1/search?q=x")
        metrics = (await admin.get("/metrics")).text
    assert 'riffle_gateway_requests_total{method="GET",route="/api/v1/search",status="200"} 1.0' in metrics


async def test_without_an_admin_port_one_app_has_all() -> None:
    app = gateway(memory_stores(), deadline_seconds=60.0)
    assert app.state.admin is None
    async with client(app) as web:
        for path in (*PUBLIC, *ADMIN):
            assert (await web.get(path)).status_code == 200, path
