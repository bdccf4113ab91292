"""An import leaves out removed pages, and stops while a restore is not finished, as workers do.

It waits while a stage is far behind, and so does a replay.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from schemas import Event
from schemas.ids import page_id
from streams.cli import app, load_command
from streams.commands.pages import importing
from streams.commands.pages.importing import RESTORE_LOOK_SECONDS, HeldBack
from streams.commands.watching import Bars, Seen
from streams.crawl.archives.file_importer import import_html
from streams.crawl.archives.sending import ImportReport, Sender
from streams.errors import KafkaAway, RestoreUnfinished
from streams.runtime.lags import backpressure
from streams.runtime.lags.stage_lags import Lag
from streams.runtime.records import Incoming
from streams.settings import CrawlSettings, Settings
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
            tmp_path,
            Sender(stores.blobs, emit, show, crawl_id="a", is_held_back=HeldBack(stores, lambda: restored.now)),
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


class Behind:
    """The lags of a stage that is behind at the first looks, in place of Kafka's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, command: ModuleType) -> None:
        self.lags, self.sent = [250, 180, 90], list[Any]()
        monkeypatch.setattr(backpressure, "CHECK_SECONDS", 0.0)
        monkeypatch.setattr(
            command, "LagReader", lambda _settings, _stages: SimpleNamespace(read=self.read, close=lambda: None)
        )
        monkeypatch.setattr(command, "EventProducer", self.producer)

    def read(self) -> list[Lag]:
        return [Lag("embed", "pages.chunked", self.lags.pop(0) if len(self.lags) > 1 else self.lags[0])]

    @asynccontextmanager
    async def producer(self, *_: object) -> AsyncIterator[Any]:
        async def send(records: Iterable[Any]) -> None:
            assert self.lags == [90], "it did not wait"
            self.sent.extend(records)

        yield SimpleNamespace(send_records=send)


BOUNDED = Settings(crawl=CrawlSettings(max_stage_lag_events=100))


async def test_an_import_waits_while_a_stage_is_behind_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    behind, shown = Behind(monkeypatch, importing), list[str]()

    async def read(sender: Sender) -> ImportReport:
        await sender.wait_for_room()
        producer: Any = sender.emit
        await producer.send_records(["a page"])
        return ImportReport()

    bars: Any = SimpleNamespace(
        add_task=lambda *_, **__: 0, update=lambda _, **changed: shown.append(changed.get("description", ""))
    )
    await importing._read_archive(BOUNDED, read, memory_stores(), "crawl", bars, None, lambda *_: None)
    assert behind.sent == ["a page"]
    assert "Read (waits: stage embed is more than 100 events behind)" in shown
    assert shown[-1] == "Read"


async def test_an_import_ends_when_the_brokers_do_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own silence would count as a stuck import only after minutes, and without a word."""
    monkeypatch.setattr(importing, "AWAY_SECONDS", 0.05)
    screen, away_since = StringIO(), time.monotonic()

    def poll(_: float) -> list[Event]:
        time.sleep(0.01)
        return []

    follower: Any = SimpleNamespace(poll=poll, away_since=away_since)
    bars, say = Bars(Console(file=screen)), lambda *_: None
    with pytest.raises(KafkaAway, match="the workers go on with them"):
        await importing._wait_until_settled(
            follower, Seen("a", last_event_at=away_since), 3, memory_stores(), bars, say
        )
    assert screen.getvalue() == "Kafka does not answer any more.\n"


def test_a_replay_waits_while_a_stage_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    load_command("replay")
    command = sys.modules["streams.commands.operate.replay"]
    behind = Behind(monkeypatch, command)
    record = Incoming("pages.chunked", 0, 1, b"key", b"{}", [("ce_id", b"1")])
    monkeypatch.setattr(command, "stage_inputs", lambda *_, **__: iter([record]))
    monkeypatch.setattr(command, "create_topics", lambda _: None)
    monkeypatch.setattr(command, "load_kafka_settings", lambda: BOUNDED)
    done = CliRunner().invoke(app, ["replay", "--from", "embed", "--json"])
    assert (done.exit_code, len(behind.sent)) == (0, 1), done.output
