"""A followed folder: what changed, what is gone, and which pages that means."""

from pathlib import Path

import pytest

from schemas import Event, PageFetched
from streams.commands.pages.watch import removals_of
from streams.crawl.archives.file_importer import (
    Changes,
    compare,
    import_files,
    read_stamps,
    stamp_files,
    url_of,
    write_stamps,
)
from streams.crawl.archives.readers import Limits, Placing
from streams.crawl.archives.sending import Sender
from streams.stores.memory import MemoryBlobs

NOW = 1_800_000_000_000_000
LIMITS = Limits(1_000, NOW, ("-/drafts/*",), Placing("https://docs.example/v2/"))


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        ({}, {}, Changes((), ())),
        ({}, {"b": (1, 1), "a": (1, 1)}, Changes(("a", "b"), ())),
        ({"a": (1, 1)}, {"a": (1, 1)}, Changes((), ())),
        ({"a": (1, 1)}, {"a": (2, 1)}, Changes(("a",), ())),
        ({"a": (2, 1)}, {"a": (1, 1)}, Changes(("a",), ())),  # an older copy was put back
        ({"a": (1, 1)}, {"a": (1, 2)}, Changes(("a",), ())),
        ({"a": (1, 1), "b": (1, 1)}, {"b": (1, 1)}, Changes((), ("a",))),
    ],
)
def test_changes(before: dict[str, tuple[int, int]], now: dict[str, tuple[int, int]], changes: Changes) -> None:
    assert compare(before, now) == changes
    assert compare(now, read_stamps(write_stamps(now))) == Changes((), ())


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": ["x", 1]}', "null"])
def test_a_damaged_state_means_that_each_file_is_new(text: str) -> None:
    assert read_stamps(text) == {}


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("index.html", "https://docs.example/v2/"),
        ("guide/a b.md", "https://docs.example/v2/guide/a%20b.md"),
        ("caf\udce9.html", "https://docs.example/v2/caf%E9.html"),  # in Latin-1: the bytes of the name
        ("x?.txt", "https://docs.example/v2/x%3F.txt"),
    ],
)
def test_the_url_of_a_file(path: str, url: str) -> None:
    assert url_of(path, LIMITS) == url
    (removal,) = removals_of([path], [], LIMITS)
    assert (removal.url, removal.reason, removal.generation) == (url, "gone", NOW)


def test_a_file_that_was_left_out_has_no_page_to_remove() -> None:
    limits = Limits(1_000, NOW, ("-*/drafts/*",), LIMITS.place)
    assert removals_of(["drafts/a.html"], [], limits) == []


async def test_changed_files_are_sent_as_of_now_and_links_to_other_files_are_not_followed(tmp_path: Path) -> None:
    blobs, sent = MemoryBlobs(), list[PageFetched]()

    async def emit(event: Event, cause: str) -> None:
        assert isinstance(event, PageFetched)
        sent.append(event)

    (tmp_path / "a.md").write_text("# Rivers\n\nThey flow.")
    (tmp_path / "secret.html").symlink_to("/etc/passwd")
    (tmp_path / "style.css").write_text("p {}")
    stamps = stamp_files(tmp_path)
    assert list(stamps) == ["a.md"]
    report = await import_files(tmp_path, {**stamps, "gone.html": (1, 1)}, Sender(blobs, emit, limits=LIMITS))
    assert [(event.url, event.generation, event.seen_at) for event in sent] == [
        ("https://docs.example/v2/a.md", NOW, NOW)
    ]
    assert (report.imported, report.skipped["can't be read"]) == (1, 1)
