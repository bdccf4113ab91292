"""An index on the real stack: exported from one keyspace, taken by another through Kafka, killed and repeated."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schemas import PageFetched
from schemas.ids import page_id
from streams.pages.sandbox.pool import ParsePool
from streams.runtime.readers.topic_reader import read_topic
from streams.runtime.records import decode
from streams.settings import QdrantSettings, Settings, TritonSettings
from streams.stores import cassandra
from streams.stores.opener import Stores, open_stores
from tests.conftest import fresh_name
from tests.integration.handbook import TEXTS, Handbook
from tests.integration.qdrant_process import QdrantProcess
from tests.integration.test_operations import RIFFLE, environment, run_command
from tests.stages.whole_journey import SECOND, START, WholeJourney

pytestmark = [pytest.mark.integration("kafka", "cassandra"), pytest.mark.timeout(600)]

TAKEN_AT = 1_000_000
"""When the index is taken, in the seconds of the journey."""


@dataclass(frozen=True, slots=True)
class Installation:
    """A keyspace and a local Qdrant of its own, on the shared Kafka and Cassandra. Its model runs in the processes."""

    settings: Settings
    stores: Stores
    environment: dict[str, str]

    async def riffle(self, *arguments: str, status: int = 0, or_status: int = 0) -> Any:
        done = await run_command(self.environment, *arguments, "--json")
        assert done.exit_code in (status, or_status), done.output
        return json.loads(done.stdout)

    async def points(self, page: str) -> list[tuple[Any, list[float]]]:
        (collection,) = await self.stores.vectors.collections()
        hits = sorted(await self.stores.vectors.scroll(collection, page_id(page)), key=lambda hit: hit.payload.ordinal)
        vectors = await self.stores.vectors.dense_vectors([hit.id for hit in hits], collection)
        # Without the generation: the killed import may have sent the page before, and its second event is a replay.
        rows = [{**hit.payload.row(), "generation": 0} for hit in hits]
        return [(row, list(vector)) for row, vector in zip(rows, vectors, strict=True)]


@asynccontextmanager
async def installation(stack: Settings, folder: Path) -> AsyncIterator[Installation]:
    records = stack.cassandra.model_copy(update={"keyspace": fresh_name(), "request_timeout_seconds": 60.0})
    await cassandra.migrate(records)
    qdrant = QdrantProcess(folder / "qdrant")
    qdrant.start()
    models = TritonSettings(url="inprocess:")
    settings = stack.model_copy(
        update={"cassandra": records, "qdrant": QdrantSettings(url=qdrant.url), "triton": models, "home": folder}
    )
    variables = environment(settings) | {"RIFFLE_HOME": str(folder), "RIFFLE_TRITON__URL": models.url}
    try:
        async with open_stores(settings, ["records", "vectors", "models"]) as stores:
            yield Installation(settings, stores, variables)
    finally:
        qdrant.stop()


async def test_an_index_goes_from_one_installation_to_another(stack: Settings, tmp_path: Path) -> None:
    book = Handbook(f"{fresh_name().replace('_', '-')}.test")
    for name in ("a", "b"):
        await asyncio.to_thread((tmp_path / name).mkdir)
    async with installation(stack, tmp_path / "a") as one, installation(stack, tmp_path / "b") as other:
        await book.index(one.stores)
        folder = tmp_path / "handbook-index"
        exported = await one.riffle("export", "index", str(folder), "--host", book.host)
        assert exported["pages"] == len(TEXTS)
        await _kill_an_import(other, folder, book.host)
        # The first one may have sent all pages before it was killed.
        taken = await other.riffle("import", str(folder), "--no-wait", or_status=1)
        assert not taken.get("notes"), "its vectors are taken"
        events = await _sent(stack, book.host)
        assert {event.url for event in events} == book.urls
        assert {(event.source, event.origin) for event in events} == {("warc", "handbook-index")}
        texts = await _handle(other, events)
        assert texts == 0, "nothing is embedded again"
        for url in book.urls:
            assert await other.points(url) == await one.points(url)
        shown = await other.riffle("page", book.url("otters"))
        assert any("Handed on by the index handbook-index" in step["outcome"] for step in shown["steps"])
        again = await other.riffle("import", str(folder), "--no-wait", status=1, or_status=1)
        assert (again["imported"], again["skipped"][0]["count"]) == (0, len(TEXTS))
        assert len(await _sent(stack, book.host)) == len(events)


async def _kill_an_import(other: Installation, folder: Path, host: str) -> None:
    """Kill an import as soon as it has sent a page."""
    command = [*RIFFLE, "import", str(folder), "--no-wait"]
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, env=other.environment, stdout=quiet, stderr=quiet)
    while process.returncode is None and not await _sent(other.settings, host):
        await asyncio.sleep(0.05)
    if process.returncode is None:
        process.kill()
    await process.wait()


async def _sent(stack: Settings, host: str) -> list[PageFetched]:
    """Return the events about pages of a host, in their order."""
    records = await asyncio.to_thread(lambda: list(read_topic(stack, PageFetched.topic)))
    own = [record for record in records if host.encode() in (record.value or b"")]
    events = [decode(PageFetched, record.value, record.headers)[0] for record in own]
    return [event for event in events if isinstance(event, PageFetched)]


async def _handle(other: Installation, events: list[PageFetched]) -> int:
    """Let all stages handle the events, each as often as it came. Return the number of calls of the model."""
    async with ParsePool(1) as pool:
        journey = WholeJourney(pool, other.stores)
        for event in events:
            assert event.generation < START + TAKEN_AT * SECOND
            await journey.handle(event, TAKEN_AT)
        return journey.calls["embedder.embed"]
