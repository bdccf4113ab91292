"""Apache Cassandra as a single node."""

from functools import partial
from pathlib import Path
from typing import Any, Self

from streams.credentials import client_context
from streams.local.child_process import Launch
from streams.local.ports import free_ports
from streams.local.probing import cassandra_answers
from streams.local.servers.java import NO_COUNTERS, class_path, crash_file, find_java
from streams.local.servers.server import Hints, read_template
from streams.local.tls.identities import OPERATOR, Identities, Identity
from streams.settings import Settings

JVM_OPTIONS = (
    "-Xms256m",
    "-Xmx512m",
    "-Xss512k",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxDirectMemorySize=192m",
    "-XX:+ExitOnOutOfMemoryError",
    NO_COUNTERS,
    "-Djdk.attach.allowAttachSelf=true",
    # A single node has no others to wait for.
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.ring_delay_ms=0",
    "-Dcassandra.shutdown_announce_in_ms=0",
    # A thread keeps a rough clock for timeouts of seconds. By default it wakes every 2 ms, for a hundredth of a core.
    "-Dcassandra.approximate_time_precision_ms=100",
)
TIMER_SLACK = 250
"""Maximum delay of Cassandra's timers (microseconds). At least one of its threads does not sleep until work comes: it
looks for work with pauses of 10 microseconds. With the kernel's own slack of 50 it looked 6,000 times a second, half of
Cassandra's CPU time while pages are indexed. With 1,000, reads take three times as long."""
PIECE_BYTES = 1 << 20
# The packages that Cassandra needs access to, from its own conf/jvm17-server.options.
_EXPORTS = (
    "java.base/jdk.internal.misc java.base/jdk.internal.ref java.base/java.lang.ref java.base/sun.nio.ch "
    "java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry java.rmi/sun.rmi.server "
    "java.sql/java.sql jdk.unsupported/sun.misc"
)
_OPENS = (
    "java.base/java.io java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect "
    "java.base/java.math java.base/java.net java.base/java.nio java.base/java.util "
    "java.base/java.util.concurrent java.base/java.util.concurrent.atomic java.base/jdk.internal.loader "
    "java.base/jdk.internal.math java.base/jdk.internal.misc java.base/jdk.internal.module "
    "java.base/jdk.internal.ref java.base/jdk.internal.reflect java.base/jdk.internal.util "
    "java.base/jdk.internal.util.jar java.base/jdk.internal.vm java.base/sun.nio.ch "
    "jdk.management/com.sun.management.internal"
)
_ALL = "=ALL-UNNAMED"
MODULE_OPTIONS = (
    *(f"--add-exports={name}{_ALL}" for name in _EXPORTS.split()),
    *(f"--add-opens={name}{_ALL}" for name in _OPENS.split()),
)
LOGBACK = Path(__file__).parent / "logback.xml"


def yaml(data: Path, port: int, storage_port: int, tls: Identity | None = None) -> str:
    """Return the cassandra.yaml of a single node with all its data in `data`."""
    encryption = client_encryption(tls) if tls else ""
    return read_template("cassandra.yaml").substitute(
        data=data, port=port, storage_port=storage_port, encryption=encryption
    )


def client_encryption(tls: Identity) -> str:
    """Return the options by which clients must encrypt, and need a certificate of the authority."""
    return f"""
client_encryption_options:
  enabled: true
  optional: false
  require_client_auth: true
  ssl_context_factory:
    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory
  keystore: "{tls.keystore}"
  truststore: "{tls.ca}"
"""


def remove_empty_segments(commit_log: Path) -> None:
    """Remove the segments of the commit log that nothing was written to: without a byte, or only with zeros.

    A node that ends or starts on a full disk leaves such segments behind, and refuses each start that finds them. A
    segment begins with its own description, so one with a write has other bytes.
    """
    for segment in commit_log.glob("CommitLog-*.log"):
        with segment.open("rb") as file:
            is_empty = not any(piece.strip(b"\0") for piece in iter(partial(file.read, PIECE_BYTES), b""))
        if is_empty:
            segment.unlink()


class Cassandra:
    """`CassandraDaemon` with our own cassandra.yaml."""

    name = "cassandra"
    title = "Cassandra"
    health = ""
    ready_timeout_seconds = 180.0
    hints: Hints = (
        ("saved cluster name", "Its data belongs to another cluster. `riffle down --clean` starts with empty data."),
        *(
            (sign, "Its commit log is damaged. `riffle down --clean` starts with empty data.")
            for sign in ("CommitLogReplayException", "CommitLogReadException")
        ),
    )

    def __init__(self, data: Path, tls: Identities | None = None) -> None:
        self.data, self.tls = data, tls
        self.port, self.storage_port = free_ports(2)

    @classmethod
    def of(cls, settings: Settings, home: Path, tls: Identities | None) -> Self:
        return cls(home / "data" / cls.name, tls)

    @property
    def addresses(self) -> dict[str, Any]:
        return {"hosts": ["127.0.0.1"], "port": self.port}

    @staticmethod
    def external(settings: Settings) -> str:
        own = settings.cassandra
        return f"{', '.join(own.hosts)}, port {own.port}" if {"hosts", "port"} & own.model_fields_set else ""

    def prepare(self) -> Launch:
        self.data.mkdir(parents=True, exist_ok=True)
        remove_empty_segments(self.data / "commitlog")
        config = self.data / "cassandra.yaml"
        config.write_text(yaml(self.data, self.port, self.storage_port, self.tls[self.name] if self.tls else None))
        return Launch(
            [
                str(find_java()),
                *JVM_OPTIONS,
                crash_file(self.data),
                *MODULE_OPTIONS,
                f"-Dcassandra.config={config.as_uri()}",
                f"-Dcassandra.storagedir={self.data}",
                f"-Dlogback.configurationFile={LOGBACK}",
                "-Dcassandra-foreground=yes",
                "-cp",
                class_path("cassandra"),
                "org.apache.cassandra.service.CassandraDaemon",
            ],
            timer_slack=TIMER_SLACK,
        )

    def is_ready(self) -> bool:
        """Return True if the server answers CQL: the port opens last, when the node can take requests."""
        return cassandra_answers(self.port, client_context(self.tls[OPERATOR].files) if self.tls else None)

    def clean(self) -> None:
        """Do nothing: the server leaves nothing outside of its data folder."""
