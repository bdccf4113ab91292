"""Nothing is better than nonsense: at most three pages, marked, for a query that nothing answers. In JSON and HTML."""

from typing import Any

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
    assert answer["missing_identifiers"] == ["SQLITE_NOPE", "9.8.7"]
    assert len(answer["results"]) == 6
    text = " ".join(page.split())
    assert 'No page has <strong dir="auto">SQLITE_NOPE</strong> or <strong dir="auto">9.8.7</strong>.' in text

    answer, page = await ask("SQLITE_NOPE")
    assert (answer["nearest_only"], answer["missing_identifiers"]) == (True, ["SQLITE_NOPE"])
    assert 'No page has <strong dir="auto">SQLITE_NOPE</strong>.' in page
