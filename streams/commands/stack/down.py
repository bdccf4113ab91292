"""`riffle down`: stop the local stack."""

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from streams.commands.console import command, local_home, out
from streams.commands.stack.up import STOP_SECONDS, detached
from streams.local.state import StackState, read_state
from streams.settings import stack_file

POLL_SECONDS = 0.1


@command
def down(
    clean: Annotated[bool, typer.Option("--clean", help="Also remove the data: the next start is empty.")] = False,
) -> int:
    """Stop the local stack: gateway and workers first, then the servers.

    Examples:

        riffle down
        riffle down --clean
    """
    home = local_home()
    state = read_state(home)
    if state is None:
        out.print(f"No stack runs in {home.resolve()}.", highlight=False)
    else:
        with out.status("Stopping"):
            outcome = stop_stack(home, state)
        out.print(outcome, highlight=False)
    if clean:
        shutil.rmtree(home / "data", ignore_errors=True)
        out.print(f"Removed {home.resolve() / 'data'}.", highlight=False)
    return 0


def stop_stack(home: Path, state: StackState) -> str:
    """Stop the supervisor and its remaining children. Return the outcome as a sentence."""
    started = time.monotonic()
    if state.alive:
        os.kill(state.pid, signal.SIGTERM)
        outcome = "Stopped" if _wait_for_end(state, STOP_SECONDS) else "Killed, because it did not stop by itself,"
        if state.alive:
            os.kill(state.pid, signal.SIGKILL)
            _wait_for_end(state, 5)
    else:
        outcome = "The supervisor was not running any more. Cleaned up"
    for left in [process for process in state.processes if process.alive]:
        os.kill(left.pid, signal.SIGKILL)
        outcome += f", killed {left.title} ({left.pid})"
    stack_file(home).unlink(missing_ok=True)
    for supervisor in detached:
        supervisor.poll()  # reaps it if this process started it: Python warns about a Popen that was never reaped
    return f"{outcome} in {time.monotonic() - started:.1f} s."


def _wait_for_end(state: StackState, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while state.alive and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return not state.alive
