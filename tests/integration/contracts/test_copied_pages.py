"""All that is stored of a page, as a backup copies it: the record, fingerprint, links and blobs, each with its time."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from streams.settings import CassandraSettings
from streams.stores import cassandra
from streams.stores.blobs import MAX_PAGE_BLOB_BYTES, page_blob_ref
from streams.stores.cassandra.copying import read_rows, tables, write_rows
from streams.stores.page_record import Deduplicated, Fetched, Normalized
from streams.stores.protocols import Fingerprint, LinkGroup
from tests.conftest import fresh_name

pytestmark = pytest.mark.integration("cassandra")


@asynccontextmanager
async def keyspace(settings: CassandraSettings) -> AsyncIterator[tuple[cassandra.CassandraSession, str]]:
    name = fresh_name("copy")
    own = settings.model_copy(update={"keyspace": name})
    await cassandra.migrate(own)
    session = await cassandra.connect(own)
    try:
        yield session, name
    finally:
        await session.close()


async def test_a_copy_of_a_page_has_all_its_rows_with_their_times(cassandra_settings: CassandraSettings) -> None:
    page, other, content, large = uuid4(), uuid4(), b"a document", os.urandom(MAX_PAGE_BLOB_BYTES)
    refs = [page_blob_ref(page, one) for one in (content, large)]
    group = LinkGroup(("https://a.example/1",), 2)
    async with keyspace(cassandra_settings) as (here, name), keyspace(cassandra_settings) as (there, _):
        pages, prints = cassandra.CassandraPages(here), cassandra.CassandraFingerprints(here)
        await pages.put(page, Fetched.of_row({"body_ref": refs[0]}), 5, dict(zip(refs, (content, large), strict=True)))
        await pages.put(page, Normalized.of_row({"title": "A title"}), 6, None, [group])
        made = Fingerprint(page, "hash", 1, "https://c.example/", 1, words=60, sketch=bytes(128), keys=(1, 2, 3))
        await prints.put(made, 7, None, Deduplicated.of_row({"verdict": "unique", "at": 8}))
        await prints.set_representative(page, other, 9)  # its decision has another time than the fingerprint
        for table in await tables(here, name):
            async for rows in read_rows(here, table):
                await write_rows(there, table, rows, 99)
        copied = cassandra.CassandraPages(there)
        assert await copied.get(page) == await pages.get(page)
        assert await copied.write_times(page) == {"fetched": 5, "normalized": 6, "deduplicated": 8}
        assert [await cassandra.CassandraBlobs(there).get(ref) for ref in refs] == [content, large]
        collections = [cassandra.CassandraBlobCollection(session) for session in (here, there)]
        assert await collections[1].of_page(page) == await collections[0].of_page(page)
        assert await cassandra.CassandraHostLinks(there).links_of(page) == [group]
        assert await cassandra.CassandraFingerprints(there).get_with_record(page) == await prints.get_with_record(page)
        found = await cassandra.CassandraFingerprints(there).get(page)
        assert found is not None
        assert (found.written_at, found.decided_at, found.representative, found.is_hidden) == (7, 9, other, True)
        await copied.put(page, Normalized.of_row({"title": "An older one"}), 5)
        assert (await copied.get(page)).normalized.title == "A title", "a redelivered event loses against the copy"
