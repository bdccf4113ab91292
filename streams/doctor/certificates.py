"""Certificates in the files of this installation and from its servers, with the days until they expire."""

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509

from streams.credentials import client_context
from streams.doctor.findings import Finding, Level, failure, ok, warning
from streams.doctor.servers import Endpoint
from streams.errors import UsageError
from streams.servers import NAMES, SERVERS, find
from streams.settings import Settings

WARN_DAYS = 14
"""Minimum validity (days). cert-manager and the local stack renew a certificate 30 days before it expires."""
FAIL_DAYS = 2
CONNECT_SECONDS = 5.0
_RENEW = (
    "Renew it. On a cluster cert-manager does so by itself: look at its Certificate and its log. "
    "A local stack does so when it starts: riffle down, then riffle up --tls"
)


def check_certificates(settings: Settings) -> Iterator[Finding]:
    """Check the files first, then each server."""
    now = datetime.now(UTC)
    files = {path: name for name, path in reversed(list(certificate_files(settings)))}
    judged = [judge_file(name, path, now) for path, name in reversed(files.items())]
    judged += [ask_server(endpoint, now) for endpoint in endpoints(settings)]
    yield from (finding for finding in judged if finding.level is not Level.OK)
    if fine := [finding.says for finding in judged if finding.level is Level.OK]:
        yield ok("certificates", f"{len(fine)} are valid for at least {WARN_DAYS} days", *fine)
    if not files:
        production = settings.profile == "production"
        yield (warning if production else ok)(
            "certificates", "No connection is encrypted", *(["See docs/operate/security.md."] if production else [])
        )


def certificate_files(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Yield each certificate file that is set, with the name of its setting."""
    for group in (*NAMES, "gateway"):
        values = getattr(settings, group)
        for field in ("ca_file", "cert_file", "client_ca_file"):
            path = getattr(values, field, None)
            if path is not None:
                yield f"{group}.{field}", path


def judge_file(name: str, path: Path, now: datetime) -> Finding:
    """Check that a file is readable and its certificate valid for WARN_DAYS. `name` is the file's setting."""
    try:
        certificates = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it holds no certificate in PEM"
        return failure(
            "certificates", f"{name}: {path} can't be read ({reason})", "Check path, permissions and content."
        )
    first = min(certificates, key=lambda certificate: certificate.not_valid_after_utc)
    return judge_days(f"{name} ({path.name}, {_common_name(first)})", first.not_valid_after_utc, now)


def judge_days(what: str, until: datetime, now: datetime) -> Finding:
    """Check the days until a certificate expires."""
    days = (until - now).total_seconds() / 86_400
    if days <= 0:
        return failure("certificates", f"{what} expired {-days:.0f} days ago, on {until:%Y-%m-%d}", _RENEW)
    says = f"{what} is valid for {days:.0f} days, until {until:%Y-%m-%d}"
    if days < FAIL_DAYS:
        return failure("certificates", says, _RENEW)
    return warning("certificates", says, _RENEW) if days < WARN_DAYS else ok("certificates", says)


def endpoints(settings: Settings) -> Iterator[Endpoint]:
    """Yield the servers that the settings reach with TLS, one address of each."""
    found = (find(server.endpoint)(settings) for server in SERVERS)
    yield from (endpoint for endpoint in found if endpoint is not None)
    gateway = settings.gateway
    if gateway.address.startswith("https:"):
        yield Endpoint("Gateway", gateway.host, gateway.port, settings.gateway_client)


def ask_server(endpoint: Endpoint, now: datetime) -> Finding:
    """Check the certificate that a server presents, as a client checks it."""
    where = f"{endpoint.name} at {endpoint.host}:{endpoint.port}"
    try:
        context = client_context(endpoint.files, check_hostname=endpoint.check_hostname)
        context.set_alpn_protocols(["h2", "http/1.1"])
        with (
            socket.create_connection((endpoint.host, endpoint.port), CONNECT_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=endpoint.host) as encrypted,
        ):
            presented: dict[str, Any] = encrypted.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        return failure(
            "certificates",
            f"{where} presents a certificate that is refused: {error.verify_message}",
            "Compare its authority and names with the client's ca_file, and its dates with the clock.",
        )
    except (OSError, UsageError) as error:
        return failure(
            "certificates",
            f"{where}: no encrypted connection ({error})",
            "Check that the server has TLS on this port, and accepts the client's certificate.",
        )
    until = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(presented["notAfter"])), UTC)
    return judge_days(f"{where}: its certificate", until, now)


def _common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if names else "without a name"
