"""Running the gateway: stores that come late, health and metrics, and how it stops."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import UUID

import httpx2
import pytest
from structlog.testing import capture_logs

from streams.errors import RestoreUnfinished, StartError, StoreUnavailable
from streams.gateway import health
from streams.gateway import serve as serving
from streams.gateway.lazy_stores import open_lazily
from streams.gateway.serve import listen
from streams.ledger.history import history_of
from streams.search import core
from streams.servers import Store
from streams.settings import GatewaySettings, Settings
from streams.stores.opener import Stores, memory_stores
from tests.busy_loop import ask_while_busy
from tests.short_lives import NO_SPELLING
from tests.stages.gateway_fakes import Dead, Hanging, client, gateway, searchable, statement

WAL = statement("https://sqlite.org/wal.html", "The write-ahead log.", title="Write-Ahead Logging")


class Opener:
    """Opens memory stores; the first `failures` tries of each fail."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.tries: dict[Store, int] = {}
        self.closed: list[Store] = []

    @contextlib.asynccontextmanager
    async def __call__(self, settings: Settings, needs: Iterable[Store]) -> AsyncIterator[Stores]:
        (store,) = needs
        self.tries[store] = self.tries.get(store, 0) + 1
        if self.tries[store] <= self.failures:
            raise StoreUnavailable(f"{store}: connection refused")
        yield memory_stores()
        self.closed.append(store)


async def test_a_store_that_comes_late_is_used_from_then_on() -> None:
    opener = Opener(failures=2)
    async with open_lazily(Settings(), open_store=opener, retry_seconds=(0.01,)) as stores:
        with pytest.raises(StoreUnavailable, match="Qdrant is not connected"):
            await stores.vectors.collections()
        async with asyncio.timeout(60):
            while len(opener.tries) < 3 or min(opener.tries.values()) <= 2:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
        assert await stores.vectors.collections() == []
        assert await history_of(stores, UUID(int=1)) == [], "what a page's view needs is there, too"
    assert sorted(opener.closed) == ["models", "records", "vectors"]


class Restoring:
    """Opens memory stores. `reason` says why a restore is not finished, as the mark in Cassandra does."""

    def __init__(self, reason: str, *, refuses: bool) -> None:
        self.reason, self.refuses = reason, refuses

    @contextlib.asynccontextmanager
    async def __call__(self, settings: Settings, needs: Iterable[Store]) -> AsyncIterator[Stores]:
        if "records" in needs and self.refuses and self.reason:
            raise RestoreUnfinished(self.reason)
        stores = memory_stores()
        stores.unfinished_restore = self.ask if "records" in needs else None
        yield stores

    async def ask(self) -> str:
        return self.reason


async def until_vectors(stores: Stores, *, answer: bool) -> None:
    """Wait until searches can be answered, or can't."""
    async with asyncio.timeout(60):
        while True:
            try:
                await stores.vectors.collections()
            except StoreUnavailable:
                if not answer:
                    return
            else:
                if answer:
                    return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("refuses", [False, True], ids=["the restore began later", "the restore was under way"])
async def test_nothing_is_answered_until_a_restore_is_finished(refuses: bool) -> None:
    """Also searches, which need no records: parts of the index are missing as well."""
    opener = Restoring("a restore is not finished" if refuses else "", refuses=refuses)
    opened = open_lazily(Settings(), open_store=opener, retry_seconds=(0.01,), restore_seconds=0.01)
    async with opened as stores:
        if not refuses:
            await until_vectors(stores, answer=True)
            opener.reason = "a restore is not finished"
        await asyncio.sleep(0.1)
        await until_vectors(stores, answer=False)
        with pytest.raises(StoreUnavailable, match="a restore is not finished"):
            await stores.ledger.history(UUID(int=1))
        opener.reason = ""
        await until_vectors(stores, answer=True)
        assert await history_of(stores, UUID(int=1)) == []


@contextlib.asynccontextmanager
async def during_restore(reason: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a gateway whose stores refuse for this restore, once they have said so."""
    opener = Restoring(reason, refuses=True)
    async with open_lazily(Settings(), open_store=opener, retry_seconds=(0.01,), restore_seconds=0.01) as stores:
        async with asyncio.timeout(60):
            while not await is_restoring(stores):
                await asyncio.sleep(0.01)
        async with client(gateway(stores)) as web:
            yield web


async def test_readiness_names_a_restore_that_is_not_finished() -> None:
    async with during_restore("a restore is not finished") as web:
        answer = await web.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["stores"] == dict.fromkeys(("records", "vectors", "models"), "a restore is not finished")


RESTORING = [
    # the path, and whether it is the HTML of the search page
    ("/api/v1/search?q=log", False),
    ("/search?q=log", True),
    ("/api/v1/similar?page=https://sqlite.org/wal.html", False),
    (f"/api/v1/pages/{UUID(int=1)}", False),
    ("/api/v1/entities?q=log", False),
]


@pytest.mark.parametrize(("path", "is_html"), RESTORING)
async def test_a_request_during_a_restore_names_it_and_what_to_do(path: str, is_html: bool) -> None:
    async with during_restore("a restore is not finished (of /backups/monday)") as web:
        answer = await web.get(path, headers={"Accept": "text/html" if is_html else "application/json"})
    says = answer.text if is_html else f"{answer.json()['detail']} {answer.json()['hint']}"
    assert "A restore of this search engine from a backup is not finished" in says
    assert "riffle doctor" in says
    assert "monday" not in says, "paths of the operator are not public"


async def is_restoring(stores: Stores) -> bool:
    try:
        await stores.vectors.collections()
    except StoreUnavailable as error:
        return isinstance(error, RestoreUnfinished)
    return False


async def test_the_end_does_not_wait_for_a_store_that_never_comes() -> None:
    opener = Opener(failures=1_000_000)
    async with asyncio.timeout(60):
        async with open_lazily(Settings(), open_store=opener, retry_seconds=(3_600,)) as stores:
            await asyncio.sleep(0.05)
            with pytest.raises(StoreUnavailable, match="connection refused"):
                await stores.ledger.history(Any)  # type: ignore[arg-type]  # it raises whatever is asked


READY = [
    # the broken stores, the HTTP status, the state
    ({}, 200, "ready"),
    ({"embedder": Dead()}, 200, "partial"),
    ({"ledger": Dead()}, 200, "partial"),
    ({"embedder": Hanging()}, 200, "partial"),
    ({"vectors": Dead()}, 503, "unavailable"),
    ({"vectors": Hanging()}, 503, "unavailable"),
]


@pytest.mark.parametrize(("broken", "status", "state"), READY)
async def test_readiness(broken: dict[str, Any], status: int, state: str) -> None:
    stores = await searchable([WAL])
    for name, store in broken.items():
        setattr(stores, name, store)
    async with client(gateway(stores)) as web:
        response = await web.get("/readyz")
        assert (await web.get("/healthz")).json() == {"status": "ok"}
    assert (response.status_code, response.json()["status"]) == (status, state)
    assert [answer for answer in response.json()["stores"].values() if answer != "ok"] != [] or not broken


async def test_a_gateway_has_searched_once_before_it_is_ready() -> None:
    # In a roll-out, the first search of a new process was answered with 503: its connections took too long to open.
    stores = await searchable([WAL])
    asked: list[object] = []
    candidates = stores.vectors.candidates

    async def counted(**query: Any) -> Any:
        asked.append(query["sparse"])
        return await candidates(**query)

    stores.vectors.candidates = counted  # type: ignore[method-assign]  # of this object only
    async with client(gateway(stores)) as web:
        assert (await web.get("/readyz")).status_code == 200
        at_once = len(asked)
        assert at_once > 0, "no search before the first readiness"
        assert (await web.get("/readyz")).status_code == 200
    assert len(asked) == at_once, "each readiness searches, not just the first one"


async def test_a_gateway_with_an_empty_index_has_read_each_optional_part_before_it_is_ready() -> None:
    # The first search after the start of a new stack said that similar pages took too long: no rehearsal had read them.
    stores = await searchable([WAL])
    await stores.vectors.remove_page(await stores.vectors.active() or "", WAL["page_id"])
    reads = {
        "similar pages": (stores.fingerprints, "groups"),
        "copies": (stores.fingerprints, "get_all"),
        "facts": (stores.pages, "get_normalized"),
        "first sentences": (stores.vectors, "first_statements"),
        "ranks": (stores.host_links, "ranks"),
    }
    asked: list[str] = []
    for part, (store, name) in reads.items():
        setattr(store, name, _noting(part, asked, getattr(store, name)))
    async with client(gateway(stores)) as web:
        assert (await web.get("/readyz")).status_code == 200
    assert set(asked) == set(reads)


async def test_a_gateway_is_ready_when_the_reads_of_a_server_that_has_just_started_are_quick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One read did not warm Cassandra up: the first search of a person still said that similar pages took too long.
    monkeypatch.setattr(core, "QUICK_SECONDS", 0.05)
    stores, pauses = await searchable([WAL]), [0.06, 0.06, 0.0]
    ranks = stores.host_links.ranks

    async def slow(*given: Any) -> Any:
        await asyncio.sleep(pauses.pop(0) if pauses else 0.0)
        return await ranks(*given)

    monkeypatch.setattr(stores.host_links, "ranks", slow)
    async with client(gateway(stores)) as web:
        assert (await web.get("/readyz")).status_code == 200
    assert pauses == []


def _noting(part: str, asked: list[str], read: Any) -> Any:
    async def noted(*given: Any) -> Any:
        asked.append(part)
        return await read(*given)

    return noted


@pytest.mark.parametrize("broken", [Dead(), Hanging()], ids=["dead", "hanging"])
async def test_a_gateway_is_ready_although_optional_parts_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, broken: Any
) -> None:
    monkeypatch.setattr(core, "REHEARSAL_SECONDS", 0.05)
    stores = await searchable([WAL])
    stores.fingerprints = stores.host_links = broken
    async with client(gateway(stores)) as web:
        assert (await web.get("/readyz")).status_code == 200


async def test_a_gateway_is_ready_although_its_first_search_failed() -> None:
    stores = await searchable([WAL])
    stores.vectors.candidates = Dead().candidates  # type: ignore[method-assign]  # of this object only
    async with client(gateway(stores)) as web:
        assert (await web.get("/readyz")).status_code == 200


@pytest.mark.parametrize("broken", [Dead(), Hanging()], ids=["dead", "hanging"])
async def test_readiness_and_metrics_show_no_internal_address(broken: Any) -> None:
    stores = await searchable([WAL])
    stores.vectors = stores.ledger = stores.embedder = broken
    async with client(gateway(stores)) as web:
        ready, metrics = (await web.get("/readyz")).text, (await web.get("/metrics")).text
    assert "127.0.0.1" not in ready + metrics
    assert "connection refused" not in ready + metrics


async def test_any_number_of_checks_is_one_request_a_second_to_the_stores() -> None:
    now, asked, answer = [100.0], [], asyncio.Event()

    async def ask() -> dict[str, tuple[str, Exception | None]]:
        asked.append(now[0])
        await answer.wait()
        return {"models": (f"asked {len(asked)}", None)}

    kept = health.KeptProbes(ask, lambda: now[0])
    at_once = [asyncio.create_task(kept.states()) for _ in range(50)]
    await asyncio.sleep(0.01)
    at_once[0].cancel()  # a probe that gave up takes nothing from the others
    await asyncio.sleep(0.01)
    now[0] = 105.0  # the stores took five seconds
    answer.set()
    assert await asyncio.gather(*at_once[1:]) == [{"models": ("asked 1", None)}] * 49
    for seconds, requests in ((105.0, 1), (105.9, 1), (106.0, 2), (106.5, 2), (107.5, 3)):
        now[0] = seconds
        assert await kept.states() == {"models": (f"asked {requests}", None)}
    assert asked == [100.0, 106.0, 107.5]


async def test_readiness_is_no_way_to_load_the_model() -> None:
    stores = await searchable([WAL])
    asked, embed = [], stores.embedder.embed

    async def counted(texts: Any, role: Any, **options: Any) -> Any:
        asked.append(list(texts))
        return await embed(texts, role, **options)

    stores.embedder.embed = counted  # type: ignore[method-assign]  # of this object only
    started = asyncio.get_running_loop().time()
    async with client(gateway(stores)) as web:
        answers = await asyncio.gather(*(web.get("/readyz") for _ in range(200)))
    seconds = asyncio.get_running_loop().time() - started
    assert {response.status_code for response in answers} == {200}
    assert asked.count(["ready"]) <= 1 + seconds / health.KEPT_SECONDS


async def test_the_address_of_a_failed_store_is_in_the_log_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    stores = await searchable([WAL])
    stores.ledger = Dead()
    with capture_logs() as lines:
        async with client(gateway(stores)) as web:
            for _ in range(3):
                await web.get("/readyz")
    (line,) = [line for line in lines if line["event"] == "a store does not answer"]
    assert line["store"] == "records"
    assert "127.0.0.1:1" in line["error"]


async def test_metrics_count_by_route_and_never_by_a_persons_input() -> None:
    stores = await searchable([WAL])
    async with client(gateway(stores)) as web:
        for path in (
            "/search?q=log",
            "/api/v1/search?q=log",
            "/api/v1/search",
            "/secret-words",
            "/api/v1/pages/ftp%3A%2F%2Fsecret",
        ):
            await web.get(path)
        stores.embedder = Dead()
        await web.get("/api/v1/search?q=river")
        metrics = (await web.get("/metrics")).text
    for line in (
        'riffle_gateway_requests_total{method="GET",route="/search",status="200"} 1.0',
        'riffle_gateway_requests_total{method="GET",route="/api/v1/search",status="200"} 2.0',
        'riffle_gateway_requests_total{method="GET",route="/api/v1/search",status="400"} 1.0',
        'riffle_gateway_requests_total{method="GET",route="none",status="404"} 1.0',
        'riffle_gateway_requests_total{method="GET",route="/api/v1/pages/{page:path}",status="400"} 1.0',
        'riffle_gateway_latency_seconds_count{route="/search"} 1.0',
        'riffle_gateway_partial_answers_total{part="dense"} 1.0',
        'riffle_gateway_store_errors_total{error="StoreUnavailable",store="models"} 1.0',
    ):
        assert line in metrics
    assert "secret" not in metrics


def test_a_port_that_is_taken_is_named_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=f"port {port}.*RIFFLE_GATEWAY__PORT"):
            listen(GatewaySettings(port=port))


@pytest.mark.parametrize(("stuck_seconds", "status"), [(60.0, 200), (1.5, 503)], ids=["busy", "stuck"])
async def test_a_busy_gateway_answers_health_checks(
    stuck_seconds: float, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "STUCK_SECONDS", stuck_seconds)

    def ask() -> tuple[int, dict[str, Any]]:
        assert thread
        answer = httpx2.get(f"http://127.0.0.1:{thread.port}/healthz", trust_env=False, timeout=60)
        return answer.status_code, answer.json()

    async with serving.health_checks(GatewaySettings(health_port=0)) as thread:
        assert ask_while_busy(ask, status)["healthy"] == (status == 200)
        while not (await asyncio.to_thread(ask))[1]["healthy"]:
            await asyncio.sleep(0.1)


async def test_a_health_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = GatewaySettings(health_port=taken.getsockname()[1])
        with pytest.raises(StartError, match="RIFFLE_GATEWAY__HEALTH_PORT"):
            await serving.health_checks(settings).__aenter__()


def test_an_answer_on_a_kept_connection_is_not_held_back() -> None:
    """Without TCP_NODELAY an answer's second write waits 40 ms for the client's delayed acknowledgement."""
    with (
        listen(GatewaySettings(port=0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


PROGRAM = """
import asyncio, os
from streams.resources import expect_imports
expect_imports()
from streams.gateway.serve import serve
from streams.settings import Settings
from tests.stages.test_gateway_operations import Opener
for failures, admin_port in ((0, {"RIFFLE_GATEWAY__ADMIN_PORT": "0"}), (1_000_000, {})):
    if not (child := os.fork()):
        os.environ.update(admin_port)
        print("process", os.getpid(), flush=True)
        asyncio.run(serve(Settings.load(), open_store=Opener(failures=failures)))
        print("closed", flush=True)
        break
    print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


async def assert_starts_and_stops(process: asyncio.subprocess.Process, status: int, ports: int) -> None:
    """Wait until the next gateway of the process has started, ask it, and stop it."""
    assert process.stdout
    async with asyncio.timeout(120):
        number, addresses = 0, list[str]()
        while len(addresses) < ports:
            line = (await process.stdout.readline()).decode()
            assert line, "the gateway ended"
            number = int(line.split()[1]) if line.startswith("process ") else number
            addresses += re.findall(r"http://127\.0\.0\.1:\d+/", line)
        public, operators = addresses[0], addresses[-1]
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as web:
            while (response := await web.get(f"{operators}readyz")).status_code != status:
                await asyncio.sleep(0.1)
            assert "server" not in response.headers
            assert (await web.get(f"{public}healthz")).status_code == 200
            assert (await web.get(f"{operators}metrics")).status_code == 200
            assert (await web.get(f"{public}metrics")).status_code == (200 if public == operators else 404)
            os.kill(number, signal.SIGTERM)
            lines = list[str]()
            while not lines or not lines[-1].startswith("status "):
                lines.append((await process.stdout.readline()).decode())
                assert lines[-1], "the process ended"
        assert lines[-2:] == ["closed\n", "status 0\n"]


async def test_the_process_starts_with_or_without_stores_and_stops_when_asked() -> None:
    """One signal stops both ports, where operators have a port of their own.

    Both processes are forks of one: its imports take longer than they do.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **NO_SPELLING, "RIFFLE_GATEWAY__PORT": "0", "NO_COLOR": "1"},
        start_new_session=True,  # a gateway that has not stopped holds the pipe open
    )
    try:
        for status, ports in ((200, 2), (503, 1)):
            await assert_starts_and_stops(process, status, ports)
        assert await process.wait() == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()  # closes the pipe
