"""Corrections through the whole gateway: in place of the query, as a question, or not at all."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from streams.errors import StoreUnavailable
from streams.gateway.search import spelling as search_spelling
from streams.queries.spelling.corrector import Corrector, Model
from streams.queries.suggestions.sums import pack
from streams.settings import QueriesSettings
from streams.stores.memory import MemorySuggestions
from streams.stores.opener import Stores
from tests.stages.gateway_fakes import client, gateway, searchable, statement

HTML = {"accept": "text/html"}
PAGES = [
    statement("https://a.example/vacuum", "The command vacuum gives space back to the system.", title="Vacuum"),
    statement("https://a.example/index", "An index makes queries faster."),
    statement("https://a.example/riffel", "Riffel is the name of a family.", title="Riffel"),
]

ON = {"spelling": True}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search waits for its correction as long as a busy machine needs for it."""
    monkeypatch.setattr(search_spelling, "CORRECTING_SECONDS", 20.0)


async def app(**limits: Any) -> FastAPI:
    made = gateway(await searchable(PAGES), deadline_seconds=20.0, limits=ON | limits)
    made.state.gateway.search.spelling.load()
    return made


async def ask(made: FastAPI, query: str, path: str = "/api/v1/search", **given: str) -> httpx2.Response:
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


async def test_two_mistyped_words_of_two_are_corrected() -> None:
    answer = (await ask(await app(), "vaccuum comand")).json()
    assert answer["spelling"] == {"kind": "instead", "original": "vaccuum comand", "corrected": "vacuum command"}


async def test_a_correction_that_is_not_clear_is_a_question() -> None:
    made = await app()
    spelling = made.state.gateway.search.spelling
    spelling._corrector = Corrector(spelling._corrector.vocabulary, Model(clear=0.0))
    answer = (await ask(made, "vaccuum")).json()
    assert answer["spelling"] == {"kind": "suggestion", "original": "vaccuum", "corrected": "vacuum"}
    page = (await ask(made, "vaccuum", "/search")).text
    assert "Did you mean" in page
    assert 'href="/search?q=vacuum"' in page


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("vaccuum", {"exact": "true"}),  # exactly this
        ("vaccuum", {"page": "2"}),
        ("vacuum", {}),  # known
        ("riffel", {}),  # a result has it
        ('"vaccuum"', {}),  # a phrase
        ("governmnet", {}),  # the corrected query finds nothing more
        ("wie heisst dieser hund", {}),  # another language
        ("cómo configurar vacuum en sistema", {}),  # Spanish, with English-looking words
        ("sistema comando", {}),  # no page has both corrected words
        ("vacuumm desempeñar", {}),  # a word that stays unknown: another language
        ("vaccuum", {"language": "de"}),  # a language without a vocabulary
    ],
)
async def test_other_queries_stay_as_they_are(query: str, given: dict[str, str]) -> None:
    assert "spelling" not in (await ask(await app(), query, **given)).json()


async def test_what_readers_do_not_see_makes_no_query_known() -> None:
    hidden = statement("https://b.example/", "The command vaccuum is for sale.", title="Tools") | {"doubtful": True}
    made = gateway(await searchable([*PAGES, hidden]), deadline_seconds=20.0, limits=ON)
    made.state.gateway.search.spelling.load()
    assert (await ask(made, "vaccuum")).json()["spelling"]["corrected"] == "vacuum"


async def test_the_operator_can_turn_corrections_off() -> None:
    assert "spelling" not in (await ask(await app(spelling=False), "vaccuum")).json()


async def test_before_the_words_are_loaded_there_is_no_correction() -> None:
    made = gateway(await searchable(PAGES), deadline_seconds=20.0, limits=ON)
    assert "spelling" not in (await ask(made, "vaccuum")).json()


async def test_what_a_stranger_typed_is_escaped() -> None:
    page = (await ask(await app(), "vaccuum <b>x</b>", "/search")).text
    assert "<b>x" not in page


async def test_a_failing_correction_harms_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = await app()
    corrector = made.state.gateway.search.spelling._corrector

    def fail(*arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(type(corrector), "correct", fail)
    answer = (await ask(made, "vaccuum")).json()
    assert answer["results"]
    assert "spelling" not in answer


async def stores_with_words(words: dict[str, int], build: str = "a build") -> Stores:
    """Stores with the pages, and with the words of the index that a build would keep."""
    stores = await searchable([*PAGES, statement("https://a.example/kubeflow", "We run kubeflow.", title="Pipelines")])
    await put_build(stores, build, words)
    return stores


async def put_build(stores: Stores, build: str, words: dict[str, int]) -> None:
    await stores.suggestions.put_part(build, "words", 7, "", pack(words))
    await stores.suggestions.put_part("", "current", 0, "", build.encode())


async def test_a_mistyped_name_that_only_the_index_knows_is_corrected_once_its_words_are_loaded() -> None:
    made = gateway(await stores_with_words({"kubeflow": 90, "kubeflwo": 3}), deadline_seconds=20.0, limits=ON)
    spelling = made.state.gateway.search.spelling
    await spelling.look()  # before the dictionaries are loaded, it loads nothing
    spelling.load()
    assert "spelling" not in (await ask(made, "kubefolw")).json(), "that search began the look"
    await spelling._looking._running
    for query in ("kubefolw", "kubeflwo"):  # also a mistake that the index has
        answer = (await ask(made, query)).json()
        assert answer["spelling"] == {"kind": "instead", "original": query, "corrected": "kubeflow"}
        assert answer["results"][0]["url"] == "https://a.example/kubeflow"
    assert "spelling" not in (await ask(made, "kubeflow")).json()


async def test_another_build_replaces_the_words_and_a_purge_removes_them() -> None:
    stores = await stores_with_words({"kubeflow": 30})
    spelling = gateway(stores, limits=ON).state.gateway.search.spelling
    spelling.load()
    await spelling.look()
    former = spelling._corrector
    await spelling.look()
    assert spelling._corrector is former, "one build is loaded once"
    await put_build(stores, "another", {"kubeflow": 30, "grafana": 20})
    await spelling.look()
    assert spelling._corrector.index_words == 2
    await stores.suggestions.purge()
    await spelling.look()
    assert spelling._corrector.index_words == 0


@pytest.mark.parametrize("hide_adult", [True, False])
async def test_a_word_that_is_blocked_since_the_build_is_left_out_at_once(tmp_path: Path, hide_adult: bool) -> None:
    blocked = tmp_path / "blocked.txt"
    blocked.write_text("Kubeflow # since the build\n")
    stores = await stores_with_words({"kubeflow": 90, "grafana": 50, "xhamster": 30})
    made = gateway(
        stores,
        deadline_seconds=20.0,
        limits=ON | {"hide_adult": hide_adult},
        queries=QueriesSettings(blocked_words=(blocked,)),
    )
    spelling = made.state.gateway.search.spelling
    spelling.load()
    await spelling.look()
    assert spelling._corrector.index_words == (1 if hide_adult else 2)
    assert "spelling" not in (await ask(made, "kubefolw")).json()


async def test_a_store_that_fails_harms_no_search_and_is_asked_once_a_minute() -> None:
    class Failing(MemorySuggestions):
        reads = 0

        async def parts(self, *_: Any) -> list[bytes]:
            self.reads += 1
            raise StoreUnavailable("away")

    stores = await searchable(PAGES)
    stores.suggestions = failing = Failing()
    made = gateway(stores, deadline_seconds=20.0, limits=ON)
    made.state.gateway.search.spelling.load()
    for _ in range(3):
        assert (await ask(made, "vaccuum")).json()["spelling"]["corrected"] == "vacuum"
    await asyncio.gather(made.state.gateway.search.spelling._looking._running)
    assert failing.reads == 1
