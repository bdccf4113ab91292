"""Corrections through the whole gateway: in place of the query, as a question, or not at all."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tests.stages.gateway_fakes import client, gateway, searchable, statement

HTML = {"accept": "text/html"}
PAGES = [
    statement("https://a.example/vacuum", "The command vacuum gives space back to the system.", title="Vacuum"),
    statement("https://a.example/index", "An index makes queries faster."),
    statement("https://a.example/riffel", "Riffel is the name of a family.", title="Riffel"),
]


async def app(**limits: Any) -> FastAPI:
    made = gateway(await searchable(PAGES), deadline_seconds=20.0, limits=limits or None)
    made.state.gateway.search.spelling.load()
    return made


async def ask(made: FastAPI, query: str, path: str = "/api/v1/search", **given: str) -> httpx.Response:
    async with client(made) as web:
        return await web.get(path, params={"q": query, **given}, headers=HTML if path == "/search" else {})


async def test_a_clear_correction_with_results_is_searched_for_instead() -> None:
    answer = (await ask(await app(), "vaccuum")).json()
    assert answer["spelling"] == {"kind": "instead", "original": "vaccuum", "corrected": "vacuum"}
    assert answer["query"] == "vacuum"
    assert answer["results"][0]["url"] == "https://a.example/vacuum"


async def test_the_page_links_to_the_corrected_and_to_the_typed_query() -> None:
    page = (await ask(await app(), "vaccuum", "/search")).text
    assert "Showing results for" in page
    assert 'href="/search?q=vaccuum&amp;exact=true"' in page
    assert 'href="/search?q=vacuum"' in page


async def test_a_correction_without_results_is_a_question() -> None:
    answer = (await ask(await app(), "governmnet")).json()
    assert answer["spelling"] == {"kind": "suggestion", "original": "governmnet", "corrected": "government"}
    page = (await ask(await app(), "governmnet", "/search")).text
    assert "Did you mean" in page
    assert 'href="/search?q=government"' in page


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("vaccuum", {"exact": "true"}),  # exactly this
        ("vaccuum", {"page": "2"}),
        ("vacuum", {}),  # known
        ("riffel", {}),  # a result has it
        ('"vaccuum"', {}),  # a phrase
        ("wie heisst dieser hund", {}),  # another language
        ("vaccuum", {"language": "de"}),  # a language without a vocabulary
    ],
)
async def test_other_queries_stay_as_they_are(query: str, given: dict[str, str]) -> None:
    assert "spelling" not in (await ask(await app(), query, **given)).json()


async def test_the_operator_can_turn_corrections_off() -> None:
    assert "spelling" not in (await ask(await app(spelling_languages=()), "vaccuum")).json()


async def test_before_the_words_are_loaded_there_is_no_correction() -> None:
    made = gateway(await searchable(PAGES), deadline_seconds=20.0)
    assert "spelling" not in (await ask(made, "vaccuum")).json()


async def test_what_a_stranger_typed_is_escaped() -> None:
    page = (await ask(await app(), "vaccuum <b>x</b>", "/search")).text
    assert "<b>x" not in page


async def test_a_failing_correction_harms_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = await app()
    corrector = made.state.gateway.search.spelling._correctors["en"]

    def fail(*arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(type(corrector), "correct", fail)
    answer = (await ask(made, "vaccuum")).json()
    assert answer["results"]
    assert "spelling" not in answer
