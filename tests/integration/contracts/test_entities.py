"""The contract of entities, in memory and in Cassandra."""

import pytest

from streams.stores.cassandra import CassandraEntities
from streams.stores.memory import MemoryEntities
from streams.stores.protocols import Entities, NamedEntity, StoredEntity, StoredPart
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH

FIRST, LATER = StoredPart("a" * 64, 1), StoredPart("b" * 64, 2, "another name")


@pytest.fixture(params=BOTH)
def entities(request: pytest.FixtureRequest) -> Entities:
    if request.param == "memory":
        return MemoryEntities()
    return CassandraEntities(request.getfixturevalue("cassandra_session"))


async def test_the_newest_part_of_each_source_stays(entities: Entities) -> None:
    one = fresh_name("entity")
    assert await entities.parts(one) == {}
    for _ in range(2):  # a redelivery
        await entities.put_part(one, "wikidata", LATER)
    await entities.put_part(one, "wikidata", FIRST)
    await entities.put_part(one, "own", FIRST)
    assert await entities.parts(one) == {"wikidata": LATER, "own": FIRST}
    assert await entities.stored("wikidata", [one, fresh_name()]) == {one: LATER}


async def test_all_parts_are_walked_over(entities: Entities) -> None:
    ids = {fresh_name("entity") for _ in range(7)}
    for one in ids:
        await entities.put_part(one, "own", FIRST)
        await entities.put_part(one, "wikidata", LATER)
    found: set[tuple[str, str]] = set()
    position: int | None = 0
    while position is not None:
        places, position = await entities.walk(position, 4)
        found |= {(place.entity_id, place.source) for place in places if place.entity_id in ids}
    assert found == {(one, source) for one in ids for source in ("own", "wikidata")}


async def test_an_article_belongs_to_the_last_that_named_it(entities: Entities) -> None:
    article, free = fresh_name("enwiki:a"), fresh_name("enwiki:b")
    await entities.name_article(article, "Q2", 2)
    await entities.name_article(article, "Q1", 1)
    await entities.name_article(free, "Q1", 1)
    await entities.name_article(free, "", 2)
    assert await entities.entities_of([article, free, fresh_name()]) == {article: "Q2"}


async def test_the_newest_record_stays(entities: Entities) -> None:
    one = fresh_name("entity")
    await entities.put(one, b"later", 2)
    await entities.put(one, b"first", 1)
    assert await entities.get([one, fresh_name()]) == {one: StoredEntity(b"later", 2)}
    assert not await entities.is_empty()


async def test_names_are_found_with_the_most_widely_known_first(entities: Entities) -> None:
    name, other = fresh_name("name"), fresh_name("name")
    await entities.put_names("Q1", [name, other], 10, 1)
    await entities.put_names("Q2", [name], 30, 1)
    await entities.put_names("Q3", [name], 20, 1)
    await entities.remove_names("Q3", [name], 20, 2)
    await entities.put_names("Q3", [name], 20, 1)  # an older write
    assert await entities.find([name, other, fresh_name()], 10) == {
        name: [NamedEntity("Q2", 30), NamedEntity("Q1", 10)],
        other: [NamedEntity("Q1", 10)],
    }
    assert await entities.find([name], 1) == {name: [NamedEntity("Q2", 30)]}
