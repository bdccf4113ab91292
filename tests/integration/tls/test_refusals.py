"""Each real server of a stack with certificates refuses clients without the right one."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer

from docs.generate.infrastructure import BLOBS_SWEEP, grants_of
from streams.credentials import TlsFiles, client_context
from streams.errors import StoreUnavailable
from streams.local.probing import answers, cassandra_answers, kafka_answers, triton_answers
from streams.local.tls.access import apply_grants
from streams.runtime.connection import client_config
from streams.runtime.readers.topic_reader import read_topic
from streams.settings import KafkaSettings, TritonSettings
from streams.topology import grants
from tests.integration.tls.conftest import TlsStack

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NOW = dt.datetime.now(dt.UTC)
READ_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Tier:
    """A server, and the smallest request to it with some certificate."""

    name: str
    ask: Callable[[TlsStack, TlsFiles], bool]


def ask_kafka(stack: TlsStack, files: TlsFiles) -> bool:
    return kafka_answers(
        KafkaSettings(
            bootstrap=stack.settings.kafka.bootstrap,
            security_protocol="SSL",
            ca_file=files.ca,
            cert_file=files.cert,
            key_file=files.key,
        )
    )


def ask_cassandra(stack: TlsStack, files: TlsFiles) -> bool:
    return cassandra_answers(stack.settings.cassandra.port, client_context(files))


def ask_qdrant(stack: TlsStack, files: TlsFiles) -> bool:
    return answers(f"{stack.settings.qdrant.url}/collections", client_context(files))


def ask_triton(stack: TlsStack, files: TlsFiles) -> bool:
    url = stack.settings.triton.url
    return triton_answers(TritonSettings(url=url, ca_file=files.ca, cert_file=files.cert, key_file=files.key))


def ask_gateway(stack: TlsStack, files: TlsFiles) -> bool:
    return answers(f"{stack.settings.gateway.address}/healthz", client_context(files))


TIERS = (
    Tier("kafka", ask_kafka),
    Tier("cassandra", ask_cassandra),
    Tier("qdrant", ask_qdrant),
    Tier("triton", ask_triton),
    Tier("gateway", ask_gateway),
)


def files_of(kind: str, stack: TlsStack, folder: Path) -> TlsFiles:
    """The files of a client: its authority is always the right one, so that it is the server that refuses."""
    ca = stack.identities["fetch"].ca
    match kind:
        case "right":
            return stack.identities["fetch"].files
        case "missing":
            return TlsFiles(ca)
        case "wrong":  # a certificate of this authority, but of a server
            return TlsFiles(ca, stack.identities["triton"].cert, stack.identities["triton"].key)
        case "foreign":
            return TlsFiles(ca, stack.foreign["fetch"].cert, stack.foreign["fetch"].key)
    expired = stack.identities.authority(NOW).issue(
        "fetch", NOW - dt.timedelta(days=9), usages=stack.identities.usages("fetch"), days=5
    )
    cert, key = folder / "expired.crt", folder / "expired.key"
    cert.write_bytes(expired.certificate)
    key.write_bytes(expired.key)
    return TlsFiles(ca, cert, key)


@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.name)
@pytest.mark.parametrize("kind", ["right", "missing", "wrong", "expired", "foreign"])
def test_only_the_right_certificate_is_accepted(tls_stack: TlsStack, tier: Tier, kind: str, tmp_path: Path) -> None:
    files = files_of(kind, tls_stack, tmp_path)
    tries = 20 if kind == "right" else 1  # a probe has a second or two: on a busy machine it may be late
    assert any(tier.ask(tls_stack, files) for _ in range(tries)) is (kind == "right")


@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.name)
def test_a_client_refuses_a_server_of_a_foreign_authority(tls_stack: TlsStack, tier: Tier) -> None:
    own = tls_stack.identities["fetch"]
    assert not tier.ask(tls_stack, TlsFiles(tls_stack.foreign["fetch"].ca, own.cert, own.key))


def test_nothing_is_served_without_encryption(tls_stack: TlsStack) -> None:
    settings = tls_stack.settings
    assert not kafka_answers(KafkaSettings(bootstrap=settings.kafka.bootstrap))
    assert not cassandra_answers(settings.cassandra.port)
    assert not answers(settings.qdrant.url.replace("https:", "http:") + "/collections")
    assert not triton_answers(TritonSettings(url=settings.triton.url))
    assert not answers(settings.gateway.address.replace("https:", "http:") + "/healthz")


def kafka_as(stack: TlsStack, name: str) -> KafkaSettings:
    files = stack.identities[name].settings(["kafka"])["kafka"]
    return KafkaSettings(bootstrap=stack.settings.kafka.bootstrap, **files)


def write(stack: TlsStack, name: str, topic: str) -> KafkaError | None:
    outcome: list[KafkaError | None] = []
    producer = Producer({**client_config(kafka_as(stack, name)), "message.timeout.ms": 60_000})
    producer.produce(topic, b"{}", on_delivery=lambda error, _: outcome.append(error))
    producer.flush(70)
    return outcome[0]


def read(stack: TlsStack, name: str, topic: str, group: str) -> KafkaError | None:
    """Read as a member of a consumer group; return the error that Kafka answers with, or None if it lets us read."""
    options = {"group.id": group, "auto.offset.reset": "earliest", "enable.partition.eof": True}
    consumer = Consumer({**client_config(kafka_as(stack, name)), **options})
    consumer.subscribe([topic])
    try:
        message = consumer.poll(READ_SECONDS)
        assert message is not None, "neither an event, nor the end of a partition, nor an error"
        error = message.error()
        return None if error is not None and error.code() == KafkaError._PARTITION_EOF else error
    finally:
        consumer.close()


REFUSED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}


@pytest.mark.parametrize(
    ("name", "topic", "allowed"),
    [
        ("fetch", "pages.fetched", True),
        ("fetch", "fetch.dead", True),
        ("fetch", "pages.indexed", False),
        ("fetch", "embed.retry", False),
        ("gateway", "queries.made", True),
        ("gateway", "results.clicked", True),
        ("gateway", "pages.embedded", False),
        ("person", "queries.made", False),
        ("operator", "pages.removed", True),
    ],
)
def test_what_each_may_write_in_kafka(tls_stack: TlsStack, name: str, topic: str, allowed: bool) -> None:
    error = write(tls_stack, name, topic)
    assert (error is None) is allowed, error
    assert allowed or (error is not None and error.code() in REFUSED)


@pytest.mark.parametrize(
    ("name", "topic", "group", "allowed"),
    [
        ("fetch", "pages.scheduled", "riffle-fetch", True),
        ("fetch", "pages.scheduled", "riffle-embed", False),
        ("fetch", "pages.chunked", "riffle-fetch", False),
        ("person", "pages.indexed", "anything", False),
        ("operator", "pages.indexed", "anything", True),
    ],
)
def test_what_each_may_read_in_kafka(tls_stack: TlsStack, name: str, topic: str, group: str, allowed: bool) -> None:
    error = read(tls_stack, name, topic, group)
    assert (error is None) is allowed, error
    assert allowed or (error is not None and error.code() in REFUSED)


def test_a_sweep_of_a_cluster_may_read_dead_letters(tls_stack: TlsStack) -> None:
    """With the rights that infra/k8s gives to it. Without them it ends, since dead letters protect blobs."""
    settings = tls_stack.settings.model_copy(update={"kafka": kafka_as(tls_stack, "person")})
    assert write(tls_stack, "fetch", "fetch.dead") is None
    with pytest.raises(StoreUnavailable):
        list(read_topic(settings, "fetch.dead"))
    rights = [replace(grant, principal="person") for grant in grants_of(BLOBS_SWEEP)]
    apply_grants(tls_stack.settings, [*grants(), *rights])
    try:
        assert [record.value for record in read_topic(settings, "fetch.dead")][-1] == b"{}"
        with pytest.raises(StoreUnavailable):
            list(read_topic(settings, "pages.fetched"))
    finally:
        apply_grants(tls_stack.settings, grants())
