"""Entities found in the index: made by the job, marked, behind imported ones, and gone with their page."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import orjson
import pytest

from schemas import EntityChanged, Envelope, Event, LinkFound, PageRemoved
from schemas.ids import page_id
from streams.errors import StoreUnavailable
from streams.knowledge.agent import KnowledgeAgent
from streams.knowledge.entity import Part
from streams.knowledge.found.collecting import Collected, Collector
from streams.knowledge.found.names import entity_id_of
from streams.knowledge.lookup.source import PanelSource
from streams.knowledge.points import read_record
from streams.links.agent import LinksAgent
from streams.maintenance.erasure import Eraser
from streams.pages.document.codec import encode_document
from streams.pages.normalize import normalize
from streams.runtime.agent import Delivery
from streams.settings import KnowledgeSettings
from streams.stores.opener import Stores
from streams.stores.page_record import Indexed, Normalized, Removed
from streams.stores.protocols import StoredBlob
from tests.stages.entities import import_entities
from tests.stages.gateway_fakes import client, gateway, searchable, statement
from tests.stages.test_gateway_search import STATEMENTS

HOME = "https://quill.example/"
RUST = "https://rust-remover.example/"
SITES = [f"https://site{number}.test/links" for number in range(5)]
TIME = datetime(2026, 1, 2, tzinfo=UTC)


def html(name: str, **facts: str) -> str:
    data = orjson.dumps({"@context": "https://schema.org", "@type": "Organization", "name": name, **facts}).decode()
    text = f"{name} is described here at some length, for all who look for it."
    return f'<title>{name}</title><script type="application/ld+json">{data}</script><main><p>{text}</p></main>'


class World:
    """Stores with pages that other sites link to, and the stage behind the job."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.sent: list[EntityChanged] = []

    async def deliver(self, event: Event) -> None:
        """Let the stage handle an event, and what follows from it."""
        envelope = Envelope(id=uuid4(), type=event.event_type(), source="/riffle/test", time=datetime.now(UTC))
        for following in await KnowledgeAgent(self.stores).handle(Delivery(event, envelope, event.topic, 0, 0)):
            await self.deliver(following)

    async def add(self, url: str, name: str, sites: int = 5, at: int = 1, **facts: str) -> None:
        document = normalize(html(name, **facts), url=url).document
        ref = await self.stores.blobs.put(encode_document(document))
        await self.stores.pages.put(
            page_id(url), Normalized.of_row({"url": url, "generation": 1, "document_ref": ref}), at
        )
        await self.stores.pages.put(page_id(url), Indexed.of_row({"url": url, "generation": 1}), 1)
        agent = LinksAgent(self.stores.host_links, self.stores.pages)
        for source in SITES[:sites]:
            event = LinkFound(
                target_page_id=page_id(url),
                target_url=url,
                source_page_id=page_id(source),
                source_url=source,
                anchor=name,
                generation=1,
            )
            envelope = Envelope(id=uuid4(), type=event.event_type(), source="/riffle/test", time=TIME)
            await agent.handle(Delivery(event, envelope, event.topic, 0, 0))

    async def collect(self) -> Collected:
        self.sent = []

        async def send(events: Sequence[EntityChanged], cause: str) -> None:
            self.sent += events
            for event in events:
                await self.deliver(event)

        return await Collector(self.stores, send).run("job")

    async def remove(self, url: str, *, is_recorded: bool = True) -> None:
        if is_recorded:
            removed = Removed.of_row({"url": url, "generation": 2, "reason": "gone"})
            await self.stores.pages.put(page_id(url), removed, 2)
        await self.deliver(PageRemoved(page_id=page_id(url), url=url, generation=2, reason="gone"))

    async def kinds(self, url: str) -> str:
        found = await self.stores.entities.get([entity_id_of(page_id(url))])
        return read_record(next(iter(found.values())).record).kind if found else "none"


async def blobs_of(stores: Stores) -> Sequence[StoredBlob]:
    return (await stores.blob_collection.stored(0, 1_000))[0]


async def unreported(table: str, share: float) -> None: ...


@pytest.fixture
async def world() -> World:
    made = World(await searchable([*STATEMENTS, statement(HOME, "Quill is described here.")]))
    await made.add(HOME, "Quill Works", description="Quill Works makes pens.", foundingDate="1931")
    await made.add("https://few.example/", "Known to Few", sites=4, description="Too few sites link to it.")
    return made


async def test_a_page_that_many_sites_name_becomes_a_marked_entity(world: World) -> None:
    counts = await world.collect()
    assert (counts.pages, counts.named, counts.sent, counts.removed) == (2, 1, 1, 0)
    [event] = world.sent
    assert (event.source, event.label) == ("index", ""), "the topic keeps no text of the page"
    async with client(gateway(world.stores)) as web:
        panel = (await web.get("/api/v1/entities", params={"q": "quill works"})).json()["panel"]
        page = (await web.get(f"/entities/{panel['id']}", headers={"accept": "text/html"})).text
    assert (panel["found_in_index"], panel["linking_domains"]) == (True, 5)
    assert panel["facts"][0]["source"] == HOME
    assert panel["sources"] == [{"name": "A page of this index", "url": HOME}]
    assert "Found in this index" in page
    assert "1931" in page


async def test_the_job_again_sends_nothing_and_a_changed_page_is_sent(world: World) -> None:
    await world.collect()
    again = await world.collect()
    assert (again.sent, again.unchanged, again.removed) == (0, 1, 0)
    await world.add(HOME, "Quill Works", description="Quill Works makes ink.", foundingDate="1931")
    assert (await world.collect()).sent == 1


async def test_an_entity_goes_with_its_page_and_comes_back_with_it(world: World) -> None:
    await world.collect()
    assert await world.kinds(HOME) == "entity"
    await world.remove(HOME)
    assert await world.kinds(HOME) == "label", "no panel is left"
    await world.remove(HOME)  # a redelivery changes nothing
    assert (await world.collect()).sent == 0
    await world.stores.pages.put(page_id(HOME), Indexed.of_row({"url": HOME, "generation": 3}), 3)
    assert (await world.collect()).sent == 1
    assert await world.kinds(HOME) == "entity"


async def test_the_erasure_of_a_page_deletes_the_blobs_of_all_versions_of_its_entity(world: World) -> None:
    others = {blob.ref for blob in await blobs_of(world.stores)}
    versions = ("pens", "ink", "paper")
    for at, thing in enumerate(versions, start=2):
        await world.add(HOME, "Quill Works", at=at, description=f"Quill Works makes {thing}.", foundingDate="1931")
        assert (await world.collect()).sent == 1
    await world.deliver(world.sent[0])  # a redelivery
    history = await world.stores.ledger.history(page_id(HOME))
    assert {step.outcome for step in history} == {"What the page states became an entity, for panels"}
    held = {blob.ref for blob in await blobs_of(world.stores)} - others
    own = {str(step.data["record_ref"]) for step in history}
    assert len(own) == len(versions)
    assert own <= held
    await world.remove(HOME)
    await Eraser(world.stores, unreported).erase([page_id(HOME)], 2**60)
    assert not own & {blob.ref for blob in await blobs_of(world.stores)}
    assert await world.stores.ledger.history(page_id(HOME)) == []


async def test_an_event_that_comes_behind_the_removal_of_its_page_stores_nothing(world: World) -> None:
    await world.collect()
    [event] = world.sent
    await world.remove(HOME)
    await world.deliver(event)
    assert await world.kinds(HOME) == "label"


async def test_the_removal_of_a_page_without_an_entity_writes_nothing(world: World) -> None:
    await world.remove("https://few.example/")
    assert await world.kinds("https://few.example/") == "none"
    assert await world.stores.entities.is_empty()


async def test_an_entity_that_lost_its_name_is_removed_by_the_next_job(world: World) -> None:
    await world.collect()
    for link in await world.stores.host_links.page_links(page_id(HOME), 100):
        await world.stores.host_links.remove_page_link(link, at=2)
    assert (await world.collect()).removed == 1
    assert await world.kinds(HOME) == "label"


async def test_a_job_that_fails_begins_again(world: World) -> None:
    async def fail(events: object, cause: str) -> None:
        raise StoreUnavailable("Kafka is down")

    with pytest.raises(StoreUnavailable):
        await Collector(world.stores, fail).run("job")
    assert await world.kinds(HOME) == "none"
    assert (await world.collect()).sent == 1


async def shown(world: World, query: str) -> tuple[str, list[str]]:
    """The id of the panel for a query (empty: a choice), and the ids of the other meanings in their order."""
    panel = await PanelSource(world.stores, KnowledgeSettings()).look_up(query)
    assert panel
    return panel.id, [one.id for one in panel.others]


async def test_imported_entities_come_before_found_ones_with_the_same_name(world: World) -> None:
    """However many sites link to the found one."""
    await import_entities(world.stores)
    await world.add("https://adams.example/", "Douglas Adams", description="A shop.", foundingDate="2020")
    await world.add(RUST, "Rust", description="It removes rust.", foundingDate="2020")
    await world.add("https://noel.example/", "Douglas Noël Adams", description="Another shop.", foundingDate="2021")
    await world.collect()
    adams, noel, rust = (
        entity_id_of(page_id(url)) for url in ("https://adams.example/", "https://noel.example/", RUST)
    )
    assert await shown(world, "douglas adams") == ("Q42", [adams])
    assert (await shown(world, "douglas noel adams"))[0] == "Q42", "also where the name is only an alias of it"
    choice, meanings = await shown(world, "rust")
    assert (choice, meanings) == ("", ["Q1", "Q2", "Q3", rust])
    assert noel not in meanings


async def test_a_found_entity_may_fill_what_no_import_names(world: World) -> None:
    own = Part(label="Other Works", description="another company")
    await import_entities(world.stores, (("own:1", "own", own),))
    await world.collect()
    assert (await shown(world, "quill works"))[0] == entity_id_of(page_id(HOME))
