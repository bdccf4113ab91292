"""An attack inside a sandbox process reaches no file, no other process and no network."""

import ctypes
import json
import os
import platform
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from streams.errors import Refused
from streams.sandbox import confinement
from streams.sandbox.confinement import LAYERS
from streams.sandbox.limits import Limits
from streams.sandbox.pool import SandboxPool
from streams.sandbox.system_calls import ALLOWED, FATAL, filter_program
from streams.sandbox.trial import layers_in_force
from tests.unit.sandbox import tasks

CALL, ATTEMPT, ECHO = (f"{tasks.__name__}:{name}" for name in ("call", "attempt", "echo"))
KILLED = "the process was killed"
COLUMN = {"x86_64": 0, "aarch64": 1}.get(platform.machine(), 0)
PR_GET_SECCOMP = 21


def has_all_layers() -> bool:
    """Return whether this system has all layers, without confining this process."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    has_filter = filter_program(platform.machine()) and libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0
    return bool(has_filter) and confinement._landlock_version(libc) > 0


needs_all = pytest.mark.skipif(not has_all_layers(), reason="this system lacks a layer of the confinement")


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[SandboxPool]:
    async with SandboxPool((CALL, ATTEMPT, ECHO), processes=1, limits=Limits()) as started:
        yield started


@pytest.fixture
def victim() -> Iterator["subprocess.Popen[bytes]"]:
    """Another process of the same user."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


async def outcome(pool: SandboxPool, task: str, *payload: object) -> str:
    try:
        return (await pool.run(task, json.dumps(payload).encode())).decode()
    except Refused as refused:
        return KILLED if refused.rule == "crash" and "SIGSYS" in refused.detail else str(refused)


@needs_all
async def test_all_layers_are_in_force(pool: SandboxPool) -> None:
    await pool.run(ECHO, b"")
    assert pool.confinement == list(LAYERS)


@needs_all
@pytest.mark.parametrize("descriptor", [1, 2])
async def test_a_task_writes_nothing_into_the_log_of_the_worker(
    descriptor: int, pool: SandboxPool, capfd: pytest.CaptureFixture[str]
) -> None:
    assert await outcome(pool, ATTEMPT, "write_lines", descriptor) == "allowed"
    assert "forged" not in "".join(capfd.readouterr())


def test_a_trial_says_what_is_in_force() -> None:
    assert layers_in_force() == list(LAYERS)


def test_a_trial_that_fails_says_that_nothing_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert layers_in_force() == []


@needs_all
async def test_an_attack_by_python_reaches_nothing(
    pool: SandboxPool, tmp_path: Path, victim: "subprocess.Popen[bytes]"
) -> None:
    memory = f"/proc/{os.getpid()}/mem"
    attempts = [
        ("write_file", str(tmp_path / "escaped")), ("read_file", memory), ("write_file", memory),
        ("read_file", f"/proc/{os.getpid()}/environ"), ("read_file", "/etc/passwd"), ("signal_process", victim.pid),
        ("fork",), ("connect",),
    ]  # fmt: skip
    found = {str(attempt): await outcome(pool, ATTEMPT, *attempt) for attempt in attempts}
    assert set(found.values()) == {"EPERM"}, found
    assert victim.poll() is None
    assert not (tmp_path / "escaped").exists()


SIGKILL, AT_CWD, READ_WRITE = 9, -100, 2
CALLS = [
    # (x86-64 number, 64-bit ARM number, arguments; "victim" is another process, what happens)
    ("openat", 257, 56, [AT_CWD, "/etc/passwd", 0], "EPERM"),
    ("openat to write", 257, 56, [AT_CWD, "/proc/self/mem", READ_WRITE], "EPERM"),
    ("openat2", 437, 437, [AT_CWD, "/etc/passwd", 0, 0], "EPERM"),
    ("memfd_create", 319, 279, ["name", 0], "EPERM"),
    ("unlinkat", 263, 35, [AT_CWD, "/tmp/nothing-there", 0], "EPERM"),
    ("kill", 62, 129, ["victim", SIGKILL], "EPERM"),
    ("tkill", 200, 130, ["victim", SIGKILL], "EPERM"),
    ("rt_sigqueueinfo", 129, 138, ["victim", SIGKILL, 0], KILLED),
    ("rt_tgsigqueueinfo", 297, 240, ["victim", "victim", SIGKILL, 0], KILLED),
    ("pidfd_open", 434, 434, ["victim", 0], KILLED),
    ("prlimit64", 302, 261, ["victim", 0, 0, 0], "EPERM"),
    ("clone", 56, 220, [0, 0, 0, 0, 0], "EPERM"),
    ("clone3", 435, 435, [0, 0], "EPERM"),
    ("execve", 59, 221, ["/bin/true", 0, 0], KILLED),
    ("socket", 41, 198, [2, 1, 0], "EPERM"),
    ("ptrace", 101, 117, [16, "victim", 0, 0], KILLED),
    ("process_vm_readv", 310, 270, ["victim", 0, 0, 0, 0, 0], KILLED),
    ("process_vm_writev", 311, 271, ["victim", 0, 0, 0, 0, 0], KILLED),
    ("io_uring_setup", 425, 425, [1, 0], KILLED),
    ("a number that no kernel has", 9_999, 9_999, [], "EPERM"),
]


@needs_all
@pytest.mark.parametrize(("name", "x86", "arm", "arguments", "expected"), CALLS, ids=[call[0] for call in CALLS])
async def test_an_attack_by_system_calls_reaches_nothing(
    pool: SandboxPool,
    victim: "subprocess.Popen[bytes]",
    name: str,
    x86: int,
    arm: int,
    arguments: list[object],
    expected: str,
) -> None:
    given = [victim.pid if one == "victim" else one for one in arguments]
    assert await outcome(pool, CALL, (x86, arm)[COLUMN], *given) == expected, name
    assert victim.poll() is None
    assert await pool.run(ECHO, b"after") == b"after"


@needs_all
@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has a second set of numbers")
async def test_the_second_set_of_numbers_is_closed(pool: SandboxPool) -> None:
    assert await outcome(pool, CALL, 0x40000000 + 1, 1, "x", 1) == KILLED


STARTS_A_POOL = f"""
import asyncio, ctypes
from streams.sandbox.limits import Limits
from streams.sandbox.pool import SandboxPool

def may_be_dumped():
    return ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)  # PR_GET_DUMPABLE

async def main():
    before = may_be_dumped()
    async with SandboxPool(({ECHO!r},), processes=1, limits=Limits()):
        print(before, may_be_dumped())

asyncio.run(main())
"""


@needs_all
def test_the_process_with_the_secrets_allows_no_memory_dump() -> None:
    """In a process of its own: no other test may have set it."""
    done = subprocess.run([sys.executable, "-c", STARTS_A_POOL], capture_output=True, text=True, timeout=120)
    assert done.stdout == "1 0\n", done.stderr


@pytest.mark.parametrize(("machine", "instructions"), [("x86_64", True), ("aarch64", True), ("riscv64", False)])
def test_filters_by_machine(machine: str, instructions: bool) -> None:
    assert len(filter_program(machine)) == (8 * (len(ALLOWED) + len(FATAL) + 7) if instructions else 0)


def test_no_call_is_both_allowed_and_fatal() -> None:
    for column in (0, 1):
        numbers = [call[column] for calls in (ALLOWED, FATAL) for call in calls.values()]
        assert len(numbers) == len(set(numbers))
