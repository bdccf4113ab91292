"""The pictures of the guide, taken in Chromium: `python -m tests.e2e.pictures docs/images`.

Answers are those of SmolLM2, which `make chat` installs. `python -m tests.e2e.pictures docs/images answers` takes only
the pictures of answers.
"""

import asyncio
import base64
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote_plus

from pydantic import SecretStr

from streams.local.ports import free_ports
from streams.models.chat_server import ChatServer, small_model, start_chat_server
from streams.queries.suggestions.index import Suggestion
from streams.settings import AnswersSettings
from tests.e2e.answers_site import QUESTION, TABLE_QUESTION, UNKNOWN, answers_app
from tests.e2e.browser import Tab, browser, chromium
from tests.e2e.demo import demo_stores, served
from tests.e2e.foreign_page import SITE, foreign_page
from tests.e2e.test_search_pages import PATHS
from tests.e2e.test_suggestions import IS_OPEN, KNOWN
from tests.model_server import Way, model_server
from tests.stages.entities import import_entities
from tests.stages.gateway_fakes import gateway

QUALITY = 70
OPEN_FILTERS = "document.querySelector('.filters details').open = true"
OPEN_MENUS = "document.querySelectorAll('.about').forEach(each => { each.open = true })"


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: a page on a screen."""

    name: str
    path: str
    width: int = 1000
    height: int = 620
    dark: bool = False
    prepare: str = ""
    """An expression that changes the page before."""
    print: bool = False
    types: str = ""
    """Text that a person types into the search box, with the script of the page."""


PICTURES = (
    Picture("search-results", PATHS["code"]),
    Picture("search-suggestions", "/", 1000, 520, types="write"),
    Picture("search-dark", "/search?q=write-ahead+log&host=sqlite.org", dark=True, prepare=OPEN_MENUS),
    Picture("search-phone", "/search?q=write-ahead+log", 390, 760),
    Picture("search-filters", "/search?q=log+river+protokoll", prepare=OPEN_FILTERS),
    Picture("search-nothing", PATHS["phrase-not-found"]),
    Picture("search-error", PATHS["too-long"], height=420),
    Picture("search-long", PATHS["long-query"]),
    Picture("search-right-to-left", PATHS["right-to-left"], 390, 760),
    Picture("search-help", PATHS["help"], height=900),
    Picture("panel", "/search?q=douglas+adams", 1400, 760),
    Picture("panel-choice", "/search?q=rust", 1400, 620, dark=True),
    Picture("panel-phone", "/entities/Q42", 390, 760),
    Picture("search-print", "/search?q=write-ahead+log", 794, 900, print=True),
)


TO_MODEL = "document.querySelector('.model-answer')?.scrollIntoView({block: 'center'})"
_ASKED, _UNKNOWN = quote_plus(QUESTION), quote_plus(UNKNOWN)
_THEN = quote_plus("When was the Quill tower finished?")
ANSWERS: tuple[tuple[Way | Literal["small"] | None, tuple[Picture, ...]], ...] = (
    (
        None,  # no model
        (
            Picture("answer-disagree", f"/search?q={_ASKED}", height=520),
            Picture("answer-table", f"/search?q={quote_plus(TABLE_QUESTION)}", height=460),
            Picture("answer-no-model", f"/ask?q={_ASKED}", height=300),
        ),
    ),
    (
        "small",
        (
            Picture("answer-model", f"/search?q={_ASKED}", height=560, prepare=TO_MODEL),
            Picture("answer-conversation", f"/ask?q={_ASKED}&then={_THEN}", height=480),
        ),
    ),
    (
        "quote",
        (Picture("answer-criterion", f"/rank?q=quill+tower&by={quote_plus('what visitors climb')}", height=760),),
    ),
    ("contradict", (Picture("answer-unknown", f"/ask?q={_UNKNOWN}", height=360),)),
)
"""The pictures of answers, by the way in which the model server of the tests answers. `small`: SmolLM2 answers."""
SMALL_SECONDS = 300.0
KEY = "key-of-the-pictures"


async def take(tab: Tab, site: str, picture: Picture) -> bytes:
    """Return the picture as WebP."""
    await tab.look(width=picture.width, height=picture.height, dark=picture.dark)
    await tab.run_scripts(on=bool(picture.types))
    await tab.open(site + picture.path)
    if picture.types:
        await tab.type(picture.types)
        await tab.until(IS_OPEN)
        await tab.press("ArrowDown")
    if picture.prepare:
        await tab.evaluate(picture.prepare)
    if picture.print:
        await tab.command("Emulation.setEmulatedMedia", media="print")
    answer = await tab.command("Page.captureScreenshot", format="webp", quality=QUALITY)
    await tab.command("Emulation.setEmulatedMedia", media="")
    return base64.b64decode(answer["data"])


async def take_all(folder: Path) -> None:
    program = chromium()
    assert program is not None, "the pictures need Debian's package `chromium`"
    app = gateway(await import_entities(await demo_stores()), deadline_seconds=30)
    app.state.gateway.suggest.use(Suggestion(text, weight, "en") for text, weight in KNOWN)
    async with served(app) as site, browser(program) as tab:
        await tab.open(f"{site}/search?q=warm+up")  # the first look whether there are entities
        for picture in PICTURES:
            (folder / f"{picture.name}.webp").write_bytes(await take(tab, site, picture))
    await app.state.gateway.close()


async def take_answers(folder: Path) -> None:
    program = chromium()
    assert program is not None, "the pictures need Debian's package `chromium`"
    (port,) = free_ports(1)
    small = start_chat_server(small_model(), port, 4_096, 0, KEY)  # it ends when nobody has it any more
    async with browser(program) as tab, AsyncExitStack() as stack:
        for way, pictures in ANSWERS:
            of_tests = way if way != "small" else None
            server = await stack.enter_async_context(model_server(of_tests)) if of_tests else None
            app = await answers_app(server, small_answers(small) if way == "small" else None)
            async with served(app) as site:
                for picture in pictures:
                    (folder / f"{picture.name}.webp").write_bytes(await take(tab, site, picture))
            await app.state.gateway.close()


def small_answers(server: ChatServer) -> AnswersSettings:
    """Return the settings of answers by SmolLM2."""
    return AnswersSettings(url=server.url, key=SecretStr(KEY), deadline_seconds=SMALL_SECONDS, max_tokens=80)


async def take_box(folder: Path) -> None:
    """Take the page of a site, and its box on another page."""
    program = chromium()
    assert program is not None, "the pictures need Debian's package `chromium`"
    async with browser(program) as tab, foreign_page(tab, allowed=False) as page:
        for site, picture in (
            (page.gateway, Picture("site", f"/sites/{SITE.name}", height=560)),
            (page.address, Picture("site-box", "/", height=300)),
        ):
            (folder / f"{picture.name}.webp").write_bytes(await take(tab, site, picture))


if __name__ == "__main__":
    if sys.argv[2:] != ["answers"]:
        asyncio.run(take_box(Path(sys.argv[1])))
        asyncio.run(take_all(Path(sys.argv[1])))
    asyncio.run(take_answers(Path(sys.argv[1])))
