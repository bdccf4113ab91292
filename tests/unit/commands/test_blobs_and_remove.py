"""`riffle blobs sweep` and `riffle remove` over stores in memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from schemas import Event, PageRemoved
from schemas.ids import page_id
from streams.cli import app
from streams.commands.operate import blobs as blobs_module
from streams.commands.pages import remove as remove_module
from streams.errors import MissingBlob
from streams.runtime.records import Incoming
from streams.stores.blobs import page_blob_ref
from streams.stores.memory import MemoryBlobCollection, MemoryBlobs, MemoryFingerprints, MemoryPages
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Normalized, Removed
from streams.stores.protocols import LinkGroup, Transition
from streams.stores.removals import is_held_back

URL = "https://site.example/private"
PAGE = page_id(URL)
DAY = 86_400


class World:
    """Stores in memory with a clock, and the records of dead-letter topics."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.dead: list[Incoming] = []
        self.sent: list[Event] = []
        self.stores = memory_stores()
        pages = MemoryPages(blobs := MemoryBlobs(lambda: self.now))
        fingerprints = MemoryFingerprints(pages)
        self.stores.blobs, self.stores.pages, self.stores.fingerprints = blobs, pages, fingerprints
        self.stores.blob_collection = MemoryBlobCollection(blobs, pages, fingerprints)

    def letter(self, value: bytes, **headers: bytes) -> None:
        self.dead.append(Incoming("embed.dead", 0, len(self.dead), b"key", value, list(headers.items())))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    made = World()

    @asynccontextmanager
    async def open_stores(*_: object, **__: object) -> AsyncIterator[Stores]:
        yield made.stores

    def read_topic(_: object, topic: str) -> Iterator[Incoming]:
        yield from (record for record in made.dead if record.topic == topic)

    class Producer:
        """Sends to the stages, which handle a removal at once."""

        def __init__(self, *_: object) -> None: ...

        async def __aenter__(self) -> "Producer":
            return self

        async def __aexit__(self, *_: object) -> None: ...

        async def send_ahead(self, events: Iterable[Event]) -> None:
            for event in events:
                made.sent.append(event)
                assert isinstance(event, PageRemoved)
                record = {"reason": event.reason, "generation": event.generation}
                await made.stores.pages.put(event.page_id, Removed.of_row(record), event.generation)

    monkeypatch.setenv("RIFFLE_HOME", str(tmp_path))
    monkeypatch.setattr("streams.stores.opener.open_stores", open_stores)
    monkeypatch.setattr(remove_module, "open_stores", open_stores)
    monkeypatch.setattr(remove_module, "EventProducer", Producer)
    monkeypatch.setattr("time.time", lambda: made.now)
    for module in (remove_module, blobs_module):
        monkeypatch.setattr(module, "need_kafka", lambda _: None)
        monkeypatch.setattr(module, "read_topic", read_topic)
    return made


def riffle(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def figures(*arguments: str) -> dict[str, Any]:
    shown = riffle("blobs", "sweep", "--json", *arguments)
    assert shown.exit_code == 0, shown.output
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


async def stored(world: World, *contents: bytes) -> list[str]:
    return [await world.stores.blobs.put(content) for content in contents]


def test_a_sweep_notes_and_a_later_one_deletes(world: World, tmp_path: Path) -> None:
    lost, kept, of_letter = asyncio.run(stored(world, b"lost", b"kept", b"letter"))
    asyncio.run(world.stores.pages.put(PAGE, Normalized.of_row({"document_ref": kept}), 1))
    world.letter(b"{}", **{"riffle-value-ref": of_letter.encode()})
    world.now += 3 * DAY
    assert figures()["noted"] == 1
    assert figures("--delete")["noted"] == 1
    world.now += 22 * DAY
    dry = riffle("blobs", "sweep")
    assert "Would delete 1 blobs" in dry.output
    assert "Nothing was changed" in dry.output
    assert figures("--delete")["deleted"] == 1
    assert set(world.stores.blobs.written_at) == {kept, of_letter}  # type: ignore[attr-defined] # the fake's
    assert not list(tmp_path.glob("sweep*")), "a finished sweep leaves no file"
    assert lost not in {kept, of_letter}


def test_an_interrupted_sweep_is_continued(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (lost,) = asyncio.run(stored(world, b"lost"))
    world.now += 3 * DAY
    figures("--delete")
    world.now += 22 * DAY
    whole = world.stores.blob_collection.stored

    async def away(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(world.stores.blob_collection, "stored", away)
    assert riffle("blobs", "sweep", "--delete").exit_code == 130
    assert (tmp_path / "sweep.npz").is_file()
    monkeypatch.setattr(world.stores.blob_collection, "stored", whole)
    monkeypatch.setattr(world.stores.blob_collection, "references", away)
    assert figures("--delete")["deleted"] == 1, "the references are not read again"
    assert lost


def test_a_grace_that_is_too_short_is_refused(world: World) -> None:
    shown = riffle("blobs", "sweep", "--delete", "--grace-days", "7")
    assert shown.exit_code == 2
    assert "events may wait for 22 days" in " ".join(shown.output.split())


async def _page(world: World, title: str) -> Sequence[str]:
    refs = await stored(world, f"body of {title}".encode(), b"of a dead letter")
    await world.stores.pages.put(PAGE, Normalized.of_row({"title": title, "document_ref": refs[0]}), 1)
    data = {"title": title, "document_ref": refs[0]}
    await world.stores.ledger.record(
        Transition(PAGE, page_id("https://event.example/"), "pages.normalized", "", 1, title, data)
    )
    return refs


def test_a_removal_on_request_publishes_waits_and_erases(world: World) -> None:
    _, of_letter = asyncio.run(_page(world, "Secret"))
    world.letter(f'{{"page_id": "{PAGE}"}}'.encode(), **{"riffle-value-ref": of_letter.encode()})
    shown = riffle("remove", "site.example/private", "--why", "a request", "--yes")
    assert shown.exit_code == 0, shown.output
    assert "Erased 1 page(s): 2 blobs" in shown.output
    (event,) = world.sent
    assert isinstance(event, PageRemoved)
    assert (event.url, event.reason, event.detail) == (URL, "request", "a request")
    assert world.stores.blobs.written_at == {}  # type: ignore[attr-defined] # the fake's
    assert set(asyncio.run(world.stores.pages.get(PAGE)).rows) == {"removed"}
    assert asyncio.run(world.stores.ledger.history(PAGE)) == []


def test_the_blobs_of_the_page_are_erased_although_another_page_has_equal_ones(world: World) -> None:
    other = page_id("https://other.example/")
    for page in (PAGE, other):
        ref = page_blob_ref(page, b"secret")
        part = Normalized.of_row({"document_ref": ref})
        asyncio.run(world.stores.pages.put(page, part, 1, {ref: b"secret"}))
    shown = riffle("remove", URL, "--yes")
    assert "Erased 1 page(s): 1 blobs" in shown.output
    assert "0 blobs stay" in shown.output
    with pytest.raises(MissingBlob):
        asyncio.run(world.stores.blobs.get(page_blob_ref(PAGE, b"secret")))
    assert asyncio.run(world.stores.blobs.get(page_blob_ref(other, b"secret"))) == b"secret"


def test_a_removal_waits_until_the_links_of_the_page_are_taken_back(world: World) -> None:
    asyncio.run(_page(world, "Secret"))
    group = LinkGroup(("https://linked.example/",), 1)
    asyncio.run(world.stores.host_links.put_links_of(PAGE, group))
    waited = riffle("remove", URL, "--yes", "--wait", "1")
    assert (waited.exit_code, "dedup, index and links" in " ".join(waited.output.split())) == (3, True)
    assert asyncio.run(world.stores.ledger.history(PAGE)), "nothing is erased yet"
    asyncio.run(world.stores.host_links.remove_links_of(PAGE, group))
    assert riffle("remove", URL, "--yes").exit_code == 0
    assert asyncio.run(world.stores.ledger.history(PAGE)) == []


def test_a_removal_is_withdrawn_by_a_command(world: World) -> None:
    asyncio.run(_page(world, "Secret"))
    assert riffle("remove", URL, "--yes").exit_code == 0
    assert is_held_back(asyncio.run(world.stores.pages.get(PAGE)))
    shown = riffle("remove", "--undo", "site.example/private")
    assert (shown.exit_code, "Withdrew the removal of 1 page(s)" in shown.output) == (0, True), shown.output
    assert f"riffle crawl {URL} --depth 0" in shown.output
    assert not is_held_back(asyncio.run(world.stores.pages.get(PAGE)))
    again = riffle("remove", "--undo", URL, "https://site.example/other")
    assert again.exit_code == 2
    assert "were not removed on request, or that was withdrawn" in " ".join(again.output.split())
    assert riffle("remove", URL, "--yes").exit_code == 0
    assert is_held_back(asyncio.run(world.stores.pages.get(PAGE))), "a new removal holds again"


def test_a_blob_of_another_pages_dead_letter_stays(world: World) -> None:
    body, _ = asyncio.run(_page(world, "Secret"))
    world.letter(f'{{"page_id": "{page_id("https://other.example/")}", "body_ref": "{body}"}}'.encode())
    assert "1 blobs stay" in riffle("remove", URL, "--yes").output
    assert asyncio.run(world.stores.blobs.get(body))


@pytest.mark.parametrize(
    ("arguments", "answer", "status"),
    [
        (["remove"], "name the pages to remove", 2),
        (["remove", "ftp://site.example/"], "can't be one of a page", 2),
    ],
)
def test_a_mistake_is_named(world: World, arguments: list[str], answer: str, status: int) -> None:
    shown = riffle(*arguments)
    assert (shown.exit_code, answer in " ".join(shown.output.split())) == (status, True), shown.output


def test_without_a_yes_nothing_is_removed(world: World) -> None:
    shown = CliRunner().invoke(app, ["remove", URL], input="n\n")
    assert shown.exit_code == 1
    assert world.sent == []


def test_stages_that_do_not_answer_are_reported(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> bool:
        return False

    monkeypatch.setattr("streams.maintenance.erasure.Eraser.is_removed", never)
    shown = riffle("remove", URL, "--yes", "--wait", "1")
    assert shown.exit_code == 3
    assert "repeat the command to erase" in " ".join(shown.output.split())
