"""The identities of the local stack's processes: a folder with key and certificate for each server, stage and person.

    <home>/tls/ca.pem, ca-key.pem            the authority of this stack
    <home>/tls/NAME/tls.crt, tls.key, ca.crt  as cert-manager writes a secret, so that a chart mounts the same files
    <home>/tls/NAME/keystore.pem             key and certificate in one file, for Kafka and Cassandra
    <home>/tls/person/person.p12             for a browser; the password is `riffle`

The common name is NAME. Kafka's access rules name it (`streams/local/tls/access.py`).
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from streams import servers
from streams.credentials import TlsFiles
from streams.local.tls.certificates import Authority, open_authority, write_secret
from streams.topology import GATEWAY, STAGES

HOSTS = ("127.0.0.1", "localhost")
DAYS = 90
"""Validity of a certificate (days), as cert-manager's default."""
OPERATOR, PERSON = "operator", "person"
TIERS = servers.NAMES
"""The servers that have settings of their own for a client's certificate."""
SERVERS = (*TIERS, GATEWAY)
CLIENTS = (*(stage.name for stage in STAGES), OPERATOR, PERSON)
NAMES = (*SERVERS, *CLIENTS)
P12_PASSWORD = b"riffle"
"""Browsers import no key without a password. The file is as secret as the key beside it."""
_SERVER, _CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
_USAGES: Mapping[str, tuple[ObjectIdentifier, ...]] = {
    # The broker is also a client of the controller, and the gateway of all other servers.
    **{server.name: (_SERVER, _CLIENT) if server.is_client else (_SERVER,) for server in servers.SERVERS},
    GATEWAY: (_SERVER, _CLIENT),
    **dict.fromkeys(CLIENTS, (_CLIENT,)),
}


@dataclass(frozen=True, slots=True)
class Identity:
    """One process or person, and the folder with its files."""

    name: str
    folder: Path

    @property
    def ca(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def cert(self) -> Path:
        return self.folder / "tls.crt"

    @property
    def key(self) -> Path:
        return self.folder / "tls.key"

    @property
    def keystore(self) -> Path:
        return self.folder / "keystore.pem"

    @property
    def files(self) -> TlsFiles:
        return TlsFiles(self.ca, self.cert, self.key)

    def settings(self, tiers: Iterable[str] = TIERS) -> dict[str, dict[str, Any]]:
        """Return the settings with which a process has this identity towards these servers."""
        files = {"ca_file": str(self.ca), "cert_file": str(self.cert), "key_file": str(self.key)}
        more: dict[str, dict[str, Any]] = {"kafka": {"security_protocol": "SSL"}, "cassandra": {"check_hostname": True}}
        return {tier: {**files, **more.get(tier, {})} for tier in tiers}

    def environment(self, tiers: Iterable[str] = TIERS) -> dict[str, str]:
        """Return these settings as environment variables."""
        return {
            f"RIFFLE_{tier}__{name}".upper(): str(value)
            for tier, values in self.settings(tiers).items()
            for name, value in values.items()
        }


class Identities:
    """All identities of one home. Files are made and renewed by `prepare` and `renew`."""

    def __init__(self, home: Path) -> None:
        self.folder = home.resolve() / "tls"

    def __getitem__(self, name: str) -> Identity:
        assert name in NAMES, f"no identity {name!r}"
        return Identity(name, self.folder / name)

    def authority(self, now: dt.datetime) -> Authority:
        return open_authority(self.folder, now, "Riffle local stack")

    def usages(self, name: str) -> tuple[ObjectIdentifier, ...]:
        """Return the extended key usages of an identity's certificate."""
        return _USAGES[name]

    def prepare(self, now: dt.datetime) -> None:
        """Make what is missing, and renew what expires within a month or is of a former authority."""
        authority = self.authority(now)
        self.renew([name for name in NAMES if not authority.is_valid(self[name].cert, now)], now)

    def renew(self, names: Iterable[str], now: dt.datetime, days: int = DAYS) -> None:
        """Give each identity a new key and certificate, in the same files."""
        authority = self.authority(now)
        for name in names:
            hosts = HOSTS if name in SERVERS else ()
            issued = authority.issue(name, now, hosts=hosts, usages=_USAGES[name], days=days)
            self._write(self[name], authority, issued.key, issued.certificate)

    def _write(self, identity: Identity, authority: Authority, key: bytes, certificate: bytes) -> None:
        identity.folder.mkdir(parents=True, exist_ok=True)
        identity.ca.write_bytes(authority.file.read_bytes())
        write_secret(identity.keystore, key + certificate)
        write_secret(identity.key, key)
        write_secret(identity.cert, certificate)
        if identity.name == PERSON:
            write_secret(identity.folder / "person.p12", _encode_p12(key, certificate, authority))


def _encode_p12(key: bytes, certificate: bytes, authority: Authority) -> bytes:
    private = serialization.load_pem_private_key(key, password=None)
    assert isinstance(private, EllipticCurvePrivateKey)
    own = x509.load_pem_x509_certificate(certificate)
    encryption = serialization.BestAvailableEncryption(P12_PASSWORD)
    return pkcs12.serialize_key_and_certificates(
        b"Riffle local stack", private, own, [authority.certificate], encryption
    )
