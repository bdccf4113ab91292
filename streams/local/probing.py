"""One short request to a server in its own protocol, to see if it answers."""

import json
import socket
import ssl
import urllib.error
import urllib.request
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streams.errors import RiffleError
from streams.runtime.connection import client_config
from streams.settings import KafkaSettings, TritonSettings

HOST = "127.0.0.1"
HTTP_SECONDS = 2.0
CONNECT_SECONDS = 1.0
KAFKA_SECONDS = 2.0

# An OPTIONS request and the head of a SUPPORTED answer in version 4 of Cassandra's native protocol:
# version, flags, stream (2 bytes), opcode, length (4 bytes). native_protocol_v4.spec, sections 2 and 4.1.3.
_OPTIONS_FRAME = bytes((0x04, 0, 0, 0, 0x05, 0, 0, 0, 0))
_ANSWER_VERSION, _SUPPORTED = 0x84, 0x06
_HEAD_BYTES = 9


def answers(url: str, context: ssl.SSLContext | None = None) -> bool:
    """Return True if the URL answers 200."""
    return http_status(url, HTTP_SECONDS, context) == HTTPStatus.OK


def http_status(url: str, seconds: float, context: ssl.SSLContext | None = None) -> int | None:
    """Return the HTTP status of the URL's answer, or None without an answer in time."""
    try:
        with urllib.request.urlopen(url, timeout=seconds, context=context) as answer:  # noqa: S310 - on loopback
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, HTTPException):
        return None


def read_json(url: str) -> Any:
    """Return the JSON that the URL answers, whatever its status, or None."""
    with suppress(OSError, HTTPException, ValueError):
        try:
            answer = urllib.request.urlopen(url, timeout=HTTP_SECONDS)  # noqa: S310 - on loopback
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return json.load(answer)
    return None


def listens(port: int) -> bool:
    """Return True if a process accepts connections at the port."""
    try:
        socket.create_connection((HOST, port), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def is_closed(port: int) -> bool:
    """Return True if no process has the port: a busy one that has it accepts connections, since the kernel does."""
    try:
        socket.create_connection((HOST, port), CONNECT_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def cassandra_answers(port: int, context: ssl.SSLContext | None = None, host: str = HOST) -> bool:
    """Return True if Cassandra answers CQL: the port opens last, when the node can take requests."""
    try:
        with _connect(host, port, context) as connection:
            connection.sendall(_OPTIONS_FRAME)
            head = connection.recv(_HEAD_BYTES)
    except OSError:
        return False
    return len(head) == _HEAD_BYTES and head[0] == _ANSWER_VERSION and head[4] == _SUPPORTED


def _connect(host: str, port: int, context: ssl.SSLContext | None) -> socket.socket:
    plain = socket.create_connection((host, port), CONNECT_SECONDS)
    if context is None:
        return plain
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except OSError:
        plain.close()
        raise


def kafka_answers(settings: KafkaSettings) -> bool:
    """Return True if Kafka lists itself as a broker: clients can connect and create topics."""
    # librdkafka is slow to give up on a closed port.
    if not listens(int(settings.bootstrap.rpartition(":")[2])):
        return False
    try:
        admin = AdminClient({**client_config(settings), "log_level": 0})
        return bool(admin.list_topics(timeout=KAFKA_SECONDS).brokers)
    except KafkaException:
        return False


def triton_answers(settings: TritonSettings) -> bool:
    """Return True if Triton answers over gRPC."""
    from streams.models.triton_connection import server_state  # here, because it loads gRPC

    try:
        return bool(server_state(settings, HTTP_SECONDS).version)
    except RiffleError:
        return False
