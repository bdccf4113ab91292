"""Certificates are renewed while clients are connected: the same clients go on, and servers show the new ones."""

import asyncio
import datetime as dt
import ssl
from pathlib import Path

import pytest

from schemas import PageDiscovered
from schemas.ids import page_id
from streams.credentials import client_context
from streams.doctor.certificates import endpoints
from streams.doctor.servers import Endpoint
from streams.local.probing import answers
from streams.local.tls.identities import Identity
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores
from tests.integration.tls.conftest import TlsStack
from tests.integration.tls.renewing import renew_all

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]


def serial(endpoint: Endpoint) -> str:
    """The serial number of the certificate that a server presents."""
    import socket

    context = client_context(endpoint.files, check_hostname=endpoint.check_hostname)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection((endpoint.host, endpoint.port), 10) as plain,
        context.wrap_socket(plain, server_hostname=endpoint.host) as encrypted,
    ):
        return str((encrypted.getpeercert() or {})["serialNumber"])


def serials(settings: Settings) -> dict[str, str]:
    return {endpoint.name: serial(endpoint) for endpoint in endpoints(settings)}


async def use_all(settings: Settings, stores: Stores, producer: EventProducer, gateway: ssl.SSLContext | None) -> None:
    url = "https://renewal.test/"
    await stores.ledger.history(page_id(url))
    await stores.vectors.collections()
    assert (await stores.embedder.embed(["a page"], "passage")).shape[0] == 1
    await producer(PageDiscovered(page_id=page_id(url), url=url, host="renewal.test", why="seed", depth=0))
    assert await asyncio.to_thread(answers, f"{settings.gateway.address}/healthz", gateway)


def certificate_bytes(identity: Identity) -> bytes:
    return Path(identity.cert).read_bytes()


async def test_all_are_renewed_while_clients_are_connected(tls_stack: TlsStack) -> None:
    settings = tls_stack.settings
    gateway = client_context(settings.gateway_client)
    async with (
        open_stores(settings, ["records", "vectors", "models"]) as stores,
        EventProducer(settings, "test") as producer,
    ):
        await use_all(settings, stores, producer, gateway)
        before, own = serials(settings), certificate_bytes(tls_stack.identities["operator"])
        assert before.keys() == {"Kafka", "Cassandra", "Qdrant", "Triton", "Gateway"}

        steps: list[str] = []
        await asyncio.to_thread(renew_all, tls_stack.home, settings, dt.datetime.now(dt.UTC), steps.append)

        assert certificate_bytes(tls_stack.identities["operator"]) != own
        after = serials(settings)
        assert {name for name in after if after[name] == before[name]} == set(), "these show the former certificate"
        await _until_it_works(settings, stores, producer, gateway)


async def _until_it_works(
    settings: Settings, stores: Stores, producer: EventProducer, gateway: ssl.SSLContext | None
) -> None:
    """The clients connect again by themselves, within the pauses between their tries."""
    for _ in range(150):
        try:
            await use_all(settings, stores, producer, gateway)
        except Exception as error:
            last = error
            await asyncio.sleep(0.2)
        else:
            return
    raise last
