"""Niceness of processes and of their sessions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streams import niceness
from streams.niceness import set_session_niceness

APART = """
import os
from streams.niceness import raise_niceness_in_own_session
before = os.nice(0)
raise_niceness_in_own_session({added})
print(os.nice(0) - before, os.getsid(0) == os.getpid(), *open("/proc/self/autogroup").read().split()[1:], before)
"""


def test_a_nice_process_has_a_nice_session_of_its_own() -> None:
    if not Path("/proc/self/autogroup").exists():
        pytest.skip("this kernel doesn't group processes by session")
    added, leads, _, of_session, before = _run(3)
    assert (added, leads) == ("3", "True")
    assert int(of_session) == int(before) + 3


def test_a_process_that_is_not_nice_keeps_its_session() -> None:
    added, leads, *_ = _run(0)
    assert (added, leads) == ("0", "False")


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
    monkeypatch.setattr(niceness, "RETRY_SECONDS", 0.0)
    proc = Refusing(error, times)
    set_session_niceness(os.getpid(), 7, proc)  # type: ignore[arg-type]  # a folder like that of the kernel
    assert proc.written == written


def _run(added: int) -> list[str]:
    code = APART.format(added=added)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()
