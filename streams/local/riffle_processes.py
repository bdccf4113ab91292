"""Riffle's own processes in the local stack: one worker or one for each stage, the gateway, maybe a web to crawl."""

import json
import os
import ssl
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from streams.credentials import client_context
from streams.errors import UsageError
from streams.local.child_process import Child, Launch
from streams.local.home import own_secret
from streams.local.ports import free_ports, preferred_port
from streams.local.probing import answers, listens
from streams.local.servers.server import Hints
from streams.local.tls.identities import OPERATOR, Identities
from streams.topology import GATEWAY, STAGES, Stage

RIFFLE = "from streams.cli import main; main()"
"""The command line, run by the present interpreter even if the script `riffle` isn't on the PATH."""
_KEYS = "RIFFLE_GATEWAY__KEYS"
WORKER_NICE = 10
"""Niceness of a worker that has started: a search comes first, and beside other work on the machine pages still pass.

The kernel gives a process of niceness 10 a ninth of the time of a process of niceness 0, and a 68th with niceness 19.
With 19, searches while pages are indexed gain a tenth more, but beside three busy processes on two cores workers hardly
pass a page.
"""


@dataclass(slots=True)
class RiffleProcess:
    """A `riffle` command that runs until it is stopped and reports its health over HTTP."""

    name: str
    title: str
    port: int
    arguments: tuple[str, ...]
    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    health_port: int | None = None
    """Port of /healthz over HTTP. None: it is on `port`."""
    context: ssl.SSLContext | None = None
    """TLS context of requests to the process. None: it serves HTTP."""
    hints: Hints = field(default=())
    ready_timeout_seconds: float = 180.0
    nice: int = 0

    @property
    def health(self) -> str:
        base = self.address if self.health_port is None else f"http://127.0.0.1:{self.health_port}"
        return f"{base}/healthz"

    @property
    def address(self) -> str:
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    def prepare(self) -> Launch:
        return _launch(self.home, *self.arguments, environment=self.environment, nice=self.nice)

    def is_ready(self) -> bool:
        return answers(f"{self.address}/readyz", self.context)


def _launch(
    home: Path, *arguments: str, environment: Mapping[str, str] = MappingProxyType({}), nice: int = 0
) -> Launch:
    # One thread for linear algebra: matrices are small, and a pool of threads costs memory in each process.
    shared = {"RIFFLE_HOME": str(home), "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1"}
    return Launch([sys.executable, "-c", RIFFLE, *arguments], {**shared, **environment}, nice=nice)


def start_command(home: Path, name: str, *arguments: str) -> Child:
    """Start a `riffle` command that ends by itself. `name`: of its log."""
    child = Child(name, _launch(home, *arguments, nice=WORKER_NICE), home / "logs" / f"{name}.log")
    child.yield_processor()
    return child


def shared_worker(home: Path, stages: tuple[Stage, ...] = STAGES) -> RiffleProcess:
    (port,) = free_ports(1)
    return _make_worker(home, "worker", "Worker", [stage.name for stage in stages], 0, port)


def workers(
    home: Path, stages: tuple[Stage, ...] = STAGES, tls: Identities | None = None, encrypted: Sequence[str] = ()
) -> list[RiffleProcess]:
    """Return the workers of each stage, as many as the topology states, each with the certificate of its stage."""
    names = [(stage.name, number) for stage in stages for number in range(stage.workers)]
    identities = {stage.name: tls[stage.name].environment(encrypted) if tls else {} for stage in stages}
    return [
        _make_worker(home, f"worker-{label}", f"Worker {label}", [stage], number, port, identities[stage])
        for (stage, number), port in zip(names, free_ports(len(names)), strict=True)
        for label in [f"{stage}-{number + 1}" if number else stage]
    ]


def _make_worker(
    home: Path,
    name: str,
    title: str,
    stages: Sequence[str],
    number: int,
    port: int,
    environment: Mapping[str, str] | None = None,
) -> RiffleProcess:
    arguments = ("worker", *stages, "--health-port", str(port), "--instance", str(number))
    return RiffleProcess(name, title, port, arguments, home, environment or {}, nice=WORKER_NICE)


def gateway(
    home: Path, wanted_port: int, tls: Identities | None = None, encrypted: Sequence[str] = ()
) -> RiffleProcess:
    """Return the gateway, on `wanted_port` if that is free, else on any port."""
    port = preferred_port(wanted_port)
    (health_port,) = free_ports(1)
    # The environment may name another port, which was taken, or 0 for any.
    ports = {"RIFFLE_GATEWAY__PORT": str(port), "RIFFLE_GATEWAY__HEALTH_PORT": str(health_port)}
    keys = {} if _KEYS in os.environ else {_KEYS: json.dumps([local_key(home)])}
    environment = {**ports, **keys, **(_gateway_identity(tls, encrypted) if tls else {})}
    context = client_context(tls[OPERATOR].files) if tls else None
    return RiffleProcess("gateway", "Gateway", port, ("gateway",), home, environment, health_port, context)


def local_key(home: Path) -> str:
    """Return the secret of the local gateway. It is made once, and only this user can read it."""
    return own_secret(home / "gateway-key")


def _gateway_identity(tls: Identities, encrypted: Sequence[str]) -> dict[str, str]:
    own = tls[GATEWAY]
    files = {"CERT_FILE": own.cert, "KEY_FILE": own.key, "CLIENT_CA_FILE": own.ca}
    return {**{f"RIFFLE_GATEWAY__{name}": str(path) for name, path in files.items()}, **own.environment(encrypted)}


def gateway_settings(port: int, tls: Identities | None = None) -> dict[str, object]:
    """Return the settings of the commands that ask the gateway."""
    return {"port": port, **({"ca_file": str(tls[OPERATOR].ca)} if tls else {})}


@dataclass(slots=True)
class Web:
    """The web server of `riffle web`, for a folder of pages that the local stack can crawl."""

    folder: Path
    home: Path
    port: int
    name: str = "web"
    title: str = "Web"
    hints: Hints = field(default=())
    ready_timeout_seconds: float = 30.0

    @property
    def health(self) -> str:
        return ""

    @property
    def ca_dir(self) -> Path:
        return self.home / "web"

    def prepare(self) -> Launch:
        command = [sys.executable, "-m", "streams.local.web", str(self.folder)]
        return Launch([*command, "--port", str(self.port), "--ca-dir", str(self.ca_dir)], {"PYTHONUNBUFFERED": "1"})

    def is_ready(self) -> bool:
        return listens(self.port)

    @property
    def addresses(self) -> dict[str, object]:
        """The crawl settings with which the crawler finds these hosts and trusts their certificates."""
        hosts = sorted(path.name for path in self.folder.iterdir() if path.is_dir())
        return {
            "local_hosts": dict.fromkeys(hosts, f"127.0.0.1:{self.port}"),
            "local_ca_file": str((self.ca_dir / "ca.pem").resolve()),
        }


def web(folder: Path, home: Path) -> Web:
    """Return a web server for `folder`, on a free port."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder: RIFFLE_LOCAL_WEB must name one that holds a folder for each host")
    (port,) = free_ports(1)
    return Web(folder.resolve(), home, port)


CRAWL_SETTINGS: dict[str, object] = {"allow_loopback": True}
"""The crawl settings of the local stack: a server on this machine may be crawled, if a person asks for it."""
STOPPED_FIRST = (RiffleProcess, Web)
"""The kinds of processes that are stopped before the servers."""
