"""TLS contexts that follow their files, in memory: a client and a server that exchange their handshakes' bytes."""

import datetime as dt
import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from streams.crawl.fetch.http import open_allowed_session
from streams.credentials import TlsFiles, client_context, server_context
from streams.doctor.certificates import endpoints
from streams.errors import UsageError
from streams.gateway.answers.service import open_answers
from streams.gateway.context import GatewayContext
from streams.gateway.http.metrics import Metrics
from streams.local.tls.identities import Identities, Identity
from streams.seen.stores import SeenStores
from streams.settings import (
    AnswersSettings,
    CassandraSettings,
    CrawlSettings,
    GatewaySettings,
    KafkaSettings,
    QdrantSettings,
    Settings,
    TritonSettings,
)
from streams.stores.opener import memory_stores

NOW = dt.datetime.now(dt.UTC)


@pytest.fixture
def identities(tmp_path: Path) -> Identities:
    made = Identities(tmp_path / "own")
    made.prepare(NOW)
    return made


def handshake(client: ssl.SSLContext, server: ssl.SSLContext) -> str:
    """Complete a handshake and return the server's and the client's serial numbers. Raises ssl.SSLError."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    steps: list[Callable[[], object]] = [ours.do_handshake, theirs.do_handshake]
    while steps:
        for step in list(steps):
            try:
                step()
                steps.remove(step)
            except ssl.SSLWantReadError:
                continue
    client_certificate = theirs.getpeercert() or {}
    server_certificate = ours.getpeercert() or {}
    return f"{server_certificate['serialNumber']} {client_certificate.get('serialNumber')}"


def serving(identity: Identity) -> ssl.SSLContext:
    return server_context(identity.cert, identity.key, identity.ca)


def test_both_sides_show_certificates(identities: Identities) -> None:
    assert handshake(client_context(identities["fetch"].files), serving(identities["qdrant"]))


def test_new_files_are_used_by_the_next_connection(identities: Identities) -> None:
    client, server = client_context(identities["fetch"].files), serving(identities["qdrant"])
    first = handshake(client, server)
    assert handshake(client, server) == first

    identities.renew(["fetch", "qdrant"], NOW)

    second = handshake(client, server)
    assert all(old != new for old, new in zip(first.split(), second.split(), strict=True))


def test_a_half_written_pair_is_not_used(identities: Identities) -> None:
    client, server = client_context(identities["fetch"].files), serving(identities["qdrant"])
    first = handshake(client, server)
    key = identities["qdrant"].key.read_bytes()
    identities["qdrant"].key.write_bytes(identities["triton"].key.read_bytes())
    assert handshake(client, server) == first, "the former pair is used while certificate and key don't fit"
    identities["qdrant"].key.write_bytes(key)
    assert handshake(client, server) == first


def certificate_of(kind: str, identities: Identities, tmp_path: Path) -> TlsFiles:
    ca = identities["fetch"].ca
    match kind:
        case "missing":
            return TlsFiles(ca)
        case "wrong":
            return TlsFiles(ca, identities["triton"].cert, identities["triton"].key)
        case "expired":
            identities.renew(["fetch"], NOW - dt.timedelta(days=10), days=5)
        case "foreign":
            foreign = Identities(tmp_path / "foreign")
            foreign.prepare(NOW)
            return TlsFiles(ca, foreign["fetch"].cert, foreign["fetch"].key)
    return identities["fetch"].files


@pytest.mark.parametrize("kind", ["missing", "wrong", "expired", "foreign"])
def test_a_client_is_refused(kind: str, identities: Identities, tmp_path: Path) -> None:
    client = client_context(certificate_of(kind, identities, tmp_path))
    with pytest.raises(ssl.SSLError):
        handshake(client, serving(identities["qdrant"]))


def test_a_server_of_a_foreign_authority_is_refused(identities: Identities, tmp_path: Path) -> None:
    foreign = Identities(tmp_path / "foreign")
    foreign.prepare(NOW)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(client_context(identities["fetch"].files), serving(foreign["qdrant"]))


def test_a_file_that_can_not_be_used_is_named(identities: Identities, tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")
    for files in (
        TlsFiles(tmp_path / "no.pem"),
        TlsFiles(tmp_path / "nothing.pem"),
        TlsFiles(identities["fetch"].ca, identities["fetch"].cert, identities["embed"].key),
    ):
        with pytest.raises(UsageError, match="can't be used"):
            client_context(files)


@pytest.mark.parametrize(
    ("group", "values", "says"),
    [
        ("kafka", KafkaSettings(cert_file=Path("c")), "kafka.cert_file and kafka.key_file belong together"),
        ("kafka", KafkaSettings(ca_file=Path("c")), "RIFFLE_KAFKA__SECURITY_PROTOCOL=SSL"),
        ("qdrant", QdrantSettings(ca_file=Path("c")), "https address"),
        ("triton", TritonSettings(cert_file=Path("c"), key_file=Path("k")), "would not be encrypted"),
        ("gateway", GatewaySettings(client_ca_file=Path("c")), "the gateway would serve HTTP"),
    ],
)
def test_settings_that_would_not_encrypt_are_refused(group: str, values: Any, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Settings(**{group: values})


def test_each_client_shows_the_certificate_of_its_settings() -> None:
    files = {"ca_file": Path("ca"), "cert_file": Path("cert"), "key_file": Path("key")}
    settings = Settings(
        kafka=KafkaSettings(security_protocol="SSL", ca_file=Path("ca"), cert_file=Path("cert"), key_file=Path("key")),
        cassandra=CassandraSettings(ca_file=Path("ca"), cert_file=Path("cert"), key_file=Path("key")),
        qdrant=QdrantSettings(url="https://q", ca_file=Path("ca"), cert_file=Path("cert"), key_file=Path("key")),
        triton=TritonSettings(ca_file=Path("ca"), cert_file=Path("cert"), key_file=Path("key")),
        gateway=GatewaySettings(ca_file=Path("ca")),
    )
    found = list(endpoints(settings))
    assert len(found) == 5
    assert settings.gateway.address.startswith("https:")
    assert {each.files for each in found} == {TlsFiles(*files.values())}


@pytest.mark.parametrize(
    ("gateway", "scheme"),
    [
        (GatewaySettings(), "http"),
        (GatewaySettings(cert_file=Path("cert"), key_file=Path("key")), "https"),  # on the gateway's machine
        (GatewaySettings(ca_file=Path("ca")), "https"),  # for commands elsewhere
    ],
)
def test_commands_ask_a_gateway_with_a_certificate_by_https(gateway: GatewaySettings, scheme: str) -> None:
    assert gateway.address == f"{scheme}://127.0.0.1:8080"


def test_answers_trust_the_authority_of_their_server(identities: Identities) -> None:
    own = AnswersSettings(url="https://model.example/v1", model="mine")
    context = GatewayContext(Settings(answers=own), SeenStores(memory_stores()), Metrics(), lambda: NOW)
    answers = open_answers(context)
    assert answers is not None
    assert answers.model == "mine"
    wrong = Settings(answers=AnswersSettings(url=own.url, ca_file=identities["fetch"].key))
    with pytest.raises(UsageError, match="can't be used"):
        open_answers(replace(context, settings=wrong))


async def test_allowed_origins_have_an_authority_of_their_own(identities: Identities) -> None:
    trusted = []
    for settings in (CrawlSettings(), CrawlSettings(allowed_ca_file=identities["fetch"].ca)):
        session = open_allowed_session(settings)
        trusted.append(len(session.connector._ssl.get_ca_certs()))  # type: ignore[union-attr]  # it has a context
        await session.close()
    assert trusted[1] == trusted[0] + 1
