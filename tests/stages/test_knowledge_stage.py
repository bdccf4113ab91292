"""The knowledge stage: sources are merged in any order, twice changes nothing, and a failure between two writes is
repaired by the next delivery."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations

import orjson
import pytest

from schemas import EntityChanged, Envelope, OriginChanged
from schemas.ids import event_id
from streams.errors import PoisonError, StoreUnavailable
from streams.knowledge.agent import KnowledgeAgent
from streams.knowledge.entity import Entity, Option, Part
from streams.knowledge.names import name_key
from streams.knowledge.points import point_id, point_of, read_record
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import TextRole, Vectors
from streams.runtime.agent import Delivery
from streams.stores.opener import Stores, memory_stores

ITEM = Part(
    label="Rust",
    description="programming language",
    article="enwiki:Rust (language)",
    sitelinks=80,
    aliases=("Rust lang",),
)
ARTICLE = Part(
    label="Rust", summary="Rust is a language.", aliases=("Rust (language)",), url="https://en.wikipedia.org/wiki/R"
)
START = datetime(2026, 1, 2, tzinfo=UTC)


async def delivery(
    stores: Stores, entity_id: str, source: str, part: Part | None, second: int = 0, alias: str = ""
) -> Delivery:
    content = part.model_dump_json(exclude_defaults=True).encode() if part else b""
    ref = await stores.blobs.put(content) if part else None
    event = EntityChanged(entity_id=entity_id, source=source, record_ref=ref, alias=alias)
    kind = event.event_type()
    envelope = Envelope(
        id=event_id(kind, f"{source} {second}", event.key()),
        type=kind,
        source="/riffle/import",
        time=START + timedelta(seconds=second),
    )
    return Delivery(event, envelope, event.topic, 0, 0)


async def record(stores: Stores, entity_id: str) -> Entity:
    return read_record((await stores.entities.get([entity_id]))[entity_id].record)


async def found(stores: Stores, name: str) -> list[str]:
    rows = await stores.entities.find([name_key(name)], 10)
    return [row.entity_id for row in rows.get(name_key(name), [])]


async def points(stores: Stores) -> set[str]:
    [collection] = await stores.entity_vectors.collections()
    ids = [await stores.entity_vectors.scroll(collection, point_id(one)) for one in ("Q1", "enwiki:Rust (language)")]
    return {hit.payload.url for hits in ids for hit in hits}


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
async def test_item_article_and_redirect_become_one_entity_in_any_order(order: tuple[int, ...]) -> None:
    stores = memory_stores()
    events = [
        await delivery(stores, "Q1", "wikidata", ITEM),
        await delivery(stores, "enwiki:Rust (language)", "wikipedia", ARTICLE, 1),
        await delivery(stores, "enwiki:Rust (language)", "redirect:Rustlang", None, 2, alias="Rustlang"),
    ]
    agent = KnowledgeAgent(stores)
    for number in order:
        assert await agent.handle(events[number]) == []
    whole = await record(stores, "Q1")
    assert (whole.label, whole.summary, whole.rank) == ("Rust", "Rust is a language.", 80)
    assert set(whole.names) == {"Rust", "Rust lang", "Rust (language)", "Rustlang"}
    assert await found(stores, "rust") == await found(stores, "RUSTLANG") == ["Q1"]
    assert (await record(stores, "enwiki:Rust (language)")).redirect == "Q1"
    assert await points(stores) == {"Q1"}


async def test_two_workers_at_once_agree() -> None:
    stores = memory_stores()
    events = [
        await delivery(stores, "Q1", "wikidata", ITEM),
        await delivery(stores, "enwiki:Rust (language)", "wikipedia", ARTICLE),
    ]
    await asyncio.gather(*(KnowledgeAgent(stores).handle(event) for event in events * 2))
    assert (await record(stores, "Q1")).summary == "Rust is a language."
    assert await found(stores, "rust") == ["Q1"]


async def test_the_same_event_twice_changes_nothing() -> None:
    stores = memory_stores()
    event = await delivery(stores, "Q1", "wikidata", ITEM)
    await KnowledgeAgent(stores).handle(event)
    once = await stores.entities.get(["Q1"])
    await KnowledgeAgent(stores).handle(event)
    assert await stores.entities.get(["Q1"]) == once


class CountingEmbedder(MemoryEmbedder):
    """An embedder that remembers its texts."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        self.texts += texts
        return await super().embed(texts, role, deadline_seconds=deadline_seconds)


async def test_a_further_name_needs_no_model_but_another_text_does() -> None:
    stores = memory_stores()
    stores.embedder = embedder = CountingEmbedder()
    article = "enwiki:Rust (language)"
    await KnowledgeAgent(stores).handle(await delivery(stores, article, "wikipedia", ARTICLE))
    [collection] = await stores.entity_vectors.collections()
    first = await stores.entity_vectors.text_and_vector(collection, point_id(article))
    alias = await delivery(stores, article, "redirect:Rustlang", None, 2, alias="Rustlang")
    await KnowledgeAgent(stores).handle(alias)
    assert await found(stores, "rustlang") == [article]
    assert embedder.texts == ["Rust. . Rust is a language."]
    assert await stores.entity_vectors.text_and_vector(collection, point_id(article)) == first
    changed = ARTICLE.model_copy(update={"summary": "Rust is a programming language."})
    await KnowledgeAgent(stores).handle(await delivery(stores, article, "wikipedia", changed, 3))
    assert embedder.texts[1:] == ["Rust. . Rust is a programming language."]
    assert await stores.entity_vectors.text_and_vector(collection, point_id(article)) != first


async def test_a_part_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = memory_stores()
    read: list[str] = []
    get = stores.blobs.get

    async def counting(ref: str) -> bytes:
        read.append(ref)
        return await get(ref)

    monkeypatch.setattr(stores.blobs, "get", counting)
    monkeypatch.setattr("streams.knowledge.agent.RECENT_PARTS", 1)
    agent, article = KnowledgeAgent(stores), "enwiki:Rust (language)"
    await agent.handle(await delivery(stores, article, "wikipedia", ARTICLE))
    await agent.handle(await delivery(stores, article, "redirect:Rustlang", None, 2, alias="Rustlang"))
    assert len(read) == 1
    await agent.handle(await delivery(stores, "Q1", "wikidata", ITEM, 3))
    assert len(agent._recent) == 1, "no more are kept"
    assert (await record(stores, "Q1")).summary == "Rust is a language."


async def test_a_point_of_another_text_is_embedded_again() -> None:
    """Another worker has written the point of an older state behind the record."""
    stores = memory_stores()
    stores.embedder = embedder = CountingEmbedder()
    article = "enwiki:Rust (language)"
    await KnowledgeAgent(stores).handle(await delivery(stores, article, "wikipedia", ARTICLE))
    whole = await record(stores, article)
    older = point_of(whole.model_copy(update={"summary": "Of old."}), [1.0, *[0.0] * 63])
    await stores.entity_vectors.upsert(whole.collection, [older])
    alias = await delivery(stores, article, "redirect:Rustlang", None, 2, alias="Rustlang")
    await KnowledgeAgent(stores).handle(alias)
    assert embedder.texts == ["Rust. . Rust is a language."] * 2
    stored = await stores.entity_vectors.text_and_vector(whole.collection, point_id(article))
    assert stored is not None
    assert stored[0] == "Rust. . Rust is a language."


@pytest.mark.parametrize("step", ["put_part", "name_article", "put_names", "put", "remove_names", "upsert"])
async def test_an_event_is_finished_after_a_failure_at_any_step(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*arguments: object, **named: object) -> None:
        raise StoreUnavailable("the store is down")

    stores = memory_stores()
    agent = KnowledgeAgent(stores)
    await agent.handle(await delivery(stores, "Q1", "wikidata", ITEM))
    await agent.handle(await delivery(stores, "enwiki:Rust (language)", "wikipedia", ARTICLE))
    # A later dump: another article, another name.
    changed = ITEM.model_copy(update={"article": "enwiki:Rust", "aliases": ("Rust programming",)})
    event = await delivery(stores, "Q1", "wikidata", changed, 60)
    with monkeypatch.context() as patched:
        patched.setattr(stores.entity_vectors if step == "upsert" else stores.entities, step, fail)
        with pytest.raises(StoreUnavailable):
            await agent.handle(event)
    await KnowledgeAgent(stores).handle(event)
    assert set((await record(stores, "Q1")).names) == {"Rust", "Rust programming"}
    assert await found(stores, "rust lang") == []
    assert sorted(await found(stores, "rust")) == ["Q1", "enwiki:Rust (language)"], "the former article is free again"
    assert await points(stores) == {"Q1", "enwiki:Rust (language)"}


async def test_a_removed_entity_is_not_found() -> None:
    stores = memory_stores()
    agent = KnowledgeAgent(stores)
    await agent.handle(await delivery(stores, "Q1", "wikidata", ITEM))
    await agent.handle(await delivery(stores, "Q1", "wikidata", None, 1))
    assert (await record(stores, "Q1")).kind == "label"
    assert await found(stores, "rust") == []
    assert await points(stores) == set()


async def test_an_own_entity_stands_before_other_sources_and_a_choice_has_no_point() -> None:
    stores = memory_stores()
    agent = KnowledgeAgent(stores)
    await agent.handle(await delivery(stores, "Q1", "wikidata", ITEM))
    await agent.handle(await delivery(stores, "Q1", "own", Part(label="Rust", description="our language"), 1))
    assert (await record(stores, "Q1")).description == "our language"
    choice = Part(kind="choice", label="Rust", options=(Option(title="Rust (language)"),))
    await agent.handle(await delivery(stores, "enwiki:Rust (disambiguation)", "wikipedia", choice, 2))
    assert await found(stores, "rust") == ["Q1", "enwiki:Rust (disambiguation)"]
    assert await points(stores) == {"Q1"}


async def test_what_is_no_part_is_poison() -> None:
    stores = memory_stores()
    event = await delivery(stores, "Q1", "wikidata", ITEM)
    ref = await stores.blobs.put(orjson.dumps({"label": 3}))
    bad = event.event.model_copy(update={"record_ref": ref})
    with pytest.raises(PoisonError):
        await KnowledgeAgent(stores).handle(Delivery(bad, event.envelope, event.topic, 0, 0))
    other = OriginChanged(host="a.example")
    with pytest.raises(PoisonError):
        await KnowledgeAgent(stores).handle(Delivery(other, event.envelope, event.topic, 0, 0))
