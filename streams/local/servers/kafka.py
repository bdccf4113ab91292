"""Apache Kafka as one KRaft node: broker and controller in one process, no ZooKeeper."""

import base64
import os
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from streams.errors import StartError
from streams.local.child_process import Launch
from streams.local.ports import free_ports
from streams.local.probing import kafka_answers
from streams.local.servers.java import NO_COUNTERS, class_path, crash_file, find_java
from streams.local.servers.server import Hints, read_template
from streams.local.tls.access import NODE_ID, SUPER_USERS
from streams.local.tls.identities import OPERATOR, Identities, Identity
from streams.settings import KafkaSettings, Settings

# One node serves a few hundred small partitions here: a small heap, one collector thread, and no optimizing compiler
# make it start in half the time and use half the memory.
JVM_OPTIONS = ("-Xms96m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k", NO_COUNTERS)
FORMAT_TIMEOUT_SECONDS = 600
"""A second of work for one core that is free: on a starved machine it took over a minute."""

PARTITIONS = 2
"""Number of partitions of each new topic, unless the settings say another. Each request of a stage's consumer names all
of its partitions: with 8, that took a ninth of the CPU time of everything but the models (docs/decisions/0099)."""

NEWEST, OLDEST = "kafka", "kafka-oldest"
"""Names in the lock of the Kafka that runs, and of the oldest one that the tests run on."""
LINE_VARIABLE = "RIFFLE_TEST_KAFKA"
"""Variable with which the tests run on the oldest line: `3.9`."""
_FOLDER = Path(__file__).parent
LOGGING = {
    NEWEST: f"-Dlog4j2.configurationFile={(_FOLDER / 'log4j2.properties').as_uri()}",
    OLDEST: f"-Dlog4j.configuration={(_FOLDER / 'log4j.properties').as_uri()}",
}
"""The option that names the configuration of the log: Kafka 4 logs by log4j 2."""
RETENTION_BYTES = 1024 * 1024 * 1024
"""Maximum size of a partition. Kafka deletes the oldest records beyond it, before their age."""


def properties(data: Path, port: int, controller_port: int, tls: Identity | None = None) -> str:
    """Return the server.properties of a single node with all its data in `data`."""
    return read_template("kafka.properties").substitute(
        data=data,
        port=port,
        controller_port=controller_port,
        node=NODE_ID,
        protocol="SSL" if tls else "PLAINTEXT",
        encryption=tls_properties(tls) if tls else "",
        retention_bytes=RETENTION_BYTES,
    )


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


def chosen_line(environment: Mapping[str, str] = os.environ) -> str:
    """Return the name in the lock of the Kafka to run. Raises StartError if the environment names an unknown one."""
    lines = {"": NEWEST, "3.9": OLDEST}
    if (wanted := environment.get(LINE_VARIABLE, "")) not in lines:
        raise StartError(f"{LINE_VARIABLE}={wanted}: there is only 3.9, and without it the Kafka of a release")
    return lines[wanted]


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

    def __init__(
        self, data: Path, tls: Identities | None = None, partitions: int = PARTITIONS, line: str | None = None
    ) -> None:
        self.data, self.tls, self.partitions, self.line = data, tls, partitions, line or chosen_line()
        self.port, self.controller_port = free_ports(2)

    @classmethod
    def of(cls, settings: Settings, home: Path, tls: Identities | None) -> Self:
        find_java()  # so that no other server starts without it
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
        config = self.data / "server.properties"
        config.write_text(
            properties(self.data, self.port, self.controller_port, self.tls["kafka"] if self.tls else None)
        )
        java = [
            str(find_java()),
            *JVM_OPTIONS,
            crash_file(self.data),
            LOGGING[self.line],
            "-cp",
            class_path(self.line),
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
