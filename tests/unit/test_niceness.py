"""Niceness of processes and of their sessions."""

import os

import pytest

from streams import niceness
from streams.niceness import set_session_niceness


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
    set_session_niceness(os.getpid(), 7, proc)  # type: ignore[arg-type]  # a folder like the kernel's folder
    assert proc.written == written
