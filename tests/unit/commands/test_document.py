"""`riffle page --document`: a page's document in a terminal, or why there is none."""

import json
from typing import Any

import pytest

from schemas.ids import page_id
from streams.commands.pages.page import life_as_json, print_document_of, print_life
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.stores.opener import memory_stores
from streams.stores.page_record import Normalized

URL = "https://logs.example/wal"
WHY_NOT: list[tuple[dict[str, Any] | None, str]] = [
    ({"refused": "memory: more than 200 MiB"}, "it was refused: memory: more than 200 MiB"),
    ({"refused": "content-type: [x/y] is not HTML"}, "it was refused: content-type: [x/y] is not HTML"),
    (None, "Unknown: Riffle has no event about this page"),
]


async def test_the_document_of_an_indexed_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    stores = memory_stores()
    document = normalize_to_outcome(b"<h1>Logs</h1><p>Written [ahead] of the file.", url=URL, headers={}).document
    await stores.pages.put(
        page_id(URL), Normalized.of_row({"url": URL, "document_ref": await stores.blobs.put(document)}), 1
    )
    assert await print_document_of(stores, page_id(URL), URL, as_json=False) == 0
    printed = capsys.readouterr().out
    assert "<h1>Logs</h1>" in printed
    assert "<p>Written [ahead] of the file.</p>" in printed


@pytest.mark.parametrize(("record", "why"), WHY_NOT, ids=["refused", "brackets are no markup", "never seen"])
async def test_a_page_without_a_document_says_why_in_one_line(
    record: dict[str, Any] | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = memory_stores()
    if record:
        await stores.pages.put(page_id(URL), Normalized.of_row({"url": URL, "generation": 1, **record}), 1)
    assert await print_document_of(stores, page_id(URL), URL, as_json=False) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"There is no document of {URL}: {why}\n")


async def test_json_is_the_document_as_the_api_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    stores = memory_stores()
    document = normalize_to_outcome(b"<h1>Logs</h1><p>Written ahead of the file.", url=URL, headers={}).document
    ref = await stores.blobs.put(document)
    await stores.pages.put(page_id(URL), Normalized.of_row({"url": URL, "document_ref": ref}), 1)
    assert await print_document_of(stores, page_id(URL), URL, as_json=True) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["page_id"], printed["url"], printed["ref"]) == (str(page_id(URL)), URL, ref)
    assert [block["text"] for block in printed["document"]["blocks"]] == ["Logs", "Written ahead of the file."]


async def test_json_says_why_there_is_no_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert await print_document_of(memory_stores(), page_id(URL), URL, as_json=True) == 1
    shown = capsys.readouterr()
    printed = json.loads(shown.out)
    assert (printed["document"], shown.err) == (None, "")
    assert printed["why"] == f"There is no document of {URL}: {WHY_NOT[-1][1]}"


@pytest.mark.parametrize(("named", "argument"), [(f"{URL}?a=1&b=2", f"'{URL}?a=1&b=2'"), (str(page_id(URL)), "URL")])
def test_the_next_step_names_the_page_if_its_url_is_known(
    named: str, argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_life(page_id(URL), named, [])
    assert capsys.readouterr().out.endswith(f": riffle crawl {argument}\n")
    assert life_as_json(page_id(URL), named, [])["next_step"].endswith(f": riffle crawl {argument}")
