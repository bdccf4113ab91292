"""The import of entities: an import that ends anywhere goes on, the same dump changes nothing, a later one updates and
removes, and a part of a dump removes nothing."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest

from schemas import EntityChanged, Envelope
from streams.commands.pages.entities import LIMITS
from streams.errors import StoreUnavailable, UsageError
from streams.knowledge.agent import KnowledgeAgent
from streams.knowledge.dumps import importer
from streams.knowledge.dumps.importer import DumpImport, Importing, source_of
from streams.knowledge.dumps.progress import Saved
from streams.knowledge.dumps.tasks import ITEMS, PAGES, TASKS, pack_items, read_answer
from streams.knowledge.entity import Part
from streams.knowledge.points import read_record
from streams.knowledge.wikidata.items import to_part
from streams.runtime.agent import Delivery
from streams.sandbox.pool import SandboxPool
from streams.stores.opener import Stores, memory_stores
from tests.inline_sandbox import InlineSandbox

Events = list[EntityChanged]


def item(number: int, name: str = "") -> dict[str, object]:
    text = {"en": {"language": "en", "value": name or f"Thing {number}"}}
    return {"id": f"Q{number}", "type": "item", "labels": text, "descriptions": text, "claims": {}}


def write_items(path: Path, items: Sequence[object], end: str = "\n]\n") -> Path:
    path.write_text("[\n" + ",\n".join(orjson.dumps(one).decode() for one in items) + end)
    return path


class World:
    """Stores in memory, with the knowledge stage behind the import."""

    def __init__(self, folder: Path) -> None:
        self.stores: Stores = memory_stores()
        self.folder = folder
        self.sent: Events = []
        self.fail_after = -1
        self.boot = "first"
        self._clock = itertools.count()
        self._seconds = itertools.count()

    async def send(self, events: Sequence[EntityChanged], cause: str) -> None:
        if self.fail_after == 0:
            raise StoreUnavailable("Kafka is down")
        self.fail_after -= 1
        for event in events:
            self.sent.append(event)
            time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(self._seconds))
            envelope = Envelope(id=uuid4(), type=event.event_type(), source="/riffle/import", time=time)
            await KnowledgeAgent(self.stores).handle(Delivery(event, envelope, event.topic, 0, 0))

    async def run(self, path: Path, name: str = "wikidata", missing: bool | None = None) -> Saved:
        self.sent = []
        own = Importing(
            self.stores,
            InlineSandbox(TASKS),
            self.send,
            lambda: next(self._clock) * 10.0,  # each look at the clock is due for a note
            self.folder,
            self.boot,
            remove_missing=missing is not False,
            is_confirmed=missing is True,
        )
        return await DumpImport(path, source_of(name, "en"), own, uuid4().hex).run()

    async def labels(self) -> dict[str, str]:
        places, _ = await self.stores.entities.walk(0, 10_000)
        found = await self.stores.entities.get([place.entity_id for place in places])
        records = (read_record(each.record) for each in found.values())
        return {record.entity_id: record.label for record in records if record.kind == "entity"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(importer, "BATCH_ITEMS", 4)
    return World(tmp_path / "imports")


async def test_an_import_that_ends_anywhere_goes_on(world: World, tmp_path: Path) -> None:
    items = [item(number) for number in range(1, 41)]
    path = write_items(tmp_path / "dump.json", items)
    read = []
    for failures in range(1, 4):
        world.fail_after = failures
        with pytest.raises(StoreUnavailable):
            await world.run(path)
        read.append(len(world.sent))
    world.fail_after = -1
    saved = await world.run(path)
    assert saved.items == 40
    assert len(world.sent) < 40, "what was noted is not read again"
    assert await world.labels() == {f"Q{number}": f"Thing {number}" for number in range(1, 41)}
    assert saved.removed == 0, "what was seen before the failures counts as seen"


@pytest.mark.parametrize("loss", ["bits since the last flush", "the file"])
async def test_an_import_on_a_machine_that_ended_removes_nothing_of_the_dump(
    world: World, tmp_path: Path, loss: str
) -> None:
    """Entities that the system had not written when the machine ended are unseen: most of them."""
    path = write_items(tmp_path / "dump.json", [item(number) for number in range(1, 41)])
    world.fail_after = 5
    with pytest.raises(StoreUnavailable):
        await world.run(path)
    world.fail_after, world.boot = -1, "second"
    seen = world.folder / "wikidata-en.seen"
    if loss == "the file":
        seen.unlink()
    else:
        seen.write_bytes(b"")
    saved = await world.run(path)
    assert saved.removed == 0
    assert await world.labels() == {f"Q{number}": f"Thing {number}" for number in range(1, 41)}


async def test_the_same_dump_again_sends_nothing(world: World, tmp_path: Path) -> None:
    path = write_items(tmp_path / "dump.json", [item(number) for number in range(1, 11)])
    await world.run(path)
    saved = await world.run(path)
    assert (world.sent, saved.unchanged, saved.sent) == ([], 10, 0)


async def test_a_later_dump_updates_and_removes(world: World, tmp_path: Path) -> None:
    await world.run(write_items(tmp_path / "1.json", [item(number) for number in range(1, 31)]))
    later = [item(1, "Renamed"), *(item(number) for number in range(2, 30)), item(99)]
    saved = await world.run(write_items(tmp_path / "2.json", later))
    assert (saved.sent, saved.unchanged, saved.removed) == (2, 28, 1)
    labels = await world.labels()
    assert (labels["Q1"], "Q30" in labels, labels["Q99"]) == ("Renamed", False, "Thing 99")


@pytest.mark.parametrize(
    ("missing", "refused", "left"),
    [(None, "are not in", 60), (True, "", 10), (False, "", 60)],
    ids=["default", "remove", "keep"],
)
async def test_a_much_smaller_dump_removes_only_on_request(
    world: World, tmp_path: Path, missing: bool | None, refused: str, left: int
) -> None:
    await world.run(write_items(tmp_path / "1.json", [item(number) for number in range(1, 61)]))
    small = write_items(tmp_path / "2.json", [item(number) for number in range(1, 11)])
    if refused:
        with pytest.raises(UsageError, match=refused):
            await world.run(small, missing=missing)
    else:
        await world.run(small, missing=missing)
    assert len(await world.labels()) == left


async def test_a_dump_without_its_end_removes_nothing(world: World, tmp_path: Path) -> None:
    await world.run(write_items(tmp_path / "1.json", [item(number) for number in range(1, 9)]))
    with pytest.raises(UsageError, match="has no end"):
        await world.run(write_items(tmp_path / "2.json", [item(1), item(9)], end=",\n"))
    assert len(await world.labels()) == 9


async def test_an_import_of_one_source_leaves_the_others(world: World, tmp_path: Path) -> None:
    await world.run(write_items(tmp_path / "1.json", [item(1)]))
    export = tmp_path / "wiki.xml"
    article = "<page><title>{}</title><ns>0</ns><id>1</id><revision><text>{}</text></revision></page>"
    text = "'''Rust''' is a thing that has a whole sentence of its own, and more."
    redirect = '<page><title>Rusty</title><ns>0</ns><id>2</id><redirect title="Rust"/></page>'
    export.write_text(f"<mediawiki>{article.format('Rust', text)}{redirect}</mediawiki>")
    assert (await world.run(export, "wikipedia")).sent == 2
    export.write_text(f"<mediawiki>{article.format('Rust', text)}</mediawiki> ")
    assert (await world.run(export, "wikipedia")).removed == 1, "the redirect is gone"
    own = tmp_path / "own.jsonl"
    own.write_text('{"id": "acme:1", "label": "Pump"}\n{"id": "acme:2"}\nnonsense\n')
    saved = await world.run(own, "own", missing=False)
    assert (saved.sent, sorted(saved.skipped.values())) == (1, [1, 1])
    assert await world.labels() == {"Q1": "Thing 1", "enwiki:Rust": "Rust", "acme:1": "Pump"}
    own.write_text('{"id": "acme:1", "removed": true}\n')
    await world.run(own, "own", missing=False)
    assert "acme:1" not in await world.labels()


async def test_templates_without_which_a_summary_lost_a_sentence_are_counted(world: World, tmp_path: Path) -> None:
    text = "Foo is a hill that has a hut and a well. Its height is {{height|m=5}} and {{height|m=6}}.{{sfn|x}}"
    page = "<page><title>{}</title><ns>0</ns><id>1</id><revision><text>{}</text></revision></page>"
    texts = {"A": text, "B": text, "C": "Foo is a hill without a template, with a hut and a well."}
    export = tmp_path / "wiki.xml"
    export.write_text(f"<mediawiki>{''.join(page.format(*each) for each in texts.items())}</mediawiki>")
    found = await world.run(export, "wikipedia")
    assert (found.sent, found.lost) == (3, {"height": 2})


async def test_one_item_that_breaks_a_limit_is_skipped_alone(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at_7(value: Any, language: str, day: str) -> Part | None:
        if value["id"] == "Q7":
            raise MemoryError
        return to_part(value, language, day)

    monkeypatch.setattr("streams.knowledge.dumps.tasks.to_part", fail_at_7)
    saved = await world.run(write_items(tmp_path / "1.json", [item(number) for number in range(1, 11)]))
    assert (saved.sent, saved.skipped) == (9, {"breaks a limit": 1})


async def test_rich_pages_and_items_are_parsed_in_a_confined_process() -> None:
    page = (
        "<page><title>{}</title><ns>0</ns><id>1</id><revision><text>{{{{Infobox|a={{{{b}}}}}}}} '''Word''' is a town "
        "&lt;ref name=a&gt;{{{{cite|x}}}}&lt;/ref&gt; of [[region (place)|]] with {{{{convert|5|km}}}} and &lt;br/&gt; "
        "{{{{lang|fr|mots}}}} in it.\n{{|\n|-\n| a\n|}}\n: b\n&amp;mdash; c</text></revision></page>"
    )
    pages = [page.format(title).encode() for title in ("A", "A (disambiguation)")]
    async with SandboxPool(TASKS, processes=1, limits=LIMITS, name="test") as pool:
        article, _ = read_answer(await pool.run(PAGES, pack_items("en", pages))).rows
        [entity] = read_answer(await pool.run(ITEMS, pack_items("en", [orjson.dumps(item(1))]))).rows
    assert b"with 5 km and mots in it." in article.part
    assert entity.entity_id == "Q1"
