"""A starved Triton is slow or away, and never wrong: its model processes are stopped and killed during batches.

Every answer is compared with the answer of the same model files in this process. What ends a call is an outage of the
server, which the runtime waits for. RIFFLE_TEST_FAULTS=all kills 200 times.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from streams.errors import DeadlineExceeded, StartError, StoreUnavailable
from streams.local.child_process import Child, kill_orphans, stop
from streams.local.ports import free_ports
from streams.local.servers.triton import Triton, why_not
from streams.models.opening import open_models
from streams.models.protocols import ChainModel, Embedder
from streams.models.triton import TritonChains
from streams.models.triton_connection import TritonConnection
from streams.resources import raise_session_niceness
from streams.settings import Settings, TritonSettings
from tests.faults.processes import busy
from tests.sizes import FULL
from triton_models.check_server import LIVE, find_fault

AT_LENGTH = os.environ.get("RIFFLE_TEST_FAULTS") == "all"
KILLS = 200 if AT_LENGTH else 5 if FULL else 2
STOPS = max(KILLS // 5, 1)
STOPPED_SECONDS = 2.0
CALLERS = 6 if FULL or AT_LENGTH else 3
"""Number of callers that ask all the time. Together they keep two processors busy."""
ROUNDING = 1e-5
"""Maximum difference of one number between two answers for a text. Without VNNI a text has slightly other
vectors (2e-7) in another batch; vectors of different texts differ by more than a thousand times this."""
BUSY, STARVED_NICENESS, STARVED_SECONDS = 12, 15, 3_600
"""The number of busy processes, how nice the server is beside them, and for how long (seconds)."""
READY_SECONDS = 180
ANSWERS_SECONDS = 600
LOCAL_MODELS = Settings().models_path / "local"
IN_PROCESS = Settings(triton=TritonSettings(url="inprocess:"))
MODELS = ("sbert", "statement_chain")
TEXTS = [f"{'the log of a database is written first ' * (n % 4)}and page {n} comes behind it." for n in range(96)]
PAGES = [[f"Page {n} has a log.", "It is written first.", f"This keeps {n} readers.", ""] * 3 for n in range(24)]

pytestmark = [pytest.mark.integration("triton"), pytest.mark.timeout(1_800 if KILLS < 200 else 4 * 3_600)]


class TritonWithHttp(Triton):
    """A server with the HTTP port that the chart opens. The local stack has it closed."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        (self.http_port,) = free_ports(1)

    def _build_command(self, backends: Path) -> list[str]:
        command = [option for option in super()._build_command(backends) if option != "--allow-http=false"]
        return [*command, "--http-address=127.0.0.1", f"--http-port={self.http_port}"]


class Server:
    """A Triton on the local models, started again whenever it has ended."""

    def __init__(self, folder: Path, models: Path, names: Sequence[str]) -> None:
        self._triton = TritonWithHttp(folder / "home" / "data" / "triton", models, names)
        self._triton.data.mkdir(parents=True)
        self._triton.log.parent.mkdir(parents=True)
        self.child: Child | None = None
        self.starts = 0

    @property
    def settings(self) -> Settings:
        return Settings(triton=TritonSettings(url=self._triton.url, query_model="", timeout_seconds=20))

    @property
    def http(self) -> str:
        return f"127.0.0.1:{self._triton.http_port}"

    def start(self) -> None:
        self.close()
        self.child = Child("triton", self._triton.prepare(), self._triton.log, self._triton.port)
        self.starts += 1

    async def ready(self) -> None:
        """Do what the supervisor does until the models answer: start a server that has ended, or that is broken."""
        while not await self._is_ready():
            self.start()

    async def _is_ready(self) -> bool:
        with suppress(TimeoutError, StartError):
            async with asyncio.timeout(READY_SECONDS):
                while not await asyncio.to_thread(self._triton.is_ready):
                    if self.child is None or self.child.exit_code is not None:
                        return False
                    await asyncio.sleep(0.2)
                return await asyncio.to_thread(self._triton.models_answer) != "broken"
        return False

    def stubs(self) -> list[psutil.Process]:
        """The processes that run the models."""
        if self.child is None or self.child.exit_code is not None:
            return []
        with suppress(psutil.NoSuchProcess):
            family = psutil.Process(self.child.pid).children(recursive=True)
            return [process for process in family if "triton_python_backend_stub" in process.name() + _program(process)]
        return []

    def show_own_processes(self, proc: Path) -> Path:
        """Make a `/proc` of this server alone, as its container has it: other tests kill processes of their servers."""
        assert self.child
        proc.mkdir()
        for pid in (self.child.pid, *(stub.pid for stub in self.stubs())):
            (proc / str(pid)).symlink_to(f"/proc/{pid}")
        return proc

    def close(self) -> None:
        if self.child is not None:
            stop([self.child], 0)
            kill_orphans(self.child)
            self._triton.clean()


def _program(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline()[:1])
    return ""


@contextmanager
def serving(folder: Path, models: Path = LOCAL_MODELS, names: Sequence[str] = MODELS) -> Iterator[Server]:
    if reason := why_not():
        pytest.skip(reason)
    server = Server(folder, models, names)
    server.start()
    try:
        yield server
    finally:
        server.close()


class Tally:
    """Counts the answers that are right, wrong and missing."""

    def __init__(self) -> None:
        self.right = self.away = 0
        self.wrong: list[str] = []

    def note(self, is_right: bool, what: str) -> None:
        if is_right:
            self.right += 1
        else:
            self.wrong.append(what)


@asynccontextmanager
async def asking(embedder: Embedder, chains: ChainModel, tally: Tally) -> AsyncIterator[None]:
    """Ask both models all the time, and compare each answer with the answer of the model by itself."""
    own = await open_models(IN_PROCESS)
    vectors = await own.embedder.embed(TEXTS, "passage")
    links = [await own.chains.links(page) for page in PAGES]
    await own.close()
    others = np.abs(vectors[:, None] - vectors[None]).max(axis=2)[~np.eye(len(TEXTS), dtype=bool)]
    assert others.min() > 1_000 * ROUNDING, "an answer of another text would not be seen"
    chance = random.Random(7)
    is_over = asyncio.Event()

    async def embed() -> None:
        rows = chance.sample(range(len(TEXTS)), chance.choice([1, 7, 40]))
        found = await embedder.embed([TEXTS[row] for row in rows], "passage")
        is_right = found.shape == vectors[rows].shape and bool(np.abs(found - vectors[rows]).max() < ROUNDING)
        tally.note(is_right, f"the vectors of texts {rows}")

    async def chain() -> None:
        page = chance.randrange(len(PAGES))
        tally.note(await chains.links(PAGES[page]) == links[page], f"the links of page {page}")

    async def ask() -> None:
        while not is_over.is_set():
            try:
                await chance.choice([embed, chain])()
            except (StoreUnavailable, DeadlineExceeded):
                tally.away += 1
                await asyncio.sleep(0.1)

    callers = [asyncio.create_task(ask()) for _ in range(CALLERS)]
    try:
        yield
    finally:
        is_over.set()
        await asyncio.gather(*callers)


async def test_no_answer_of_a_starved_server_is_wrong(tmp_path: Path) -> None:
    chance, tally = random.Random(11), Tally()
    with serving(tmp_path) as server:
        await server.ready()
        models = await open_models(server.settings)
        async with asking(models.embedder, models.chains, tally):
            for step in range(KILLS):
                await asyncio.sleep(chance.uniform(0, 0.3))
                await hurt(server, chance, stops=step % (KILLS // STOPS) == 0)
                before = tally.right
                async with asyncio.timeout(ANSWERS_SECONDS):
                    while tally.right < before + CALLERS:
                        await server.ready()
                        await asyncio.sleep(0.05)
        await models.close()
    print(f"\n{tally.right} right, {tally.away} times away, {len(tally.wrong)} wrong, {server.starts} starts of Triton")
    assert tally.wrong == []
    assert tally.right >= KILLS, "hardly any answer came, so nothing was tested"


async def hurt(server: Server, chance: random.Random, *, stops: bool) -> None:
    """Stop a model process for a while, so that the server takes it for dead, or kill it in the middle of its work."""
    stubs = server.stubs()
    if not stubs:  # the server itself has ended
        return
    stub = chance.choice(stubs)
    with suppress(psutil.NoSuchProcess):
        if not stops:
            stub.send_signal(signal.SIGKILL)
            return
        stub.send_signal(signal.SIGSTOP)
        await asyncio.sleep(STOPPED_SECONDS)
        stub.send_signal(signal.SIGCONT)


@pytest.mark.skipif(KILLS < 200, reason="an hour: only with RIFFLE_TEST_FAULTS=all")
async def test_an_hour_beside_busy_processes_brings_no_wrong_answer(tmp_path: Path) -> None:
    """Nobody stops or kills a process: the server gets little time, since it is nicer than other work."""
    tally = Tally()
    with busy(BUSY), serving(tmp_path) as server:
        await server.ready()
        models = await open_models(server.settings)
        async with asking(models.embedder, models.chains, tally):
            end = time.monotonic() + STARVED_SECONDS
            while time.monotonic() < end:
                await server.ready()
                assert server.child
                for process in (server.child.pid, *(stub.pid for stub in server.stubs())):
                    with suppress(ProcessLookupError):
                        raise_session_niceness(process, STARVED_NICENESS)
                await asyncio.sleep(1.0)
        await models.close()
    print(f"\n{tally.right} right, {tally.away} times away, {len(tally.wrong)} wrong, {server.starts - 1} ends")
    assert tally.wrong == []


def ask_in_process(seconds: float) -> None:
    """Ask models inside this process for some time, and print the numbers of right, missing and wrong answers."""

    async def ask() -> None:
        tally, models = Tally(), await open_models(IN_PROCESS)
        async with asking(models.embedder, models.chains, tally):
            await asyncio.sleep(seconds)
        await models.close()
        print(tally.right, tally.away, len(tally.wrong))

    asyncio.run(ask())


@pytest.mark.skipif(KILLS < 200, reason="an hour: only with RIFFLE_TEST_FAULTS=all")
def test_an_hour_beside_busy_processes_in_process_brings_no_wrong_answer_and_no_end() -> None:
    """The default of the local stack: no server that could end, so each call is answered."""
    program = f"from {__name__} import ask_in_process; ask_in_process({STARVED_SECONDS})"
    with busy(BUSY):
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True)
        raise_session_niceness(child.pid, STARVED_NICENESS)
        printed, _ = child.communicate()
    assert child.returncode == 0
    right, away, wrong = map(int, printed.split())
    print(f"\nin process: {right} right, {away} times away, {wrong} wrong")
    assert right > 0
    assert away == wrong == 0


PROBES = 20 if FULL or AT_LENGTH else 3


async def test_the_probe_of_a_cluster_finds_a_lost_process_and_no_fault_of_a_busy_server(
    tmp_path: Path,
) -> None:
    """Triton itself answers that it is alive, and that the model is ready."""
    tally = Tally()
    with serving(tmp_path) as server:
        await server.ready()
        models = await open_models(server.settings)
        proc = server.show_own_processes(tmp_path / "proc")

        async def fault() -> str:
            return await asyncio.to_thread(find_fault, server.http, LIVE, proc, READY_SECONDS)

        async def until(*, is_found: bool) -> None:
            async with asyncio.timeout(READY_SECONDS):
                while bool(await fault()) is not is_found:
                    await asyncio.sleep(0.05)

        async with asking(models.embedder, models.chains, tally):
            while tally.right < PROBES:
                assert await fault() == ""
                await asyncio.sleep(0.05)
            killed, stopped = server.stubs()[:2]
            stopped.suspend()
            await until(is_found=True)
            for _ in range(PROBES):
                assert await fault() == f"model processes are stopped: {stopped.pid}"
            stopped.resume()
            await until(is_found=False)
            killed.kill()
            await until(is_found=True)
            for _ in range(PROBES):
                assert await fault() == f"model processes have ended: {killed.pid}"
        assert await asyncio.to_thread(find_fault, server.http, LIVE, tmp_path) == "", "Triton calls itself alive"
        assert await asyncio.to_thread(find_fault, server.http, "/v2/models/sbert/ready", tmp_path) == ""
        await models.close()


FORMER_CONFIG = """
name: "statement_chain" backend: "python" max_batch_size: 0
input [ { name: "SENTENCES" data_type: TYPE_STRING dims: [ -1 ] } ]
output [ { name: "ANTECEDENTS" data_type: TYPE_INT32 dims: [ -1 ] } ]
"""
FORMER_MODEL = """
class TritonPythonModel:
    def execute(self, requests):
        return []
"""


async def test_a_repository_whose_models_seal_nothing_is_an_outage(tmp_path: Path) -> None:
    """No event is at fault, so none becomes a dead letter."""
    version = tmp_path / "models" / "statement_chain" / "1"
    version.mkdir(parents=True)
    (version.parent / "config.pbtxt").write_text(FORMER_CONFIG)
    (version / "model.py").write_text(FORMER_MODEL)
    with serving(tmp_path, tmp_path / "models", ["statement_chain"]) as server:
        await server.ready()
        connection = TritonConnection(server.settings.triton)
        with pytest.raises(StoreUnavailable, match="another release"):
            await TritonChains(connection).links(["A dog came."])
        await connection.close()
