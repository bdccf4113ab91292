"""`riffle page --removed`: what is not in a page's document, and why, in a terminal."""

import json

import pytest

from schemas.ids import page_id
from streams.commands.pages.page import print_removed_of
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched
from tests.inline_sandbox import inline_parse_pool

URL = "https://logs.example/wal"
PAGE = """<nav><a href=/>Home [red]</a></nav><main><p>A log that is written ahead of the file is fast.</main>
<aside>Look \x1b[31mat [bold]this</aside><select><option>A choice</select>"""


async def stored(body: bytes, kind: str = "text/html") -> Stores:
    stores = memory_stores()
    fetched = {"url": URL, "body_ref": await stores.blobs.put(body), "headers": {"content-type": kind}}
    await stores.pages.put(page_id(URL), Fetched.of_row(fetched), 1)
    return stores


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is read in this process. The first test starts a process, as the command does."""
    pool = inline_parse_pool()
    monkeypatch.setattr("streams.pages.sandbox.pool.ParsePool", lambda _processes: pool)


async def test_each_reason_is_a_heading_of_its_texts(capsys: pytest.CaptureFixture[str]) -> None:
    assert await print_removed_of(await stored(PAGE.encode()), page_id(URL), URL, as_json=False) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Element nav  1 text, 10 characters",
        "  Home [red]",
        "Element aside  1 text, 23 characters",
        "  Look [31mat [bold]this",
        "Never read  1 text, 8 characters",
        "  select  A choice",
    ]


@pytest.mark.usefixtures("in_this_process")
async def test_json_is_the_explanation_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert await print_removed_of(await stored(PAGE.encode()), page_id(URL), URL, as_json=True) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [(group["kind"], group["detail"], group["count"]) for group in groups] == [
        ("element", "nav", 1),
        ("element", "aside", 1),
        ("unread", "", 1),
    ]


@pytest.mark.usefixtures("in_this_process")
async def test_a_page_without_chrome_lost_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert await print_removed_of(await stored(b"<p>All of it."), page_id(URL), URL, as_json=False) == 0
    assert "Nothing was removed" in capsys.readouterr().out


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        pytest.param(b"GIF89a", "image/gif", "image/gif is not HTML", id="no document"),
        pytest.param(b"<div>" * 100_000, "text/html", "nest deeper than 5000", id="hostile"),
    ],
)
async def test_a_refusal_is_explained(body: bytes, kind: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await print_removed_of(await stored(body, kind), page_id(URL), URL, as_json=False) == 1
    assert message in capsys.readouterr().err


async def test_a_page_that_was_never_fetched_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert await print_removed_of(memory_stores(), page_id(URL), URL, as_json=False) == 1
    assert f"There is no copy of {URL}. See why: riffle page {URL}\n" == capsys.readouterr().err


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(("body", "message"), [(None, "There is no copy"), (b"GIF89a", "can't be taken apart")])
async def test_json_says_why_nothing_is_listed(
    body: bytes | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = memory_stores() if body is None else await stored(body, "image/gif")
    assert await print_removed_of(stores, page_id(URL), URL, as_json=True) == 1
    shown = capsys.readouterr()
    printed = json.loads(shown.out)
    assert (printed["url"], printed["groups"]) == (URL, None)
    assert message in printed["why"]
    assert message not in shown.err
