"""`/labs/statements`: what is shown of a page's statements, the filters, the trial of a query, and the failures."""

import re
from typing import Any

import pytest

from schemas.ids import page_id
from streams.gateway.labs.statements_view import MAX_PAGE_CHARS, MAX_SHOWN
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Removed
from tests.stages.gateway_fakes import Dead, client, gateway
from tests.stages.gateway_statements import chunked
from tests.stages.test_gateway_pages import HOSTILE, HTML, assert_harmless

URL = "https://logs.example/wal"
PAGE = """<title>Logs</title><main><h1>Logs</h1>
<p>A log is written ahead of the file by every writer. It holds the changes that are not in the file. Readers read
the file as it was before. This makes them wait for nobody at all.</p>
<ul><li>The log is deleted at the last commit.</li></ul></main>"""
NUMBER = re.compile(r'<li id="s(\d+)"')


async def stored(html: str = PAGE, **records: Any) -> Stores:
    stores = memory_stores()
    await chunked(stores, URL, html, **records)
    return stores


async def shown(stores: Stores, status: int = 200, **parameters: str | int) -> str:
    async with client(gateway(stores, deadline_seconds=30)) as web:
        response = await web.get("/labs/statements", params={"url": URL, **parameters}, headers=HTML)
    assert response.status_code == status, response.text
    assert_harmless(response.text)
    return str(response.text)


def numbers(html: str) -> list[int]:
    return [int(number) for number in NUMBER.findall(html)]


async def test_a_statement_is_shown_with_its_chain_label_scores_and_exact_embedding_text() -> None:
    html = await shown(await stored())
    own = html.partition('<li id="s1"')[2].partition('<li id="s2"')[0]
    assert "It holds the changes that are not in the file." in own
    assert '<a class="tag" href="#s0">0</a> A log is written ahead of the file by every writer.' in own
    assert '<span class="label">no leaf</span>' in own
    assert "leaf 0 %, need 100 %" in own
    assert (
        '<pre dir="auto">Logs\nA log is written ahead of the file by every writer.\n'
        "It holds the changes that are not in the file.</pre>" in own
    )
    assert "5 statements: 2 with a chain, 3 leaves." in html


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"show": "leaf"}, [0, 2, 4]),
        ({"show": "no-leaf"}, [1, 3]),
        ({"show": "chain"}, [1, 3]),
        ({"show": "no-chain", "kind": "item"}, [4]),
        ({"words": "THE FILE"}, [0, 1, 2]),
        ({"words": "zyzzyva"}, []),
        ({"show": "nonsense", "kind": "nonsense"}, [0, 1, 2, 3, 4]),
        ({"start": 3}, [3, 4]),
        ({"start": -7}, [0, 1, 2, 3, 4]),
    ],
)
async def test_filters(parameters: dict[str, Any], expected: list[int]) -> None:
    assert numbers(await shown(await stored(), **parameters)) == expected


async def test_a_query_orders_the_statements_of_this_page_alone() -> None:
    html = await shown(await stored(), ask="log is deleted at the last commit")
    assert numbers(html)[0] == 4
    scores = [float(score) for score in re.findall(r'<span class="score">(-?[\d.]+)</span>', html)]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert 'value="log is deleted at the last commit"' in html


@pytest.mark.parametrize(
    ("indexed", "reason"),
    [
        ({"vectors_ref": ""}, "have no vectors"),
        ({"vectors_ref": "0" * 64}, "no longer kept"),
        ({"model": "another"}, "of another model"),
    ],
)
async def test_a_query_that_can_t_be_tried_says_why(indexed: dict[str, str], reason: str) -> None:
    html = await shown(await stored(indexed=indexed), ask="log")
    assert reason in html.partition("The query was not tried.")[2].partition("</p>")[0]
    assert numbers(html) == [0, 1, 2, 3, 4]


async def test_without_the_embedding_model_the_statements_are_shown() -> None:
    stores = await stored()
    stores.embedder = Dead()
    html = await shown(stores, ask="log")
    assert "The embedding model does not answer." in html
    assert numbers(html) == [0, 1, 2, 3, 4]


async def test_a_long_page_is_shown_in_parts() -> None:
    rows = "".join(f"<p>Sentence number {n} has enough words here.</p>" for n in range(MAX_SHOWN + 20))
    stores = await stored(f"<title>Long</title><main><h1>Long</h1>{rows}</main>")
    html = await shown(stores)
    assert len(numbers(html)) == MAX_SHOWN
    following = re.search(r'rel="next" href="[^"]*start=(\d+)"', html)
    assert following
    assert len(numbers(await shown(stores, start=int(following[1])))) == 20


async def test_long_words_fill_a_page_sooner() -> None:
    word = "x" * 400_000
    html = await shown(await stored(f"<title>Long</title><main><p>This is {word} and {word} again.</p></main>"))
    assert 0 < len(numbers(html)) < MAX_SHOWN
    assert len(html) < 2 * MAX_PAGE_CHARS
    assert 'rel="next"' in html


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_nothing_hostile_becomes_markup(hostile: str) -> None:
    text = hostile.replace("<", "&lt;")
    page = f"<title>{text}</title><main><p>This is a log {text} of it. It has {text} in it and more words.</p></main>"
    await shown(await stored(page), ask=hostile, words="")
    await shown(await stored(page), words=hostile)


async def test_a_page_without_statements_or_copies_is_refused() -> None:
    stores = await stored(indexed={"statements_ref": "0" * 64})
    assert "This page has no statements" in await shown(stores, 404)
    assert "No copy of this page is shown" in await shown(await stored(normalized={"directives": ["noarchive"]}), 403)


async def test_no_copy_of_a_page_that_left_is_shown() -> None:
    stores = await stored()
    page = page_id(URL)
    record = await stores.pages.get(page)
    newest = max(part.generation for part in record.parts())
    await stores.pages.put(page, Removed.of_row({"reason": "gone", "generation": newest}), newest)
    assert "The page left the index." in await shown(stores, 403)
