"""The servers that the fixture starts are the real ones, and they answer through the clients that we use."""

from contextlib import suppress

import httpx2
import psutil
import pytest
from confluent_kafka.admin import AdminClient

from streams.settings import Settings
from streams.stores import cassandra
from streams.stores.opener import open_stores
from streams.topology import TOPICS


@pytest.mark.integration("kafka")
def test_kafka_has_every_topic_of_the_topology(stack: Settings) -> None:
    topics = AdminClient({"bootstrap.servers": stack.kafka.bootstrap}).list_topics(timeout=10).topics

    assert {topic.name for topic in TOPICS} <= topics.keys()


@pytest.mark.integration("cassandra")
async def test_cassandra_has_the_tables(stack: Settings) -> None:
    session = await cassandra.connect(stack.cassandra)
    await session.close()


@pytest.mark.integration("qdrant")
async def test_qdrant_lists_collections(stack: Settings) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"{stack.qdrant.url}/collections")

    assert answer.status_code == 200


@pytest.mark.integration("triton")
async def test_triton_embeds(stack: Settings) -> None:
    async with open_stores(stack, ("models",)) as stores:
        info, vectors = await stores.embedder.info(), await stores.embedder.embed(["a page of the web"], "passage")

    assert vectors.shape == (1, info.dimensions)


def listening_on(process: psutil.Process) -> set[tuple[str, int]]:
    """The addresses and ports on which a process listens: none if it has just ended."""
    with suppress(psutil.NoSuchProcess):
        return {
            (one.laddr.ip, one.laddr.port)
            for one in process.net_connections("inet")
            if one.status == psutil.CONN_LISTEN
        }
    return set()


@pytest.mark.integration("kafka", "cassandra", "qdrant", "triton")
def test_each_server_listens_only_on_loopback(stack: Settings) -> None:
    family = psutil.Process().children(recursive=True)
    addresses = {address for child in family for address, _port in listening_on(child)}
    assert addresses
    assert addresses <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@pytest.mark.integration("triton")
def test_triton_has_no_port_that_a_page_in_a_browser_could_use(stack: Settings) -> None:
    port = int(stack.triton.url.rpartition(":")[2])
    listening = [
        {port for _address, port in listening_on(child)} for child in psutil.Process().children(recursive=True)
    ]
    assert [ports for ports in listening if port in ports] == [{port}]
