"""A page in a browser reads nothing of a gateway by a name that resolves to the gateway (DNS rebinding)."""

from typing import Any, Literal

import pytest

from streams.stores.opener import memory_stores
from tests.stages.gateway_fakes import client, gateway, labelling, without_script

REBOUND = "rebound.example:8080"
ANSWERS = ["/", "/search?q=x", "/api/v1/search?q=x", "/api/v1/pages/https://a.example/", "/page", "/opensearch.xml",
           "/privacy", "/healthz", "/readyz", "/metrics", "/labs/page?url=https://a.example/",
           "/robots.txt", "/api/v1/openapi.json", "/nothing"]  # fmt: skip
Profile = Literal["local", "production"]
GATEWAYS: list[Any] = [
    pytest.param("local", "", id="on this machine"),
    pytest.param("production", "https://riffle.test/", id="in production"),
]


@pytest.mark.parametrize(("profile", "public_url"), GATEWAYS)
@pytest.mark.parametrize("host", [REBOUND, "127.0.0.1.example", "[", "riffle.test.example", ""])
async def test_no_path_is_answered_by_a_foreign_name(profile: Profile, public_url: str, host: str) -> None:
    app = gateway(memory_stores(), profile=profile, public_url=public_url, allowed_hosts=())
    async with client(app) as web:
        for path in ANSWERS:
            refused = await web.get(path, headers={"host": host, "accept": "application/json"})
            assert refused.status_code == 403, path
            assert refused.json()["type"] == "urn:riffle:problem:foreign-host"
            assert "RIFFLE_GATEWAY__ALLOWED_HOSTS" in refused.json()["hint"]


async def test_a_form_of_a_rebound_page_writes_no_label(tmp_path: Any) -> None:
    same_site = {"host": REBOUND, "origin": f"http://{REBOUND}", "sec-fetch-site": "same-origin"}
    async with client(labelling(memory_stores(), tmp_path, allowed_hosts=())) as web:
        answer = await web.post("/labs/label", data={"url": "https://a.example/"}, headers=same_site)
    assert answer.status_code == 403
    assert "foreign-host" in answer.text or "another name" in answer.text
    assert list(tmp_path.iterdir()) == []


async def test_people_see_a_page_with_all_protections() -> None:
    async with client(gateway(memory_stores())) as web:
        page = await web.get("/", headers={"host": '<script>"', "accept": "text/html"})
    assert page.status_code == 403
    assert "This gateway has another name" in page.text
    assert "<script" not in without_script(page.text)
    assert page.headers["content-security-policy"]


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "riffle.test"])
async def test_own_names_are_answered(host: str) -> None:
    async with client(gateway(memory_stores())) as web:
        assert (await web.get("/", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/", 403)])
async def test_probes_may_ask_by_address(path: str, status: int) -> None:
    app = gateway(memory_stores(), profile="production", public_url="https://riffle.test", deadline_seconds=60.0)
    async with client(app) as web:
        assert (await web.get(path, headers={"host": "10.1.2.3:8081"})).status_code == status


async def test_both_ports_check_the_name() -> None:
    app = gateway(memory_stores(), admin_port=0)
    async with client(app.state.admin) as web:
        assert (await web.get("/metrics", headers={"host": REBOUND})).status_code == 403
