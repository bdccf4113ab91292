"""Both tested lines of Kafka: each client of Riffle works with each, and a home that the older one made goes on."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from schemas import PageIndexed
from streams.errors import StartError
from streams.local.child_process import stop
from streams.local.servers.kafka import NEWEST, OLDEST, Kafka, chosen_line
from streams.local.servers.server import spawn
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import read_topic
from streams.settings import KafkaSettings, Settings
from tests.unit.schemas.test_schemas import INDEXED

pytestmark = pytest.mark.night  # both lines are downloaded and started, some minutes with empty caches
READY_SECONDS = 180.0


@contextmanager
def running(data: Path, line: str) -> Iterator[Settings]:
    """Run one line of Kafka on a data folder."""
    server = Kafka(data, line=line)
    child = spawn(server, server.prepare(), data.parent)
    try:
        end = time.monotonic() + READY_SECONDS
        while not server.is_ready():
            assert time.monotonic() < end, f"{line} is not ready: see the logs in {data.parent}"
            time.sleep(0.2)
        yield Settings(kafka=KafkaSettings(bootstrap=server.bootstrap))
    finally:
        stop([child], 20.0)


async def publish(settings: Settings, url: str) -> None:
    async with EventProducer(settings, "test") as producer:
        await producer(PageIndexed.model_validate({**INDEXED, "url": url}))


def read_values(settings: Settings) -> bytes:
    return b"".join(record.value or b"" for record in read_topic(settings, PageIndexed.topic))


@pytest.mark.integration("kafka")
async def test_a_home_of_the_oldest_line_goes_on_with_the_newest(tmp_path: Path) -> None:
    """Events are written and read on both lines; those of 3.9 are read by 4.3, which also appends to their topic."""
    data = tmp_path / "kafka"
    urls = ("https://oldest.test/", "https://newest.test/")
    for line, url in zip((OLDEST, NEWEST), urls, strict=True):
        with running(data, line) as settings:
            if url == urls[0]:
                admin = AdminClient({"bootstrap.servers": settings.kafka.bootstrap})
                admin.create_topics([NewTopic(PageIndexed.topic, 1, 1)])[PageIndexed.topic].result(30)
            await publish(settings, url)
            values = await asyncio.to_thread(read_values, settings)
            assert url.encode() in values
    assert all(url.encode() in values for url in urls)


@pytest.mark.parametrize(("variable", "line"), [("", NEWEST), ("3.9", OLDEST)])
def test_the_line_of_the_tests_is_named_by_a_variable(variable: str, line: str) -> None:
    assert chosen_line({"RIFFLE_TEST_KAFKA": variable}) == line


def test_an_unknown_line_is_refused() -> None:
    with pytest.raises(StartError, match=r"RIFFLE_TEST_KAFKA=2\.8: there is only 3\.9"):
        chosen_line({"RIFFLE_TEST_KAFKA": "2.8"})
