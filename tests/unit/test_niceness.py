"""Niceness of processes and of their sessions."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from streams import resources
from streams.resources import is_machine_full, raise_session_niceness, set_session_niceness


class Refusing:
    """A /proc whose file refuses the first writes, as the kernel does when there are many within a second."""

    def __init__(self, error: type[OSError], times: int) -> None:
        self.error, self.times, self.written = error, times, ""

    def __truediv__(self, name: str) -> "Refusing":
        return self

    def write_text(self, text: str) -> None:
        if self.times:
            self.times -= 1
            raise self.error
        self.written = text


REFUSALS = [
    # the error, how often, what is written in the end
    (BlockingIOError, 2, "7"),  # tried again
    (PermissionError, 1, ""),  # the process goes on without
    (FileNotFoundError, 1, ""),  # no such kernel
]


@pytest.mark.parametrize(("error", "times", "written"), REFUSALS)
def test_a_refusal_ends_nothing(
    error: type[OSError], times: int, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "RETRY_SECONDS", 0.0)
    proc = Refusing(error, times)
    set_session_niceness(os.getpid(), 7, proc)  # type: ignore[arg-type]  # a folder like the kernel's folder
    assert proc.written == written


@pytest.fixture(params=[0, 15])
def leader(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """A process with a session of its own, and the niceness that it was started with."""
    command = ["nice", "-n", str(request.param), sys.executable, "-S", "-c", "print(flush=True); input()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True) as process:
        assert process.stdout
        process.stdout.readline()
        yield process.pid, os.getpriority(os.PRIO_PROCESS, process.pid)
        process.kill()


def test_a_niceness_is_a_minimum_and_never_adds_up(leader: tuple[int, int]) -> None:
    pid, before = leader
    for _ in range(2):
        raise_session_niceness(pid, 10)
    assert os.getpriority(os.PRIO_PROCESS, pid) == max(before, 10)


@pytest.mark.parametrize(
    ("load", "cores", "full"),
    [
        pytest.param(6.0, 2, False, id="a stack that indexes while people search"),
        pytest.param(12.0, 2, True, id="12 busy processes on two cores"),
        pytest.param(50.0, 2, True, id="far too much"),
        pytest.param(50.0, 16, False, id="a large machine"),
    ],
)
def test_a_machine_is_full_when_much_more_waits_than_a_stack_ever_needs(load: float, cores: int, full: bool) -> None:
    assert is_machine_full(load, cores) is full
