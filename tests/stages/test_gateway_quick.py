"""Quick checks through the whole gateway: in JSON and on the page, and without harm to the results."""

from typing import Any

import pytest

from streams.queries.quick import checks
from tests.stages.gateway_fakes import client, gateway, searchable, statement
from tests.stages.test_gateway_search import STATEMENTS

HTML = {"accept": "text/html"}
RAPID = statement("https://rivers.example/rapid", "A rapid is a steep stretch of a <b>stream</b>.", title="Rapid")


async def ask(query: str, page: int = 1) -> tuple[dict[str, Any], str]:
    """The answer for programs, and the page for people."""
    given: dict[str, str | int] = {"q": query, "page": page}
    async with client(gateway(await searchable([*STATEMENTS, RAPID]), deadline_seconds=20.0)) as web:
        answer = (await web.get("/api/v1/search", params=given)).json()
        shown = await web.get("/search", params=given, headers=HTML)
    return answer, shown.text


async def test_a_conversion_stands_above_the_results() -> None:
    answer, page = await ask("5 miles in km")
    assert answer["quick"] == {
        "kind": "conversion",
        "asked": "5 miles",
        "answer": "8.04672 km",
        "value": "8.04672",
        "note": "",
    }
    assert page.index("<strong>8.04672 km</strong>") < page.index('<ol class="results"')


async def test_the_clock_is_the_gateways() -> None:
    answer, _ = await ask("time in Tokyo")
    assert answer["quick"]["value"] == "2026-03-04T14:06+09:00"


async def test_a_definition_links_to_its_statement() -> None:
    answer, page = await ask("what is a rapid?")
    assert (answer["quick"]["kind"], answer["quick"]["url"]) == ("definition", RAPID["url"])
    assert "A rapid is a steep stretch of a &lt;b&gt;stream&lt;/b&gt;." in page
    assert 'href="https://rivers.example/rapid#:~:text=A%20rapid' in page


async def test_a_definition_that_is_the_answer_stands_on_the_page_once() -> None:
    first = statement("https://rivers.example/first", "A rapid is a steep stretch of a stream.", title="Rapid")
    other = statement("https://rivers.example/other", "The rapid is a steep part of a river.", title="Rapids")
    async with client(gateway(await searchable([first, other]), deadline_seconds=20.0)) as web:
        answer = (await web.get("/api/v1/search", params={"q": "what is a rapid?"})).json()
        page = (await web.get("/search", params={"q": "what is a rapid?"}, headers=HTML)).text
    assert answer["quick"]["answer"] in [each["text"] for each in answer["beside"]["answer"]["answers"]]
    assert page.count(f'<blockquote dir="auto">{answer["quick"]["answer"]}</blockquote>') == 1


async def test_an_ordinary_query_and_a_further_page_have_no_quick_check() -> None:
    assert "quick" not in (await ask("log"))[0]
    assert "quick" not in (await ask("5 miles in km", page=2))[0]


async def test_a_failing_check_harms_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(checks, "check_query", fail)
    answer, _ = await ask("log")
    assert answer["results"]
    assert not answer["partial"]


@pytest.mark.parametrize(
    ("query", "language", "shown"),
    [
        ("days until 24 December 2026", "de", ("Vom 4. März 2026 bis zum 24. Dezember 2026", "295 Tage")),
        ("2026-11-24 + 90 days", "fr", ("24 novembre 2026 + 90 jours", "lundi 22 février 2027")),
        ("what day is 2026-11-24", "ja", ("2026年11月24日", "火曜日")),
        ("time in Tokyo", "de", ("Zeit in Tokyo", "14:06, Mittwoch, 4. März 2026")),
        ("3pm London in New York", "ru", ("15:00 (London)", "10:00 (New York)", "среда, 4 марта 2026")),
        ("5 miles in km", "de", ("5 Meilen =", "<strong>8,04672 km</strong>")),
        ("5 miles in km", "ru", ("5 миль =", "<strong>8,04672 км</strong>")),
        ("72 F in C", "ja", ("72°F =", "<strong>≈ 22.222222°C</strong>")),
        ("-3.5 C in F", "fr", ("−3,5\u202f°C =", "<strong>25,7\u202f°F</strong>")),
        ("1 light year in m", "fr", ("1\xa0année-lumière =", "9\u202f460\u202f730\u202f472\u202f580\u202f800\u202fm")),
        ("3 cups to ml", "es", ("3 tazas =", "<strong>≈ 709,76471 ml</strong>", "Con tazas de EE. UU..")),
        ("2 gallons in cups", "de", ("Mit Gallonen (USA) und Tassen (USA).",)),
        ("1 gib in mb", "de", ("1 GiB =", "1.073,7418 Megabyte")),  # CLDR has no name of the first unit
        ("1234.5 * 2 + 1/4", "de", ("<strong>2.469,25</strong>",)),
        ("2^100", "de", ("<strong>≈ 1,26765060023 × 10^30</strong>",)),
        ("days until 24 December 2026", "en", ("From 4 March 2026 to 24 December 2026", "295 days")),
    ],
)
async def test_a_quick_answer_is_in_the_readers_language(query: str, language: str, shown: tuple[str, ...]) -> None:
    async with client(gateway(await searchable([]), deadline_seconds=20.0)) as web:
        page = await web.get("/search", params={"q": query}, headers={**HTML, "accept-language": language})
    for text in shown:
        assert text in page.text
