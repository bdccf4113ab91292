"""Kafka with SASL: a real broker whose listeners ask for a user, every client of Riffle, and each wrong setting."""

import asyncio
import base64
import datetime as dt
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import faust
import pytest
from aiohttp import web
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

from schemas import PageIndexed
from streams.doctor.findings import Level
from streams.doctor.kafka import check_brokers
from streams.errors import StoreUnavailable
from streams.local.child_process import Child, Launch, stop
from streams.local.ports import free_ports
from streams.local.servers.kafka import Kafka
from streams.local.servers.server import spawn
from streams.local.tls.certificates import open_authority
from streams.runtime.connection import client_config
from streams.runtime.faust_app import new_app
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import read_topic
from streams.settings import KafkaSettings, Settings
from streams.topology import stage
from tests.unit.schemas.test_schemas import INDEXED

pytestmark = pytest.mark.integration("kafka")
USER, PASSWORD = "riffle", "correct horse+100%"  # of characters that the form of OAuth's credentials escapes
READY_SECONDS = 180.0
NOW = dt.datetime.now(dt.UTC)
LISTENERS = """\
listeners=PLAINTEXT://{host}:{port},SASL_PLAINTEXT://{host}:{sasl},SASL_SSL://{host}:{tls},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port},SASL_PLAINTEXT://{host}:{sasl},SASL_SSL://{host}:{tls}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.sasl_ssl.ssl.keystore.type=PEM
listener.name.sasl_ssl.ssl.keystore.location={keystore}
"""
MODULES = {
    "plain": f'plain.PlainLoginModule required user_{USER}="{PASSWORD}"',
    "scram-sha-256": "scram.ScramLoginModule required",
    "scram-sha-512": "scram.ScramLoginModule required",
    "oauthbearer": "oauthbearer.OAuthBearerLoginModule required",
}


class SaslKafka(Kafka):
    """The local broker with two further listeners, for clients that sign in. Tokens need no signature there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "data")
        self.sasl_port, self.tls_port = free_ports(2)
        authority = open_authority(folder / "ca", NOW)
        self.ca, self.keystore = authority.file, folder / "kafka.pem"
        issued = authority.issue("kafka", NOW, hosts=("127.0.0.1",), usages=(ExtendedKeyUsageOID.SERVER_AUTH,))
        self.keystore.write_bytes(issued.key + issued.certificate)
        self.other_ca = open_authority(folder / "other", NOW).file

    def prepare(self) -> Launch:
        launch = super().prepare()
        config = self.data / "server.properties"
        replaced = ("listeners=", "advertised.listeners=", "listener.security.protocol.map=")
        lines = [line for line in config.read_text().splitlines() if not line.startswith(replaced)]
        ports = {"port": self.port, "sasl": self.sasl_port, "tls": self.tls_port, "controller": self.controller_port}
        lines.append(LISTENERS.format(host="127.0.0.1", keystore=self.keystore, **ports))
        lines += [
            f"listener.name.{listener}.{name}.sasl.jaas.config=org.apache.kafka.common.security.{module};"
            for listener in ("sasl_plaintext", "sasl_ssl")
            for name, module in MODULES.items()
        ]
        config.write_text("\n".join(lines) + "\n")
        return launch

    def set_password(self, user: str, password: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            change: Any = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 4096), password.encode())
            admin.alter_user_scram_credentials([change])[user].result(30)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslKafka]:
    folder = tmp_path_factory.mktemp("sasl")
    server = SaslKafka(folder)
    child: Child = spawn(server, server.prepare(), folder)
    try:
        end = time.monotonic() + READY_SECONDS
        while not server.is_ready() and time.monotonic() < end:
            time.sleep(0.2)
        server.set_password(USER, PASSWORD)
        admin = AdminClient({"bootstrap.servers": server.bootstrap})
        admin.create_topics([NewTopic(PageIndexed.topic, 1, 1)])[PageIndexed.topic].result(30)
        yield server
    finally:
        stop([child], 20.0)


@pytest.fixture
async def token_url() -> AsyncIterator[str]:
    """The address of a token server that knows the user as RFC 6749 (2.3.1) says, and gives unsigned tokens."""

    def part(content: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    def is_user(header: str) -> bool:
        kind, _, encoded = header.partition(" ")
        user, _, password = base64.b64decode(encoded).decode().partition(":")
        # librdkafka sends them without the encoding of the RFC.
        plain, decoded = (user, password), (unquote_plus(user), unquote_plus(password))
        return kind == "Basic" and (USER, PASSWORD) in (plain, decoded)

    async def give(request: web.Request) -> web.Response:
        form = await request.post()
        if not is_user(request.headers.get("Authorization", "")) or form.get("grant_type") != "client_credentials":
            return web.json_response({"error": "invalid_client"}, status=401)
        now = int(time.time())
        token = f"{part({'alg': 'none'})}.{part({'sub': USER, 'iat': now, 'exp': now + 300, 'scope': 'kafka'})}."
        return web.json_response({"access_token": token, "expires_in": 300, "token_type": "bearer"})

    app = web.Application()
    app.router.add_post("/token", give)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/token"
    await runner.cleanup()


def settings_of(
    broker: SaslKafka, mechanism: str, token_url: str = "", password: str = PASSWORD, **changes: Any
) -> Settings:
    """Return the settings of a user of the listener without encryption, or with `ca_file` of the other one."""
    port, protocol = broker.sasl_port, "SASL_PLAINTEXT"
    if "ca_file" in changes:
        port, protocol = broker.tls_port, "SASL_SSL"
    file = broker.ca.with_name(f"{len(password)}-characters.password")
    file.write_text(password)
    given: dict[str, Any] = {
        "bootstrap": f"127.0.0.1:{port}",
        "security_protocol": protocol,
        "sasl_mechanism": mechanism,
        "sasl_username": USER,
        "sasl_password_file": file,
        "sasl_token_url": token_url if mechanism == "OAUTHBEARER" else "",
    }
    return Settings(kafka=KafkaSettings(**{**given, **changes}))


WAYS = [
    ("PLAIN", False),
    ("SCRAM-SHA-256", False),
    ("SCRAM-SHA-512", False),
    ("OAUTHBEARER", False),
    ("PLAIN", True),
    ("SCRAM-SHA-512", True),
]


@pytest.mark.parametrize(("mechanism", "tls"), WAYS)
async def test_every_client_signs_in(broker: SaslKafka, token_url: str, mechanism: str, tls: bool) -> None:
    encryption: dict[str, Any] = {"ca_file": broker.ca} if tls else {}
    settings = settings_of(broker, mechanism, token_url, **encryption)
    url = f"https://{mechanism.lower()}.test/{tls}"
    async with EventProducer(settings, "test") as producer:
        await producer(PageIndexed.model_validate({**INDEXED, "url": url}))
    records = await asyncio.to_thread(lambda: list(read_topic(settings, PageIndexed.topic)))
    assert any(url.encode() in (record.value or b"") for record in records)
    findings = await asyncio.to_thread(lambda: list(check_brokers(settings)))
    assert [each.level for each in findings] == [Level.OK], findings
    assert await _worker_reads(settings) >= 1


async def test_a_rotated_password_is_used_by_the_next_connection(broker: SaslKafka, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("before\n")
    broker.set_password("rotated", "before")
    settings = settings_of(broker, "SCRAM-SHA-512", sasl_username="rotated", sasl_password_file=file)
    event = PageIndexed.model_validate(INDEXED)
    async with EventProducer(settings, "test") as producer:
        await producer(event)
        broker.set_password("rotated", "after")
        file.write_text("after\n")
        for connection in list(producer._producer.client._conns.values()):  # type: ignore[union-attr]  # it has begun
            connection.close()  # as when a broker is restarted
        await producer(event)
        assert await _worker_reads(settings) >= 1
    findings = await asyncio.to_thread(lambda: list(check_brokers(settings)))
    assert [each.level for each in findings] == [Level.OK], findings


async def test_wrong_credentials_are_refused(broker: SaslKafka, token_url: str) -> None:
    for mechanism in ("PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"):
        settings = settings_of(broker, mechanism, token_url, password="wrong")
        with pytest.raises(StoreUnavailable, match="riffle doctor --only kafka"):
            async with EventProducer(settings, "test"):
                pass


PLAIN_PORT = "the listener without a sign-in"
WRONG: list[tuple[dict[str, Any], str, str]] = [
    # settings that differ, what the doctor says of them, the setting that its advice names
    ({"password": "wrong"}, "refuse the user riffle", "SASL_USERNAME"),
    ({"sasl_mechanism": "SCRAM-SHA-256", "ca_file": "own"}, "They offer PLAIN, SCRAM-SHA-512", "SASL_MECHANISM"),
    ({"sasl_mechanism": "OAUTHBEARER"}, "There is no token from http", "SASL_TOKEN_URL"),
    ({"bootstrap": PLAIN_PORT}, "This listener has no sign-in", "SECURITY_PROTOCOL to PLAINTEXT"),
    ({"security_protocol": "PLAINTEXT"}, "does not speak PLAINTEXT", "SECURITY_PROTOCOL"),
    ({"security_protocol": "SASL_SSL"}, "This listener is not encrypted", "SECURITY_PROTOCOL"),
    ({"ca_file": "other"}, "An authority that is not trusted", "CA_FILE"),
    ({"ca_file": None}, "An authority that is not trusted", "CA_FILE"),
]


@pytest.mark.parametrize(("changes", "says", "advises"), WRONG, ids=[says for _, says, _ in WRONG])
async def test_the_doctor_names_the_wrong_setting(
    broker: SaslKafka, token_url: str, changes: dict[str, Any], says: str, advises: str
) -> None:
    authorities = {"own": broker.ca, "other": broker.other_ca, None: None}
    given = {**changes, **({"ca_file": authorities[changes["ca_file"]]} if "ca_file" in changes else {})}
    if given.get("bootstrap") == PLAIN_PORT:
        given["bootstrap"] = broker.bootstrap
    url = token_url.replace("/token", "/elsewhere")
    settings = settings_of(broker, given.pop("sasl_mechanism", "SCRAM-SHA-512"), url, **given)
    (finding,) = await asyncio.to_thread(lambda: list(check_brokers(settings)))
    assert finding.level is Level.FAILURE
    assert says in finding.says
    assert f"RIFFLE_KAFKA__{advises}" in finding.advice


def test_the_password_is_in_no_description_of_the_settings(broker: SaslKafka) -> None:
    settings = settings_of(broker, "PLAIN")
    assert client_config(settings.kafka)["sasl.password"] == PASSWORD
    assert PASSWORD not in repr(settings)


async def _worker_reads(settings: Settings) -> int:
    """Read the topic with a Faust app as the stages have it. Returns the number of events."""
    app: faust.App = new_app(stage("ledger"), settings)
    seen, done = 0, asyncio.Event()

    @app.agent(app.topic(PageIndexed.topic, value_serializer="raw"))
    async def read(stream: Any) -> None:
        nonlocal seen
        async for _ in stream:
            seen += 1
            done.set()

    await app.start()
    try:
        async with asyncio.timeout(READY_SECONDS):
            await done.wait()
    finally:
        await app.stop()
    return seen
