"""Rows of a newer release: what is unknown here is ignored, and kept where a record is written back."""

from dataclasses import replace
from uuid import UUID

import msgpack
import pytest

from streams.crawl.frontier.decisions import queue_url
from streams.stores.crawl_patterns import MAX_IN_ROW, CrawlPatterns
from streams.stores.memory import MemoryFrontier
from streams.stores.packing import FIELDS, pack, unpack
from streams.stores.protocols import FrontierUrl
from streams.stores.rows import InvalidRow, pack_row, read_row, row_of, unpack_row
from tests.stages.frontier_world import discovered

PAGE = UUID(int=7)
URL = FrontierUrl(PAGE, "https://a.test/", "a.test", "queued", 9, position=4, attempt=1)


def test_a_missing_field_is_named_if_it_has_no_default() -> None:
    row = row_of(URL) | {"page_id": PAGE, "at": 9}
    without_attempt, without_host = ({n: v for n, v in row.items() if n != name} for name in ("attempt", "host"))
    assert read_row(FrontierUrl, without_attempt).attempt == 0
    with pytest.raises(InvalidRow, match="host"):
        read_row(FrontierUrl, without_host)


SHORT, LONG = ("+/docs/*", "-*/print"), ("-" + "x" * MAX_IN_ROW,)


@pytest.mark.parametrize(
    ("patterns", "seen_by_an_earlier_worker"),
    [((), ()), (SHORT, SHORT), (LONG, ())],  # only long lists have rows of their own
)
async def test_rows_of_two_releases_side_by_side(
    patterns: tuple[str, ...], seen_by_an_earlier_worker: tuple[str, ...]
) -> None:
    store = CrawlPatterns(MemoryFrontier())
    url = replace(URL, max_depth=3, max_pages=9, same_host=True, patterns=patterns)
    new_row, old_row = await store.pack(url), pack_row(url)  # an earlier row had all its patterns
    assert await store.unpack(PAGE, 9, new_row) == await store.unpack(PAGE, 9, old_row) == url
    assert unpack_row(FrontierUrl, new_row, page_id=PAGE, at=9) == replace(url, patterns=seen_by_an_earlier_worker)


@pytest.mark.parametrize("max_depth", [None, 0, 3])
async def test_limits_that_can_not_be_read_are_written_back_as_they_are(max_depth: int | None) -> None:
    store = CrawlPatterns(MemoryFrontier())
    url = replace(URL, max_depth=max_depth, patterns=LONG)
    row = await store.pack(url)
    elsewhere = CrawlPatterns(MemoryFrontier())
    read = await elsewhere.unpack(PAGE, 9, row)
    assert (read.max_depth, read.patterns) == (0, ()), "it leads nowhere meanwhile"
    assert await elsewhere.pack(read) == row
    assert await store.unpack(PAGE, 9, await elsewhere.pack(replace(read, outcome="ok"))) == replace(url, outcome="ok")
    event = discovered(URL.url, max_depth=5, patterns=SHORT)
    queued = queue_url(event, read, "cause", 1, 10)
    assert await elsewhere.unpack(PAGE, queued.at, await elsewhere.pack(queued)) == queued, "it has limits again"
    assert (queued.max_depth, queued.patterns) == (5, SHORT)


def test_unknown_fields_and_kinds_of_values_are_written_back() -> None:
    number = len(FIELDS) + 50
    packed: bytes = msgpack.packb({1: "https://a.test/", number: [1, 2], "id": msgpack.ExtType(99, PAGE.bytes)})
    record = unpack(packed)
    assert record["url"] == "https://a.test/"
    assert pack(record) == packed
