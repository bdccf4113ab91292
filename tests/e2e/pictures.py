"""The pictures of the guide and of the operators, taken in Chromium: `python -m tests.e2e.pictures docs/images`.

Each is taken on a light and on a dark screen, as NAME.webp and NAME-dark.webp. Names of pictures behind the folder take
only these. Two pictures have answers of SmolLM2, which `make chat` installs.
"""

import asyncio
import base64
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote_plus

from streams.local.ports import free_ports
from streams.models.chat_server import small_model, start_chat_server
from streams.queries.suggestions.index import Suggestion
from streams.settings import AnswersSettings
from tests.e2e.answers_site import QUESTION, TABLE_QUESTION, UNKNOWN, answers_app
from tests.e2e.browser import Tab, browser, chromium
from tests.e2e.demo import demo_stores, served
from tests.e2e.foreign_page import SITE, foreign_page
from tests.e2e.test_search_pages import PATHS
from tests.e2e.test_suggestions import IS_OPEN, KNOWN
from tests.model_server import Way, model_server
from tests.stages.admin_fakes import AUTHORIZATION, admin
from tests.stages.entities import import_entities
from tests.stages.gateway_fakes import gateway

QUALITY = 70
OPEN_FILTERS = "document.querySelector('.filters li:has(form) details').open = true"
OPEN_MENUS = "document.querySelector('.about').open = true"


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: a page on a screen."""

    name: str
    path: str
    width: int = 1000
    height: int = 620
    prepare: str = ""
    """An expression that changes the page before."""
    print: bool = False
    has_dark: bool = True
    """False if the page looks alike on a dark screen."""
    types: str = ""
    """Text that a person types into the search box, with the script of the page."""


PICTURES = (
    Picture("search-results", PATHS["code"]),
    Picture("search-suggestions", "/", 1000, 520, types="write"),
    Picture("search-menu", "/search?q=write-ahead+log&host=sqlite.org", prepare=OPEN_MENUS),
    Picture("search-phone", "/search?q=write-ahead+log", 390, 760),
    Picture("search-filters", "/search?q=log+river+protokoll", prepare=OPEN_FILTERS),
    Picture("search-nothing", PATHS["phrase-not-found"]),
    Picture("search-error", PATHS["too-long"], height=420),
    Picture("search-right-to-left", PATHS["right-to-left"], 390, 760),
    Picture("search-help", PATHS["help"], height=900),
    Picture("panel", "/search?q=douglas+adams", 1400, 760),
    Picture("panel-choice", "/search?q=rust", 1400, 620),
    Picture("panel-phone", "/entities/Q42", 390, 760),
    Picture("search-print", "/search?q=write-ahead+log", 794, 900, print=True, has_dark=False),
    Picture("page-history", PATHS["life"], height=1000),
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
    ("empty", (Picture("answer-unknown", f"/ask?q={_UNKNOWN}", height=360),)),
)
"""The pictures of answers, by the way in which the model server of the tests answers. `small`: SmolLM2 answers."""
SMALL_SECONDS = 300.0
KEY = "key-of-the-pictures"


async def take(tab: Tab, site: str, picture: Picture, folder: Path) -> None:
    """Write the picture as WebP, and the same page on a dark screen beside it."""
    (folder / f"{picture.name}.webp").write_bytes(await shown(tab, site, picture, dark=False))
    if picture.has_dark:
        (folder / f"{picture.name}-dark.webp").write_bytes(await shown(tab, site, picture, dark=True))


async def shown(tab: Tab, site: str, picture: Picture, *, dark: bool) -> bytes:
    """Return what the screen shows, as WebP."""
    await tab.look(width=picture.width, height=picture.height, dark=dark)
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


async def take_all(folder: Path, names: set[str]) -> None:
    """Take the pictures with these names, or all."""
    program = chromium()
    assert program is not None, "the pictures need Debian's package `chromium`"
    async with browser(program) as tab:
        for take_some in (take_pages, take_answers, take_box, take_overview):
            await take_some(tab, folder, names)


def choose(pictures: tuple[Picture, ...], names: set[str]) -> list[Picture]:
    return [picture for picture in pictures if not names or picture.name in names]


async def take_pages(tab: Tab, folder: Path, names: set[str]) -> None:
    app = gateway(await import_entities(await demo_stores()), deadline_seconds=30)
    app.state.gateway.suggest.use(Suggestion(text, weight, "en") for text, weight in KNOWN)
    async with served(app) as site:
        await tab.open(f"{site}/search?q=warm+up")  # the first look whether there are entities
        for picture in choose(PICTURES, names):
            await take(tab, site, picture, folder)
    await app.state.gateway.close()


async def take_answers(tab: Tab, folder: Path, names: set[str]) -> None:
    for way, pictures in ANSWERS:
        if chosen := choose(pictures, names):
            async with answering(way) as site:
                for picture in chosen:
                    await take(tab, site, picture, folder)


@asynccontextmanager
async def answering(way: Way | Literal["small"] | None) -> AsyncIterator[str]:
    """Serve the small web with answers, as `ANSWERS` says."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(model_server(way)) if way and way != "small" else None
        small = stack.enter_context(small_server()) if way == "small" else None
        app = await answers_app(server, small)
        async with served(app) as site:
            yield site
        await app.state.gateway.close()


@contextmanager
def small_server() -> Iterator[AnswersSettings]:
    """Serve SmolLM2, and give the settings of answers by it."""
    (port,) = free_ports(1)
    server = start_chat_server(small_model(), port, 4_096, 0, KEY)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "key"
        file.write_text(KEY)
        yield AnswersSettings(url=server.url, key_file=file, deadline_seconds=SMALL_SECONDS)
    # The server ends when nobody has it any more.


async def take_box(tab: Tab, folder: Path, names: set[str]) -> None:
    """Take the page of a site, and its box on another page, which has one look."""
    async with foreign_page(tab, allowed=False) as page:
        for site, picture in (
            (page.gateway, Picture("site", f"/sites/{SITE.name}", height=560)),
            (page.address, Picture("site-box", "/", height=300, has_dark=False)),
        ):
            if choose((picture,), names):
                await take(tab, site, picture, folder)


async def take_overview(tab: Tab, folder: Path, names: set[str]) -> None:
    """Take the operators' first page, of the demo's stores: events wait at two stages, and two have failed."""
    overview = Picture("admin", "/admin", 1280, 1160, has_dark=False)
    if not choose((overview,), names):
        return
    letters = Counter({("embed", "TritonError"): 2})
    with tempfile.TemporaryDirectory() as home:
        async with admin(await demo_stores(), Path(home), letters=letters) as (app, _, _), served(app) as site:
            await tab.command("Network.enable")
            await tab.command("Network.setExtraHTTPHeaders", headers=AUTHORIZATION)
            await take(tab, site, overview, folder)


if __name__ == "__main__":
    asyncio.run(take_all(Path(sys.argv[1]), set(sys.argv[2:])))
