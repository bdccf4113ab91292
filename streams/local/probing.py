"""One short request to a server in its own protocol, to see if it answers."""

import socket
import ssl
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streams.errors import RiffleError
from streams.local.server import Answer
from streams.runtime.connection import client_config
from streams.settings import KafkaSettings, TritonSettings

HOST = "127.0.0.1"
HTTP_SECONDS = 2.0
HEALTH_SECONDS = 8.0
"""Maximum wait for the answer of a health check (seconds)."""
CONNECT_SECONDS = 1.0
KAFKA_SECONDS = 2.0

# An OPTIONS request and the head of a SUPPORTED answer in version 4 of Cassandra's native protocol:
# version, flags, stream (2 bytes), opcode, length (4 bytes). native_protocol_v4.spec, sections 2 and 4.1.3.
_OPTIONS_FRAME = bytes((0x04, 0, 0, 0, 0x05, 0, 0, 0, 0))
_ANSWER_VERSION, _SUPPORTED = 0x84, 0x06
_HEAD_BYTES = 9


def answers(url: str, context: ssl.SSLContext | None = None) -> bool:
    """True if the URL answers 200."""
    try:
        with urllib.request.urlopen(url, timeout=HTTP_SECONDS, context=context) as answer:  # noqa: S310 - on loopback
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def ask_health(url: str, context: ssl.SSLContext | None = None) -> Answer:
    """Ask a process for its health over HTTP. Only status 503 is an unhealthy answer."""
    try:
        urllib.request.urlopen(url, timeout=HEALTH_SECONDS, context=context).close()  # noqa: S310 - on loopback
    except urllib.error.HTTPError as answer:
        return "unhealthy" if answer.status == HTTPStatus.SERVICE_UNAVAILABLE else "healthy"
    except (OSError, HTTPException):
        return "silent"
    return "healthy"


def listens(port: int) -> bool:
    """True if a process accepts connections at the port."""
    try:
        socket.create_connection((HOST, port), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def cassandra_answers(port: int, context: ssl.SSLContext | None = None) -> bool:
    """True if it answers CQL: the port opens last of all, when the node can take requests."""
    try:
        with _connected(port, context) as connection:
            connection.sendall(_OPTIONS_FRAME)
            head = connection.recv(_HEAD_BYTES)
    except OSError:
        return False
    return len(head) == _HEAD_BYTES and head[0] == _ANSWER_VERSION and head[4] == _SUPPORTED


def _connected(port: int, context: ssl.SSLContext | None) -> socket.socket:
    plain = socket.create_connection((HOST, port), CONNECT_SECONDS)
    if context is None:
        return plain
    try:
        return context.wrap_socket(plain, server_hostname=HOST)
    except OSError:
        plain.close()
        raise


def kafka_answers(settings: KafkaSettings) -> bool:
    """True if it lists itself as a broker: clients can connect, and topics can be created."""
    # librdkafka is slow to give up on a closed port.
    if not listens(int(settings.bootstrap.rpartition(":")[2])):
        return False
    try:
        admin = AdminClient({**client_config(settings), "log_level": 0})
        return bool(admin.list_topics(timeout=KAFKA_SECONDS).brokers)
    except KafkaException:
        return False


def triton_answers(settings: TritonSettings) -> bool:
    """True if it answers over gRPC."""
    from streams.models.triton_connection import server_state  # here, because it loads gRPC

    try:
        return bool(server_state(settings, HTTP_SECONDS).version)
    except RiffleError:
        return False
