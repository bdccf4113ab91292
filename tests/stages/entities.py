"""A small world of entities in memory, as an import and the knowledge stage leave it."""

from datetime import UTC, datetime
from uuid import uuid4

from schemas import EntityChanged, Envelope
from streams.knowledge.agent import KnowledgeAgent
from streams.knowledge.entity import Fact, Image, Option, Part, Value
from streams.runtime.agent import Delivery
from streams.stores.opener import Stores

WIKI = "https://en.wikipedia.org/wiki/"
WORLD: tuple[tuple[str, str, Part], ...] = (
    ("Q5", "wikidata", Part(kind="label", label="human")),
    ("Q11573", "wikidata", Part(kind="label", label="metre")),
    ("Q350", "wikidata", Part(label="Cambridge", description="city in England", sitelinks=120)),
    (
        "Q42",
        "wikidata",
        Part(
            label="Douglas Adams",
            description="English writer and humorist",
            type_ids=("Q5",),
            group="person",
            aliases=("Douglas Noël Adams",),
            sitelinks=83,
            article="enwiki:Douglas Adams",
            url="https://www.wikidata.org/wiki/Q42",
            website="https://douglasadams.example/",
            image=Image(url="https://commons.example/a.jpg", page_url="https://commons.example/File:a.jpg"),
            links=("Q350",),
            facts=(
                Fact(
                    property="P569",
                    label="Born",
                    values=(Value(text="11 March 1952", time="1952-03-11", source_url="https://www.wired.example/a"),),
                    source_url="https://www.wikidata.org/wiki/Q42#P569",
                ),
                Fact(label="Place of birth", values=(Value(entity_id="Q350"), Value(entity_id="Q999"))),
                Fact(label="Height", values=(Value(text="1.96", unit_id="Q11573"),)),
                Fact(label="Weight", values=(Value(text="100", unit_id="Q998"),)),
                Fact(label="Spouse", values=(Value(text="Jane <b>", note="1991–2001"),)),
            ),
        ),
    ),
    (
        "enwiki:Douglas Adams",
        "wikipedia",
        Part(
            label="Douglas Adams",
            summary="Douglas Adams was an English author.",
            url=f"{WIKI}Douglas_Adams",
            licence="CC BY-SA 4.0",
        ),
    ),
    ("Q1", "wikidata", Part(label="rust", description="iron oxide", sitelinks=70, article="enwiki:Rust")),
    (
        "Q2",
        "wikidata",
        Part(
            label="Rust", description="programming language", sitelinks=80, article="enwiki:Rust (programming language)"
        ),
    ),
    (
        "Q3",
        "wikidata",
        Part(label="Rust", description="2013 video game", sitelinks=20, article="enwiki:Rust (video game)"),
    ),
    ("Q84", "wikidata", Part(label="London", description="capital of the United Kingdom", sitelinks=300)),
    ("Q92561", "wikidata", Part(label="London", description="city in Ontario, Canada", sitelinks=60)),
    (
        "enwiki:Mercury",
        "wikipedia",
        Part(
            kind="choice",
            label="Mercury",
            options=(
                Option(title="Mercury (planet)", description="the first planet"),
                Option(title="Mercury (element)"),
            ),
        ),
    ),
)


async def import_entities(stores: Stores, world: tuple[tuple[str, str, Part], ...] = WORLD) -> Stores:
    agent = KnowledgeAgent(stores)
    for entity_id, source, part in world:
        ref = await stores.blobs.put(part.model_dump_json(exclude_defaults=True).encode())
        event = EntityChanged(entity_id=entity_id, source=source, record_ref=ref)
        time = datetime(2026, 1, 1, tzinfo=UTC)
        envelope = Envelope(id=uuid4(), type=event.event_type(), source="/riffle/import", time=time)
        await agent.handle(Delivery(event, envelope, event.topic, 0, 0))
    return stores
