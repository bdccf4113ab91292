"""Panels in the reader's language: a dump in several languages is imported, and each reader gets their own names."""

from pathlib import Path
from typing import Any

import pytest

from streams.knowledge.entity import Entity, Part
from streams.knowledge.merging import merge_parts
from streams.knowledge.points import read_record
from tests.stages.gateway_fakes import client, gateway, searchable, statement
from tests.stages.test_entity_import import World, write_items

HTML = {"accept": "text/html"}


def item(identity: str, labels: dict[str, str], descriptions: dict[str, str], **claims: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "type": "property" if identity.startswith("P") else "item",
        "labels": {one: {"language": one, "value": text} for one, text in labels.items()},
        "descriptions": {one: {"language": one, "value": text} for one, text in descriptions.items()},
        "claims": claims,
        "sitelinks": {"enwiki": {"title": labels["en"]}},
    }


def claim(kind: str, **value: Any) -> list[dict[str, Any]]:
    return [{"mainsnak": {"datavalue": {"type": kind, "value": value}}, "rank": "normal"}]


DUMP = [
    item("Q5", {"en": "human", "de": "Mensch", "ru": "человек"}, {}),
    item("P569", {"en": "date of birth", "de": "Geburtsdatum"}, {}),
    item("Q64", {"en": "Berlin", "de": "Berlin", "ru": "Берлин"}, {"en": "capital of Germany", "de": "Hauptstadt"}),
    item(
        "Q7",
        {"en": "Catherine the Great", "de": "Katharina die Große", "ru": "Екатерина II"},
        {"en": "empress of Russia", "de": "Kaiserin von Russland"},
        P31=claim("wikibase-entityid", id="Q5"),
        P569=claim("time", time="+1729-05-02T00:00:00Z", precision=11, calendarmodel=""),
        P19=claim("wikibase-entityid", id="Q64"),
    ),
    item("Q8", {"en": "poison", "de": "Gift"}, {"en": "harmful substance", "de": "schädlicher Stoff"}),
    item("Q9", {"en": "gift", "de": "Geschenk"}, {"en": "what is given", "de": "was gegeben wird"}),
]


async def prepared(folder: Path) -> World:
    world = World(folder / "imports")
    world.stores = await searchable(
        [
            statement("https://a.example/", "Catherine the Great wrote letters."),
            statement("https://b.example/", "Katharina die Große schrieb Briefe."),
        ]
    )
    await world.run(write_items(folder / "dump.json", DUMP))
    return world


@pytest.mark.parametrize(
    ("query", "accepted", "label", "description"),
    [
        ("Catherine the Great", "", "Catherine the Great", "empress of Russia"),
        ("Catherine the Great", "de-AT, en;q=0.5", "Katharina die Große", "Kaiserin von Russland"),
        ("Catherine the Great", "fr, de;q=0.5", "Katharina die Große", "Kaiserin von Russland"),
        ("Catherine the Great", "fr", "Catherine the Great", "empress of Russia"),  # English where there is none
        # The description has no Russian text, the label has.
        ("Catherine the Great", "ru", "Екатерина II", "empress of Russia"),
        ("Katharina die Große", "de", "Katharina die Große", "Kaiserin von Russland"),
        ("wer war Katharina die Große", "en", "Katharina die Große", "Kaiserin von Russland"),  # asked in German
        ("Екатерина II", "de", "Екатерина II", "Kaiserin von Russland"),
        # A name that is a word of another language counts for its readers alone.
        ("gift", "en", "gift", "what is given"),
        ("poison", "de", "Gift", "schädlicher Stoff"),
    ],
)
async def test_a_reader_gets_the_names_of_their_language(
    tmp_path: Path, query: str, accepted: str, label: str, description: str
) -> None:
    async with client(gateway((await prepared(tmp_path)).stores)) as web:
        answer = await web.get("/api/v1/entities", params={"q": query}, headers={"accept-language": accepted})
    panel = answer.json()["panel"]
    assert (panel["label"], panel["description"]) == (label, description)
    assert answer.headers["vary"].startswith("Accept-Language")


async def test_a_name_of_two_things_in_the_readers_languages_is_a_choice(tmp_path: Path) -> None:
    async with client(gateway((await prepared(tmp_path)).stores)) as web:
        answer = await web.get("/api/v1/entities", params={"q": "gift"}, headers={"accept-language": "de"})
    panel = answer.json()["panel"]
    assert [(one["label"], one["description"]) for one in panel["others"]] == [
        ("Gift", "schädlicher Stoff"),
        ("Geschenk", "was gegeben wird"),
    ]


async def test_facts_and_mentions_are_in_the_readers_language(tmp_path: Path) -> None:
    world = await prepared(tmp_path)
    async with client(gateway(world.stores)) as web:
        german, english, russian = [
            (await web.get("/api/v1/entities/Q7", headers={"accept-language": one})).json() for one in ("de", "", "ru")
        ]
        page = (await web.get("/entities/Q7", headers={**HTML, "accept-language": "de"})).text
    facts = {fact["label"]: [value["text"] for value in fact["values"]] for fact in german["facts"]}
    assert facts == {"Geburtsdatum": ["2 May 1729"], "Place of birth": ["Berlin"]}, "P19 is not in the dump"
    assert (german["type"], english["type"], russian["type"]) == ("Mensch", "human", "человек")
    assert [fact["label"] for fact in english["facts"]] == ["Born", "Place of birth"]
    assert [one["url"] for one in german["mentions"]] == ["https://b.example/"]
    assert [one["url"] for one in russian["mentions"]] == ["https://a.example/"], "by the stored name, without another"
    assert '<time datetime="1729-05-02">2. Mai 1729</time>' in page
    assert "Katharina die Große" in page


@pytest.mark.parametrize("path", ["/search?q=Catherine+the+Great", "/entities/Q7"])
async def test_the_language_that_a_reader_has_chosen_is_stronger_than_the_browsers(tmp_path: Path, path: str) -> None:
    headers = {**HTML, "accept-language": "en"}
    app = gateway((await prepared(tmp_path)).stores, deadline_seconds=20.0, limits={"keys": ("k" * 32,)})
    async with client(app) as web:
        await web.get("/search?q=letters")  # the first look whether there are entities
        before = (await web.get(path, headers=headers)).text
        assert (await web.post("/preferences", data={"page_language": "de"}, headers=headers)).status_code == 303
        chosen = (await web.get(path, headers=headers)).text
    assert "empress of Russia" in before
    assert "Kaiserin von Russland" in chosen
    assert "empress of Russia" not in chosen


async def test_a_property_is_no_panel_and_leaves_with_the_dump(tmp_path: Path) -> None:
    world = await prepared(tmp_path)
    async with client(gateway(world.stores)) as web:
        assert (await web.get("/api/v1/entities/P569")).status_code == 404
    await world.run(write_items(tmp_path / "later.json", [one for one in DUMP if one["id"] != "P569"]), missing=True)
    found = await world.stores.entities.get(["P569"])
    assert not read_record(found["P569"].record).label


def test_a_record_of_a_former_release_is_read() -> None:
    former = b'{"entity_id":"Q7","label":"Catherine","description":"empress","names":["Catherine"]}'
    record = read_record(former)
    assert record.for_reader(["de", "en"]) == record == Entity.model_validate_json(former)


def test_own_names_come_before_all_translations() -> None:
    """Who names a thing in their own file has named it for all readers."""
    wikidata = Part(label="poison", labels={"en": "", "de": "Gift"}, descriptions={"de": "Stoff"}, description="matter")
    own = Part(label="Toxin X")
    merged = merge_parts("Q8", {"own": own, "wikidata": wikidata}).for_reader(["de"])
    assert (merged.label, merged.description) == ("Toxin X", "Stoff")
