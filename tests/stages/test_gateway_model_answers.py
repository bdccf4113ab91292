"""Answers by a model, through the whole gateway and a server that speaks its protocol: on the pages and in the API."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from schemas.ids import page_id
from streams.answers import statement_source
from streams.answers.choosing import FoundAnswer
from streams.answers.statement_source import StatementAnswers
from streams.errors import StoreUnavailable
from streams.gateway.http.templates import Views
from streams.gateway.search import html as search_html
from streams.search.deadline import Deadline
from streams.search.options import SearchOptions
from streams.search.request import parse
from streams.search.searcher import Found, Searcher
from streams.seen.stores import SeenStores
from streams.settings import AnswersSettings
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized
from streams.stores.protocols import FOR_EVERYBODY
from tests.e2e.demo import served
from tests.model_server import ModelServer, Way, model_server
from tests.stages.gateway_fakes import client, gateway, searchable, statement

HTML = {"accept": "text/html"}
QUESTION = "How high is the Quill tower?"
TOWER = "https://quill.test/tower"
GUIDE = "https://guide.test/quill"
CLOSED = "https://closed.test/quill"
STATEMENTS = [
    statement(TOWER, "The Quill tower is 120 metres high.", title="The Quill tower"),
    statement(TOWER, "It was finished in 1931.", title="The Quill tower"),
    statement(GUIDE, "Visitors climb the Quill tower by 640 steps.", title="A guide to Quill"),
    statement(CLOSED, "Ships see the Quill tower from the river.", title="Closed"),
]


async def stores(directives: Mapping[str, tuple[str, ...]] | None = None) -> Stores:
    made = await searchable(STATEMENTS)
    for url in (TOWER, GUIDE, CLOSED):
        given = (directives or {}).get(url, ())
        row = {"url": url, "generation": 1, "directives": given}
        await made.pages.put(page_id(url), Normalized.of_row(row), 1)
    return made


async def app(
    server: ModelServer | None, made: Stores | None = None, min_confidence: float | None = None, **limits: Any
) -> FastAPI:
    own = AnswersSettings(url=server.url, **limits) if server else AnswersSettings()
    return gateway(made or await stores(), answers=own, limits={"min_confidence": min_confidence})


async def events(made: FastAPI, path: str = "/api/v1/answer", **parameters: Any) -> list[tuple[str, dict[str, Any]]]:
    async with client(made) as web:
        response = await web.get(path, params={"q": QUESTION, **parameters})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in response.text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


async def page(made: FastAPI, path: str = "/search", **parameters: Any) -> httpx2.Response:
    async with client(made) as web:
        return await web.get(path, params={"q": QUESTION, **parameters}, headers=HTML)


@pytest.fixture
async def quoting() -> AsyncIterator[ModelServer]:
    async with model_server("quote") as server:
        yield server


async def test_each_request_has_the_key_that_the_file_has_then(quoting: ModelServer, tmp_path: Path) -> None:
    file = tmp_path / "chat.key"
    made = await app(quoting, key_file=file)
    assert (await events(made))[-1][1]["status"] == "unavailable", "without a file nobody is asked"
    assert quoting.keys == []
    for key in ("first", "second"):
        file.write_text(key)
        assert (await events(made, q=f"{QUESTION} {key}"))[-1][1]["status"] == "answered"
        assert set(quoting.keys) == {key}
        quoting.keys.clear()
    assert (await events(await app(quoting)))[-1][1]["status"] == "answered"
    assert set(quoting.keys) == {""}


async def test_each_sentence_has_the_statement_that_says_it(quoting: ModelServer) -> None:
    *sentences, (last, end) = await events(await app(quoting))
    assert sentences[0][1]["text"] == "The Quill tower is 120 metres high."
    assert sentences[0][1]["statement"]["url"] == TOWER
    assert sentences[0][1]["statement"]["link"].startswith(f"{TOWER}#:~:text=The%20Quill")
    assert (last, end["status"], end["reason"]) == ("end", "answered", "")


async def test_the_page_has_its_results_first_and_then_the_answer(quoting: ModelServer) -> None:
    shown = (await page(await app(quoting))).text
    assert shown.index('<ol class="results"') < shown.index('id="model-answer"') < shown.index("</main>")
    assert '<a class="cite" href="https://quill.test/tower#:~:text=' in shown
    assert shown.count("</html>") == shown.count("</main>") == 1
    assert 'name="then"' in shown


async def test_the_models_own_words_are_marked_from_the_start(quoting: ModelServer) -> None:
    chosen, written = [(await page(await app(quoting, prose_tokens=tokens))).text for tokens in (0, 200)]
    for shown, own in ((chosen, False), (written, True)):
        assert "The Quill tower is 120 metres high." in shown.partition('id="model-answer"')[2]
        assert ("written by a language model about the results" in shown) is own
        assert ("These are the model's words." in shown) is own
        assert ("chosen by a language model" in shown) is not own


async def test_without_a_model_nothing_is_written_or_asked() -> None:
    made = await app(None)
    shown = await page(made)
    assert 'id="model-answer"' not in shown.text
    asked = await page(made, "/ask")
    assert (asked.status_code, "No language model is configured" in asked.text) == (404, True)
    async with client(made) as web:
        assert (await web.get("/api/v1/answer", params={"q": QUESTION})).json()["title"].startswith("No language model")


async def test_people_can_read_that_questions_go_to_a_model(quoting: ModelServer) -> None:
    assert "sent, without your address, to a language model" in (await page(await app(quoting), "/privacy")).text
    assert "your address, to a language model" not in (await page(await app(None), "/privacy")).text


async def test_a_query_that_asks_nothing_asks_no_model(quoting: ModelServer) -> None:
    shown = (await page(await app(quoting), q="quill tower")).text
    assert 'id="model-answer"' not in shown
    assert quoting.requests == []


async def test_a_model_is_not_asked_about_results_that_are_only_the_nearest(quoting: ModelServer) -> None:
    asked = "How high is the Quill towre?"  # one of its words is in no statement
    confident, unsure = [await app(quoting, min_confidence=bound) for bound in (0.0, 2.0)]
    assert (await events(confident, q=asked))[0][0] == "sentence"
    before = len(quoting.requests)

    assert [(name, data["status"]) for name, data in await events(unsure, q=asked)] == [("end", "nothing")]
    assert await related_to(unsure, asked) == []
    shown = (await page(unsure, q=asked)).text
    assert "Nearest by meaning" in shown
    assert 'id="model-answer"' not in shown
    assert len(quoting.requests) == before


async def test_nor_is_one_of_their_statements_the_answer() -> None:
    made = await stores()
    searcher = Searcher(SeenStores(made), SearchOptions(), on_failure=lambda *_: None)
    found = await searcher.find(parse(QUESTION, visible=FOR_EVERYBODY), Deadline(20.0))
    nearest = replace(found, notes=replace(found.notes, nearest_only=True))
    source = StatementAnswers(SeenStores(made))
    assert await source.find_among(found, Deadline(20.0)) is not None
    assert await source.find_among(nearest, Deadline(20.0)) is None


@pytest.mark.parametrize("chars", [0, statement_source.MAX_CHARS_AT_ONCE], ids=["in a thread", "at once"])
async def test_an_answer_that_is_there_in_time_stands_above_the_results(
    chars: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements are judged on the event loop unless they are long."""
    monkeypatch.setattr(statement_source, "MAX_CHARS_AT_ONCE", chars)
    monkeypatch.setattr(search_html, "BESIDE_SECONDS", 20.0)
    made = await stores()
    page = await page_with(made, StatementAnswers(SeenStores(made)))
    assert page.index('class="found answer"') < page.index('<ol class="results"')
    assert 'class="place answer"' not in page


@pytest.mark.parametrize("has_answer", [True, False])
async def test_results_do_not_wait_for_a_late_answer_whose_place_is_kept_free(
    has_answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, render = asyncio.Event(), Views.render

    def rendered(self: Views, name: str, *given: Any, **values: Any) -> str:
        if name == "search_results.html":
            written.set()
        return render(self, name, *given, **values)

    class Late(StatementAnswers):
        async def find_among(self, found: Found, deadline: Deadline) -> FoundAnswer | None:
            await written.wait()
            return await super().find_among(found, deadline) if has_answer else None

    monkeypatch.setattr(Views, "render", rendered)
    made = await stores()
    page = await page_with(made, Late(SeenStores(made)))
    late = 'class="found answer"' if has_answer else "No result answers this in a sentence."
    assert page.index('class="place answer"') < page.index('<ol class="results"') < page.index(late)


async def page_with(made: Stores, source: StatementAnswers) -> str:
    async with client(gateway(made, sources=[source], deadline_seconds=20.0)) as web:
        return (await web.get("/search", params={"q": QUESTION}, headers=HTML)).text


async def related_to(made: FastAPI, question: str) -> list[str]:
    async with client(made) as web:
        related: list[str] = (await web.get("/api/v1/related", params={"q": question})).json()["related"]
    return related


FAILURES: list[tuple[Way, str]] = [
    ("empty", "unknown"),
    ("nonsense", "unavailable"),
    ("error", "unavailable"),
    ("redirect", "unavailable"),
    ("silent", "late"),
]


@pytest.mark.parametrize(("way", "status"), FAILURES)
async def test_a_failing_model_leaves_the_quoted_answer_and_harms_no_result(way: Way, status: str) -> None:
    async with model_server(way) as server:
        made = await app(server, deadline_seconds=0.5 if way == "silent" else 20.0)
        found = await events(made)
        shown = (await page(made)).text
    assert [name for name, _ in found] == ["end"]
    assert found[0][1]["status"] == status
    assert found[0][1]["reason"]
    assert found[0][1]["quoted"]["answers"][0]["text"] == "The Quill tower is 120 metres high."
    assert '<ol class="results"' in shown
    assert "No answer." in shown


@pytest.mark.parametrize("way", ["cut", "huge", "whole"])
async def test_what_came_before_a_cut_is_shown(way: Way) -> None:
    async with model_server(way, piece_chars=400) as server:
        found = await events(await app(server, deadline_seconds=5.0))
    assert found[0][1]["text"] == "The Quill tower is 120 metres high."
    assert found[-1][0] == "end"


async def test_pages_whose_publishers_forbid_it_never_reach_the_model(quoting: ModelServer) -> None:
    refusals = {TOWER: ("noai",), CLOSED: ("ai-input=no",), GUIDE: ("max-snippet:20",)}
    found = await events(await app(quoting, await stores(refusals)))
    assert found == [("end", found[0][1])]
    assert (found[0][1]["status"], found[0][1]["withheld_pages"]) == ("nothing", 3)
    assert quoting.requests == []


async def test_a_page_without_a_record_never_reaches_the_model(quoting: ModelServer) -> None:
    found = await events(await app(quoting, await searchable(STATEMENTS)))
    assert (found[0][1]["status"], found[0][1]["partial"]) == ("nothing", True)
    assert quoting.requests == []


@pytest.mark.parametrize(
    ("path", "given"), [("/api/v1/answer", {}), ("/api/v1/rank", {"by": "tower"}), ("/api/v1/related", {})]
)
async def test_an_answer_by_a_part_of_the_search_says_so(
    quoting: ModelServer, monkeypatch: pytest.MonkeyPatch, path: str, given: dict[str, str]
) -> None:
    async def fail(*arguments: object, **named: object) -> None:
        raise StoreUnavailable("the model is slow")

    made = await stores()
    whole = await app(quoting, made)
    async with client(whole) as web:
        assert '"partial":false' in (await web.get(path, params={"q": QUESTION, **given})).text
    monkeypatch.setattr(made.embedder, "embed", fail)
    part = await app(quoting, made)
    async with client(part) as web:
        assert '"partial":true' in (await web.get(path, params={"q": QUESTION, **given})).text


async def test_the_reason_stands_with_the_result(quoting: ModelServer) -> None:
    made = await app(quoting, await stores({CLOSED: ("noai", "nofollow")}))
    async with client(made) as web:
        answer = (await web.get("/api/v1/search", params={"q": QUESTION})).json()
    kept = {each["url"]: each.get("kept_from_models", []) for each in answer["results"]}
    assert kept == {TOWER: [], GUIDE: [], CLOSED: ["noai"]}
    assert "its publisher does not allow it: <code>noai</code>" in (await page(made)).text


async def test_a_conversation_searches_with_the_first_question(quoting: ModelServer) -> None:
    shown = (await page(await app(quoting), "/ask", then=["When was it finished?"])).text
    assert "It was finished in 1931." in shown
    assert "When was it finished?" in shown
    assert f"/ask?q={QUESTION.replace(' ', '+').replace('?', '%3F')}" in shown
    assert "System" not in shown


async def test_a_summary_has_the_statements_of_one_page(quoting: ModelServer) -> None:
    *sentences, end = await events(await app(quoting), "/api/v1/summary", page=str(page_id(TOWER)))
    assert {each["statement"]["url"] for _, each in sentences} == {TOWER}
    assert end[1]["status"] == "answered"
    async with client(await app(quoting)) as web:
        missing = await web.get("/api/v1/summary", params={"page": str(page_id("https://no.test/"))})
    assert missing.status_code == 404


async def test_the_menu_of_a_result_has_the_way_to_its_summary(quoting: ModelServer) -> None:
    shown = (await page(await app(quoting, await stores({CLOSED: ("noai",)})), q="quill tower")).text
    assert f"/summary?page={page_id(TOWER)}&amp;q=quill+tower" in shown
    assert f"/summary?page={page_id(CLOSED)}" not in shown
    assert "/summary?" not in (await page(await app(None), q="quill tower")).text


async def test_related_questions_are_of_the_page(quoting: ModelServer) -> None:
    async with client(await app(quoting, await stores_with_headings())) as web:
        found = (await web.get("/api/v1/related", params={"q": QUESTION})).json()
    assert found["related"] == ["Opening times", "How was the Quill tower built?"], "in the order of the model"
    assert (found["status"], found["reason"]) == ("answered", "")


async def stores_with_headings() -> Stores:
    headings = ("How was the Quill tower built?", "Opening times")
    rows = [statement(TOWER, STATEMENTS[0]["text"], title="The Quill tower", context=headings)]
    made = await searchable(rows)
    await made.pages.put(page_id(TOWER), Normalized.of_row({"url": TOWER, "generation": 1}), 1)
    return made


RELATED_FAILURES: list[tuple[Way, str, str]] = [
    ("empty", "unknown", "found no answer"),
    ("error", "unavailable", "does not answer"),
    ("silent", "late", "took too long"),
]


@pytest.mark.parametrize(("way", "status", "reason"), RELATED_FAILURES)
async def test_without_related_questions_there_is_a_reason(way: Way, status: str, reason: str) -> None:
    async with model_server(way) as server:
        made = await app(server, await stores_with_headings(), deadline_seconds=0.5 if way == "silent" else 20.0)
        async with client(made) as web:
            found = (await web.get("/api/v1/related", params={"q": QUESTION})).json()
    assert (found["related"], found["status"]) == ([], status)
    assert reason in found["reason"]


async def test_related_questions_say_that_a_budget_is_used_up(quoting: ModelServer) -> None:
    async with client(await app(quoting, await stores_with_headings(), per_person=1)) as web:
        answers = [(await web.get("/api/v1/related", params={"q": QUESTION})).json() for _ in range(2)]
    assert [each["status"] for each in answers] == ["answered", "limited"]
    assert "one person" in answers[1]["reason"]


async def test_the_same_question_is_asked_once(quoting: ModelServer) -> None:
    made = await app(quoting)
    first, again = await events(made), await events(made)
    assert first[:-1] == again[:-1]
    assert (first[-1][1]["cached"], again[-1][1]["cached"]) == (False, True)
    assert len(quoting.requests) == 3  # one for each page


async def test_a_person_gets_no_more_than_the_budget(quoting: ModelServer) -> None:
    made = await app(quoting, per_person=1)
    assert (await events(made))[-1][1]["status"] == "answered"
    limited = (await events(made))[-1][1]
    assert limited["status"] == "limited"
    assert "one person" in limited["reason"]
    assert '<ol class="results"' in (await page(made)).text
    counted = "under a hash of the address"
    assert counted in (await page(made, "/privacy")).text
    assert counted not in (await page(await app(quoting, per_person=0), "/privacy")).text


async def rank(made: FastAPI, by: str) -> tuple[dict[str, float | None], dict[str, Any]]:
    """The judgements of the results in their order, and the end of the stream."""
    *pages, (last, end) = await events(made, "/api/v1/rank", q="Quill tower", by=by)
    assert last == "end"
    return {row["url"]: row["judgement"] for _, row in pages}, end


async def test_a_slider_folds_results_that_are_judged_below_it(quoting: ModelServer) -> None:
    made = await app(quoting)
    judged, end = await rank(made, "for visitors")
    assert judged == {url: (1.0 if url == GUIDE else 0.0) for url in judged}
    assert (end["status"], end["judged"], len(judged)) == ("answered", 3, 3)
    shown = (await page(made, "/rank", q="Quill tower", by="for visitors")).text
    kept, _, folded = shown.partition('<details class="below">')
    assert "Visitors climb the Quill tower" in kept
    assert '<a href="https://guide.test/quill#:~:text=Visitors' in kept
    assert "The Quill tower is 120 metres high." not in kept
    assert "<summary>2 results are below 0.5</summary>" in folded
    assert "The Quill tower is 120 metres high." in folded
    assert shown.count("</html>") == shown.count("</main>") == 1
    everything = (await page(made, "/rank", q="Quill tower", by="for visitors", least=0)).text
    assert '<details class="below">' not in everything


async def test_results_keep_their_order(quoting: ModelServer) -> None:
    made = await app(quoting)
    async with client(made) as web:
        found = (await web.get("/api/v1/search", params={"q": "Quill tower"})).json()
    assert list((await rank(made, "for visitors"))[0]) == [each["url"] for each in found["results"]]


async def test_each_page_is_judged_by_itself_and_once(quoting: ModelServer) -> None:
    made = await app(quoting)
    await rank(made, "for visitors")
    asked = len(quoting.requests)
    assert asked == 3, "one request for each page"
    await page(made, "/rank", q="Quill tower", by="for visitors", least=0.9)
    assert len(quoting.requests) == asked, "the judgements are in the cache: a slider that is moved asks no model"


async def test_the_first_judgement_is_on_the_page_within_a_second_of_the_models_first_token() -> None:
    """The model writes a token in a tenth of a second, and never ends its answer about the last result."""
    async with model_server("quote", piece_chars=3, pause_seconds=0.1, held="Ships see the Quill tower") as server:
        made = await app(server)
        async with served(made) as address, httpx2.AsyncClient(timeout=30) as web:
            asked = {"q": "Quill tower", "by": "for visitors"}
            request = web.stream("GET", f"{address}/rank", params=asked, headers={**HTML, "host": "riffle.test"})
            async with asyncio.timeout(30), request as response:
                text = ""
                async for part in response.aiter_text():
                    text += part
                    if "<meter" in text:
                        break
        seconds = time.monotonic() - server.first_at
    assert "not judged" not in text
    assert "</html>" not in text, "the model has not ended"
    assert seconds < 1


async def test_a_page_that_its_publisher_keeps_from_models_is_not_judged_and_stays(quoting: ModelServer) -> None:
    made = await app(quoting, await stores({GUIDE: ("noai",)}))
    judged, _ = await rank(made, "for visitors")
    assert judged[GUIDE] is None
    assert "Visitors" not in quoting.seen
    kept = (await page(made, "/rank", q="Quill tower", by="for visitors")).text.partition("<details class=")[0]
    assert "A guide to Quill" in kept
    assert "not judged" in kept


@pytest.mark.parametrize("way", ["error", "nonsense"])
async def test_a_model_that_fails_leaves_all_results(way: Way) -> None:
    async with model_server(way) as server:
        judged, end = await rank(await app(server), "for visitors")
    assert set(judged.values()) == {None}
    assert (len(judged), end["status"], end["judged"]) == (3, "unavailable", 0)


async def test_a_criterion_has_a_deadline_and_a_budget(quoting: ModelServer) -> None:
    async with model_server("silent") as server:
        _, end = await rank(await app(server, deadline_seconds=0.2), "for visitors")
    assert end["status"] == "late"
    made = await app(quoting, per_person=1)
    await rank(made, "for visitors")
    judged, end = await rank(made, "for experts")
    assert (end["status"], len(judged)) == ("limited", 3)


async def test_without_a_model_there_is_no_criterion() -> None:
    made = await app(None)
    assert (await page(made, "/rank", q="Quill", by="old")).status_code == 404
    assert 'action="/rank"' not in (await page(made)).text
    async with client(made) as web:
        assert (await web.get("/api/v1/rank", params={"q": "Quill", "by": "old"})).status_code == 404
