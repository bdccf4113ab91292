"""A local certificate authority, and certificates for the hosts of the local web and the processes of the local stack.

The authority's key never leaves its folder, and only programs that are configured with `ca.pem` trust it. It is made
once and kept, so that a crawler that trusts it also trusts the next run.

Why not trustme: each of its certificates is for servers, clients and the signing of code at once, so a worker's could
pose as a server. Its authorities are valid until the year 3000, and have no name that an operator would recognize.
"""

import datetime as dt
import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

_AUTHORITY_DAYS = 3_650
_HOST_DAYS = 397
"""Maximum validity that browsers accept (CA/Browser Forum, baseline requirements 6.3.2, until March 2026)."""
_RENEW_DAYS = 30
_BACKDATED = dt.timedelta(days=1)
"""Time from the start of a certificate's validity to its issue, for clocks that are a little behind."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A new key and its certificate (PEM)."""

    key: bytes
    certificate: bytes


@dataclass(frozen=True)
class Authority:
    """The folder that holds `ca.pem`, `ca-key.pem` and `hosts/HOST.pem`."""

    folder: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def file(self) -> Path:
        return self.folder / "ca.pem"

    def context(self, host: str, now: dt.datetime) -> ssl.SSLContext:
        """Return the TLS context of a server for `host`, with a new certificate if there is no valid one."""
        path = self.folder / "hosts" / f"{host}.pem"
        if not self.is_valid(path, now):
            path.parent.mkdir(exist_ok=True)
            write_secret(path, self._issue(host, now))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(path)
        return context

    def is_valid(self, path: Path, now: dt.datetime) -> bool:
        try:
            certificate = x509.load_pem_x509_certificate(path.read_bytes())
            certificate.verify_directly_issued_by(self.certificate)
        except (OSError, ValueError, InvalidSignature):  # missing, damaged, or issued by a previous authority
            return False
        return certificate.not_valid_after_utc > now + dt.timedelta(days=_RENEW_DAYS)

    def _issue(self, host: str, now: dt.datetime) -> bytes:
        """Make a key and a certificate for a web server (PEM)."""
        issued = self.issue(host, now, hosts=(host,), usages=(ExtendedKeyUsageOID.SERVER_AUTH,))
        return issued.key + issued.certificate

    def issue(
        self,
        common_name: str,
        now: dt.datetime,
        *,
        hosts: Sequence[str] = (),
        usages: Sequence[ObjectIdentifier],
        days: int = _HOST_DAYS,
    ) -> Issued:
        """Make a key and a certificate with it, valid from a day before `now`.

        `hosts`: the names and addresses of a server. `usages`: extended key usages, server or client authentication.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _start_certificate(_make_name(common_name), self.certificate.subject, key, now, days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_make_alternative_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return Issued(_encode_key(key), certificate.public_bytes(serialization.Encoding.PEM))


def open_authority(folder: Path, now: dt.datetime, common_name: str = "Riffle local web") -> Authority:
    """Load the authority of a folder, or make one if there is none or it expires within a month."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = _load_authority(folder)
    if authority and authority.certificate.not_valid_after_utc > now + dt.timedelta(days=_RENEW_DAYS):
        return authority
    key = ec.generate_private_key(ec.SECP256R1())
    name = _make_name(common_name)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _start_certificate(name, name, key, now, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_secret(folder / "ca-key.pem", _encode_key(key))
    (folder / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(folder, certificate, key)


def _load_authority(folder: Path) -> Authority | None:
    try:
        certificate = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
        key = serialization.load_pem_private_key((folder / "ca-key.pem").read_bytes(), password=None)
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        return None
    return Authority(folder, certificate, key)


def _start_certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: dt.datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now - _BACKDATED + dt.timedelta(days=days))
    )


def _make_name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _make_alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def write_secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, and that is never half written."""
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    beside.touch(mode=0o600, exist_ok=False)
    beside.write_bytes(content)
    beside.replace(path)
