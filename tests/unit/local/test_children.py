"""Child processes: logged, stopped by process id, and none is left when their parent is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from streams.local import child_process
from streams.local.child_process import (
    Child,
    Launch,
    family_cpu_seconds,
    keep_crash,
    keep_previous,
    kill_orphans,
    rotate,
    stop,
    tail,
)
from streams.local.riffle_processes import gateway, workers
from streams.resources import raise_session_niceness
from tests.child_processes import niceness_above_own, unreaped

DEADLINE_SECONDS = 120.0
SLEEP = "import time; time.sleep(600)"
READY = "print('ready', flush=True)"


def python(code: str, nice: int = 0) -> Launch:
    return Launch([sys.executable, "-c", code], nice=nice)


def started(code: str, folder: Path, name: str = "child", nice: int = 0) -> Child:
    """A child that has printed something: its signal handlers are set by then."""
    child = Child(name, python(code, nice), folder / f"{name}.log")
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not tail(child.log) and time.monotonic() < deadline:
        time.sleep(0.02)
    return child


def gone(pid: int) -> bool:
    """Return true if the process has ended, even if its new parent has not read its status yet."""
    try:
        process = psutil.Process(pid)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.02)
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_output_goes_to_the_log(tmp_path: Path) -> None:
    child = started("import sys; print('out'); print('err', file=sys.stderr)", tmp_path)
    child.process.wait()

    assert sorted(tail(child.log)) == ["err", "out"]
    assert child.exit_code == 0


def test_the_environment_is_laid_over_ours(tmp_path: Path) -> None:
    code = "import os; print(os.environ['COLOUR'], 'PATH' in os.environ)"
    child = Child("child", Launch([sys.executable, "-c", code], {"COLOUR": "blue"}), tmp_path / "child.log")
    child.process.wait()

    assert tail(child.log) == ["blue True"]


THREADS = """
import os, subprocess, sys, threading, time
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("started", flush=True)
time.sleep(60)
"""


def test_a_child_is_nice_once_it_has_started(tmp_path: Path) -> None:
    # With all its threads and helpers. Before that it isn't: on a busy machine a nice process takes minutes to start.
    child = started(THREADS, tmp_path, nice=3)
    try:
        (helper,) = psutil.Process(child.pid).children()
        threads = [thread.id for thread in psutil.Process(child.pid).threads()]
        own = os.nice(0)
        nicer = max(own, 3)
        assert _niceness(helper.pid, *threads) == [own] * 3

        child.yield_processor()
        assert _niceness(helper.pid, *threads) == [nicer] * 3

        child.yield_processor()
        assert _niceness(child.pid) == [nicer], "it is added once"
    finally:
        stop([child], 0)


def _niceness(*tasks: int) -> list[int]:
    return [os.getpriority(os.PRIO_PROCESS, task) for task in tasks]


def test_a_child_that_ended_can_not_be_nice(tmp_path: Path) -> None:
    child = Child("child", python("", nice=3), tmp_path / "child.log")
    child.process.wait()
    with pytest.raises(ProcessLookupError):
        raise_session_niceness(child.pid, 3)

    child.yield_processor()

    assert child.exit_code == 0


@pytest.mark.parametrize("slack", [0, 700])
def test_timers_are_as_exact_as_the_child_needs(slack: int, tmp_path: Path) -> None:
    shown = Path("/proc/self/timerslack_ns")
    if not shown.exists():
        pytest.skip("this system doesn't show the slack of timers")
    own = int(shown.read_text())
    code = f"print(open({str(shown)!r}).read().strip())"
    child = Child("child", Launch([sys.executable, "-c", code], timer_slack=slack), tmp_path / "child.log")
    child.process.wait()

    assert tail(child.log) == [str(1_000 * slack or own)]


def test_the_session_of_a_child_is_as_nice_as_the_child(tmp_path: Path) -> None:
    # Where sessions share the processor first, the niceness of a process only orders it within its session.
    if not Path("/proc/self/autogroup").exists():
        pytest.skip("this kernel doesn't group processes by session")
    nicer = niceness_above_own()
    child = Child("child", python(SLEEP, nice=nicer), tmp_path / "child.log")
    try:
        child.yield_processor()
        assert Path(f"/proc/{child.pid}/autogroup").read_text().split()[-1] == str(nicer)
    finally:
        stop([child], 0)


def test_workers_yield_to_the_gateway(tmp_path: Path) -> None:
    assert all(worker.prepare().nice > gateway(tmp_path, 0).prepare().nice for worker in workers(tmp_path))


def test_a_program_that_does_not_exist_says_so_in_the_log(tmp_path: Path) -> None:
    child = Child("child", Launch([str(tmp_path / "nothing")]), tmp_path / "child.log")

    assert child.process.wait() == 1
    assert tail(child.log) == [f"{tmp_path / 'nothing'} can't be run: No such file or directory"]


def test_stop_asks_first(tmp_path: Path) -> None:
    code = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7));" + READY + "; signal.pause()"
    child = started(code, tmp_path)

    assert stop([child], DEADLINE_SECONDS) == []
    assert child.exit_code == 7


def test_stop_kills_what_does_not_listen(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + READY + "; time.sleep(600)"
    child = started(code, tmp_path)

    assert stop([child], 0.2) == ["child"]
    assert child.exit_code == -signal.SIGKILL


def test_stop_takes_the_children_of_children(tmp_path: Path) -> None:
    code = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
    child = started(code, tmp_path)
    [grandchild] = tail(child.log)

    stop([child], grace_seconds=0)

    assert gone(int(grandchild))


def test_stopping_what_has_ended_does_nothing(tmp_path: Path) -> None:
    child = Child("child", python(""), tmp_path / "child.log")
    child.process.wait()

    assert stop([child], DEADLINE_SECONDS) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_no_child_outlives_a_killed_parent(tmp_path: Path) -> None:
    code = (
        "import signal, sys; from pathlib import Path; from streams.local.child_process import Child, Launch;"
        f"child = Child('child', Launch(['sleep', '600']), Path({str(tmp_path)!r}) / 'log');"
        "print(child.pid, flush=True); signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        parent.kill()

    assert gone(pid)


def test_the_tail_is_the_last_lines_with_something_in_them(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"x" * 100_000 + b"\none\n\n  \n\tat java.lang.Thread.run(Thread.java)\ntw\xff\n")

    assert tail(log, 2) == ["one", "tw\N{REPLACEMENT CHARACTER}"]


def test_a_log_that_is_not_there_has_no_tail(tmp_path: Path) -> None:
    assert tail(tmp_path / "a.log") == []


def test_the_previous_log_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    for text in ("first", "second"):
        keep_previous(log)
        log.write_text(text)

    assert (tmp_path / "a.log.previous").read_text() == "first"


@pytest.mark.parametrize("own_session", [False, True])
def test_processes_that_a_killed_child_left_behind_are_killed(own_session: bool, tmp_path: Path) -> None:
    start = f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session={own_session})"
    code = f"import subprocess, sys; print({start}.pid, flush=True); {SLEEP}"
    child = started(code, tmp_path)
    orphan = int(tail(child.log)[0])
    child.process.kill()
    child.process.wait()
    assert psutil.pid_exists(orphan)

    kill_orphans(child)

    assert gone(orphan)


def test_a_child_whose_end_nobody_waited_for_is_found_though_it_has_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", "print('of this test')"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.read() == b"of this test\n"
    assert [command for command in unreaped() if "of this test" in command]
    child.wait()
    child.stdout.close()
    assert not [command for command in unreaped() if "of this test" in command]


def test_the_logs_of_the_first_crashes_stay_and_the_last_one(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    for number in range(1, 10):
        log.write_text(f"crash {number}")
        keep_crash(log)
    kept = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert kept == {f"a.log.crash-{n}": f"crash {n}" for n in (1, 2, 3)} | {"a.log.previous": "crash 9"}


def test_the_log_of_an_old_crash_gives_way(tmp_path: Path) -> None:
    log, kept = tmp_path / "a.log", tmp_path / "a.log.crash-1"
    kept.write_text("last month")
    os.utime(kept, (0, 0))
    log.write_text("today")
    keep_crash(log)
    assert kept.read_text() == "today"


def test_a_log_is_rotated_by_size_while_its_process_writes(tmp_path: Path) -> None:
    child = started(f"{READY}\nimport sys, time\nwhile True: print('x' * 99, flush=True); time.sleep(0.001)", tmp_path)
    try:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not (older := tmp_path / "child.log.older").exists() and time.monotonic() < deadline:
            rotate(child.log, max_bytes=10_000)
        assert older.read_text().startswith("ready\n" + "x" * 99)
        while child.log.stat().st_size == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert child.log.read_bytes()[:1] == b"x", "it goes on at the beginning, and leaves no hole"
    finally:
        stop([child], grace_seconds=0)


def test_a_child_is_as_nice_as_others_only_while_the_machine_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    monkeypatch.setattr(child_process, "set_session_niceness", lambda _, niceness: given.append(niceness))
    nicer = niceness_above_own()
    child = Child("nice", Launch(["sleep", "60"], nice=nicer), tmp_path / "log")
    try:
        child.share_processor(is_full=True)
        assert given == [], "it has not answered yet, so it is not nice"
        child.yield_processor()
        for is_full in (False, True, True, False, False):
            child.share_processor(is_full=is_full)
        assert given == [0, nicer]
    finally:
        stop([child], 0)


def test_a_child_that_somebody_else_made_nice_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(child_process, "raise_session_niceness", lambda *_: False)
    monkeypatch.setattr(child_process, "set_session_niceness", lambda _, niceness: given.append(niceness))
    child = Child("nice", Launch(["sleep", "60"], nice=10), tmp_path / "log")
    try:
        child.yield_processor()
        child.share_processor(is_full=True)
        assert given == []
    finally:
        stop([child], 0)


def test_the_cpu_time_of_a_process_has_that_of_its_children(tmp_path: Path) -> None:
    busy = "[sys.executable, '-c', 'while True: pass']"
    child = started(f"{READY}\nimport subprocess, sys; subprocess.run({busy})", tmp_path)
    try:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while family_cpu_seconds(child.pid) < child_seconds(child.pid) + 0.05:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        stop([child], grace_seconds=0)


def child_seconds(pid: int) -> float:
    """Return the CPU time of a process alone."""
    own = psutil.Process(pid).cpu_times()
    return own.user + own.system
