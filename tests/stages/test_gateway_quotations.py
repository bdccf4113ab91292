"""Limits of quotations: `nosnippet` and `max-snippet` hold wherever a text of a page is shown."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from uuid import UUID

import httpx2
import pytest

from schemas.ids import page_id
from streams.errors import StoreUnavailable
from streams.pages.document.codec import encode_document
from streams.pages.document.consent import UNREAD_RECORD
from streams.pages.document.model import Block, Document
from streams.settings import AnswersSettings
from streams.stores.opener import Stores
from streams.stores.page_record import Indexed, Normalized
from tests.model_server import model_server
from tests.stages.entities import import_entities
from tests.stages.gateway_fakes import client, gateway, searchable, statement
from tests.stages.test_gateway_tools import call, connected, served

OPEN = "https://open.test/quill"
OWN = "https://own.test/quill"
HEADING = "A heading of the Quill tower"
TEXT = "The Quill tower in Harbour Street was built by Ann Lee for the river pilots."
QUERY = "the Quill tower in Harbour Street"
QUESTION = "Who built the Quill tower?"


async def stores(directives: Sequence[str]) -> Stores:
    """Stores with a page that has these directives, and another page."""
    rows = [
        statement(OWN, TEXT, title="Quill", context=[HEADING]),
        statement(OPEN, "The Quill tower in Harbour Street is open in summer.", title="Open"),
    ]
    made = await searchable(rows)
    for url, given in ((OWN, directives), (OPEN, ())):
        document = Document(url, "Quill", language="en", blocks=(Block("h1", HEADING), Block("p", TEXT)))
        ref = await made.blobs.put(encode_document(document))
        shared = {"url": url, "generation": 1}
        normalized = {**shared, "directives": given, "document_ref": ref, "typed": {"answer": TEXT}}
        await made.pages.put(page_id(url), Normalized.of_row(normalized), 1)
        collection = await made.vectors.active()
        await made.pages.put(page_id(url), Indexed.of_row({**shared, "collection": collection}), 1)
    return made


async def _without(
    read: Callable[[Sequence[UUID]], Awaitable[dict[UUID, Normalized]]], left_out: UUID, page_ids: Sequence[UUID]
) -> dict[UUID, Normalized]:
    """Return the records of pages, but for one of them."""
    return {page: record for page, record in (await read(page_ids)).items() if page != left_out}


def without_open_page(text: str) -> str:
    """Return a text without the query, and without what the other page says with the same words."""
    return text.replace(QUERY, "").replace("The Quill tower in Harbour Street is open", "")


def quoted(text: str) -> int:
    """Return how many characters of the page's texts are in a text, without markup."""
    plain = text.replace("<mark>", "").replace("</mark>", "")
    return max(
        (end - start for whole in (TEXT, HEADING) for start in range(len(whole)) for end in range(start, len(whole) + 1)
         if whole[start:end] in plain),
        default=0,
    )  # fmt: skip


async def get(web: httpx2.AsyncClient, path: str, **parameters: str) -> str:
    response = await web.get(path, params=parameters, headers={"accept": "text/html, */*"})
    assert response.status_code == 200, response.text
    return response.text


@pytest.mark.parametrize(("directive", "most"), [("nosnippet", 20), ("max-snippet:40", 40)])
async def test_a_limit_of_quotations_holds_in_results_pages_feeds_and_programs(directive: str, most: int) -> None:
    async with client(gateway(await stores([directive, "noarchive"]))) as web:
        found = (await web.get("/api/v1/search", params={"q": QUERY})).json()
        [own] = [each for each in found["results"] if each["url"] == OWN]
        shown = {
            "a result": str({**own, "title": ""}),
            "the page of results": (await get(web, "/search", q=QUERY))
            .partition(">Quill</a>")[2]
            .partition("</li>")[0],
            "a feed": without_open_page(await get(web, "/api/v1/feed", q=QUERY)),
            "the page of the page": await get(web, "/page", url=OWN),
            "a similar page": str((await web.get("/api/v1/similar", params={"page": OPEN})).json()),
        }
    assert {name: quoted(text) for name, text in shown.items() if quoted(text) > most} == {}
    [open_one] = [each for each in found["results"] if each["url"] == OPEN]
    assert open_one["statements"][0]["text"] == "The Quill tower in Harbour Street is open in summer."


async def test_a_short_quotation_is_the_beginning_of_the_statement() -> None:
    async with client(gateway(await stores(["max-snippet:40"]))) as web:
        found = (await web.get("/api/v1/search", params={"q": QUERY})).json()
    [first] = [each["statements"][0] for each in found["results"] if each["url"] == OWN]
    assert first["text"] == "The Quill tower in Harbour Street was…"
    assert all(end <= len(first["text"]) for _, end in first["highlights"])
    assert first["context"] == []


@pytest.mark.parametrize("directive", ["nosnippet", "max-snippet:40"])
async def test_a_panel_mentions_no_statement_that_may_not_be_quoted(directive: str) -> None:
    text = "Douglas Adams wrote for the radio, and later he wrote books."
    made = await import_entities(await searchable([statement(OWN, text)]))
    record = {"url": OWN, "generation": 1, "directives": (directive,)}
    await made.pages.put(page_id(OWN), Normalized.of_row(record), 1)
    async with client(gateway(made)) as web:
        panel = (await web.get("/api/v1/entities/Q42")).json()
    assert (panel["label"], panel.get("mentions", [])) == ("Douglas Adams", [])


async def test_a_model_gets_no_context_of_a_page_with_a_limit() -> None:
    async with model_server("quote") as server:
        made = gateway(await stores([f"max-snippet:{len(TEXT)}"]), answers=AnswersSettings(url=server.url))
        async with client(made) as web:
            assert TEXT in await get(web, "/api/v1/answer", q=QUESTION)
    assert TEXT in server.seen
    assert server.seen.count(HEADING) == 0


@pytest.mark.parametrize(("directive", "most"), [("noai", 20), ("ai-input=no", 20), ("max-snippet:40", 40)])
async def test_the_tools_give_a_language_model_no_more_than_the_publisher_allows(directive: str, most: int) -> None:
    async with served(await stores([directive])) as address, connected(address) as tools:
        found = await call(tools, "search", query=QUERY)
        shown = {
            "search": found,
            "similar": await call(tools, "similar", page=OPEN),
            "answer": await call(tools, "answer", question=QUESTION),
            "page": await call(tools, "page", page=OWN),
            "extract": await call(tools, "extract", url=OWN),
        }
    texts = {name: without_open_page(str({**each, "question": "", "query": ""}))
             for name, each in shown.items()}  # fmt: skip
    assert {name: quoted(text) for name, text in texts.items() if quoted(text) > most} == {}
    assert shown["page"]["kept_from_models"] == shown["extract"]["kept_from_models"] == [directive]
    [open_one] = [each for each in found["results"] if each["url"] == OPEN]
    assert open_one["statements"]
    assert open_one["kept_from_models"] == []


@pytest.mark.parametrize("way", ["the store fails", "there is no record"])
async def test_the_tools_give_no_text_of_a_page_whose_record_is_not_read(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what its publisher allows."""
    made = await stores([])

    async def read(page_ids: Sequence[UUID]) -> dict[UUID, Normalized]:
        if way == "the store fails":
            raise StoreUnavailable("the records do not answer")
        return {}

    monkeypatch.setattr(made.pages, "get_normalized", read)
    async with served(made) as address, connected(address) as tools:
        found = await call(tools, "search", query=QUERY)
        answer = await call(tools, "answer", question=QUESTION)
        similar = await tools.call_tool("similar", {"page": OPEN})
    assert {tuple(each["kept_from_models"]) for each in [*found["results"], *answer["sources"]]} == {(UNREAD_RECORD,)}
    assert quoted(without_open_page(str({**found, "query": ""}))) <= 20
    assert quoted(without_open_page(str({**answer, "question": ""}))) <= 20
    assert quoted(str(similar.content)) <= 20
    assert similar.is_error == (way == "the store fails")
    # An assistant that is told so asks again: nobody knows yet that there is no answer.
    assert (found["partial"], answer["partial"]) == (True, True)


async def test_about_a_result_tells_an_unread_record_from_a_publisher_who_forbids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = await stores([])
    await made.pages.put(page_id(OWN), Normalized.of_row({"url": OWN, "generation": 2, "directives": ("noai",)}), 2)
    monkeypatch.setattr(made.pages, "get_normalized", partial(_without, made.pages.get_normalized, page_id(OPEN)))
    async with client(gateway(made)) as web:
        shown = await get(web, "/search", q=QUERY)
    assert shown.count("its publisher does not allow it: <code>noai</code>") == 1
    assert shown.count("what its publisher allows could not be read") == 1
