"""The dedup stage over Cassandra: several workers decide one group at once."""

import asyncio
from uuid import uuid4

import pytest

from schemas import PageDeduplicated, PageRemoved
from schemas.ids import page_id
from streams.dedup.agent import DedupAgent
from streams.dedup.sandbox_tasks import TASKS
from streams.settings import Settings
from streams.stores import cassandra
from streams.stores.opener import Stores
from tests.inline_sandbox import InlineSandbox
from tests.stages.dedup_site import TEXT, Site, edited, text_of

pytestmark = pytest.mark.integration("cassandra")


async def test_duplicates_handled_at_once_have_one_representative(stack: Settings, fresh_name: str) -> None:
    settings = stack.cassandra.model_copy(update={"keyspace": fresh_name, "request_timeout_seconds": 60.0})
    await cassandra.migrate(settings)
    session = await cassandra.connect(settings)
    try:
        site = Site(
            Stores(
                blobs=cassandra.CassandraBlobs(session),
                pages=cassandra.CassandraPages(session),
                ledger=cassandra.CassandraLedger(session),
                fingerprints=cassandra.CassandraFingerprints(session),
                frontier=cassandra.CassandraFrontier(session),
            )
        )
        mark = uuid4().hex[:8]
        urls = [f"https://{mark}.test/" + "x" * number for number in range(8)]
        texts = [TEXT, *(edited(TEXT, 4, seed) for seed in range(6)), text_of(77)]
        deliveries = [
            await site.normalized(url, text, at) for at, (url, text) in enumerate(zip(urls, texts, strict=True))
        ]
        agents = [DedupAgent(site.stores, InlineSandbox(TASKS)) for _ in range(3)]
        outputs = await asyncio.gather(*(agents[at % 3].handle(one) for at, one in enumerate(reversed(deliveries))))
        assert [await site.representative_of(url) for url in urls] == [*[urls[0]] * 7, urls[7]]
        removed = {event.url for events in outputs for event in events if isinstance(event, PageRemoved)}
        assert removed == set(urls[1:7])

        gone = await agents[0].handle(site.removed(urls[0], "gone", 20))
        assert [event.url for event in gone if isinstance(event, PageDeduplicated)] == [urls[1]]
        assert {await site.representative_of(url) for url in urls[1:7]} == {urls[1]}
        assert len(await site.stores.fingerprints.duplicates(page_id(urls[1]), 10)) == 5
    finally:
        await session.close()
