"""A local stack that requires certificates: its servers under the supervisor, and a gateway of its own."""

import datetime as dt
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from streams.commands.stack.up import start_detached, stop_stack
from streams.credentials import client_context
from streams.local.home import read_state
from streams.local.ports import free_ports
from streams.local.probing import answers
from streams.local.riffle_processes import gateway_settings
from streams.local.server_set import with_addresses
from streams.local.tls.identities import OPERATOR, Identities
from streams.settings import Settings
from streams.topology import GATEWAY
from tests.short_lives import NO_SPELLING

START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class TlsStack:
    """The running stack, with the settings of its operator."""

    home: Path
    settings: Settings
    identities: Identities
    foreign: Identities
    """Identities with the same names, of another authority."""


@pytest.fixture(scope="session")
def tls_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsStack]:
    home = tmp_path_factory.mktemp("tls")
    foreign = Identities(tmp_path_factory.mktemp("foreign"))
    foreign.prepare(dt.datetime.now(dt.UTC))
    with pytest.MonkeyPatch.context() as patch:  # only while it starts: other tests of this process start plain stacks
        patch.setenv("RIFFLE_LOCAL_TLS", "true")
        patch.setenv("RIFFLE_LOCAL_TRITON", "true")
        start_detached(home, servers_only=True)
    try:
        settings, identities = Settings.load(home=home), Identities(home)
        (port,) = free_ports(1)
        settings = with_addresses(settings, home, {"gateway": gateway_settings(port, identities)})
        with _gateway(settings, identities):
            yield TlsStack(home, settings, identities, foreign)
    finally:
        if state := read_state(home):
            stop_stack(home, state)


class _gateway:  # noqa: N801 - used as a context manager
    """The gateway as a process of its own, with the certificate that the local stack gives it."""

    def __init__(self, settings: Settings, identities: Identities) -> None:
        self._settings, self._identities = settings, identities

    def __enter__(self) -> None:
        gateway, own = self._settings.gateway, self._identities[GATEWAY]
        files = {
            "PORT": gateway.port,
            "CERT_FILE": own.cert,
            "KEY_FILE": own.key,
            "CLIENT_CA_FILE": own.ca,
        }
        environment = {
            **os.environ,
            **NO_SPELLING,
            "RIFFLE_HOME": str(self._settings.home),
            **own.environment(),
            **{f"RIFFLE_GATEWAY__{name}": str(value) for name, value in files.items()},
        }
        command = [sys.executable, "-c", "from streams.cli import main; main()", "gateway"]
        with (self._settings.home / "gateway.log").open("wb") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        context = client_context(self._identities[OPERATOR].files)
        deadline = time.monotonic() + START_SECONDS
        while not answers(f"{gateway.address}/readyz", context):
            assert self._process.poll() is None, (self._settings.home / "gateway.log").read_text()
            assert time.monotonic() < deadline, (self._settings.home / "gateway.log").read_text()
            time.sleep(0.3)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(120)
