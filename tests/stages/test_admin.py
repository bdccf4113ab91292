"""The pages of operators over memory stores: who sees them, what they show, and that each action is logged."""

import asyncio
import random
import re
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape, unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx2
import pytest

from schemas.envelope import micros_from_utc
from schemas.ids import page_id
from streams.admin import access
from streams.admin.app import serve_admin
from streams.admin.figures import COUNTED_HOSTS, HOST_URLS, SHOWN_ORDERS, Reader
from streams.admin.jobs import MAX_RUNNING
from streams.admin.letters import read_letter_page
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.host_quality import HostRecord
from streams.doctor.overview import Problem
from streams.maintenance.frontier_hosts import change_order
from streams.maintenance.mapping import IndexMap, MappedPage
from streams.settings import Settings
from streams.stores.host_buckets import bucket_of
from streams.stores.index_maps import put_map
from streams.stores.job_reports import JobReport, JobState, put_report
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched, Indexed
from streams.stores.protocols import QueueEntry
from tests.frontier_rows import push, put_host
from tests.stages.admin_fakes import AUTHORIZATION, LAGS, LETTERS, NOW, admin
from tests.stages.gateway_fakes import client

HTML = {"accept": "text/html", **AUTHORIZATION}


MALFORMED = [
    "http://[",
    "http://[::1",
    "http://a:b:c",
    "http://riffle.test:99999999",
    "null",
    "\\",
    "http://",
    "://",
    "%zz",
]
"""Headers `Origin` that are none."""


def token_of(page: str) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', page)
    assert found
    return found[1]


async def act(web: httpx2.AsyncClient, action: str, **fields: str) -> httpx2.Response:
    page = await web.get("/admin", headers=HTML)
    return await web.post(f"/admin/do/{action}", headers=HTML, data={"token": token_of(page.text), **fields})


@pytest.mark.parametrize("path", ["/admin", "/admin/host", "/admin/letters?stage=embed", "/admin/audit"])
async def test_the_pages_need_the_key_and_forms_too(path: str, tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, _, audit), client(app) as web:
        refused = await web.get(path, headers={"accept": "text/html"})
        assert (refused.status_code, refused.headers["www-authenticate"][:5]) == (401, "Basic")
        assert (await web.post("/admin/do/sweep", data={"token": "x"})).status_code == 401
        assert (await web.get("/healthz")).text == "ok\n", "probes have no key"
        assert audit.entries == []


@pytest.mark.parametrize(("path", "headers"), [("/admin/nothing", HTML), ("/admin", {"accept": "text/html"})])
async def test_a_problem_leads_to_the_pages_of_operators_and_not_to_a_search(
    path: str, headers: dict[str, str], tmp_path: Path
) -> None:
    async with admin(memory_stores(), tmp_path) as (app, _, _audit), client(app) as web:
        page = (await web.get(path, headers=headers)).text
    assert "/search" not in page
    assert "/preferences" not in page
    assert 'href="/admin/map"' in page


async def test_the_map_that_any_machine_drew_last_is_shown(tmp_path: Path) -> None:
    stores = memory_stores()
    async with admin(stores, tmp_path) as (app, _, _audit), client(app) as web:
        assert "There is no map yet" in (await web.get("/admin/map", headers=HTML)).text
        for made, title in ((1, "The first map"), (2, "The second map")):
            page = MappedPage("1", "https://one.test/", title, "one.test", ("map",), 0.5, 0.5)
            drawn = IndexMap("2026-11-24T12:00:00+00:00", "statements_1", (page,), ())
            await put_map(stores.notes, made, drawn.pack())
            assert title in (await web.get("/admin/map", headers=HTML)).text
        await put_map(stores.notes, 3, b"no map")
        damaged = await web.get("/admin/map", headers=HTML)
    assert damaged.status_code == 500
    assert "can&#39;t be read" in damaged.text


async def test_the_first_page_shows_what_is_wrong_and_escapes_it(tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, _, _audit), client(app) as web:
        page = (await web.get("/admin", headers=HTML)).text
    assert "Kafka deleted 3 events before embed handled them" in page
    assert "2 events of embed failed for good (TritonError 2)" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "1,200" in page
    assert "Queries are not collected" in page


async def test_all_is_well_only_if_every_server_answers(tmp_path: Path) -> None:
    problem = Problem("failure", "Qdrant at http://qdrant:6333 doesn't answer", "riffle doctor --only qdrant")
    for away in ((), (problem,)):
        opened = admin(memory_stores(), tmp_path, lags=(), letters=Counter(), away=away)
        async with opened as (app, _, _audit), client(app) as web:
            page = unescape((await web.get("/admin", headers=HTML)).text)
        assert ("<h1>All is well</h1>" in page) == (not away)
        assert (problem.what in page, f"<code>{problem.advice}</code>" in page) == (bool(away), bool(away))


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ({}, {}),
        ({"token": "0" * 64}, {}),
        ({"token": "own"}, {"Origin": "https://attacker.example"}),
        ({"token": "own"}, {"Sec-Fetch-Site": "cross-site"}),
        ({"token": "own"}, {"Sec-Fetch-Site": "none"}),
        *(({"token": "own"}, {"Origin": origin}) for origin in MALFORMED),
    ],
)
async def test_a_form_of_another_site_does_nothing(
    fields: dict[str, str], headers: dict[str, str], tmp_path: Path
) -> None:
    async with admin(memory_stores(), tmp_path) as (app, actions, audit), client(app) as web:
        own = token_of((await web.get("/admin", headers=HTML)).text)
        given = {name: own if value == "own" else value for name, value in fields.items()}
        answer = await web.post("/admin/do/sweep", headers={**HTML, **headers}, data=given)
        assert (answer.status_code, audit.entries, list(actions.jobs.all)) == (403, [], [])


async def test_keys_are_not_tried_many_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "REFUSAL_SECONDS", 0.2)
    wrong = {"accept": "text/html", "authorization": f"Basic {b64encode(b'eve:wrong').decode()}"}
    async with admin(memory_stores(), tmp_path) as (app, _, _audit), client(app) as web:
        tried = await asyncio.gather(*(web.get("/admin", headers=wrong) for _ in range(access.MAX_REFUSALS + 10)))
        answers = Counter(each.status_code for each in tried)
        assert (answers[401], answers[429]) == (access.MAX_REFUSALS, 10)
        assert (await web.get("/admin", headers=HTML)).status_code == 200, "the next one is let in"


async def test_an_action_that_can_not_be_logged_is_not_done(tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, actions, audit), client(app) as web:
        audit.down = True
        answer = await act(web, "rank")
        assert (answer.status_code, list(actions.jobs.all)) == (503, [])
        assert answer.headers["retry-after"] == "5"
        assert "Kafka is away" in answer.text


async def test_a_job_runs_is_shown_and_can_be_stopped(tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, actions, audit), client(app) as web:
        assert (await act(web, "sweep")).status_code == 303
        (job,) = actions.jobs.all
        while not job.lines:
            await asyncio.sleep(0.01)
        page = (await web.get("/admin", headers=HTML)).text
        assert "riffle blobs sweep" in page
        assert "Stop job 1" in page
        await act(web, "stop", number="1")
        while job.status is None:
            await asyncio.sleep(0.01)
        assert f"ended with status {job.status}" in (await web.get("/admin", headers=HTML)).text
        shown = (await web.get("/admin/audit", headers=HTML)).text
    assert [(entry.event.actor, entry.event.action) for entry in audit.entries] == [
        ("Ada", "stop a job"),
        ("Ada", "start sweep"),
    ]
    assert "start sweep" in shown


async def test_a_page_shows_the_outcome_of_an_action_and_no_other_text_of_its_address(tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, _, _), client(app) as web:
        note = parse_qs(urlsplit((await act(web, "sweep")).headers["location"]).query)["note"][0]
        text = note.partition(" ")[2]
        for given, is_shown in ((note, True), (text, False), (f"x {text}", False), (f"{note}.", False), ("é", False)):
            page = (await web.get("/admin", params={"note": given}, headers=HTML)).text
            assert (escape(text) in page) is is_shown, given


async def test_a_job_too_many_shows_what_runs_and_can_be_tried_again(tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, actions, audit), client(app) as web:
        for _ in range(MAX_RUNNING):
            assert (await act(web, "sweep")).status_code == 303
        refused = await act(web, "delay", host="a.example", seconds="2.5", back="host")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        assert len(audit.entries) == len(actions.jobs.all) == MAX_RUNNING, "what did not begin is not logged"
        for number in range(1, MAX_RUNNING + 1):
            assert f"Job {number}:" in refused.text
            assert f"Stop job {number}" in refused.text
        assert "riffle blobs sweep" in refused.text
        form = refused.text.partition('action="/admin/do/delay"')[2].partition("</form>")[0]
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
        await act(web, "stop", number="1")
        while actions.jobs.all[0].status is None:
            await asyncio.sleep(0.01)
        again = await web.post("/admin/do/delay", headers=HTML, data=fields)
        assert again.status_code == 303
        assert actions.jobs.all[-1].command == "riffle frontier set --delay 2.5 a.example"


@pytest.mark.parametrize(
    ("minutes", "is_queued", "is_blocked", "shown", "state"),
    [
        (21, True, False, "in 21 minutes", "waiting"),
        (-1, True, False, "now", "ready"),
        (21, True, True, "none, it is blocked", "blocked"),
        (21, False, False, "nothing waits", "idle"),
    ],
    ids=["a later visit", "it is due", "blocked", "no URL"],
)
async def test_the_next_request_is_the_one_of_the_list_of_hosts(
    minutes: int, is_queued: bool, is_blocked: bool, shown: str, state: str, tmp_path: Path
) -> None:
    """The host may be asked since an hour, and its first URL waits for its next visit."""
    stores, name, now = memory_stores(), "a.example", micros_from_utc(NOW)
    due = now + minutes * 60_000_000
    host = Host(bucket_of(name), name, next_at=now - 3_600_000_000)
    await put_host(stores.frontier, host.to_row(due if is_queued else None, now))
    if is_queued:
        await push(stores.frontier, name, [QueueEntry(due, page_id("https://a.example/"))], now)
    if is_blocked:
        await change_order(stores.frontier, name, now, blocked=True)
    async with admin(stores, tmp_path) as (app, _, _audit), client(app) as web:
        page = (await web.get("/admin/host", params={"name": name}, headers=HTML)).text
        overview = (await web.get("/admin", headers=HTML)).text
    assert f"<dt>Next request</dt><dd>{shown}</dd>" in page
    assert f"<dt>State</dt><dd>{state}</dd>" in page
    if is_queued and not is_blocked:
        assert f'{name}</a> <span class="soft">{shown}</span>' in overview


async def test_the_quality_of_a_host_is_shown_with_its_parts(tmp_path: Path) -> None:
    stores, name = memory_stores(), "a.example"
    host = Host(bucket_of(name), name, record=HostRecord(settled=90, unique=60, quality_sum=54, rank=1_000))
    await put_host(stores.frontier, host.to_row(None, 1))
    async with admin(stores, tmp_path) as (app, _, _audit), client(app) as web:
        page = (await web.get("/admin/host", params={"name": name}, headers=HTML)).text
    assert "<dt>Quality of the host</dt><dd>80 of 100</dd>" in page
    assert "<dt>Budget of pages</dt><dd>1.75 times the usual</dd>" in page


async def test_without_a_name_the_hosts_with_orders_are_listed(tmp_path: Path) -> None:
    stores, now = memory_stores(), micros_from_utc(NOW)
    async with admin(stores, tmp_path) as (app, _, _audit), client(app) as web:
        assert "No host has an order." in (await web.get("/admin/host", headers=HTML)).text
        await change_order(stores.frontier, "spam.example", now, blocked=True, note="<b>spam")
        await change_order(stores.frontier, "back.example", now, blocked=True)
        await change_order(stores.frontier, "back.example", now, blocked=False)
        await change_order(stores.frontier, "purged.example", now, purged_at=now)
        page = (await web.get("/admin/host", headers=HTML)).text
        assert "1 host has an order." in page
        row = '<a href="/admin/host?name=spam.example">spam.example</a></th><td>blocked, &lt;b&gt;spam</td>'
        assert row in page
        assert "<script" not in page
        for number in range(SHOWN_ORDERS):
            await change_order(stores.frontier, f"n{number:03}.example", now, delay_seconds=2.5)
        page = (await web.get("/admin/host", headers=HTML)).text
        named = (await web.get("/admin/host", params={"name": "spam.example"}, headers=HTML)).text
    assert f"{SHOWN_ORDERS + 1} hosts have orders. The first {SHOWN_ORDERS} are shown, by name." in page
    assert page.count("<td>delay 2.5 s</td>") == SHOWN_ORDERS
    assert "Hosts with orders" not in named


ACTIONS = [
    ("crawl", {"url": "example.org/a", "depth": "3"}, "crawl --no-wait --depth 3 https://example.org/a"),
    ("replay", {"host": "example.org"}, "replay --from normalize --host example.org"),
    ("remove", {"url": "https://example.org/x y"}, "remove --yes -- https://example.org/x y"),
    ("reindex", {}, "reindex"),
    ("block", {"host": "a.example"}, "frontier set --block a.example"),
    ("purge", {"host": "a.example"}, "frontier set --drop-queue --yes a.example"),
    ("delay", {"host": "a.example", "seconds": "2.5"}, "frontier set --delay 2.5 a.example"),
    ("budget", {"host": "a.example", "pages": "500"}, "frontier set --budget 500 a.example"),
]


@pytest.mark.parametrize(("action", "fields", "command"), ACTIONS)
async def test_an_action_is_a_command(action: str, fields: dict[str, str], command: str, tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, actions, audit), client(app) as web:
        assert (await act(web, action, **fields)).status_code == 303
        (job,) = actions.jobs.all
        while job.status is None:
            await asyncio.sleep(0.01)
        assert list(job.lines) == [command]
        assert len(audit.entries) == 1


REFUSED = [
    ("crawl", {"url": "http://localhost:9042/", "depth": "0"}),
    ("crawl", {"url": "https://a.example/", "depth": "-1"}),
    ("crawl", {"url": "--any-host"}),
    ("replay", {"host": "--since"}),
    ("replay", {}),
    ("stop", {"number": "7"}),
    ("replay-letters", {"stage": "nothing"}),
    ("drop", {}),
    ("delay", {"host": "a.example", "seconds": "1 2"}),
]


@pytest.mark.parametrize(("action", "fields"), REFUSED)
async def test_values_that_are_no_argument_start_nothing(action: str, fields: dict[str, str], tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, actions, _), client(app) as web:
        answer = await act(web, action, **fields)
        assert (answer.status_code, list(actions.jobs.all)) == (400, [])


async def test_jobs_that_were_started_elsewhere_show_how_far_they_are(tmp_path: Path) -> None:
    stores, now = memory_stores(), micros_from_utc(NOW)

    async def report(command: str, seconds_ago: float, state: JobState, share: float | None, sentence: str) -> None:
        updated = now - int(seconds_ago * 1e6)
        started = updated - 60_000_000
        await put_report(
            stores.notes, JobReport(uuid4(), command, "cron-7:12", started, updated, state, share, sentence)
        )

    await report("reindex", 3, "running", 0.25, "Filling <b>statements</b>")
    await report("blobs sweep", 3_000, "running", 0.5, "mark: 50%")
    await report("import", 100, "failed", None, "Kafka does not answer")
    async with admin(stores, tmp_path) as (app, _, _audit), client(app) as web:
        page = " ".join((await web.get("/admin", headers=HTML)).text.split())
    assert '<progress max="1" value="0.250" aria-label="riffle reindex"></progress> 25%' in page
    assert "Filling &lt;b&gt;statements" in page
    assert "no report for 50 minutes: its process has died" in page
    assert "failed after 60 seconds" in page
    assert "Kafka does not answer" in page


async def test_a_job_of_the_page_is_shown_once_with_its_report(tmp_path: Path) -> None:
    stores, now = memory_stores(), micros_from_utc(NOW)
    async with admin(stores, tmp_path) as (app, actions, _audit), client(app) as web:
        await act(web, "sweep")
        place = f"{actions.jobs.machine}:{actions.jobs.all[0].pid}"
        report = JobReport(uuid4(), "blobs sweep", place, now, now, "running", 0.4, "mark: 40%")
        await put_report(stores.notes, report)
        page = (await web.get("/admin", headers=HTML)).text
    assert 'value="0.400" aria-label="Job 1"' in page
    assert "Started elsewhere" not in page


async def test_letters_are_listed_one_by_one_and_their_texts_escaped(tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, _, _audit), client(app) as web:
        overview = (await web.get("/admin", headers=HTML)).text
        (link,) = re.findall(r'href="(/admin/letters\?stage=embed[^"]*)"', overview)
        first = (await web.get(unescape(link), headers=HTML)).text
        (following,) = re.findall(r'href="(/admin/letters\?[^"]*after=[^"]*)"', first)
        last = (await web.get(unescape(following), headers=HTML)).text
    assert "TritonError: &lt;script&gt;alert(1)" in first
    assert "<script" not in first
    ids = [re.findall(r'name="id" value="([^"]+)"', page) for page in (first, last)]
    assert ids == [["embed/pages.chunked/3/1"], ["embed/pages.chunked/3/2"]]
    assert "The next ones" not in last


async def test_letters_of_an_unknown_stage_are_no_page(tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path) as (app, _, _audit), client(app) as web:
        app.state.reader.read_letter_page = read_letter_page
        answer = await web.get("/admin/letters", params={"stage": "nothing"}, headers=HTML)
    assert (answer.status_code, "no stage" in answer.text) == (404, True)


@pytest.mark.parametrize(
    ("hosts", "urls", "shown"),
    [
        (0, 0, "No host has URLs that wait."),
        (1, 1, "1 host has URLs that wait:  1 URL,"),
        (3, 5, "3 hosts have URLs that wait:  15 URLs,"),
        (2 * COUNTED_HOSTS, 5, f"{2 * COUNTED_HOSTS} hosts have URLs that wait: about {10 * COUNTED_HOSTS} URLs,"),
        (1, HOST_URLS + 5, f"1 host has URLs that wait: at least {HOST_URLS:,} URLs,"),
    ],
)
async def test_the_size_of_the_frontier_is_in_hosts_and_urls(hosts: int, urls: int, shown: str, tmp_path: Path) -> None:
    stores, now = memory_stores(), micros_from_utc(NOW)
    for number in range(hosts):
        name = f"h{number}.example"
        await put_host(stores.frontier, Host(bucket_of(name), name).to_row(now, now))
        entries = [QueueEntry(now, page_id(f"https://{name}/{each}")) for each in range(urls)]
        await push(stores.frontier, name, entries, now)
    async with admin(stores, tmp_path) as (app, _, _audit), client(app) as web:
        page = (await web.get("/admin", headers=HTML)).text
    assert shown.replace("  ", " ") in re.sub(r"\s+", " ", page).replace("About ", "")


async def test_the_storage_says_that_it_is_of_a_sample(tmp_path: Path) -> None:
    stores = memory_stores()
    for url, body_bytes in (
        ("https://a.example/1", 3_000),
        ("https://a.example/2", 3_000),
        ("https://b.example/", 2_000),
    ):
        row = {"url": url, "host": url.split("/")[2], "generation": 1, "body_bytes": body_bytes}
        await stores.pages.put(page_id(url), Fetched.of_row(row), 1)
    async with admin(stores, tmp_path) as (app, _, _audit), client(app) as web:
        page = (await web.get("/admin", headers=HTML)).text
    assert "Fetched bytes of 3 pages drawn at random, not of the whole index" in page
    assert re.findall(r'class="number">(\d+\.\d) %', page) == ["75.0", "25.0"]


async def test_each_page_of_a_small_index_is_drawn_once(tmp_path: Path) -> None:
    stores = memory_stores()
    for number in range(30):
        url = f"https://a.example/{number}"
        await stores.pages.put(page_id(url), Indexed.of_row({"url": url, "generation": number + 1}), 1)
    reader = Reader(Settings(home=tmp_path), stores, lambda: NOW, random.Random(1), lambda _: LAGS, lambda _: LETTERS)
    urls = [record.indexed.url for record in await reader.sample()]
    assert 20 < len(urls) == len(set(urls)) <= 30


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1", 403), ("10.1.2.3", 200)])
async def test_clients_may_name_the_address_of_the_pages(host: str, status: int, tmp_path: Path) -> None:
    async with admin(memory_stores(), tmp_path, host=host) as (app, _, _), client(app) as web:
        assert (await web.get("/admin", headers={**HTML, "host": "10.1.2.3:8090"})).status_code == status


async def test_the_pages_listen_where_the_command_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Listening(Exception):
        pass

    @asynccontextmanager
    async def in_memory(*_: object, **__: object) -> AsyncIterator[Stores]:
        yield memory_stores()

    def listen(_: object, *, host: str, port: int, **options: object) -> None:
        raise Listening(host, port)

    monkeypatch.setattr("streams.admin.app.open_stores", in_memory)
    monkeypatch.setattr("streams.admin.app.uvicorn.Config", listen)
    with pytest.raises(Listening) as listening:
        await serve_admin(Settings(home=tmp_path), "a key", "127.0.0.2", 8123)
    assert listening.value.args == ("127.0.0.2", 8123)
