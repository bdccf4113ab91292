"""Identities of the local stack, and what each may do in Kafka."""

import datetime as dt
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs12

from streams.local.tls.identities import NAMES, P12_PASSWORD, PERSON, SERVERS, Identities
from streams.settings import Settings
from streams.topology import READER_GROUP, STAGES, Grant, Stage, grants, stage, stage_grants

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    made = Identities(tmp_path_factory.mktemp("home"))
    made.prepare(NOW)
    return made


def certificate(identities: Identities, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(identities[name].cert.read_bytes())


def usages(found: x509.Certificate) -> set[str]:
    return {usage._name for usage in found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value}


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_certificate_with_its_name(identities: Identities, name: str) -> None:
    found = certificate(identities, name)
    assert found.subject.rfc4514_string() == f"CN={name}"
    assert ("serverAuth" in usages(found)) is (name in SERVERS)
    assert ("clientAuth" in usages(found)) is (name not in {"cassandra", "qdrant", "triton"})
    for secret in (identities[name].key, identities[name].keystore):
        assert secret.stat().st_mode & 0o077 == 0, "only its owner may read a key"


def test_a_browser_can_import_a_person(identities: Identities) -> None:
    content = (identities[PERSON].folder / "person.p12").read_bytes()
    _, found, authorities = pkcs12.load_key_and_certificates(content, P12_PASSWORD)
    assert found == certificate(identities, PERSON)
    assert len(authorities) == 1


def test_a_valid_certificate_is_kept_and_an_old_one_renewed(tmp_path: Path) -> None:
    made = Identities(tmp_path)
    made.prepare(NOW)
    first = certificate(made, "fetch")
    made.prepare(NOW + dt.timedelta(days=50))
    assert certificate(made, "fetch") == first
    made.prepare(NOW + dt.timedelta(days=65))
    assert certificate(made, "fetch") != first
    assert certificate(made, "fetch").issuer == first.issuer


def test_the_settings_of_an_identity_are_those_of_its_environment(
    identities: Identities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIFFLE_QDRANT__URL", "https://127.0.0.1:6333")
    for name, value in identities["fetch"].environment().items():
        monkeypatch.setenv(name, value)
    settings = Settings.load(home=identities.folder.parent)
    assert settings.kafka.security_protocol == "SSL"
    for group in (settings.kafka, settings.cassandra, settings.qdrant, settings.triton):
        assert group.cert_file == identities["fetch"].cert


def names(granted: list[Grant], operation: str, kind: str = "topic") -> set[str]:
    return {grant.name for grant in granted if (grant.operation, grant.kind) == (operation, kind)}


@pytest.mark.parametrize("one", STAGES, ids=lambda one: one.name)
def test_a_stage_may_do_what_the_topology_says_and_nothing_else(one: Stage) -> None:
    each = stage(one.name)
    granted = list(stage_grants(each))
    assert {grant.principal for grant in granted} == {each.name}
    assert names(granted, "read") == {*(event.topic for event in each.inputs), *each.own_topics}
    outputs = {event.topic for event in each.outputs}
    assert names(granted, "write") == {*outputs, each.retry_topic, each.long_retry_topic, each.dead_topic}
    assert names(granted, "read", "group") == {each.group}
    assert bool(names(granted, "describe", "group")) is each.source


def test_the_gateway_may_only_send_queries_clicks_and_what_keys_write_and_follow_pages() -> None:
    granted = [grant for grant in grants() if grant.principal == "gateway"]
    assert names(granted, "write") == {
        *("queries.asked", "queries.made", "results.clicked"),
        *("pages.discovered", "pages.fetched", "pages.removed", "hooks.due"),
        *("frontier.urgent", "dedup.urgent", "index.urgent"),
    }
    assert names(granted, "read") == {"pages.fetched", "pages.indexed", "pages.removed"}
    assert [grant for grant in granted if grant.kind == "group"] == [
        Grant("gateway", "read", "group", READER_GROUP, is_prefix=True)
    ]
