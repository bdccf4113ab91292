"""A real Qdrant with certificates and an API key, configured as infra/k8s does and used as the chart says.

The server has the part `config` of infra/k8s/base/qdrant/values.yaml, and the client the environment of a pod of the
chart. Only the address, the secrets and their folders belong to this machine.
"""

import datetime as dt
import json
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import IO
from uuid import UUID

import pytest
import yaml
from cryptography import x509

from streams.credentials import client_context
from streams.errors import StoreUnavailable
from streams.local.ports import free_ports
from streams.local.probing import answers
from streams.local.tls.identities import Identities
from streams.models.protocols import ModelInfo
from streams.settings import QdrantSettings, Settings
from streams.stores.protocols import Point, SparseVector
from streams.stores.qdrant.index import QdrantIndex
from streams.stores.statement_payload import StatementPayload
from tests.chart.rendering import ROOT, containers, environment, named, render
from tests.integration.qdrant_process import NO_REAL_QDRANT, QdrantProcess, real_qdrant

pytestmark = pytest.mark.integration

API_KEY = "only-for-this-test"
MODEL = ModelInfo("mini", "1", 2)
PAGE = UUID("3f0c8f0e-5a0b-4c7e-9b55-0f6d7f3a1c11")
START_SECONDS = 60
RENEWAL_SECONDS = 30
NOW = dt.datetime.now(dt.UTC)
LONG_AGO = NOW - dt.timedelta(days=100)
MOUNTED = "/etc/riffle/tls/qdrant"
"""The folder in which the chart mounts the client's certificate."""
SERVER = "/qdrant/tls"
"""The folder in which Qdrant's chart mounts the server's certificate."""


class TlsQdrantProcess(QdrantProcess):
    """A real Qdrant with the overlays' configuration."""

    def __init__(self, data: Path, identities: Identities, parts: Sequence[str] = ("service", "tls")) -> None:
        super().__init__(data)
        self.url = f"https://localhost:{self.port}"
        self.identities = identities
        self.parts = parts
        self.peer_port = free_ports(1)[0]

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        self.data.mkdir(parents=True, exist_ok=True)
        values = yaml.safe_load((ROOT / "infra" / "k8s" / "base" / "qdrant" / "values.yaml").read_text())
        text = json.dumps({part: values["config"][part] for part in self.parts})
        config = json.loads(text.replace(SERVER, str(self.identities["qdrant"].folder)))
        config["service"] |= {
            "host": "127.0.0.1",
            "http_port": self.port,
            "grpc_port": free_ports(1)[0],
            "api_key": API_KEY,
        }
        config["tls"]["cert_ttl"] = 1  # an hour in the overlays
        if "cluster" in self.parts:
            config["cluster"]["p2p"]["port"] = self.peer_port
        config["telemetry_disabled"] = True
        file = self.data / "config.yaml"  # JSON is YAML, too
        file.write_text(json.dumps(config))
        command = [real_qdrant(), "--config-path", str(file)]
        if "cluster" in self.parts:
            command += ["--uri", f"https://localhost:{self.peer_port}"]
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.data)

    def _ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not answers(f"{self.url}/readyz", client_context(self.identities["index"].files)):
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsQdrantProcess]:
    if not real_qdrant():
        pytest.skip(NO_REAL_QDRANT)
    folder = tmp_path_factory.mktemp("real-qdrant-tls")
    identities = Identities(folder)
    identities.prepare(NOW)
    process = TlsQdrantProcess(folder / "data", identities)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def pod_settings(server: TlsQdrantProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    """The settings that a worker of the stage `index` has in a pod of the chart."""
    variables = environment(containers(named(render("mtls"), "Deployment", "index"))[0])
    assert variables["RIFFLE_QDRANT__API_KEY_FILE"] == "/etc/riffle/secrets/qdrant/secret"
    key_file = tmp_path / "secret"
    key_file.write_text(API_KEY)
    here = {"RIFFLE_QDRANT__URL": server.url, "RIFFLE_QDRANT__API_KEY_FILE": str(key_file)}
    here |= {"RIFFLE_QDRANT__SHARDS": "1", "RIFFLE_QDRANT__REPLICATION": "1"}
    for name, value in (variables | here).items():
        if name.startswith(("RIFFLE_QDRANT__", "RIFFLE_PROFILE", "RIFFLE_CRAWL__")):
            monkeypatch.setenv(name, value.replace(MOUNTED, str(server.identities["index"].folder)))
    settings = Settings.load(home=server.data)
    assert settings.profile == "production"
    return settings


@pytest.fixture
async def index(pod_settings: Settings) -> AsyncIterator[QdrantIndex]:
    index = QdrantIndex(pod_settings.qdrant, production=True)
    yield index
    await index.close()


async def write_and_search(index: QdrantIndex) -> list[UUID]:
    payload = StatementPayload.of_row(
        {"page_id": str(PAGE), "url": "https://a.example/", "host": "a.example", "text": "A page.", "ordinal": 0}
    )
    collection = await index.ensure(MODEL)
    await index.upsert(collection, [Point(PAGE, [1.0, 0.0], SparseVector((1,), (1.0,)), payload)])
    return [hit.id for hit in await index.nearest(collection, [1.0, 0.0], 1)]


async def test_a_pod_of_the_chart_writes_and_searches(index: QdrantIndex) -> None:
    assert await write_and_search(index) == [PAGE]


async def refused(settings: QdrantSettings) -> str:
    """The message of the error that these settings lead to."""
    index = QdrantIndex(settings, production=True)
    try:
        with pytest.raises(StoreUnavailable) as caught:
            await index.collections()
        return str(caught.value)
    finally:
        await index.close()


@pytest.mark.parametrize("key", ["", "another key"])
async def test_the_certificate_alone_is_not_enough(pod_settings: Settings, key: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(key)
    settings = pod_settings.qdrant.model_copy(update={"api_key_file": file if key else None})
    assert "RIFFLE_QDRANT__API_KEY_FILE" in await refused(settings)


def client_files(kind: str, identities: Identities, folder: Path) -> dict[str, Path | None]:
    """The certificate and key of a client that the server must refuse."""
    match kind:
        case "missing":
            return {"cert_file": None, "key_file": None}
        case "foreign":
            foreign = Identities(folder / "foreign")
            foreign.prepare(NOW)
            return {"cert_file": foreign["index"].cert, "key_file": foreign["index"].key}
        case "of a server":
            return {"cert_file": identities["triton"].cert, "key_file": identities["triton"].key}
    expired = identities.authority(NOW).issue("index", LONG_AGO, usages=identities.usages("index"), days=5)
    (folder / "tls.crt").write_bytes(expired.certificate)
    (folder / "tls.key").write_bytes(expired.key)
    return {"cert_file": folder / "tls.crt", "key_file": folder / "tls.key"}


@pytest.mark.parametrize("kind", ["missing", "foreign", "of a server", "expired"])
async def test_the_key_alone_is_not_enough(
    pod_settings: Settings, server: TlsQdrantProcess, kind: str, tmp_path: Path
) -> None:
    files = client_files(kind, server.identities, tmp_path)
    assert server.url in await refused(pod_settings.qdrant.model_copy(update=files))


def served(server: TlsQdrantProcess, port: int | None = None) -> x509.Certificate:
    """The certificate that the server presents, also an expired one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(server.identities["index"].cert, server.identities["index"].key)
    with (
        socket.create_connection(("localhost", port or server.port), 10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as encrypted,
    ):
        return x509.load_der_x509_certificate(encrypted.getpeercert(binary_form=True) or b"")


def renew(server: TlsQdrantProcess, now: dt.datetime, days: int = 90) -> None:
    """Give the server a new certificate in the same files, and wait until it presents it."""
    server.identities.renew(["qdrant"], now, days)
    expected = x509.load_pem_x509_certificate(server.identities["qdrant"].cert.read_bytes()).serial_number
    deadline = time.monotonic() + RENEWAL_SECONDS
    while served(server).serial_number != expected:
        assert time.monotonic() < deadline, "the server still presents the former certificate"
        time.sleep(0.2)


async def test_a_renewed_certificate_is_presented_without_a_restart(
    server: TlsQdrantProcess, index: QdrantIndex, pod_settings: Settings
) -> None:
    await index.collections()
    process, former = server.process, served(server).serial_number
    renew(server, NOW)
    assert served(server).serial_number != former
    assert process is not None
    assert (server.process, process.poll()) == (process, None), "it was not started again"
    await index.collections()  # by the connection that was open
    another = QdrantIndex(pod_settings.qdrant, production=True)
    await another.collections()
    await another.close()


async def test_an_expired_server_is_refused_until_it_is_renewed(
    server: TlsQdrantProcess, pod_settings: Settings
) -> None:
    renew(server, LONG_AGO, days=5)
    try:
        assert "expired" in await refused(pod_settings.qdrant)
    finally:
        renew(server, NOW)
    index = QdrantIndex(pod_settings.qdrant, production=True)
    await index.collections()
    await index.close()


async def test_a_client_whose_certificate_expired_goes_on_once_it_is_renewed(
    server: TlsQdrantProcess, pod_settings: Settings
) -> None:
    """cert-manager writes the same files again; the worker is not started again."""
    server.identities.renew(["index"], LONG_AGO, days=5)
    index = QdrantIndex(pod_settings.qdrant, production=True)
    try:
        with pytest.raises(StoreUnavailable):
            await index.collections()
    finally:
        server.identities.renew(["index"], NOW)
    await index.collections()
    await index.close()


def test_connections_between_nodes_keep_the_former_certificate_until_a_restart(tmp_path: Path) -> None:
    """docs/operate/security.md asks for restarts for this reason. Where this fails, they are not needed any more."""
    if not real_qdrant():
        pytest.skip(NO_REAL_QDRANT)
    identities = Identities(tmp_path)
    identities.prepare(NOW)
    node = TlsQdrantProcess(tmp_path / "data", identities, ("service", "tls", "cluster"))
    node.start()
    former = served(node, node.peer_port).serial_number
    renew(node, NOW)
    assert served(node, node.peer_port).serial_number == former
    node.stop()
    node.start()
    assert served(node, node.peer_port).serial_number == served(node).serial_number != former
    node.stop()
