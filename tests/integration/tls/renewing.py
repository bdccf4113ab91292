"""The renewal of all certificates of a running local stack, as cert-manager renews those of a cluster.

Riffle's processes and the vector engine read changed files by themselves. Kafka reads them when it is asked to. Triton
never does, and Cassandra only every ten minutes: these two are restarted, one after the other.
"""

import os
import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from streams.credentials import TlsFiles, client_context
from streams.errors import StartError
from streams.local.home import ProcessState, StackState, running_state
from streams.local.probing import cassandra_answers, triton_answers
from streams.local.tls.access import NODE_ID
from streams.local.tls.identities import NAMES, Identities
from streams.runtime.connection import TIMEOUT_SECONDS, client_config, unreachable_error
from streams.settings import Settings

ROLLED = ("triton", "cassandra")
"""Servers that are restarted to use a new certificate."""
ROLL_SECONDS = 180.0
_LOOK_SECONDS = 0.5
_KEYSTORE = "listener.name.ssl.ssl.keystore.location"
Report = Callable[[str], None]


def renew_all(home: Path, settings: Settings, now: datetime, report: Report) -> None:
    """Give every identity a new certificate, and have the servers of the running stack use it. Raises StartError."""
    identities = Identities(home)
    identities.renew(NAMES, now)
    report(f"{len(NAMES)} certificates renewed in {identities.folder}")
    state = running_state(home)
    if state is None:
        return
    names = {process.name for process in state.processes}
    if "kafka" in names:
        reload_kafka(settings, identities["kafka"].keystore)
        report("Kafka uses the new certificate")
    for name in (name for name in ROLLED if name in names):
        roll(home, name, settings)
        report(f"{name.capitalize()} was restarted and answers")
    report("All other processes use new certificates for new connections")


def reload_kafka(settings: Settings, keystore: Path) -> None:
    """Have the broker read its keystore again: it does so when the option is set, even to the same path.

    The option is removed again at once, so that the broker's properties file stays in force. Raises StoreUnavailable.
    """
    admin = AdminClient(client_config(settings.kafka))
    try:
        for operation in (AlterConfigOpType.SET, AlterConfigOpType.DELETE):
            entry = ConfigEntry(_KEYSTORE, str(keystore), incremental_operation=operation)
            broker = ConfigResource(ResourceType.BROKER, str(NODE_ID), incremental_configs=[entry])
            (changed,) = admin.incremental_alter_configs([broker], request_timeout=TIMEOUT_SECONDS).values()
            changed.result(timeout=TIMEOUT_SECONDS)
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error


def roll(home: Path, name: str, settings: Settings) -> None:
    """Stop a server, which the supervisor then starts again, and wait until it answers. Raises StartError."""
    before = _find_process(home, name)
    os.kill(before.pid, signal.SIGTERM)
    deadline = time.monotonic() + ROLL_SECONDS
    while (after := _find_process(home, name)).pid == before.pid or not _answers(after, settings):
        if time.monotonic() > deadline:
            raise StartError(f"{name} does not answer {ROLL_SECONDS:.0f} s after its restart: its log is {after.log}")
        time.sleep(_LOOK_SECONDS)


def _find_process(home: Path, name: str) -> ProcessState:
    state: StackState | None = running_state(home)
    found = next((process for process in state.processes if process.name == name), None) if state else None
    if found is None:
        raise StartError(f"the stack ended while {name} was restarted: see {home / 'logs'}")
    return found


def _answers(process: ProcessState, settings: Settings) -> bool:
    if process.name == "triton":
        return triton_answers(settings.triton)
    return cassandra_answers(process.port, client_context(TlsFiles.of(settings.cassandra)))
