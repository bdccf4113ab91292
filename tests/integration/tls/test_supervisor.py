"""The supervisor over the real servers: up, crash, restart, kill -9, up again, down.

The servers are those of the tests of certificates, which come first.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import typer

from streams.commands.stack.status import health_of
from streams.commands.stack.up import detached, start_detached, stop_stack, supervisor_log, up
from streams.errors import StartError
from streams.local.home import ProcessState, StackState, running_state
from streams.runtime.topics import describe_topics
from streams.servers import NAMES
from streams.settings import Settings, stack_file
from tests.integration.tls.conftest import TlsStack

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

SERVERS = set(NAMES)
DEADLINE_SECONDS = 180.0


@pytest.fixture
def home(tls_stack: TlsStack) -> Path:
    """The home of the running stack, which the tests of this module kill, start again and stop, in their order."""
    return tls_stack.home


def running(home: Path) -> StackState:
    state = running_state(home)
    assert state is not None, "\n".join(supervisor_log(home).read_text().splitlines()[-20:])
    return state


def process(home: Path, name: str) -> ProcessState:
    return next(process for process in running(home).processes if process.name == name)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {DEADLINE_SECONDS:.0f} s: {what}"
        time.sleep(0.1)


def family(state: StackState) -> list[psutil.Process]:
    """The supervisor and all that it started, Triton's stubs too."""
    supervisor = psutil.Process(state.pid)
    return [supervisor, *supervisor.children(recursive=True)]


def left(started: list[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that still run. `is_running` notices a process id that was reused."""
    running = []
    for found in started:
        with suppress(psutil.NoSuchProcess):  # it ended between the two questions
            running += [found] if found.is_running() and found.status() != psutil.STATUS_ZOMBIE else []
    return running


def test_up_starts_the_servers_and_tells_each(home: Path) -> None:
    state = running(home)
    assert state.state == "ready"

    def health() -> dict[str, str]:
        settings = Settings.load(home=home)
        return {each.name: health_of(each, settings) for each in state.processes}

    # A probe has a second or two: on a busy machine one may be late.
    until(lambda: health() == dict.fromkeys(SERVERS, "ok"), "each server answers")


def test_the_settings_of_the_home_point_to_them(home: Path) -> None:
    settings = Settings.load(home=home)

    assert settings.kafka.bootstrap == f"127.0.0.1:{process(home, 'kafka').port}"
    assert all(state.partitions for state in describe_topics(settings)), "a topic is missing"


def test_a_second_one_in_the_same_home_is_refused(home: Path) -> None:
    before = running(home)

    with pytest.raises(StartError, match="runs already"):
        start_detached(home, servers_only=True)
    assert running(home) == before


def test_another_web_for_a_stack_that_runs_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RIFFLE_HOME", str(home))

    with pytest.raises(typer.Exit) as ended:
        up(web=home)
    assert ended.value.exit_code == 2
    assert "riffle down" in capfd.readouterr().err


def test_a_server_that_crashes_is_started_again(home: Path) -> None:
    before = process(home, "qdrant")
    os.kill(before.pid, signal.SIGKILL)

    until(lambda: process(home, "qdrant").restarts == 1, "qdrant was not started again")
    after = process(home, "qdrant")
    assert (after.port, after.restarts) == (before.port, 1)
    until(lambda: health_of(after, Settings.load(home=home)) == "ok", "the new qdrant does not answer")


def test_kill_9_of_the_supervisor_leaves_no_process(home: Path) -> None:
    state = running(home)
    started = family(state)
    assert len(started) > len(SERVERS)

    os.kill(state.pid, signal.SIGKILL)

    until(lambda: not left(started), "a process of the stack still runs")


def test_its_state_is_stale_then(home: Path) -> None:
    assert stack_file(home).exists()
    assert running_state(home) is None
    assert not stack_file(home).exists()


def test_the_next_start_finds_the_data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIFFLE_LOCAL_TLS", "true")
    start_detached(home, servers_only=True)

    assert all(state.partitions for state in describe_topics(Settings.load(home=home)))


def test_down_stops_everything(home: Path) -> None:
    state = running(home)
    started = family(state)

    assert stop_stack(home, state).startswith("Stopped in")

    assert not left(started)
    assert not stack_file(home).exists()
    of_this_home = next(supervisor for supervisor in detached if supervisor.pid == state.pid)
    assert of_this_home.returncode is not None, "else Python warns at its end"
