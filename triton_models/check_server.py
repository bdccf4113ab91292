"""A check of the Triton server of this container, for Kubernetes: `python3 check_server.py [HOST:PORT [PATH]]`.

Triton answers that it is alive, and that each model is ready, also when the python backend has lost a model's process
for good: every request to that process fails then, until the server is started again. So this check also looks at the
states of the server's child processes: one has ended, or is stopped (SIGSTOP), which no load does to a process. Only a
process that is stopped at several checks in a row means a restart: `failureThreshold` of the probe.

It sends no requests to models: they would wait behind the work of a busy server, and a model with several processes
answers while one of them is lost.

It uses only the standard library, since it is started often.
"""

import os
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path

LIVE = "/v2/health/live"
"""The question whether the server is alive; `/v2/health/ready` asks whether its models are loaded, too."""
ANSWER_SECONDS = 60.0
"""Maximum wait for the server's answer (seconds). A probe of Kubernetes has a limit of its own, which is shorter."""
STUB = "triton_python_b"
"""Name of the python backend's processes, as the kernel cuts it."""
LOST = {"Z": "have ended", "X": "have ended", "T": "are stopped"}
"""States of a process that does no work, in words. The server never waits for its model processes, so those that have
ended stay in the table. A process that waits for a processor is in state R, and one under a debugger in state t."""


def lost_processes(proc: Path = Path("/proc")) -> dict[str, list[int]]:
    """Return the ids of the model processes that have ended or are stopped, of all processes that `/proc` shows."""
    lost: dict[str, list[int]] = {}
    for pid, name, state in sorted(_processes(proc)):
        if name.startswith(STUB) and state in LOST:
            lost.setdefault(LOST[state], []).append(pid)
    return lost


def _processes(proc: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the id, name and state of each process."""
    for entry in os.scandir(proc):
        if not entry.name.isdigit():
            continue
        try:
            text = Path(entry.path, "stat").read_text(errors="replace")
        except OSError:
            continue  # it ended meanwhile
        # PID (NAME) STATE ...: a name may have brackets and spaces in it.
        before, _, after = text.rpartition(")")
        yield int(entry.name), before.partition("(")[2], after.split(maxsplit=1)[0]


def find_fault(address: str, path: str = LIVE, proc: Path = Path("/proc"), seconds: float = ANSWER_SECONDS) -> str:
    """Return the reason why the server must be started again, or an empty string."""
    connection = HTTPConnection(address, timeout=seconds)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        return f"the server does not answer: {error or type(error).__name__}"
    finally:
        connection.close()
    if status >= 400:
        return f"the server answers with status {status}"
    lost = lost_processes(proc)
    return "; ".join(f"model processes {state}: {', '.join(map(str, ids))}" for state, ids in lost.items())


def main(arguments: list[str]) -> int:
    """Print the health of the server of HOST:PORT, and return 1 if it must be started again."""
    address, path, *_ = [*arguments, *["127.0.0.1:8000", LIVE][len(arguments) :]]
    fault = find_fault(address, path)
    sys.stdout.write(f"{fault or 'healthy'}\n")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
