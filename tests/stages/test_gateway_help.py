"""The page of help, and the hints where nothing was found: what can be typed, and one click that changes a query."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from streams.gateway.http.about import operators_help
from streams.gateway.suggest.examples import choose_examples
from streams.queries.suggestions.block_words import BlockedWords
from streams.search.query_language.operators import OPERATORS
from streams.search.query_language.query import find_operators, parse_query
from streams.stores.protocols import StoredSuggestion
from tests.stages.gateway_fakes import client, gateway, searchable, statement
from tests.stages.suggested_pages import build_all, store_page
from tests.stages.test_gateway_pages import HTML, assert_harmless

WAL = statement("https://sqlite.org/wal.html", "The write-ahead log.", title="Write-Ahead Logging")


def links(html: str) -> dict[str, str]:
    """Return the texts of the links with their addresses."""
    found = re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', html, re.DOTALL)
    return {unescape(re.sub(r"<[^>]+>", "", text)).strip(): unescape(address) for address, text in found}


async def test_each_example_of_the_help_is_a_link_to_its_search() -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        page = await web.get("/help", headers=HTML)
        found = links(page.text)
        examples = [text for each in operators_help() for text in each.examples]
        for text in examples:
            assert parse_qs(urlsplit(found[text]).query) == {"q": [text]}
            assert (await web.get(found[text], headers=HTML)).status_code == 200
    assert page.status_code == 200
    assert_harmless(page.text)


async def test_examples_of_the_help_come_from_the_index_and_find_its_pages() -> None:
    stores = await searchable([statement("https://tides.example/", "Tide tables say when.", title="Tide tables")])
    await store_page(stores, "https://tides.example/", "Tide tables", "Tide tables say when.")
    await build_all(stores)
    app = gateway(stores, deadline_seconds=30)
    await app.state.gateway.suggest.look()
    async with client(app) as web:
        page = (await web.get("/help", headers=HTML)).text
        german = (await web.get("/help", headers={**HTML, "accept-language": "de"})).text
        found = {text: link for text, link in links(page).items() if "tide" in text or "tables" in text}
        # Whose pages have a text is not said to everybody, and the page states no date.
        without = {"tide tables site:example.org", "tide tables after:2020-05", "tide tables before:2025"}
        assert {"tide tables", '"tide tables"', "intitle:tables", *without} <= found.keys()
        for text in found.keys() - without:
            assert "https://tides.example/" in (await web.get(found[text], headers=HTML)).text, text
    assert "writers" not in page, "nothing that only another index has"
    assert 'lang="en"><a href="/search?q=tide+tables">' in german, "the examples of English, if there are no others"
    await app.state.gateway.close()


@pytest.mark.parametrize(
    ("text", "is_example"),
    [
        ("tide tables", True),
        ("tide", False),
        ("tide site:a.example", False),
        ('"tide tables"', False),
        ("潮の表です", True),
    ],
)
def test_an_example_has_several_words_and_no_operator(text: str, is_example: bool) -> None:
    assert bool(choose_examples([StoredSuggestion(text, "en", 1.0)], BlockedWords(()))) is is_example
    assert not choose_examples([StoredSuggestion(text, "en", 1.0)], BlockedWords((text,)))


def test_each_operator_is_used_in_its_examples() -> None:
    for shown, operator in zip(operators_help(), OPERATORS, strict=True):
        assert all(operator.name in parse_query(example).conditions for example in shown.examples)


@pytest.mark.parametrize("path", ["/", "/search?q=log", "/help", "/nowhere"])
async def test_each_page_links_to_the_help(path: str) -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        assert 'href="/help"' in (await web.get(path, headers=HTML)).text


HINTS = [
    # the query, the text of the hint, the query behind it
    ('log "ahead of the log"', "Search without the quotation marks around “ahead of the log”", "log ahead of the log"),
    ("log site:nowhere.example", "Search without site:nowhere.example", "log"),
    ("log -write", "Search without -write", "log"),
    ("log intitle:nothing", "Search without intitle:nothing", "log"),
]


@pytest.mark.parametrize(("query", "text", "behind"), HINTS)
async def test_where_an_operator_found_nothing_one_click_leaves_it_out(query: str, text: str, behind: str) -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        nothing = (await web.get("/search", params={"q": query}, headers=HTML)).text
        assert "Nothing was found" in nothing
        address = links(nothing)[text]
        assert parse_qs(urlsplit(address).query)["q"] == [behind]
        assert "Write-Ahead Logging" in (await web.get(address, headers=HTML)).text


WRITTEN = [
    # the query, each operator as it was written, and the query without it
    ("log", []),
    ("“write ahead” log", [("“write ahead”", "write ahead log")]),
    ("site:a.example", [("site:a.example", "")]),
    ("after:2024 log lang:de", [("after:2024", "log lang:de"), ("lang:de", "after:2024 log")]),
    ("-site:a.example log", [("-site:a.example", "log")]),
    ("git commit -m --amend", []),
]


@pytest.mark.parametrize(("query", "found"), WRITTEN)
def test_operators_are_found_as_they_were_written(query: str, found: list[tuple[str, str]]) -> None:
    assert [(each.text, each.query_without) for each in find_operators(query)] == found
