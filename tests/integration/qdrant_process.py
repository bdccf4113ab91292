"""Starts the local Qdrant server as a process of its own, which a test may kill."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx


class QdrantProcess:
    def __init__(self, data: Path, port: int | None = None) -> None:
        self.data = data
        self.port = port or _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = data.with_name(data.name + ".log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "streams.local.qdrant_server", "--port", str(self.port), "--data"]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen([*command, str(self.data)], stdout=log, stderr=log)
        self._ready()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        status = self.process.wait(30)
        assert status in (0, -signal.SIGTERM), f"the server ended with {status}: {self._log.read_text()}"

    def _ready(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self.process is not None
            assert self.process.poll() is None, f"the server ended: {self._log.read_text()}"
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError(f"the server is not ready after a minute: {self._log.read_text()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
