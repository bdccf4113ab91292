"""Nothing is better than nonsense: at most three pages, marked, for a query that nothing answers. In JSON and HTML."""

import re
from dataclasses import replace
from typing import Any

import pytest

from streams.errors import PoisonError
from tests.stages.gateway_fakes import client, gateway, searchable, statement

HTML = {"accept": "text/html"}
PAGES = [
    statement(
        f"https://s{number}.example/", f"Checkpoint {number} moves the log into the database.", title=f"T{number}"
    )
    for number in range(6)
]


async def ask(query: str, min_confidence: float | None = 0.9, page: int = 1) -> tuple[dict[str, Any], str]:
    """The answer for programs, and the page for people."""
    app = gateway(await searchable(PAGES), deadline_seconds=20.0, limits={"min_confidence": min_confidence})
    given: dict[str, str | int] = {"q": query, "page": page}
    async with client(app) as web:
        answer = (await web.get("/api/v1/search", params=given)).json()
        shown = await web.get("/search", params=given, headers=HTML)
    return answer, shown.text


async def test_nonsense_has_at_most_three_marked_pages_which_people_do_not_see() -> None:
    answer, page = await ask("asdkjhqwe zxcvqwe")
    assert answer["nearest_only"]
    assert len(answer["results"]) == 3
    assert all(each["nearest"] for each in answer["results"])
    assert not answer["has_next"]
    assert not answer["partial"]
    assert "Nothing was found for “asdkjhqwe zxcvqwe”" in page
    assert "Nearest by meaning" not in page, "they share no word with the query"
    assert page.count('<li class="result">') == 0
    assert "Next" not in page


async def test_a_further_page_of_nonsense_is_empty() -> None:
    answer, page = await ask("asdkjhqwe zxcvqwe", page=2)
    assert (answer["results"], answer["has_next"]) == ([], False)
    assert "There are no more results" in page


async def test_words_that_occur_are_found() -> None:
    answer, page = await ask("checkpoint")
    assert not answer["nearest_only"]
    assert len(answer["results"]) == 6
    assert "nearest" not in answer["results"][0]
    assert "Nearest by meaning" not in page


async def test_without_a_measured_bound_nothing_is_judged() -> None:
    answer, _ = await ask("asdkjhqwe zxcvqwe", min_confidence=None)
    assert not answer["nearest_only"]
    assert len(answer["results"]) == 6


async def test_identifiers_that_do_not_occur_are_named() -> None:
    answer, page = await ask("checkpoint SQLITE_NOPE 9.8.7", min_confidence=0.0)
    assert answer["missing"] == ["SQLITE_NOPE", "9.8.7"]
    assert len(answer["results"]) == 6
    text = " ".join(page.split())
    assert 'No page has <strong dir="auto">SQLITE_NOPE</strong> or <strong dir="auto">9.8.7</strong>.' in text

    answer, page = await ask("SQLITE_NOPE")
    assert (answer["nearest_only"], answer["missing"]) == (True, ["SQLITE_NOPE"])
    assert 'No page has <strong dir="auto">SQLITE_NOPE</strong>.' in page


async def test_if_nothing_was_found_the_words_that_some_page_has_are_one_click_away() -> None:
    _, page = await ask("checkpoint zeppelins SQLITE_NOPE quux")
    assert 'q=checkpoint"' in page, page
    assert "Search only for “checkpoint”" in page


WORDS = [
    statement("https://a.example/log", "Checkpoint moves the log into the database.", title="Checkpoints"),
    statement("https://a.example/lock", "A checkpoint waits for the zeppelin lock.", title="Locks"),
]
UNKNOWN = ["harbour", "cranes", "zyzzyva", "lisbon", "ferries"]
# The query -> the words that no page has, and the rare words that each page lacks.
ABSENT = {
    "a word that no page has": (
        "checkpoint Kubernetes",
        ["Kubernetes"],
        {"log": ["Kubernetes"], "lock": ["Kubernetes"]},
    ),
    "all words that no page has, not only the first": (
        "harbour cranes zyzzyva lisbon ferries",
        UNKNOWN,
        {"log": UNKNOWN, "lock": UNKNOWN},
    ),
    "a word of one page": ("zeppelin checkpoint", [], {"log": ["zeppelin"], "lock": []}),
    "all forms of a word are the word": ("checkpoints locking", [], {"log": ["locking"], "lock": []}),
    "a word that only asks for a number": ("how many checkpoint zeppelin", [], {"log": ["zeppelin"], "lock": []}),
    "function words are no subject": ("what is the checkpoint", [], {"log": [], "lock": []}),
    "a single function word of another language": (
        "Protokoll einer Messung",
        ["Protokoll", "Messung"],
        {"log": ["Protokoll", "Messung"], "lock": ["Protokoll", "Messung"]},
    ),
    "a long story has no single subject": (
        "checkpoint one dreary october evening walked slowly towards ancient crooked lighthouse",
        [],
        {"log": [], "lock": []},
    ),
}


@pytest.mark.parametrize(("query", "missing", "lacks"), ABSENT.values(), ids=ABSENT)
async def test_words_that_no_page_has_are_named(query: str, missing: list[str], lacks: dict[str, list[str]]) -> None:
    app = gateway(await searchable(WORDS), deadline_seconds=20.0)
    async with client(app) as web:
        answer = (await web.get("/api/v1/search", params={"q": query})).json()
        page = " ".join((await web.get("/search", params={"q": query}, headers=HTML)).text.split())
    assert answer.get("missing", []) == missing
    assert {each["url"].rpartition("/")[2]: each.get("lacks", []) for each in answer["results"]} == lacks
    assert ("No page has" in page) == bool(missing)
    for word in missing:
        assert f'<strong dir="auto">{word}</strong>' in page
    below = {word for words in lacks.values() for word in words} - {*missing}
    assert all(f'Missing: <span dir="auto">{word}</span>' in page for word in below)
    assert ("Missing:" in page) == bool(below), "what stands above the results is not repeated below each"


@pytest.mark.parametrize("error", [TimeoutError(), PoisonError("no such list"), ValueError("a fault")], ids=repr)
async def test_rare_words_that_are_not_found_cost_no_results_and_the_index_rests(error: Exception) -> None:
    asked = 0

    class Failing:
        """An index that fails for the pages with a word."""

        def __getattr__(self, name: str) -> Any:
            return getattr(index, name)

        async def pages_with_words(self, *_words: Any, **_conditions: Any) -> Any:
            nonlocal asked
            asked += 1
            raise error

    stores = await searchable(WORDS)
    index, failing = stores.vectors, Failing()
    async with client(gateway(replace(stores, vectors=failing), deadline_seconds=20.0)) as web:
        answers = [await web.get("/api/v1/search", params={"q": query}) for query in ("zeppelin log", "Kubernetes log")]
    assert [len(answer.json()["results"]) for answer in answers] == [2, 2]
    assert not any(answer.json().get("missing") for answer in answers)
    assert asked == 1


SMALL = [
    statement("https://sea.example/", "Sea otters hold hands while they sleep.", title="Otters"),
    *(
        statement(f"https://s{number}.example/", text, title=f"T{number}")
        for number, text in enumerate(("Sourdough rises slowly.", "A bridge hangs from cables.", "The pump is loud."))
    ),
]
"""A small index: behind the page that answers, nothing is about the subject."""


async def test_behind_an_answer_pages_that_are_only_near_are_folded_and_none_is_lost() -> None:
    app = gateway(await searchable(SMALL), deadline_seconds=20.0, limits={"min_confidence": 0.1})
    async with client(app) as web:
        answer = (await web.get("/api/v1/search", params={"q": "otters sleep"})).json()
        page = (await web.get("/search", params={"q": "otters sleep"}, headers=HTML)).text
        other = (await web.get("/searxng/search", params={"q": "otters sleep", "format": "json"})).json()
    assert [each.get("nearest") for each in answer["results"]] == [None, True, True, True]
    assert not answer["nearest_only"]
    shown, folded = page.split('<details class="far">')
    assert (shown.count('<li class="result">'), folded.count('<li class="result">')) == (1, 3)
    assert "3 results that fit less" in folded
    assert '<ol class="results" start="2">' in folded
    assert [each["url"] for each in other["results"]] == ["https://sea.example/"], "programs can't see the mark"


async def test_a_further_page_of_such_pages_is_open() -> None:
    many = [statement(f"https://s{number}.example/", f"A bridge of {number} cables.") for number in range(14)]
    app = gateway(await searchable([*SMALL, *many]), deadline_seconds=20.0, limits={"min_confidence": 0.1})
    async with client(app) as web:
        page = (await web.get("/search", params={"q": "otters sleep", "page": 2}, headers=HTML)).text
    assert '<details class="far" open>' in page


@pytest.mark.parametrize(("sort", "is_folded"), [("", True), ("date", False)])
async def test_by_date_the_way_to_nearer_results_is_not_folded(sort: str, is_folded: bool) -> None:
    many = [statement(f"https://s{number}.example/", f"A bridge of {number} cables.") for number in range(14)]
    app = gateway(await searchable([*SMALL, *many]), deadline_seconds=20.0, limits={"min_confidence": 0.1})
    async with client(app) as web:
        page = (await web.get("/search", params={"q": "otters sleep", "sort": sort}, headers=HTML)).text
    assert '<details class="far">' in page
    assert 'class="paging"' in page
    assert (re.search(r'</details>\s*</div>\s*<nav class="paging"', page) is None) is is_folded
