"""Pages in memory of which suggestions are made, the whole build over them, and what a person then sees."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from schemas import Envelope, PageIndexed
from schemas.ids import event_id, page_id
from streams.queries.counts import quarter_of
from streams.queries.suggestions.build import MAP_NUMBERS, Job, finish, run_map, run_reduce
from streams.queries.suggestions.build_notes import began_at
from streams.queries.suggestions.prefix_lists import best, read_list
from streams.queries.suggestions.sums import SHARDS
from streams.runtime.agent import Delivery
from streams.seen.stores import SeenStores
from streams.statements.statement import PageStatements, Statement, encode_statements
from streams.stores.memory import MemoryPages
from streams.stores.opener import Stores
from streams.stores.page_record import Fetched, Indexed, Normalized, PageRecord
from streams.stores.protocols import FOR_EVERYBODY
from tests.stages.gateway_fakes import NOW, client, gateway

QUARTER = quarter_of(NOW)


TODAY = QUARTER // 96


JOB = Job("a build", NOW, blocked=("forbidden",))


class ChosenPages(MemoryPages):
    """The records of pages of sites that the operator chose."""

    async def get(self, page_id: UUID) -> PageRecord:
        return PageRecord({"fetched": {"source": "crawl", "same_host": True}})


async def store_page(
    stores: Stores,
    url: str,
    title: str,
    *texts: str,
    headings: Sequence[str] = (),
    directives: Sequence[str] = (),
    language: str = "en",
    is_chosen: bool = True,
) -> None:
    """Write the records and the statements of an indexed page. `is_chosen`: its host is one of the crawl's seeds."""
    identity = page_id(url)
    made = tuple(
        Statement(page_id(f"{url}#{number}"), number, text, (*headings, "A lead-in that ends with a colon:"))
        for number, text in enumerate(texts)
    )
    ref = await stores.blobs.put(encode_statements(PageStatements(identity, url, title, language, made)))
    row = {"url": url, "generation": 1, "title": title, "language": language, "statements_ref": ref, "collection": "c"}
    await stores.pages.put(identity, Indexed.of_row(row), 1)
    fetched = {"url": url, "generation": 1, "source": "crawl", "depth": 2, "same_host": is_chosen}
    await stores.pages.put(identity, Fetched.of_row(fetched), 1)
    normalized = {"url": url, "generation": 1, "directives": tuple(directives)}
    await stores.pages.put(identity, Normalized.of_row(normalized), 1)


async def build_all(stores: Stores, job: Job = JOB) -> int:
    for number in MAP_NUMBERS:
        await run_map(stores, job, number)
    return await finish(stores, job, [await run_reduce(stores, job, shard) for shard in range(SHARDS)])


async def stored(stores: Stores, prefix: str, language: str = "") -> list[str]:
    since = await began_at(stores.suggestions)
    seen = SeenStores(stores).suggestions
    return [each.text for each in best(await read_list(seen, language, prefix, since, FOR_EVERYBODY), QUARTER)]


async def asked(stores: Stores, typed: str, **parameters: Any) -> list[str]:
    """Return what a gateway over these stores suggests."""
    app = gateway(stores)
    await app.state.gateway.suggest.look()
    async with client(app) as web:
        answer = (await web.get("/api/v1/suggest", params={"q": typed, **parameters})).json()
    assert answer["query"] == typed
    return [each["text"] for each in answer["suggestions"]]


def indexed(url: str, title: str) -> Delivery:
    """Return the event of a page that has become searchable."""
    event = PageIndexed(
        page_id=page_id(url),
        url=url,
        generation=1,
        title=title,
        language="en",
        statements=1,
        model="m",
        model_version="1",
        collection="c",
    )
    envelope = Envelope(id=event_id("t", url, "k"), type=event.event_type(), source="/riffle/index", time=NOW)
    return Delivery(event, envelope, event.topic, 0, 0)
