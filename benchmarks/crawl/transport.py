"""Connections to a host over TLS: kept, resumed by a ticket, and made anew, with the CPU time of each page.

    python -m benchmarks transport --pages 300

The server runs in a process of its own. Each way fetches the same page by the crawler's own client, one request after
the other, in turns of fifty. `kept` is a server that keeps connections. `resumed` and `anew` are a server that closes
them after each answer, with the client's tickets and without. The certificate is of the usual kind: RSA
with 2,048 bits, signed by an intermediate authority.
"""

import asyncio
import datetime
import json
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import typer
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.crawl.fetch.http import close_session, get, limits_of, open_session
from streams.settings import CrawlSettings

HOST = "transport.example"
WAYS = {"kept": "/kept", "resumed": "/closed", "anew": "/closed"}
TURN_PAGES = 50
BODY = b"<p>" + b"word " * 2_000


@command
async def run(
    pages: Annotated[int, typer.Option(min=50, help="Pages of each way.")] = 300,
    as_json: AsJson = False,
) -> None:
    """Measure connections over TLS: kept, resumed by a ticket, and made anew: handshakes and CPU time of a page.

    Example:  python -m benchmarks transport --pages 300
    """
    print_figures("Connections over TLS", await measure(pages), as_json)


async def measure(pages: int) -> dict[str, Any]:
    """Return all figures."""
    conditions, turns = machine(), {way: list[dict[str, float]]() for way in WAYS}
    with tempfile.TemporaryDirectory() as made:
        async with _web(Path(made)) as port:
            settings = CrawlSettings(local_hosts={HOST: f"127.0.0.1:{port}"}, local_ca_file=Path(made) / "ca.pem")
            for _ in range(max(pages // TURN_PAGES, 1)):
                for way in WAYS:
                    turns[way].append(await _turn(settings, way))
    figures = {
        way: {name: round(statistics.median(turn[name] for turn in measured), 2) for name in measured[0]}
        for way, measured in turns.items()
    }
    return {"machine": conditions, "turns": len(turns["kept"]), "pages of a turn": TURN_PAGES, **figures}


async def _turn(settings: CrawlSettings, way: str) -> dict[str, float]:
    """Fetch some pages in one way. Return CPU times and the server's counts."""
    session = open_session(settings)
    assert isinstance(session.connector, aiohttp.TCPConnector)
    if way == "anew":
        session.connector._ssl.sslobject_class = ssl.SSLObject  # type: ignore[union-attr] # it is the context
    before = time.process_time()
    for _ in range(TURN_PAGES):
        await _get(session, settings, WAYS[way])
    spent = time.process_time() - before
    counts = json.loads(await _get(session, settings, "/counts"))
    await close_session(session)
    return {"client CPU ms a page": 1_000 * spent / TURN_PAGES, **counts}


async def _get(session: aiohttp.ClientSession, settings: CrawlSettings, path: str) -> bytes:
    answer = await get(
        session,
        f"https://{HOST}{path}",
        purpose="page",
        limits=limits_of(settings),
        monotonic=time.monotonic,
        any_type=True,
    )
    assert answer.body is not None, answer.verdict
    return answer.body


@asynccontextmanager
async def _web(folder: Path) -> AsyncIterator[int]:
    script = f"from benchmarks.crawl.transport import serve; serve({str(folder)!r})"
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    try:
        assert server.stdout
        yield int(await server.stdout.readline())
    finally:
        server.terminate()
        await server.wait()


def serve(folder: str) -> None:
    """Serve the host in this process, until it is ended."""
    asyncio.run(_serve(Path(folder)))


async def _serve(folder: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    chain_bytes = make_chain(folder)
    context.load_cert_chain(folder / "chain.pem", folder / "key.pem")
    seen: dict[object, bool] = {}
    before = time.process_time()

    def count() -> dict[str, float]:
        nonlocal before
        whole = sum(not resumed for resumed in seen.values())
        spent, before = time.process_time() - before, time.process_time()
        counts = {
            "server CPU ms a page": 1_000 * spent / TURN_PAGES,
            "connections": len(seen),
            "whole handshakes": whole,
            "bytes of certificates a page": whole * chain_bytes / TURN_PAGES,
        }
        seen.clear()
        return counts

    async def answer(request: web.BaseRequest) -> web.Response:
        assert request.transport
        if request.path == "/counts":
            return web.json_response(count())
        connection = request.transport.get_extra_info("ssl_object")
        seen[request.protocol] = connection.session_reused
        response = web.Response(body=BODY, content_type="text/html")
        if request.path == "/closed":
            response.force_close()
        return response

    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def make_chain(folder: Path) -> int:
    """Write a certificate with its intermediate authority, its key, and the root. Return the chain's size (bytes)."""
    keys = [rsa.generate_private_key(65_537, 2_048) for _ in range(3)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("root", "intermediate", HOST)]
    root, middle, leaf = (_certificate(names, keys, place) for place in range(3))
    pem, secret = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "ca.pem").write_bytes(root.public_bytes(pem))
    (folder / "chain.pem").write_bytes(leaf.public_bytes(pem) + middle.public_bytes(pem))
    (folder / "key.pem").write_bytes(keys[2].private_bytes(pem, serialization.PrivateFormat.PKCS8, secret))
    return sum(len(one.public_bytes(serialization.Encoding.DER)) for one in (leaf, middle))


def _certificate(names: list[x509.Name], keys: list[rsa.RSAPrivateKey], place: int) -> x509.Certificate:
    now, issuer = datetime.datetime.now(datetime.UTC), max(place - 1, 0)
    builder = x509.CertificateBuilder().subject_name(names[place]).issuer_name(names[issuer])
    builder = builder.public_key(keys[place].public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=place < 2, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
    return builder.sign(keys[issuer], hashes.SHA256())
