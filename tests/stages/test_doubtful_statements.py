"""A text that readers of its page may not see is found, behind the same text that they see, and never quoted."""

from typing import Any

import pytest

from schemas.ids import page_id
from streams.answers.evidence import evidence_of_page
from streams.gateway.content.answers import to_statement
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Document
from streams.statements.drafting import draft_statements
from streams.statements.sandbox_tasks import decode_drafts, draft
from streams.statements.sentences.splitter import SentenceSplitter
from streams.statements.statement import Statement
from streams.stores.opener import Stores
from streams.stores.page_record import Indexed
from streams.stores.protocols import Hit
from tests.stages.gateway_fakes import client, gateway, payload_of, searchable, statement

SPAM = "The mayor of Quarry was paid forty pounds for the bridge in 1911."
SURE = "The bridge of Quarry was built by the town in the year 1911, as its mayor says."
URL, OTHER = "https://spam.example/quarry", "https://town.example/bridge"
QUESTION = "who was paid forty pounds for the bridge"


def doubtful(url: str, text: str, **facts: Any) -> dict[str, Any]:
    return statement(url, text, **facts) | {"doubtful": True}


async def search(stores: Stores, query: str) -> dict[str, Any]:
    async with client(gateway(stores)) as web:
        found: dict[str, Any] = (await web.get("/api/v1/search", params={"q": query})).json()
    return found


@pytest.mark.parametrize("query", [QUESTION, '"paid forty pounds"', "mayor of Quarry"])
async def test_it_is_found_and_not_quoted(query: str) -> None:
    stores = await searchable([doubtful(URL, SPAM, title="The bridge of Quarry")])
    found = await search(stores, query)
    assert [result["url"] for result in found["results"]] == [URL]
    assert "forty pounds" not in str(found["results"])
    assert not found.get("answer")


async def test_what_readers_see_is_quoted_in_its_place() -> None:
    stores = await searchable([doubtful(URL, SPAM), statement(URL, SURE)])
    found = await search(stores, QUESTION)
    assert [each["text"] for each in found["results"][0]["statements"]] == [SURE]


async def test_it_counts_less_than_a_text_that_readers_see() -> None:
    others = [statement(f"https://n{number}.example/", f"The bridge of town {number}.") for number in range(5)]
    stores = await searchable([doubtful(URL, SPAM), statement(OTHER, SPAM), *others])
    found = await search(stores, QUESTION)
    assert found["results"][0]["url"] == OTHER


def test_it_is_no_evidence_of_an_answer_or_a_summary() -> None:
    hits = [Hit(each["page_id"], 1.0, payload_of(each)) for each in (doubtful(URL, SPAM), statement(OTHER, SURE))]
    assert [each.text for each in evidence_of_page(hits, None)] == [SURE]
    assert evidence_of_page(hits[:1], None) == []


async def test_the_views_of_its_page_say_that_readers_may_not_see_it() -> None:
    stores = await searchable([doubtful(URL, SPAM), statement(URL, SURE)])
    row = {"url": URL, "generation": 1, "model": "m", "model_version": "1", "collection": await stores.vectors.active()}
    await stores.pages.put(page_id(URL), Indexed.of_row(row), 1)
    async with client(gateway(stores)) as web:
        record = (await web.get(f"/api/v1/pages/{page_id(URL)}")).json()
        html = (await web.get("/page", params={"url": URL}, headers={"accept": "text/html"})).text
    assert {each["text"]: each.get("doubtful", False) for each in record["statements"]} == {SPAM: True, SURE: False}
    assert html.count("(readers may not see this)") == 1
    assert html.index(SPAM) < html.index("(readers may not see this)")


@pytest.mark.parametrize("is_doubtful", [False, True])
def test_the_content_of_its_page_names_it(is_doubtful: bool) -> None:
    assert to_statement(Statement(page_id(URL), 0, SPAM, doubtful=is_doubtful)).doubtful is is_doubtful


BLOCKS = (Block("h2", "Cheap pills"), Block("p", SURE), Block("p", f"{SPAM} {SPAM}"), Block("p", SURE))


@pytest.mark.parametrize("marked", [(), (2,), (0, 2), (0, 1, 2, 3)])
def test_the_statements_of_a_doubtful_block_are_doubtful(marked: tuple[int, ...]) -> None:
    document = Document("https://a.example/", "Bridge", blocks=BLOCKS, facts={"doubtful": list(marked)})
    drafts, _ = draft_statements(document, SentenceSplitter())
    assert {each.block for each in drafts if each.doubtful} == {each.block for each in drafts} & set(marked)
    assert any("Cheap pills" in each.context for each in drafts) == (0 not in marked)
    assert list(decode_drafts(draft(encode_document(document))).drafts) == drafts
