"""An import leaves out removed pages, and stops while a restore is not finished, as workers do."""

import asyncio
from pathlib import Path

import pytest

from schemas import Event
from schemas.ids import page_id
from streams.commands.pages.importing import RESTORE_LOOK_SECONDS, HeldBack
from streams.crawl.archives.file_importer import import_html
from streams.crawl.archives.sending import ImportReport
from streams.errors import RestoreUnfinished
from streams.stores.opener import Stores, memory_stores


class Restored:
    """Memory stores with a mark in them, and a clock that the test moves."""

    def __init__(self) -> None:
        self.now, self.mark, self.looks = 100.0, "", 0

    async def unfinished(self) -> str:
        self.looks += 1
        return self.mark

    def stores(self) -> Stores:
        stores = memory_stores()
        stores.unfinished_restore = self.unfinished
        return stores


async def test_an_import_ends_when_a_restore_begins(tmp_path: Path) -> None:
    for number in range(300):
        file = tmp_path / "a.example" / f"{number:03}.html"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"<p>Page {number}.")
    restored, sent = Restored(), list[Event]()

    async def emit(event: Event, key: str) -> None:
        sent.append(event)
        restored.now += RESTORE_LOOK_SECONDS
        if len(sent) >= 10:
            restored.mark = "a restore is not finished: restore of /backups/monday"

    stores = restored.stores()

    def show(_: ImportReport) -> None: ...

    with pytest.raises(RestoreUnfinished, match="monday"):
        await import_html(
            tmp_path, stores.blobs, emit, show, crawl_id="a", is_held_back=HeldBack(stores, lambda: restored.now)
        )
    assert 10 <= len(sent) < 300


async def test_the_mark_is_looked_for_once_a_second() -> None:
    restored = Restored()
    held_back = HeldBack(restored.stores(), lambda: restored.now)
    for seconds, looks in ((100.0, 1), (100.9, 1), (101.0, 2), (101.5, 2), (150.0, 3)):
        restored.now = seconds
        pages = [held_back(page_id(f"https://a.example/{number}")) for number in range(20)]
        assert not any(await asyncio.gather(*pages))
        assert restored.looks == looks
