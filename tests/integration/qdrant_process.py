"""Starts the local Qdrant server, or a real one where there is one, as a process of its own, which a test may kill."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import httpx2

from streams.local.ports import free_ports

NO_REAL_QDRANT = "no program of a real Qdrant: put `qdrant` on the PATH, or set RIFFLE_TEST_QDRANT to its path"


def real_qdrant() -> str:
    """The path of a real Qdrant: RIFFLE_TEST_QDRANT, else `qdrant` on the PATH or in ../shared/bin. Empty: none."""
    beside = Path(__file__).parents[3] / "shared" / "bin" / "qdrant"
    given = os.environ.get("RIFFLE_TEST_QDRANT") or shutil.which("qdrant")
    return given or (str(beside) if os.access(beside, os.X_OK) else "")


class QdrantProcess:
    """The local stack's server."""

    def __init__(self, data: Path, port: int | None = None, options: Sequence[str] = ()) -> None:
        self.data = data
        self._options = options
        self.port = port or free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = data.with_name(data.name + ".log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = self._spawn(log)
        self._ready()

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "streams.local.qdrant_server", "--port", str(self.port), "--data"]
        return subprocess.Popen([*command, str(self.data), *self._options], stdout=log, stderr=log)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        status = self.process.wait(120)
        assert status in (0, -signal.SIGTERM), f"the server ended with {status}: {self._log.read_text()}"

    def _ready(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self.process is not None
            assert self.process.poll() is None, f"the server ended: {self._log.read_text()}"
            try:
                if httpx2.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx2.TransportError:
                time.sleep(0.1)
        raise AssertionError(f"the server is not ready after a minute: {self._log.read_text()}")


class RealQdrantProcess(QdrantProcess):
    """A real Qdrant with its data in a folder."""

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        self.data.mkdir(parents=True, exist_ok=True)
        environment = {
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(free_ports(1)[0]),
            "QDRANT__TELEMETRY_DISABLED": "true",
        }
        return subprocess.Popen(
            [real_qdrant()], stdout=log, stderr=log, cwd=self.data, env={**os.environ, **environment}
        )
