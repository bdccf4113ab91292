"""Qdrant's own engine behind a small server that speaks the part of its REST API that we use (qdrant_server.py)."""

import sys
import urllib.error
import urllib.request
from pathlib import Path

from streams.local.children import Launch
from streams.local.ports import free_ports
from streams.local.server import Hints

PROBE_SECONDS = 1.0


class Qdrant:
    """`python -m streams.local.qdrant_server`."""

    name = "qdrant"
    title = "Qdrant"
    ready_timeout_seconds = 60.0
    hints: Hints = (
        ("No module named 'qdrant_edge'", "Install the local stack's packages: pip install 'riffle-search[local]'"),
    )

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_ports(1)[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def prepare(self) -> Launch:
        self.data.mkdir(parents=True, exist_ok=True)
        module = [sys.executable, "-m", "streams.local.qdrant_server"]
        return Launch([*module, "--host", "127.0.0.1", "--port", str(self.port), "--data", str(self.data)])

    def is_ready(self) -> bool:
        """Whether it lists its collections."""
        try:
            with urllib.request.urlopen(f"{self.url}/collections", timeout=PROBE_SECONDS) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False
