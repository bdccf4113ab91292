"""Qdrant's own engine behind a small server with the part of Qdrant's REST API that Riffle uses (`qdrant_server`)."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from streams.credentials import client_context
from streams.errors import StartError
from streams.local.child_process import Launch
from streams.local.ports import free_ports
from streams.local.probing import answers
from streams.local.servers.server import INSTALL_LOCAL, Hints
from streams.local.tls.identities import OPERATOR, Identities
from streams.settings import Settings


class Qdrant:
    """`python -m streams.local.qdrant_server`."""

    name = "qdrant"
    title = "Qdrant"
    ready_timeout_seconds = 120.0
    hints: Hints = ()

    def __init__(self, data: Path, tls: Identities | None = None) -> None:
        self.data, self.tls = data, tls
        self.port = free_ports(1)[0]

    @classmethod
    def of(cls, settings: Settings, home: Path, tls: Identities | None) -> Self:
        if find_spec("qdrant_edge") is None:
            raise StartError(f"Qdrant's engine, the package qdrant-edge-py, isn't installed. {INSTALL_LOCAL}")
        return cls(home / "data" / cls.name, tls)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def addresses(self) -> dict[str, Any]:
        return {"url": self.url}

    @staticmethod
    def external(settings: Settings) -> str:
        return settings.qdrant.url if "url" in settings.qdrant.model_fields_set else ""

    @property
    def health(self) -> str:
        return f"{self.url}/collections"

    def prepare(self) -> Launch:
        self.data.mkdir(parents=True, exist_ok=True)
        module = [sys.executable, "-m", "streams.local.qdrant_server"]
        command = [*module, "--host", "127.0.0.1", "--port", str(self.port), "--data", str(self.data)]
        if self.tls:
            own = self.tls[self.name]
            command += ["--cert", str(own.cert), "--key", str(own.key), "--client-ca", str(own.ca)]
        return Launch(command)

    def is_ready(self) -> bool:
        """Return True if the server lists its collections."""
        return answers(self.health, client_context(self.tls[OPERATOR].files) if self.tls else None)

    def clean(self) -> None:
        """Do nothing: the server leaves nothing outside of its data folder."""
