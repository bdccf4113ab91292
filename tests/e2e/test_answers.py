"""Answers in a browser: a quotation and a streamed answer above the results, and what is said without one."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote_plus

import pytest

from tests.e2e.answers_site import QUESTION, TABLE_QUESTION, UNKNOWN, answers_app
from tests.e2e.axe import violations
from tests.e2e.browser import Tab
from tests.e2e.demo import served
from tests.model_server import ModelServer, model_server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
async def asking() -> AsyncIterator[str]:
    """The address of a gateway with the model server of the tests."""
    async with model_server("quote", piece_chars=40) as server:
        app = await answers_app(server)
        async with served(app) as address:
            yield address
        await app.state.gateway.close()


@pytest.fixture(scope="module")
async def plain() -> AsyncIterator[str]:
    """The address of a gateway without a model."""
    app = await answers_app(None)
    async with served(app) as address:
        yield address
    await app.state.gateway.close()


async def text(tab: Tab, selector: str) -> str:
    found: str = await tab.evaluate(f"document.querySelector({selector!r})?.innerText ?? ''")
    return found


async def test_pages_that_disagree_stand_side_by_side_above_the_results(tab: Tab, plain: str) -> None:
    await tab.look()
    await tab.open(f"{plain}/search?q={quote_plus(QUESTION)}")
    shown = await text(tab, ".found.answer")
    assert "120 metres" in shown
    assert "118 metres" in shown
    assert "14 March 2025" in shown
    top = "document.querySelector({!r}).getBoundingClientRect().top"
    assert await tab.evaluate(f"{top.format('.found.answer')} < {top.format('.results')}")
    assert await tab.evaluate("document.querySelector('.model-answer') === null")
    assert await violations(tab) == []


async def test_a_table_stands_as_in_its_page(tab: Tab, plain: str) -> None:
    await tab.open(f"{plain}/search?q={quote_plus(TABLE_QUESTION)}")
    assert "weekends" in await text(tab, ".found.answer tr.here")
    assert "190" in await text(tab, ".found.answer table")


async def test_an_answer_by_a_model_has_its_sources_and_goes_on(tab: Tab, asking: str) -> None:
    await tab.open(f"{asking}/search?q={quote_plus(QUESTION)}")
    assert "The Quill tower is 120 metres high." in await text(tab, ".model-answer .said")
    link = await tab.evaluate("document.querySelector('.model-answer .cite').href")
    assert link.startswith("https://quill.example/tower#:~:text=")
    assert await violations(tab) == []
    await tab.open(f"{asking}/ask?q={quote_plus(QUESTION)}&then={quote_plus('When was it finished?')}")
    assert "1931" in await text(tab, ".model-answer .said")
    assert QUESTION in await text(tab, ".turns")
    assert await violations(tab) == []


@pytest.mark.parametrize("width", [390, 1280])
async def test_an_answer_that_a_model_writes_late_moves_nothing(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    seen, write = asyncio.Event(), ModelServer._write

    async def late(server: ModelServer, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await seen.wait()
        await write(server, request, writer)

    monkeypatch.setattr(ModelServer, "_write", late)
    top = "document.querySelector('.results').getBoundingClientRect().top"
    await tab.look(width=width, height=900)
    async with model_server("quote") as server:
        app = await answers_app(server)
        async with served(app) as site:
            await tab.command("Page.navigate", url=f"{site}/search?q={quote_plus(QUESTION)}")
            await tab.until("location.pathname === '/search' && document.querySelector('.results > li') !== null")
            before = await tab.evaluate(top)
            await tab.until("document.querySelector('.model-answer .writing') !== null")
            assert await tab.evaluate("document.querySelector('.model-answer .said').innerText.trim()") == ""
            places = [before, await tab.evaluate(top)]
            seen.set()
            await tab.until("document.querySelector('.model-answer .note') !== null")
            assert [*places, await tab.evaluate(top)] == [before] * 3
            box = "document.querySelector('.model-answer').getBoundingClientRect().bottom"
            assert await tab.evaluate(f"{box} <= {top}"), "it is above the results"
        await app.state.gateway.close()


async def test_results_are_filtered_by_a_criterion_with_the_statements_that_show_it(tab: Tab, asking: str) -> None:
    await tab.open(f"{asking}/search?q=quill+tower")
    await tab.evaluate("document.querySelector('.filters details').open = true")
    await tab.evaluate("document.querySelector('#by').value = 'what visitors climb'")
    await tab.follow("document.querySelector('form[action=\"/rank\"]').submit()")
    assert await tab.evaluate("location.pathname") == "/rank"
    assert "A guide to Quill" in await text(tab, ".ranked > li:first-child h2")
    assert "Visitors climb" in await text(tab, ".ranked .met")
    assert "below 0.5" in await text(tab, ".below summary")
    assert await violations(tab) == []


async def test_riffle_says_that_it_does_not_know(tab: Tab) -> None:
    async with model_server("empty") as server:
        app = await answers_app(server)
        async with served(app) as address:
            await tab.open(f"{address}/search?q={quote_plus(UNKNOWN)}")
            assert "found no answer" in await text(tab, ".model-answer")
        await app.state.gateway.close()


async def test_without_a_model_its_pages_say_so(tab: Tab, plain: str) -> None:
    await tab.open(f"{plain}/ask?q={quote_plus(QUESTION)}")
    assert "No language model is configured" in await text(tab, "h1")
