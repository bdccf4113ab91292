"""The states of the pages that people see: the pictures of the guide, axe and the tests of the layout read this table.

Three gateways serve one small web: without a model, with a model that has answered, and with one that is answering.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Literal
from unittest.mock import patch
from urllib.parse import quote_plus

from fastapi import FastAPI

from streams.gateway.search import html, spelling
from streams.queries.suggestions.index import Suggestion
from streams.settings import AnswersSettings
from streams.stores.opener import Stores
from tests.e2e.answers_site import QUESTION, add_answers, answer_rows
from tests.e2e.browser import Tab
from tests.e2e.demo import demo_stores, served
from tests.e2e.foreign_page import SITE
from tests.model_server import model_server
from tests.stages.entities import import_entities
from tests.stages.gateway_fakes import gateway

Web = Literal["plain", "answered", "answering"]
SUGGESTED = [("write-ahead log", 9.0), ("write-ahead logging", 8.0), ("write lock", 7.0), ("wraparound", 1.0)]
IS_WRITTEN = "document.querySelector('.model-answer .said span') !== null"
_HELD_SECONDS = 3_600.0
_PATIENT_SECONDS = 20.0
"""Time that a page waits for what stands above its results, so that a busy machine shows the same state (seconds)."""


async def _type(tab: Tab) -> None:
    await tab.type("write")
    await tab.until("document.querySelector('#suggestions')?.hidden === false")
    await tab.press("ArrowDown")


async def _open_filters(tab: Tab) -> None:
    await tab.evaluate("document.querySelector('.filters li:has(form) details').open = true")


async def _open_menu(tab: Tab) -> None:
    await tab.evaluate("document.querySelector('.about').open = true")


async def _hide_site(tab: Tab) -> None:
    await _open_menu(tab)
    await tab.click(".result .actions button[value=hidden]")


async def _look_at_model(tab: Tab) -> None:
    await tab.evaluate("document.querySelector('.model-answer').scrollIntoView({block: 'end'})")


@dataclass(frozen=True, slots=True)
class State:
    """One page in one state."""

    name: str
    path: str
    web: Web = "plain"
    prepare: Callable[[Tab], Awaitable[None]] | None = None
    """Do on the page what a person does."""
    language: str = ""
    """The language that the reader's browser asks for."""
    has_script: bool = False
    """True if the state needs the script of the search box."""
    has_menu: bool = False
    """True if something lies over the page, which hides what is below it."""
    shows: str = ""
    """A selector of what makes the state: it is on the page, and can be seen."""


def _search(query: str, rest: str = "") -> str:
    return f"/search?q={quote_plus(query)}{rest}"


STATES = {
    state.name: state
    for state in (
        State(
            "suggestions", "/", prepare=_type, has_script=True, has_menu=True, shows="#suggestions [aria-selected=true]"
        ),
        State("results", _search("write-ahead log"), shows=".result .more"),
        State("second-page", _search("sqlite database file", "&page=2"), shows=".paging [rel=prev]"),
        State("code", _search("savepoint insert listing"), shows=".result pre"),
        State("answer", _search(QUESTION), shows=".found.answer h2"),
        State("quick", _search("5 miles in km"), shows=".quick .value"),
        State("writing", _search(QUESTION), web="answering", prepare=_look_at_model, shows=".model-answer .writing"),
        State("written", _search(QUESTION), web="answered", prepare=_look_at_model, shows=".model-answer .note"),
        State("filters", _search("write-ahead log"), prepare=_open_filters, has_menu=True, shows=".filters form"),
        State(
            "menu", _search("write-ahead log", "&host=sqlite.org"), prepare=_open_menu, has_menu=True, shows=".signals"
        ),
        State("hidden-site", _search("log in a database"), prepare=_hide_site, shows=".once button"),
        State("correction", _search("savepoint insert databse"), shows=".spelling a"),
        State("absent", _search("savepoint insert zyzzyva9000"), shows=".missing"),
        State("nothing", _search("log harbour cranes lisbon ferries"), shows=".message h2 ~ p"),
        State("error", f"/search?q={'x' * 2_001}", shows="main h1"),
        State("panel", _search("douglas adams"), shows=".panel h2"),
        State("right-to-left", _search("الكتابة في السجل"), shows="article[dir=rtl]"),
        State("german", _search("Protokoll einer Messung"), language="de", shows="[lang=de] .statement"),
        State("own-site", f"/sites/{SITE.name}?q=write-ahead+log", shows=".own .results"),
        State("preferences", "/preferences", shows="#hidden"),
        State("help", "/help", shows="#operators"),
        State("why", "/page?url=sqlite.org/wal.html", shows=".timeline"),
    )
}


@dataclass(frozen=True, slots=True)
class Webs:
    """The addresses of the three gateways."""

    addresses: dict[Web, str]

    async def show(self, tab: Tab, state: State) -> None:
        """Open the page of a state, as a reader without cookies who does what the state needs."""
        await tab.command("Network.enable")
        await tab.command("Network.clearBrowserCookies")
        headers = {"Accept-Language": state.language or "en"}
        await tab.command("Network.setExtraHTTPHeaders", headers=headers)
        await tab.run_scripts(on=state.has_script)
        address = self.addresses[state.web] + state.path
        if state.web == "answering":  # its load never ends
            await tab.command("Page.navigate", url="about:blank")
            await tab.command("Page.navigate", url=address)
            await tab.until(IS_WRITTEN)
        else:
            await tab.open(address)
        if state.prepare:
            await state.prepare(tab)
        seen = f"document.querySelector({state.shows!r})?.checkVisibility() ?? false"
        assert await tab.evaluate(seen), f"{state.name}: {state.shows} is not seen"


@asynccontextmanager
async def served_states() -> AsyncIterator[Webs]:
    """Serve the small web by the three gateways."""
    stores = await import_entities(await add_answers(await demo_stores(answer_rows())))
    await stores.api_keys.put_site(SITE, 1)
    async with AsyncExitStack() as stack:
        stack.enter_context(patch.object(html, "BESIDE_SECONDS", _PATIENT_SECONDS))
        stack.enter_context(patch.object(spelling, "CORRECTING_SECONDS", _PATIENT_SECONDS))
        answering = await stack.enter_async_context(
            model_server("quote", is_strict=True, piece_chars=45, pause_seconds=_HELD_SECONDS)
        )
        answered = await stack.enter_async_context(model_server("quote", is_strict=True, piece_chars=400))
        models: dict[Web, str] = {"plain": "", "answered": answered.url, "answering": answering.url}
        addresses: dict[Web, str] = {}
        for web, url in models.items():
            app = _app(stores, AnswersSettings(url=url, deadline_seconds=_HELD_SECONDS) if url else AnswersSettings())
            addresses[web] = await stack.enter_async_context(served(app))
            stack.push_async_callback(app.state.gateway.close)
        yield Webs(addresses)


def _app(stores: Stores, answers: AnswersSettings) -> FastAPI:
    limits = {"keys": ("k" * 32,), "hide_adult": False, "spelling": not answers.url, "min_confidence": 0.9}
    app = gateway(stores, deadline_seconds=30, answers=answers, limits=limits)
    app.state.gateway.search.spelling.load()
    app.state.gateway.suggest.use(Suggestion(text, weight, "en") for text, weight in SUGGESTED)
    return app
