"""The probe of a Triton container: what it calls a fault, by made process tables and a server that answers anything."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from triton_models.check_server import find_fault, lost_processes

TABLE = {
    # the text of /proc/PID/stat of a healthy server
    1: "1 (tritonserver) S 0 1 1 0",
    40: "40 (triton_python_b) S 1 1 1 0",
    41: "41 (triton_python_b) R 1 1 1 0",
    50: "50 (a) b (c) S 1 1 1 0",
}
FAULTS = {
    # a process more, and what the check says of it
    "a model's process was killed": ("60 (triton_python_b) Z 1 1 1 0", "model processes have ended: 60"),
    "it is gone from the table in this moment": ("60 (triton_python_b) X 1 1 1 0", "model processes have ended: 60"),
    "it is stopped": ("60 (triton_python_b) T 1 1 1 0", "model processes are stopped: 60"),
    "a debugger looks at it": ("60 (triton_python_b) t 1 1 1 0", ""),
    "it waits for a disk": ("60 (triton_python_b) D 1 1 1 0", ""),
    "it waits for a processor": ("60 (triton_python_b) R 1 1 1 0", ""),
    "another program has ended": ("60 (bash) Z 1 1 1 0", ""),
    "another program is stopped": ("60 (bash) T 1 1 1 0", ""),
    "a name with brackets": ("60 (triton_python_b) Z) S 1 1 1 0", ""),
}


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "meminfo").write_text("not a process")
    (tmp_path / "99").mkdir()  # it ended between the listing and the read
    for pid, stat in TABLE.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(stat)
    return tmp_path


@pytest.fixture(params=[200])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(request.param)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("stat", "fault"), FAULTS.values(), ids=FAULTS.keys())
def test_a_model_process_that_has_ended_or_is_stopped_is_lost(proc: Path, address: str, stat: str, fault: str) -> None:
    assert find_fault(address, proc=proc) == ""
    (proc / "60").mkdir()
    (proc / "60" / "stat").write_text(stat)
    assert find_fault(address, proc=proc) == fault


def test_each_state_of_lost_processes_is_named(proc: Path, address: str) -> None:
    for pid, state in ((60, "T"), (9, "T"), (61, "Z")):
        (proc / str(pid)).mkdir()
        (proc / str(pid) / "stat").write_text(f"{pid} (triton_python_b) {state} 1 1 1 0")
    assert lost_processes(proc) == {"are stopped": [9, 60], "have ended": [61]}
    assert find_fault(address, proc=proc) == "model processes are stopped: 9, 60; model processes have ended: 61"


@pytest.mark.parametrize("address", [400, 503], indirect=True)
def test_a_server_that_says_so_is_unhealthy(proc: Path, address: str) -> None:
    assert "answers with status" in find_fault(address, proc=proc)


def test_a_silent_server_is_a_fault(proc: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        assert "does not answer" in find_fault(address, proc=proc), "nobody listens"
        listening.listen()
        assert "does not answer" in find_fault(address, proc=proc, seconds=0.05), "nobody answers"
