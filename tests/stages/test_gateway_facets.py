"""The parts of the page around the results: facets, choices that become operators, why a result was found, code."""

import re
from datetime import date
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from streams.gateway.http.languages import Wording
from streams.gateway.http.presentation import MAX_CODE_LINES, code_snippet
from streams.gateway.search.signals import SignalFacts, describe_signals
from streams.search.query_language.query import Choices, apply_choices
from streams.search.ranking.facets import file_type
from streams.stores.page_record import Normalized, PageRecord
from streams.stores.statement_payload import StatementPayload
from streams.vectors.page_records import page_type
from tests.stages.gateway_fakes import NOW, Dead, Hanging, client, gateway, searchable, statement
from tests.stages.test_gateway_pages import HTML, assert_harmless

CODE = "try:\n    value = log[key]\nexcept KeyError:\n    value = '<b>none</b>'"


def dated(url: str, published: str, **values: Any) -> dict[str, Any]:
    return {**statement(url, f"A log of {url}", **values), "published": published}


PAGES = [
    dated("https://sqlite.org/", "2026-03-04", title="SQLite"),
    dated("https://sqlite.org/wal.html", "2026-02-20", title="Write-Ahead Logging"),
    dated("https://sqlite.org/lang.html", "2020", title="SQL"),
    dated("https://sqlite.org/manual.PDF", "2025-05-05", title="The manual"),
    dated("https://fluesse.example/", "", title="Fluss", language="de"),
]


async def answer(query: str, pages: list[dict[str, Any]] = PAGES, **parameters: Any) -> dict[str, Any]:
    # By words, since the vectors of these tests mean little.
    limits = {"meaning_weight": 0.2}
    async with client(gateway(await searchable(pages), deadline_seconds=30, limits=limits)) as web:
        found = (await web.get("/api/v1/search", params={"q": query, **parameters})).json()
    assert isinstance(found, dict)
    return found


def counts(found: dict[str, Any], facet: str) -> dict[str, int]:
    return {each["value"]: each["count"] for each in found["facets"][facet]}


async def test_facets_count_the_candidates() -> None:
    found = await answer("log", per_page=1)
    assert counts(found, "host") == {"sqlite.org": 4, "fluesse.example": 1}
    assert counts(found, "language") == {"en": 4, "de": 1}
    assert counts(found, "published") == {"day": 1, "week": 1, "month": 2, "year": 3}
    assert counts(found, "filetype") == {"html": 4, "pdf": 1}


async def test_pages_that_are_only_the_end_of_a_list_are_not_counted() -> None:
    noise = [dated(f"https://noise{n}.example/", "", title="Ships") for n in range(3)]
    for each in noise:
        each["text"] = "Rivers carry ships."
    found = await answer("log", [*PAGES, *noise])
    assert counts(found, "host") == {"sqlite.org": 4, "fluesse.example": 1}


async def test_types_of_pages_are_counted_and_asked_for() -> None:
    soup = dated("https://soup.example/", "", title="Soup") | {"page_type": "Recipe"}
    found = await answer("log", [*PAGES, soup])
    assert counts(found, "pagetype") == {"Recipe": 1}
    assert [each["host"] for each in (await answer("log pagetype:recipe", [*PAGES, soup]))["results"]] == [
        "soup.example"
    ]
    async with client(gateway(await searchable([*PAGES, soup]), deadline_seconds=30)) as web:
        assert '<option value="recipe">Recipe (1)</option>' in (await web.get("/search?q=log", headers=HTML)).text
        chosen = await web.get("/search?q=log&pagetype=recipe", headers=HTML)
    assert chosen.headers["location"] == "/search?q=log+pagetype%3Arecipe"


TYPES = [
    ("Recipe", "Recipe"),
    ("https://schema.org/NewsArticle", "NewsArticle"),
    ("video.other", "Video"),
    ("website", ""),
    ("<script>", ""),
    (None, ""),
]


@pytest.mark.parametrize(("stated", "name"), TYPES)
def test_types_of_pages_are_names_of_schema_org(stated: str | None, name: str) -> None:
    assert page_type(PageRecord({"normalized": {"type": stated}})) == name


async def test_facets_count_only_what_meets_the_conditions() -> None:
    assert counts(await answer("log filetype:pdf"), "host") == {"sqlite.org": 1}
    assert counts(await answer("log", language="de"), "host") == {"fluesse.example": 1}


async def test_a_facet_is_one_click_and_shows_as_many_as_it_says() -> None:
    async with client(gateway(await searchable(PAGES), deadline_seconds=30)) as web:
        page = (await web.get("/search?q=log", headers=HTML)).text
        chip = re.search(r'href="([^"]*language=de)"><span class="hidden">Only in </span><span>German', page)
        assert chip
        filtered = (await web.get(unescape(chip[1]), headers=HTML)).text
    assert filtered.count('<li class="result">') == 1
    assert '<a class="chip on" href="/search?q=log">' in filtered
    assert_harmless(page)


CHOICES = [
    # the query, the choices, the query with them
    ("log", Choices(published="year"), "log after:2025-03-03"),
    ("log", Choices("any", "2024-05-06", "2025-01-01"), "log after:2024-05-06 before:2025-01-01"),
    ("log after:2020 filetype:pdf", Choices(published="any", filetype="any"), "log"),
    ("log filetype:pdf", Choices(published="week", filetype="html"), "log after:2026-02-25 filetype:html"),
    ("log site:a.example", Choices(published="any", after="tomorrow", filetype="?"), "log site:a.example"),
]


@pytest.mark.parametrize(("query", "choices", "chosen"), CHOICES)
def test_choices_become_operators(query: str, choices: Choices, chosen: str) -> None:
    assert apply_choices(query, choices, date(2026, 3, 4)) == chosen


async def test_the_form_of_the_filters_leads_to_the_query_with_its_choices() -> None:
    async with client(gateway(await searchable(PAGES), deadline_seconds=30)) as web:
        sent = {"q": "log", "host": "sqlite.org", "language": "", "published": "month", "filetype": "any", "sort": ""}
        response = await web.get("/search", params=sent, headers=HTML)
        assert response.status_code == 303
        query = parse_qs(urlsplit(response.headers["location"]).query)
        assert query == {"q": ["log after:2026-02-01"], "host": ["sqlite.org"]}
        page = (await web.get(response.headers["location"], headers=HTML)).text
    assert page.count('<li class="result">') == 2
    assert 'name="after" value="2026-02-01"' in page
    assert '<input type="hidden" name="host" value="sqlite.org">' in page
    assert NOW.date() == date(2026, 3, 4)


async def test_a_site_that_is_named_has_links_to_its_pages() -> None:
    first = (await answer("sqlite", per_page=1))["results"][0]
    others = {page["title"] for page in first["site_pages"]}
    assert first["host"] == "sqlite.org"
    assert others == {"SQLite", "Write-Ahead Logging", "SQL", "The manual"} - {first["title"]}
    assert not (await answer("log", per_page=1))["results"][0]["site_pages"]


FILES = [
    ("https://a.example/x.PDF?a=1", "pdf"),
    ("https://a.example/", "html"),
    ("https://a.example/x.php", "html"),
    ("https://a.example/pdf", "html"),
    ("http://[", "html"),
]


@pytest.mark.parametrize(("url", "type_of_file"), FILES)
def test_types_of_files_are_read_from_addresses(url: str, type_of_file: str) -> None:
    assert file_type(StatementPayload.of_row({"url": url})) == type_of_file


async def test_a_result_says_in_words_why_it_was_found() -> None:
    async with client(gateway(await searchable(PAGES), deadline_seconds=30)) as web:
        page = (await web.get("/search?q=log", headers=HTML)).text
        found = (await web.get("/api/v1/search?q=log")).json()["results"][0]
    assert "it has words of your query: “log”" in unescape(page)
    assert sum(each["share"] for each in found["signals"]) == pytest.approx(1.0, abs=0.05)
    assert page.count("Why is this page indexed?") == page.count('<li class="result">')


def test_signals_are_described_by_their_share() -> None:
    facts = SignalFacts("a.example", "2024-05", ["log"])
    described = describe_signals({"meaning": 3.0, "words": 1.0, "authority": 0.5, "freshness": 0.0}, facts)
    assert [(each.name, each.amount) for each in described] == [
        ("meaning", "mostly"),
        ("words", "partly"),
        ("authority", "a little"),
    ]
    assert described[2].says == "pages of other sites link to a.example"
    assert describe_signals({}, facts) == ()


async def test_code_is_shown_with_its_lines() -> None:
    code = {**statement("https://a.example/", CODE, title="A page"), "kind": "code"}
    async with client(gateway(await searchable([code]), deadline_seconds=30)) as web:
        page = (await web.get("/search?q=log", headers=HTML)).text
        found = (await web.get("/api/v1/search?q=log")).json()["results"][0]["statements"][0]
    assert found["kind"] == "code"
    assert found["text"] == CODE
    assert [found["text"][start:end] for start, end in found["highlights"]] == ["log"]
    shown = re.search(r"<pre dir=\"ltr\"[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)
    assert shown
    assert unescape(re.sub(r"</?(mark|a)\b[^>]*>", "", shown[1])).strip("\n") == CODE
    assert_harmless(page)


def test_a_long_listing_is_cut_around_the_query() -> None:
    lines = [f"line {number}" for number in range(100)]
    lines[60] = "the log"
    shown = code_snippet("\n".join(lines), ["log"]).split("\n")
    assert "the log" in shown
    assert len(shown) <= MAX_CODE_LINES + 2
    assert (shown[0], shown[-1]) == ("…", "…")


@pytest.mark.parametrize(("tag", "name"), [("de", "German"), ("zh-Hant", "Chinese (Traditional)"), ("xx-x", "xx-x")])
def test_languages_have_names(tag: str, name: str) -> None:
    assert Wording.of("en").language_name(tag) == name


async def test_what_a_page_states_about_itself_is_beside_its_title() -> None:
    stores = await searchable(PAGES)
    typed = {"rating": "4.5", "best": "5", "ratings": "1200", "price": "9.50", "currency": "EUR", "seconds": "5400"}
    stated = {"author": "Ada <b>", "site_name": "The Site", "type": "Recipe", "typed": typed | {"answer": "8,849 m"}}
    await stores.pages.put(PAGES[0]["page_id"], Normalized.of_row(stated), 1)
    async with client(gateway(stores, deadline_seconds=30)) as web:
        found = (await web.get("/api/v1/search?q=log&host=sqlite.org")).json()["results"]
        page = (await web.get("/search?q=log&host=sqlite.org", headers=HTML)).text
    facts = {each["url"]: each.get("facts") for each in found}
    assert facts["https://sqlite.org/"] == {
        **{"type": "Recipe", "author": "Ada <b>", "rating": 4.5, "best": 5.0, "ratings": 1200},
        **{"price": 9.5, "currency": "EUR", "seconds": 5400, "answer": "8,849 m"},
    }
    assert [url for url, each in facts.items() if each] == ["https://sqlite.org/"]
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    for text in ("The Site", "by Ada &lt;b&gt;", "4.5 of 5 (1,200 ratings)", "€9.50", "1 hr 30 mins", "8,849 m"):
        assert text in shown
    assert_harmless(page)


@pytest.mark.parametrize("pages", [Dead(), Hanging()])
async def test_without_records_an_answer_is_whole(pages: Any) -> None:
    stores = await searchable(PAGES)
    stores.pages = pages
    async with client(gateway(stores, deadline_seconds=30)) as web:
        found = (await web.get("/api/v1/search?q=log")).json()
    assert not found["partial"]
    assert found["results"]
    assert not any("facts" in each for each in found["results"])
