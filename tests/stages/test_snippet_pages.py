"""`/labs/snippets`: one shown snippet at a time, undo, the file of `eval snippets --label`, and what is refused."""

import json
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks.evaluation.snippet_labels import add_snippets, read_labels, to_label
from benchmarks.evaluation.snippet_rule import Snippet
from benchmarks.labelling.labels import MAX_FILE_BYTES
from benchmarks.labelling.snippets import FILE_NAME
from streams.stores.opener import memory_stores
from tests.stages.gateway_fakes import client, labelling
from tests.stages.test_gateway_pages import HOSTILE, HTML, assert_harmless

FERRY = Snippet(
    "ferries", "https://harbour.test/a", "The ferry leaves at noon.", "sentence", ("Ferries",), "stored", "Ships"
)
ITEM = Snippet("ferries", "https://harbour.test/a", "a storm, or", "item", ("Ferries", "It stays for:"), "stored")
ROW = Snippet("ropes", "https://harbour.test/b", "Oban | 12 km", "row", (), "stored")
CODE = Snippet("ropes", "https://harbour.test/b", "ferry --list\nferry --go", "code", ("We try:",), "stored")
ALL = (FERRY, ITEM, ROW, CODE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


@pytest.fixture
async def web(tmp_path: Path, file: Path) -> AsyncIterator[httpx2.AsyncClient]:
    add_snippets(file, ALL, {})
    async with client(labelling(memory_stores(), tmp_path)) as web:
        yield web


async def opened(web: httpx2.AsyncClient, **parameters: str) -> str:
    response = await web.get("/labs/snippets", params=parameters, headers=HTML)
    assert response.status_code == 200, response.text
    assert_harmless(response.text)
    return str(response.text)


def fields(html: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(skipped|snippet|place)" value="([^"]*)"', html))


async def done(web: httpx2.AsyncClient, html: str, do: str) -> str:
    """Send the form of a page, and open the page that it leads to."""
    response = await web.post("/labs/snippets", data={**fields(html), "do": do}, headers=HTML)
    assert response.status_code == 303, response.text
    return str((await web.get(response.headers["location"], headers=HTML)).text)


def asked(html: str) -> str:
    """Return the text of the snippet that is shown, with what stands before it."""
    found = html.partition('class="asked"')[2].partition("</div>")[0].partition(">")[2]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).split())


def content(file: Path) -> bytes:
    return file.read_bytes()


def write(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def alone(file: Path) -> list[bool | None]:
    labels = read_labels(file)
    return [labels[to_label(each).name] for each in ALL]


async def test_snippets_are_shown_as_in_results_and_labelled_in_the_file_of_the_measurement(
    web: httpx2.AsyncClient, file: Path
) -> None:
    html = await opened(web)
    assert asked(html) == "Ships Ferries The ferry leaves at noon.", "a reader of results sees the title, too"
    html = await done(web, html, "alone")
    assert asked(html) == "Ferries It stays for: a storm, or"
    assert "1 of 4 labelled. 100 % read alone." in html
    html = await done(web, html, "not-alone")
    assert "2 of 4 labelled. 50 % read alone." in html
    html = await done(web, html, "not-alone")
    assert "ferry --list\nferry --go" in html, "code keeps its lines"
    html = await done(web, html, "alone")
    assert "All snippets are labelled." in html
    assert alone(file) == [True, False, False, True]
    assert add_snippets(file, ALL, read_labels(file)) == 0, "none of them is new to the next measurement"


async def test_a_label_is_taken_back_and_asked_again(web: httpx2.AsyncClient, file: Path) -> None:
    first = await opened(web)
    second = await done(web, await done(web, first, "alone"), "not-alone")
    assert "Needs the page" in second
    back = await done(web, second, "undo")
    assert (asked(back), alone(file)) == ("Ferries It stays for: a storm, or", [True, None, None, None])
    assert asked(await done(web, back, "undo")) == asked(first)
    assert "Undo" not in await opened(web), "there is nothing left to take back"


async def test_a_snippet_is_passed_over_and_comes_again(web: httpx2.AsyncClient, file: Path) -> None:
    html = await done(web, await opened(web), "skip")
    for _ in range(3):
        html = await done(web, html, "alone")
    assert "Show those that you passed over" in html
    assert asked(await opened(web)) == "Ships Ferries The ferry leaves at noon."
    assert alone(file) == [None, True, True, True]


async def test_a_line_that_is_no_snippet_is_passed_over(web: httpx2.AsyncClient, file: Path) -> None:
    lines = [b'{"url": "x"', b"[]", b"\xff", b'{"url": 1, "text": "x", "kind": "row", "context": []}', b"[" * 100_000]
    write(file, content(file) + b"\n".join(lines))
    html = await done(web, await opened(web), "alone")
    assert "1 of 4 labelled" in html


async def test_without_snippets_the_page_names_the_command(tmp_path: Path) -> None:
    async with client(labelling(memory_stores(), tmp_path / "labels")) as web:
        assert f"python -m benchmarks eval snippets web/ --label {tmp_path}/labels/{FILE_NAME}" in await opened(web)


@pytest.mark.parametrize(
    ("status", "changed", "headers"),
    [
        (403, {}, {"origin": "https://evil.example"}),
        (403, {}, {"sec-fetch-site": "cross-site"}),
        (400, {"snippet": "nonsense"}, {}),
        (400, {"do": "nonsense"}, {}),
        (400, {"do": "undo"}, {}),  # there is nothing to take back
        (413, {"filler": "x" * 30_000}, {}),
    ],
)
async def test_what_is_refused_writes_nothing(
    web: httpx2.AsyncClient, file: Path, status: int, changed: dict[str, Any], headers: dict[str, str]
) -> None:
    form = {**fields(await opened(web)), "do": "alone", **changed}
    before = content(file)
    assert (await web.post("/labs/snippets", data=form, headers=headers)).status_code == status
    assert content(file) == before


async def test_a_full_file_refuses_labels_with_a_sentence(web: httpx2.AsyncClient, file: Path) -> None:
    form = {**fields(await opened(web)), "do": "alone"}
    with file.open("ab") as more:
        more.write(b" " * (MAX_FILE_BYTES - more.tell()))
    response = await web.post("/labs/snippets", data=form)
    assert response.status_code == 507
    assert "The file of snippets takes no more labels" in response.text


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_nothing_hostile_becomes_markup(tmp_path: Path, file: Path, hostile: str) -> None:
    texts: dict[str, Any] = dict.fromkeys(["query", "url", "title", "text"], hostile)
    row = {**texts, "kind": "sentence", "context": [hostile, f"{hostile}:"]}
    write(file, (json.dumps(row) + "\n").encode())
    async with client(labelling(memory_stores(), tmp_path)) as web:
        html = await opened(web, skipped=hostile)
        assert_harmless(await done(web, html, "not-alone"))
