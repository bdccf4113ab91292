"""`riffle watch`: what one look at a folder has imported and removed, for people and for programs."""

import asyncio
import errno
import json
import os
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner

from schemas import Event, PageFetched, PageRemoved
from streams.allowed_origins import EVERY_ORIGIN
from streams.cli import app
from streams.commands.pages.importing import print_report
from streams.commands.pages.watch import Followed, follow_changes, look_until_read, print_look
from streams.crawl.archives import file_importer
from streams.crawl.archives.readers import Placing, Skipped
from streams.crawl.archives.sending import ImportReport
from streams.crawl.urls import with_scheme
from streams.errors import UsageError
from streams.settings import Settings
from streams.stores.opener import memory_stores


class Sent:
    """A producer that only keeps its events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def __call__(self, event: Event, key: str) -> None:
        self.events.append(event)

    async def send_ahead(self, events: Sequence[Event]) -> None:
        self.events += events


def followed(folder: Path, home: Path) -> Followed:
    return followed_with_events(folder, home)[0]


def followed_with_events(folder: Path, home: Path) -> tuple[Followed, Sent]:
    sent = Sent()
    producer: Any = sent
    place = Placing(with_scheme("https://docs.example/", EVERY_ORIGIN))
    return Followed(Settings(home=home), memory_stores(), producer, folder, place, ()), sent


async def test_json_is_one_document_of_a_look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.html").write_text(f"<p>Page {name} has words.")
    looks = followed(folder, tmp_path / "home")
    printed = []
    for change in (None, (folder / "a.html").unlink, None):
        if change:
            change()
        print_look(await looks.look(), as_json=True)
        printed.append(json.loads(capsys.readouterr().out))
    assert [(one["imported"], one["pages"], one["removed"]) for one in printed] == [(2, 2, 0), (0, 0, 1), (0, 0, 0)]


async def test_people_read_nothing_where_nothing_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.html").write_text("<p>Words of a page.")
    looks = followed(folder, tmp_path / "home")
    for shown in ("1 pages imported.\n", ""):
        print_look(await looks.look(), as_json=False)
        assert capsys.readouterr().out == shown
    (folder / "a.html").unlink()
    print_look(await looks.look(), as_json=False)
    assert capsys.readouterr().out == "1 pages of deleted files are removed.\n"


@pytest.mark.parametrize(
    ("before", "renamed_to"),
    [
        (["index.htm"], "index.html"),
        (["guide/index.html"], "guide/index.xhtml"),
        (["index.htm", "index.html"], None),  # the other file of the page is deleted
    ],
)
async def test_a_page_whose_file_was_only_renamed_stays(
    tmp_path: Path, before: list[str], renamed_to: str | None
) -> None:
    folder = tmp_path / "docs"
    for name in before:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<p>The words of {name}.")
    looks, sent = followed_with_events(folder, tmp_path / "home")
    await looks.look()
    page = sent.events[-1]
    assert isinstance(page, PageFetched)
    sent.events.clear()
    last = folder / before[-1]
    last.rename(folder / renamed_to) if renamed_to else last.unlink()
    look = await looks.look()
    assert (look.removed, [type(event) for event in sent.events]) == (0, [PageFetched])
    assert [event.page_id for event in sent.events if isinstance(event, PageFetched)] == [page.page_id]
    assert not (await looks.look()).changes


async def test_a_page_of_two_files_is_removed_with_the_last_one(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    files = [folder / "index.htm", folder / "index.html"]
    for file in files:
        file.write_text("<p>Words of a page.")
    looks, sent = followed_with_events(folder, tmp_path / "home")
    await looks.look()
    sent.events.clear()
    for file in files:
        file.unlink()
    assert (await looks.look()).removed == 1
    assert [type(event) for event in sent.events] == [PageRemoved]


async def test_a_file_that_could_not_be_read_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    names = ["a.html", os.fsdecode(b"caf\xe9.html")]
    for name in names:
        (folder / name).write_text("<p>Words of a page.")
    looks = followed(folder, tmp_path / "home")

    def refuse(folder: Path, parts: Sequence[str]) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(file_importer, "open_below", refuse)
        look = await looks.look()
        assert (look.imported.imported, look.imported.skipped["can't be read"]) == (0, 2)
    again = followed(folder, tmp_path / "home")  # the next start
    assert (await again.look()).imported.imported == 2
    assert not (await again.look()).changes


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE, errno.EMFILE])
async def test_the_pages_of_a_subfolder_that_cannot_be_read_stay(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "docs"
    (folder / "guide").mkdir(parents=True)
    for name in ("a.html", "guide/b.html"):
        (folder / name).write_text("<p>Words of a page.")
    looks, sent = followed_with_events(folder, tmp_path / "home")
    await looks.look()
    sent.events.clear()
    (folder / "a.html").unlink()
    real, failures = os.open, 2

    def refuse(path: Any, *args: Any, **options: Any) -> int:
        nonlocal failures
        if path == "guide" and failures:
            failures -= 1
            raise OSError(number, os.strerror(number), path)
        return real(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UsageError, match="docs/guide is not a folder that can be read"):
        await look_until_read(looks, once=True)
    assert not sent.events
    look = await look_until_read(looks, once=False, pause=0)
    assert look.changes.gone == ("a.html",)
    assert [event.url for event in sent.events if isinstance(event, PageRemoved)] == ["https://docs.example/a.html"]
    assert len(sent.events) == 1
    assert "it is tried again" in capsys.readouterr().err


async def test_a_folder_that_is_gone_ends_the_following(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        await look_until_read(followed(tmp_path / "docs", tmp_path / "home"), once=False)


def test_a_report_names_a_file_whose_name_is_not_utf_8(capsys: pytest.CaptureFixture[str]) -> None:
    report = ImportReport()
    report.skip(Skipped("can't be read", os.fsdecode(b"caf\xe9.html")))
    print_report(report)
    assert "caf?.html" in capsys.readouterr().out


async def test_a_change_while_the_first_look_lasts_is_seen(tmp_path: Path) -> None:
    async with aclosing(follow_changes(tmp_path, once=False)) as looks:
        await anext(looks)
        (tmp_path / "late.html").write_text("<p>Words.")
        async with asyncio.timeout(60):
            await anext(looks)


def test_json_needs_an_end(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["watch", str(tmp_path), "--as", "https://docs.example/", "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--once" in result.stderr
