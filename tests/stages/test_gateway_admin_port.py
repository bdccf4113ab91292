"""The gateway's admin port: health, metrics and labs pages leave the public port."""

import asyncio
import contextlib
import os
import re
import signal
import sys

import httpx2
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


PROGRAM = """
import asyncio
from contextlib import asynccontextmanager
from streams.gateway.serve import serve
from streams.logs import configure_logging
from streams.settings import Settings
from streams.stores.opener import memory_stores

@asynccontextmanager
async def opened(settings, needs):
    yield memory_stores()

settings = Settings.load()
configure_logging(settings)
asyncio.run(serve(settings, open_store=opened))
"""


async def test_a_running_gateway_has_both_ports_and_stops_by_one_signal() -> None:
    environment = {**os.environ, "RIFFLE_GATEWAY__PORT": "0", "RIFFLE_GATEWAY__ADMIN_PORT": "0", "RIFFLE_LOG_JSON": "1"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, env=environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(120):
            addresses: list[str] = []
            assert process.stdout is not None
            while len(addresses) < 2:
                line = await process.stdout.readline()
                assert line, "the gateway ended"
                addresses += re.findall(r"http://[0-9.:]+/", line.decode())
            async with httpx2.AsyncClient(trust_env=False, timeout=60) as web:
                public, admin = addresses
                assert (await web.get(f"{public}healthz")).status_code == 200
                assert (await web.get(f"{public}metrics")).status_code == 404
                assert (await web.get(f"{admin}metrics")).status_code == 200
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
