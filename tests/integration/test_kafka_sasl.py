"""Kafka with SASL: a real broker with a listener for all mechanisms, and every client of Riffle that signs in."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

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
from pydantic import SecretStr

from schemas import PageIndexed
from streams.doctor.findings import Level
from streams.doctor.kafka import check_brokers
from streams.errors import StoreUnavailable
from streams.local.child_process import Child, Launch, stop
from streams.local.kafka import Kafka
from streams.local.ports import free_ports
from streams.local.server import spawn
from streams.runtime.connection import client_config
from streams.runtime.faust_app import new_app
from streams.runtime.producer import EventProducer
from streams.runtime.topic_reader import read_topic
from streams.settings import KafkaSettings, Settings
from streams.topology import stage
from tests.unit.schemas.test_schemas import INDEXED

pytestmark = pytest.mark.integration("kafka")
USER, PASSWORD = "riffle", "correct horse"
READY_SECONDS = 60.0
LISTENER = """\
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_plaintext.plain.sasl.jaas.config={plain} required user_riffle="correct horse";
listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config={scram} required;
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config={scram} required;
listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config={oauth} required;
"""
MODULES = {
    "plain": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "scram": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "oauth": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}


class SaslKafka(Kafka):
    """The local broker with a further listener, for clients that sign in. Tokens need no signature there."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        (self.sasl_port,) = free_ports(1)

    def prepare(self) -> Launch:
        launch = super().prepare()
        config = self.data / "server.properties"
        replaced = ("listeners=", "advertised.listeners=", "listener.security.protocol.map=")
        kept = [line for line in config.read_text().splitlines() if not line.startswith(replaced)]
        listener = LISTENER.format(port=self.port, sasl=self.sasl_port, controller=self.controller_port, **MODULES)
        config.write_text("\n".join(kept) + "\n" + listener)
        return launch


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslKafka]:
    folder = tmp_path_factory.mktemp("sasl")
    server = SaslKafka(folder / "data")
    child: Child = spawn(server, server.prepare(), folder)
    try:
        end = time.monotonic() + READY_SECONDS
        while not server.is_ready() and time.monotonic() < end:
            time.sleep(0.2)
        admin = AdminClient({"bootstrap.servers": server.bootstrap})
        changes: list[Any] = [
            UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        ]
        for change in changes:
            admin.alter_user_scram_credentials([change])[USER].result(30)
        admin.create_topics([NewTopic(PageIndexed.topic, 1, 1)])[PageIndexed.topic].result(30)
        yield server
    finally:
        stop([child], 20.0)


@pytest.fixture
async def token_url() -> AsyncIterator[str]:
    """The address of a token server that knows the user, and gives tokens without a signature."""

    def part(content: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    async def give(request: web.Request) -> web.Response:
        expected = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if request.headers.get("Authorization") not in (expected, expected.replace("correct horse", "correct%20horse")):
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


def settings_of(broker: SaslKafka, mechanism: str, token_url: str, password: str = PASSWORD) -> Settings:
    kafka = KafkaSettings(
        bootstrap=f"127.0.0.1:{broker.sasl_port}",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_username=USER,
        sasl_password=SecretStr(password),
        sasl_token_url=token_url if mechanism == "OAUTHBEARER" else "",
    )
    return Settings(kafka=kafka)


MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_every_client_signs_in(broker: SaslKafka, token_url: str, mechanism: str) -> None:
    settings = settings_of(broker, mechanism, token_url)
    event = PageIndexed.model_validate({**INDEXED, "url": f"https://{mechanism.lower()}.test/"})
    async with EventProducer(settings, "test") as producer:
        await producer(event)
    records = await asyncio.to_thread(lambda: list(read_topic(settings, PageIndexed.topic)))
    assert any(mechanism.lower().encode() in (record.value or b"") for record in records)
    findings = await asyncio.to_thread(lambda: list(check_brokers(settings)))
    assert [each.level for each in findings] == [Level.OK], findings
    assert await _worker_reads(settings) >= 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_wrong_password_is_refused(broker: SaslKafka, token_url: str, mechanism: str) -> None:
    settings = settings_of(broker, mechanism, token_url, "wrong")
    with pytest.raises(StoreUnavailable):
        async with EventProducer(settings, "test"):
            pass
    assert PASSWORD not in str(client_config(settings.kafka))


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
