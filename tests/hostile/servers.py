"""Bad servers for tests: real TLS sockets on loopback, with a certificate authority of their own.

A server is a table of scripts. A script is a coroutine for one path: it gets the connection after the request was
read, and writes any bytes.
"""

import asyncio
import datetime
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from streams.settings import CrawlSettings

Script = Callable[[asyncio.StreamWriter], Awaitable[None]]
_HANDSHAKE = b"\x16"
"""The first byte of a hello (RFC 8446, section 5.1)."""
_Pair = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def raw(content: bytes) -> Script:
    """Make a script that writes these bytes and closes the connection."""

    async def script(writer: asyncio.StreamWriter) -> None:
        writer.write(content)

    return script


def response(body: bytes = b"", status: str = "200 OK", **headers: str) -> Script:
    """Make a script that sends a well-formed response."""
    fields = {"content-type": "text/html", "content-length": str(len(body)), "connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return raw(f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body)


@dataclass
class BadServer:
    """A running server, and the requests that it received."""

    port: int
    ca_file: Path
    requests: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When each request arrived, by the steady clock (seconds)."""

    def settings(self, *hosts: str, **fields: Any) -> CrawlSettings:
        """Make the settings of a crawler that reaches this server by these host names."""
        names = hosts or ("bad.example",)
        local = dict.fromkeys(names, f"127.0.0.1:{self.port}")
        return CrawlSettings(local_hosts=local, local_ca_file=self.ca_file, **fields)


@asynccontextmanager
async def bad_server(
    folder: Path,
    scripts: dict[str, Script],
    *,
    host: str = "bad.example",
    more_hosts: Sequence[str] = (),
    tls: bool = True,
    expired: bool = False,
    trusted: bool = True,
    listens: bool = True,
) -> AsyncIterator[BadServer]:
    """Run a server until the block ends. `host` and `more_hosts` are the names in its certificate.

    `listens=False`: its port refuses connections.

    A script may be of a path of all hosts, or of `HOST/path`.
    """
    certificate, key, ca_file = make_certificate(folder, host, *more_hosts, expired=expired, trusted=trusted)
    tasks: set[asyncio.Task[None]] = set()
    server = BadServer(0, ca_file)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            first = await reader.readexactly(1)
            if first == _HANDSHAKE:  # a server without TLS, as it answers a hello of TLS
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                raise ConnectionAbortedError  # it is closed below
            head = first + await reader.readuntil(b"\r\n\r\n")
            server.requests.append(head)
            server.times.append(time.monotonic())
            path = head.split(b" ")[1].decode()
            named = next((f"{name}{path}" for name in _hosts_of(head) if f"{name}{path}" in scripts), path)
            await scripts[named](writer)
            await writer.drain()
        writer.close()
        with suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
            await writer.wait_closed()

    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    held = socket.socket()  # nobody else gets its port
    held.bind(("127.0.0.1", 0))
    server.port = held.getsockname()[1]
    if listens:
        listening = await asyncio.start_server(connected, sock=held, ssl=context)
    try:
        yield server
    finally:
        if listens:
            listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if listens:
            await listening.wait_closed()
        held.close()


def _hosts_of(head: bytes) -> list[str]:
    """Return the host that a request names."""
    lines = head.decode("latin-1").lower().split("\r\n")
    return [line.removeprefix("host:").strip() for line in lines if line.startswith("host:")]


def make_certificate(folder: Path, *hosts: str, expired: bool = False, trusted: bool = True) -> tuple[Path, Path, Path]:
    """Write a certificate for some hosts, its key, and the authority that signed it, as PEM files.

    `trusted=False`: the file has another authority, as if an intermediate certificate were missing.
    """
    ca = _authority()
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder("test server", ca[0].subject, key, valid_days=-1 if expired else 1)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
        .sign(ca[1], hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem", folder / "ca.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    known = ca if trusted else _authority("another authority")
    files[2].write_bytes(known[0].public_bytes(serialization.Encoding.PEM))
    return files


def _authority(name: str = "test authority") -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(name, _name(name), key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate, key


def _builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, valid_days: int = 1
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=valid_days))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
