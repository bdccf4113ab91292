"""The API of operators over memory stores: the actions of the forms, with the same key, log and jobs."""

import asyncio
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import micros_from_utc
from streams.admin.api import PREFIX
from streams.admin.jobs import MAX_RUNNING
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.host_quality import HostRecord
from streams.maintenance.frontier_hosts import change_order
from streams.stores.host_buckets import bucket_of
from streams.stores.opener import Stores, memory_stores
from tests.stages.admin_fakes import AUTHORIZATION, KEY, NOW, admin
from tests.stages.gateway_fakes import client
from tests.stages.test_gateway_limits import Patient, serving

HOST = "www.example.org"
DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = re.findall(r"```sh\n(.*?)```", (DOCS / "operate" / "admin.md").read_text(), re.DOTALL)


async def known() -> Stores:
    """Return stores with a host that waits, and one with an order."""
    stores, now = memory_stores(), micros_from_utc(NOW)
    host = Host(bucket_of(HOST), HOST, record=HostRecord(settled=90, unique=60, quality_sum=54))
    host.traps.left_out["calendar"] = 7
    await stores.frontier.put_host(host.to_row(now, now))
    await change_order(stores.frontier, "spam.example", now, blocked=True, note="a request")
    return stores


ACTIONS = [
    ("block", None, f"frontier set --block {HOST}"),
    ("unblock", None, f"frontier set --unblock {HOST}"),
    ("purge", None, f"frontier set --drop-queue --yes {HOST}"),
    ("delay", {"seconds": 2.5}, f"frontier set --delay 2.5 {HOST}"),
    ("delay", {"seconds": 10}, f"frontier set --delay 10 {HOST}"),
    ("delay", {"seconds": 0}, f"frontier set --delay 0 {HOST}"),
    ("budget", {"pages": 500}, f"frontier set --budget 500 {HOST}"),
]


@pytest.mark.parametrize(("action", "body", "command"), ACTIONS)
async def test_an_action_is_a_logged_job(action: str, body: Any, command: str, tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, _, audit), client(app) as web:
        done = await web.post(f"{PREFIX}/hosts/{HOST.upper()}/{action}", headers=AUTHORIZATION, json=body)
        again = await web.get(f"{PREFIX}/jobs/1", headers=AUTHORIZATION)
    shown = {"job": 1, "command": f"riffle {command}", "state": "done", "lines": [command]}
    assert (done.status_code, done.json(), again.json()) == (200, shown, shown)
    assert done.headers["cache-control"] == "no-store"
    (entry,) = audit.entries
    assert (entry.event.actor, entry.event.action) == ("Ada", f"start {action}")
    assert entry.event.target.startswith(HOST)


async def test_hosts_are_listed_and_shown(tmp_path: Path) -> None:
    async with admin(await known(), tmp_path) as (app, _, audit), client(app) as web:
        listed = (await web.get(f"{PREFIX}/hosts", headers=AUTHORIZATION)).json()
        shown = (await web.get(f"{PREFIX}/hosts/{HOST}", headers=AUTHORIZATION)).json()
    assert listed == {
        "hosts": 1,
        "shown": [
            {"host": HOST, "due": "2026-11-24T12:00:00Z", "order": ""},
            {"host": "spam.example", "due": None, "order": "blocked, a request"},
        ],
    }
    assert (shown["host"], shown["left_out"], shown["order"]["blocked"]) == (HOST, {"calendar": 7}, False)
    assert (round(shown["quality"]["score"], 2), shown["quality"]["settled"]) == (0.6, 90)
    assert shown["robots"] == "unknown"
    assert audit.entries == [], "who reads changes nothing"


PROBLEMS = [
    ("GET", "/hosts/unknown.example", None, 404, "not-found"),
    ("GET", "/jobs/7", None, 404, "not-found"),
    ("GET", "/hosts/a%20b", None, 400, "invalid-action"),
    ("GET", "/hosts?counts=3", None, 400, "invalid-parameter"),
    ("GET", "/hosts?count=0", None, 400, "invalid-parameter"),
    ("POST", "/hosts/127.0.0.1/block", None, 400, "invalid-action"),
    ("POST", "/hosts/--help/block", None, 400, "invalid-action"),
    ("POST", f"/hosts/{HOST}/delay", {"seconds": -1}, 400, "invalid-parameter"),
    ("POST", f"/hosts/{HOST}/delay", {"second": 1}, 400, "invalid-parameter"),
    ("POST", f"/hosts/{HOST}/budget", None, 400, "invalid-parameter"),
    ("POST", f"/hosts/{HOST}/budget", {"pages": 1.5}, 400, "invalid-parameter"),
    ("GET", f"/hosts/{HOST}/block", None, 405, "method-not-allowed"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "kind"), PROBLEMS)
async def test_what_is_wrong_is_a_problem(
    method: str, path: str, body: Any, status: int, kind: str, tmp_path: Path
) -> None:
    async with admin(await known(), tmp_path) as (app, actions, audit), client(app) as web:
        refused = await web.request(method, PREFIX + path, headers=AUTHORIZATION, json=body)
    assert (refused.status_code, refused.json()["type"]) == (status, f"urn:riffle:problem:{kind}")
    assert refused.headers["content-type"] == "application/problem+json"
    assert (audit.entries, list(actions.jobs.all)) == ([], [])


@pytest.mark.parametrize("path", ["/hosts", f"/hosts/{HOST}", "/jobs/1", "/openapi.json", f"/hosts/{HOST}/block"])
async def test_each_route_needs_the_key(path: str, tmp_path: Path) -> None:
    async with admin(await known(), tmp_path) as (app, _, audit), client(app) as web:
        refused = await web.request("POST" if path.endswith("block") else "GET", PREFIX + path)
    assert (refused.status_code, refused.headers["www-authenticate"][:5]) == (401, "Basic")
    assert refused.json()["type"] == "urn:riffle:problem:unauthorized"
    assert audit.entries == []


@pytest.mark.parametrize("headers", [{"Origin": "https://attacker.example"}, {"Sec-Fetch-Site": "cross-site"}])
async def test_a_request_of_another_site_does_nothing(headers: dict[str, str], tmp_path: Path) -> None:
    async with admin(await known(), tmp_path) as (app, actions, audit), client(app) as web:
        refused = await web.post(f"{PREFIX}/hosts/{HOST}/block", headers={**AUTHORIZATION, **headers})
    assert (refused.status_code, audit.entries, list(actions.jobs.all)) == (403, [], [])


async def test_an_action_waits_for_the_log_and_for_room(tmp_path: Path) -> None:
    async with admin(await known(), tmp_path) as (app, actions, audit), client(app) as web:
        audit.down = True
        refused = await web.post(f"{PREFIX}/hosts/{HOST}/block", headers=AUTHORIZATION)
        assert (refused.status_code, refused.headers["retry-after"], list(actions.jobs.all)) == (503, "5", [])
        audit.down = False
        for _ in range(MAX_RUNNING):
            await actions.run("sweep", {}, "Ada")
        refused = await web.post(f"{PREFIX}/hosts/{HOST}/block", headers=AUTHORIZATION)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        assert len(audit.entries) == MAX_RUNNING


async def test_the_description_has_each_route_and_its_problems(tmp_path: Path) -> None:
    async with admin(await known(), tmp_path) as (app, _, _audit), client(app) as web:
        document = (await web.get(f"{PREFIX}/openapi.json", headers=AUTHORIZATION)).json()
    operations = {
        operation["operationId"]: operation for path in document["paths"].values() for operation in path.values()
    }
    assert operations.keys() == {"hosts", "host", "job", "block", "unblock", "purge", "delay", "budget"}
    for operation in operations.values():
        assert {"200", "400", "401", "403", "500", "503"} <= operation["responses"].keys()
        assert "422" not in operation["responses"]
    assert document["security"] == [{"key": []}]
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "basic"


@pytest.mark.skipif(not shutil.which("curl"), reason="the examples need curl")
async def test_the_examples_of_the_docs(tmp_path: Path) -> None:
    (script,) = EXAMPLES
    assert script.count("curl") == 6
    async with admin(await known(), tmp_path) as (app, _, audit), serving(app, protocol=Patient) as port:
        environment = {**os.environ, "ADMIN": f"http://127.0.0.1:{port}", "KEY": KEY, "no_proxy": "127.0.0.1"}
        process = await asyncio.create_subprocess_exec(
            "bash", "-euo", "pipefail", "-c", script, env=environment, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
    assert process.returncode == 0
    assert "urn:riffle:problem" not in output.decode()
    assert output.decode().count('"state":"done"') == 4, "three actions, and the job of the last one"
    assert [entry.event.actor for entry in audit.entries] == ["ada"] * 3
