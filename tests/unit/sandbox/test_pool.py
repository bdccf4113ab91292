"""The sandbox: a result only depends on the payload, and nothing that happens to a process is a verdict on it."""

import asyncio
import contextlib
import errno
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable

import psutil
import pytest

from streams.errors import PoisonError, Refused, SandboxAway, TransientError
from streams.sandbox.confinement import minimal_environment
from streams.sandbox.limits import Limits
from streams.sandbox.pool import Sandbox, SandboxPool
from streams.sandbox.process import SandboxProcess
from tests.child_processes import unreaped
from tests.inline_sandbox import InlineSandbox
from tests.unit.sandbox import tasks

MEGABYTE = 1024 * 1024
LIMITS = Limits(cpu_seconds=1.0, memory_bytes=64 * MEGABYTE)
NAMES = (
    "echo", "was_warm", "refuse", "fail", "spin", "allocate", "keep", "exhaust", "nest", "process_id", "sleep_in",
    "abort", "work", "environment",
)  # fmt: skip
TASKS = {name: f"{tasks.__name__}:{name}" for name in NAMES}


def pool_of(processes: int = 1, *, stall_seconds: float = 60.0) -> SandboxPool:
    return SandboxPool(tuple(TASKS.values()), processes=processes, limits=LIMITS, stall_seconds=stall_seconds)


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[SandboxPool]:
    async with pool_of() as started:
        yield started


@pytest.fixture(params=["real", "inline"], scope="module")
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    started = pool_of() if request.param == "real" else InlineSandbox(tuple(TASKS.values()))
    async with started:
        yield started


async def rule_of(run: Awaitable[bytes]) -> str:
    """The rule that refuses a payload; empty if none does."""
    try:
        await run
    except Refused as refused:
        return refused.rule
    return ""


async def test_a_task_is_run(sandbox: Sandbox) -> None:
    payloads = [bytes([number]) * number for number in range(50)]
    assert await asyncio.gather(*(sandbox.run(TASKS["echo"], payload) for payload in payloads)) == payloads


async def test_a_refusal_of_the_task_is_a_refusal(sandbox: Sandbox) -> None:
    with pytest.raises(Refused) as refused:
        await sandbox.run(TASKS["refuse"], b"why")
    assert (refused.value.rule, refused.value.detail) == ("a rule", "why")


async def test_a_failure_of_the_task_is_poison(sandbox: Sandbox) -> None:
    with pytest.raises(PoisonError, match="KeyError: 'why'"):
        await sandbox.run(TASKS["fail"], b"why")


async def test_nesting_beyond_the_stack_is_refused(sandbox: Sandbox) -> None:
    assert await rule_of(sandbox.run(TASKS["nest"], b"")) == "nesting"


async def test_modules_are_warmed_up_once(pool: SandboxPool) -> None:
    assert await pool.run(TASKS["was_warm"], b"") == b"1"


async def test_only_tasks_of_the_pool_are_run(pool: SandboxPool) -> None:
    with pytest.raises(ValueError, match="not among the tasks"):
        await pool.run("os:getcwd", b"")


async def test_cpu_time_is_limited_and_the_next_payload_is_run(pool: SandboxPool) -> None:
    runs = [pool.run(TASKS["echo"], b"before"), pool.run(TASKS["spin"], b""), pool.run(TASKS["echo"], b"after")]
    before, spun, after = await asyncio.gather(*runs, return_exceptions=True)
    assert (before, after) == (b"before", b"after")
    assert isinstance(spun, Refused)
    assert spun.rule == "time"


async def test_memory_is_limited_and_the_next_payload_is_run(pool: SandboxPool) -> None:
    most = str(LIMITS.memory_bytes + MEGABYTE).encode()
    assert await rule_of(pool.run(TASKS["allocate"], most)) == "memory"
    assert await pool.run(TASKS["allocate"], b"1000") == b"1000"


@pytest.mark.parametrize("before", [pytest.param(0, id="in a fresh process"), pytest.param(1, id="in a used process")])
async def test_a_process_without_memory_for_its_answer_is_a_refusal_for_memory(before: int) -> None:
    async with pool_of() as pool:
        for _ in range(before):
            await pool.run(TASKS["echo"], b"first")
        assert await rule_of(pool.run(TASKS["exhaust"], b"")) == "memory"
        assert await pool.run(TASKS["echo"], b"next") == b"next"


async def test_memory_that_tasks_before_it_keep_is_no_verdict() -> None:
    half = str(LIMITS.memory_bytes * 2 // 3).encode()
    async with pool_of() as pool:
        first, second = [await pool.run(TASKS["keep"], half) for _ in range(2)]
    assert first != second, "the second one ran in a fresh process"


async def test_a_process_that_keeps_much_is_replaced() -> None:
    most = str(int(LIMITS.memory_bytes * (LIMITS.kept_share + 0.05))).encode()
    async with pool_of() as pool:
        assert await pool.run(TASKS["keep"], most) != await pool.run(TASKS["process_id"], b"")


async def signal_once_asleep(process: int, how: signal.Signals) -> None:
    while psutil.Process(process).status() != psutil.STATUS_SLEEPING:
        await asyncio.sleep(0.01)
    os.kill(process, how)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
async def test_a_killed_parser_child_is_no_verdict(how: signal.Signals) -> None:
    async with pool_of() as pool:
        process = await pool.run(TASKS["process_id"], b"")
        both = asyncio.gather(pool.run(TASKS["sleep_in"], process), pool.run(TASKS["echo"], b"after"))
        await asyncio.sleep(0.1)
        await signal_once_asleep(int(process), how)
        assert list(await both) == [b"done", b"after"]


def children() -> list[int]:
    """The sandbox processes of this process. One that has just ended has no command line."""
    listed = []
    for one in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            listed += [one.pid] if "streams.sandbox.worker" in one.cmdline() else []
    return listed


@pytest.mark.parametrize(
    ("how", "error"),
    [
        # (the signal that ends each process of the payload, what the run raises)
        (signal.SIGKILL, TransientError),  # the OOM killer, an operator: no verdict, however often
        (signal.SIGTERM, TransientError),
        (signal.SIGSTOP, TransientError),  # a silence by the clock
        (signal.SIGSEGV, Refused),  # the process's own fault
        (signal.SIGPROF, Refused),
    ],
)
async def test_only_what_a_process_brings_on_itself_is_a_verdict(how: signal.Signals, error: type[Exception]) -> None:
    others = set(children())
    async with pool_of(stall_seconds=0.5) as pool:
        await pool.run(TASKS["echo"], b"ready")
        run = asyncio.create_task(pool.run(TASKS["sleep_in"], b""))
        while not run.done():
            for process in set(children()) - others:
                with contextlib.suppress(psutil.NoSuchProcess):
                    if psutil.Process(process).status() == psutil.STATUS_SLEEPING:
                        os.kill(process, how)
            await asyncio.sleep(0.05)
        assert type(run.exception()) is error
        assert await pool.run(TASKS["echo"], b"after") == b"after"


async def test_an_answer_that_comes_while_its_process_is_looked_at_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process then uses no CPU time and waits, as a silent one does."""

    def look_until_it_waits(process: SandboxProcess) -> bool:
        while psutil.Process(process._process.pid).status() != psutil.STATUS_SLEEPING:
            time.sleep(0.01)
        return True

    monkeypatch.setattr(SandboxProcess, "_is_silent", look_until_it_waits)
    async with pool_of(stall_seconds=0.05) as impatient:
        assert await impatient.run(TASKS["work"], b"0.3") == b"worked"


async def test_a_slow_process_is_waited_for_while_it_works_or_waits_for_a_processor(pool: SandboxPool) -> None:
    """It uses less CPU time than its limit, in more time than a silence may last."""
    async with pool_of(stall_seconds=0.1) as impatient:
        assert await impatient.run(TASKS["work"], b"0.6") == b"worked"


@pytest.mark.parametrize(
    "error",
    [
        BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        MemoryError(),
    ],
)
async def test_a_machine_without_a_process_to_spare_is_an_outage(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def refuse(*_: object, **__: object) -> asyncio.subprocess.Process:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("asyncio.create_subprocess_exec", refuse)
        pool = pool_of(2)
        with pytest.raises(SandboxAway, match="no sandbox process can be started"):
            await pool.run(TASKS["echo"], b"page")
    assert await pool.run(TASKS["echo"], b"page") == b"page", "the slots went on trying"
    await pool.close()


async def test_a_start_that_is_slow_is_an_outage_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.sandbox.pool.SLOW_START_SECONDS", 0.02)
    pool = pool_of()
    with pytest.raises(SandboxAway, match="to start"):
        await pool.run(TASKS["echo"], b"page")
    monkeypatch.setattr("streams.sandbox.pool.SLOW_START_SECONDS", 60)
    while not pool.confinement:
        await asyncio.sleep(0.01)
    assert await pool.run(TASKS["echo"], b"page") == b"page"
    await pool.close()


async def test_a_slot_that_cannot_start_fails_no_run_that_another_process_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with pool_of() as pool:
        assert await pool.run(TASKS["echo"], b"first") == b"first"
        runs = [asyncio.create_task(pool.run(TASKS["work"], b"0.05")) for _ in range(20)]
        await asyncio.sleep(0)
        pool._away(SandboxAway("another slot"))
        assert set(await asyncio.gather(*runs)) == {b"worked"}


async def test_a_stopped_child_is_no_verdict() -> None:
    async with pool_of(stall_seconds=0.5) as pool:
        process = await pool.run(TASKS["process_id"], b"")
        run = asyncio.create_task(pool.run(TASKS["sleep_in"], process))
        await asyncio.sleep(0.1)
        await signal_once_asleep(int(process), signal.SIGSTOP)
        assert await run == b"done"


async def test_an_innocent_neighbour_of_a_crash_is_run(pool: SandboxPool) -> None:
    runs = [rule_of(pool.run(TASKS[name], b"")) for name in ("echo", "abort", "echo", "abort", "process_id")]
    assert await asyncio.gather(*runs) == ["", "crash", "", "crash", ""]


async def test_runs_that_wait_at_the_end_are_for_the_next_worker() -> None:
    pool = pool_of()
    run = asyncio.create_task(pool.run(TASKS["spin"], b""))
    await asyncio.sleep(0)
    await pool.close()
    with pytest.raises(SandboxAway):
        await run


async def test_the_child_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIFFLE_ADMIN__KEY", "a-secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    async with pool_of() as pool:
        variables = json.loads(await pool.run(TASKS["environment"], b""))
    assert not [name for name in variables if name.startswith(("RIFFLE_", "AWS_"))]
    assert "a-secret" not in variables.values()


ENVIRONMENTS = [
    # (the parent's, the child's without PYTHONPATH and the numbers of threads)
    ({"RIFFLE_ACCESS__KEY": "x", "PATH": "/bin"}, {"PATH": "/bin"}),
    ({"LD_PRELOAD": "x", "SSH_AUTH_SOCK": "x", "TZ": "UTC"}, {"TZ": "UTC"}),
    ({}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), ENVIRONMENTS)
def test_the_minimal_environment(given: dict[str, str], expected: dict[str, str]) -> None:
    made = minimal_environment(given, ["", "/a", "/b"])
    assert made.pop("PYTHONPATH") == "/a:/b"
    assert {name: value for name, value in made.items() if not name.endswith("_NUM_THREADS")} == expected


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.01, 0.1, 0.5])
async def test_a_pool_that_is_closed_while_its_processes_start_leaves_none(seconds: float) -> None:
    before = set(unreaped())
    pool = pool_of(2)
    pool.start()
    await asyncio.sleep(seconds)
    await pool.close()
    assert set(unreaped()) <= before
