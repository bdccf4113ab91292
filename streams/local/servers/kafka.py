"""Apache Kafka as one KRaft node: broker and controller in one process, no ZooKeeper."""

import base64
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any, Self

from streams.errors import StartError
from streams.local.child_process import Launch
from streams.local.ports import free_ports
from streams.local.probing import kafka_answers
from streams.local.servers.java import class_path, find_java
from streams.local.servers.server import Hints
from streams.local.tls.access import NODE_ID, SUPER_USERS
from streams.local.tls.identities import OPERATOR, Identities, Identity
from streams.settings import KafkaSettings, Settings

# One node serves a few hundred small partitions here: a small heap, one collector thread, and no optimizing compiler
# make it start in half the time and use half the memory.
JVM_OPTIONS = ("-Xms96m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k")
FORMAT_TIMEOUT_SECONDS = 600
"""A second of work for one core that is free: on a starved machine it took over a minute."""

PARTITIONS = 2
"""Number of partitions of each new topic, unless the settings say another. Each stage's consumer asks for all of its
partitions twice a second: with 8, that took a ninth of the CPU time of everything but the models
(docs/decisions/0099)."""

LOG4J = """\
log4j.rootLogger=WARN, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=%d{ISO8601} %-5p %c{1} - %m%n
log4j.logger.kafka.server.KafkaRaftServer=INFO
log4j.logger.kafka.server.BrokerServer=INFO
# It warns once per partition and minute about a state that is normal for one node.
log4j.logger.org.apache.kafka.clients.NetworkClient=ERROR
"""


RETENTION_BYTES = 1024 * 1024 * 1024
"""Maximum size of a partition. Kafka deletes the oldest records beyond it, before their age."""


def properties(data: Path, port: int, controller_port: int, tls: Identity | None = None) -> str:
    """Return the server.properties of a single node with all its data in `data`."""
    protocol = "SSL" if tls else "PLAINTEXT"
    return f"""\
process.roles=broker,controller
node.id={NODE_ID}
controller.quorum.voters={NODE_ID}@127.0.0.1:{controller_port}
listeners={protocol}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners={protocol}://127.0.0.1:{port}
inter.broker.listener.name={protocol}
controller.listener.names=CONTROLLER
listener.security.protocol.map={protocol}:{protocol},CONTROLLER:{protocol}
{tls_properties(tls) if tls else ""}\
log.dirs={data / "log"}
# Only topics of the topology exist: a misspelt name is an error, as on a real cluster.
auto.create.topics.enable=false
# A single node has no replicas to copy to or to wait for.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
# After a kill, a restarted broker must wait until the session of its predecessor has expired (default: 9 s).
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
# Small buffers: the defaults are for servers with hundreds of gigabytes.
num.network.threads=2
num.io.threads=4
log.cleaner.dedupe.buffer.size=16777216
log.segment.bytes=67108864
# A disk is finite. Sources wait long before this many bytes are unread (backpressure), so only handled events go early.
log.retention.bytes={RETENTION_BYTES}
log.index.size.max.bytes=1048576
message.max.bytes=1048576
"""


def tls_properties(tls: Identity) -> str:
    """Return the properties by which every client needs a certificate.

    Its common name is the principal, which may do only what is granted.
    """
    return f"""\
ssl.keystore.type=PEM
ssl.keystore.location={tls.keystore}
ssl.truststore.type=PEM
ssl.truststore.location={tls.ca}
ssl.client.auth=required
ssl.principal.mapping.rules=RULE:^CN=([a-z0-9-]+)$/$1/,DEFAULT
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=false
super.users={";".join(f"User:{name}" for name in SUPER_USERS)}
"""


_FOREIGN_DATA = ("Invalid cluster.id", "InconsistentClusterId", "doesn't match previous node id")


class Kafka:
    """`kafka.Kafka server.properties`, formatted at the first start."""

    name = "kafka"
    title = "Kafka"
    health = ""
    ready_timeout_seconds = 120.0
    hints: Hints = (
        *(
            (sign, "Its data belongs to another node. `riffle down --clean` starts with empty data.")
            for sign in _FOREIGN_DATA
        ),
    )

    def __init__(self, data: Path, tls: Identities | None = None, partitions: int = PARTITIONS) -> None:
        self.data, self.tls, self.partitions = data, tls, partitions
        self.port, self.controller_port = free_ports(2)

    @classmethod
    def of(cls, settings: Settings, home: Path, tls: Identities | None) -> Self:
        own = settings.kafka
        return cls(
            home / "data" / cls.name, tls, own.partitions if "partitions" in own.model_fields_set else PARTITIONS
        )

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def addresses(self) -> dict[str, Any]:
        return {"bootstrap": self.bootstrap, "partitions": self.partitions}

    @staticmethod
    def external(settings: Settings) -> str:
        return settings.kafka.bootstrap if "bootstrap" in settings.kafka.model_fields_set else ""

    def prepare(self) -> Launch:
        self.data.mkdir(parents=True, exist_ok=True)
        config, log4j = self.data / "server.properties", self.data / "log4j.properties"
        config.write_text(
            properties(self.data, self.port, self.controller_port, self.tls["kafka"] if self.tls else None)
        )
        log4j.write_text(LOG4J)
        java = [
            str(find_java()),
            *JVM_OPTIONS,
            f"-Dlog4j.configuration={log4j.as_uri()}",
            "-cp",
            class_path("kafka"),
        ]
        if not (self.data / "log" / "meta.properties").exists():
            _format_data(java, config)
        return Launch([*java, "kafka.Kafka", str(config)])

    def is_ready(self) -> bool:
        """Return True if the server lists itself as a broker: clients can connect and create topics."""
        settings = self.tls[OPERATOR].settings(["kafka"])["kafka"] if self.tls else {}
        return kafka_answers(KafkaSettings(bootstrap=self.bootstrap, **settings))

    def clean(self) -> None:
        """Do nothing: the server leaves nothing outside of its data folder."""


def _format_data(java: list[str], config: Path) -> None:
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    command = [*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", f"--config={config}"]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=FORMAT_TIMEOUT_SECONDS, env=dict(os.environ), check=False
        )
    except subprocess.TimeoutExpired as error:
        raise StartError(
            f"Kafka's storage in {config.parent} was not formatted within {FORMAT_TIMEOUT_SECONDS:.0f} s, so this "
            "machine is too busy for a start: stop other programs and try again"
        ) from error
    if done.returncode:
        output = "\n".join((done.stdout + done.stderr).strip().splitlines()[-10:])
        raise StartError(f"Kafka's storage in {config.parent} can't be formatted:\n{output}")
