"""The pictures of the guide and of the operators, taken in Chromium: `python -m tests.e2e.pictures docs/images`.

Each state of the pages is one picture of a wide screen and of a phone: NAME.webp, and NAME-dark.webp of dark screens.
Names of pictures behind the folder take only these.
"""

import asyncio
import base64
import io
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_plus

from PIL import Image

from tests.e2e.answers_site import QUESTION, TABLE_QUESTION, UNKNOWN, answers_app
from tests.e2e.browser import Tab, browser, chromium
from tests.e2e.demo import demo_stores, served
from tests.e2e.foreign_page import foreign_page
from tests.e2e.states import STATES, State, Webs, served_states
from tests.model_server import Way, model_server
from tests.stages.admin_fakes import AUTHORIZATION, admin
from tests.stages.entities import import_entities
from tests.stages.gateway_fakes import gateway

COLOURS = 48
"""Number of colours of a picture: text keeps its edges, and a picture has about 30 kB."""
WIDE, PHONE, HEIGHT = 1000, 390, 640
GAP = 24
"""Pixels between both screens of a picture, which are transparent."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture beside those of the states: a page on one screen."""

    name: str
    path: str
    width: int = 1000
    height: int = 620
    print: bool = False
    has_dark: bool = True
    """False if the page looks alike on a dark screen."""


PAGES = (
    Picture("panel-choice", "/search?q=rust", 1400, 620),
    Picture("search-print", "/search?q=write-ahead+log", 794, 900, print=True, has_dark=False),
)
_ASKED, _UNKNOWN = quote_plus(QUESTION), quote_plus(UNKNOWN)
_THEN = quote_plus("When was the Quill tower finished?")
ANSWERS: tuple[tuple[Way | None, tuple[Picture, ...]], ...] = (
    (None, (Picture("answer-table", f"/search?q={quote_plus(TABLE_QUESTION)}", height=460),)),
    (
        "quote",
        (
            Picture("answer-conversation", f"/ask?q={_ASKED}&then={_THEN}", height=480),
            Picture("answer-criterion", f"/rank?q=quill+tower&by={quote_plus('for visitors')}", height=760),
        ),
    ),
    ("empty", (Picture("answer-unknown", f"/ask?q={_UNKNOWN}", height=360),)),
)
"""The pictures of answers, by the way in which the model server of the tests answers."""


async def take(tab: Tab, site: str, picture: Picture, folder: Path) -> None:
    """Write the picture, and the same page on a dark screen beside it."""
    for dark in (False, True)[: 1 + picture.has_dark]:
        await tab.look(width=picture.width, height=picture.height, dark=dark)
        await tab.open(site + picture.path)
        if picture.print:
            await tab.command("Emulation.setEmulatedMedia", media="print")
        write(folder, picture.name, await seen(tab), dark=dark)
        await tab.command("Emulation.setEmulatedMedia", media="")


async def take_state(tab: Tab, webs: Webs, state: State, folder: Path) -> None:
    """Write the picture of a state on a light and on a dark screen."""
    for dark in (False, True):
        both = Image.new("RGBA", (WIDE + GAP + PHONE, HEIGHT))
        for width, left in ((WIDE, 0), (PHONE, WIDE + GAP)):
            await tab.look(width=width, height=HEIGHT, dark=dark)
            await webs.show(tab, state)
            both.paste(await seen(tab), (left, 0))
        write(folder, state.name, both, dark=dark)


async def seen(tab: Tab) -> Image.Image:
    """Return what the screen shows."""
    answer = await tab.command("Page.captureScreenshot", format="png")
    return Image.open(io.BytesIO(base64.b64decode(answer["data"]))).convert("RGBA")


def write(folder: Path, name: str, picture: Image.Image, *, dark: bool) -> None:
    """Write a picture as WebP with few colours and without loss. What is transparent stays so."""
    few = picture.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    shown = few.convert("RGB")
    shown.putalpha(picture.getchannel("A"))
    shown.save(folder / f"{name}{'-dark' if dark else ''}.webp", lossless=True, quality=70, method=4)


async def take_all(folder: Path, names: set[str]) -> None:
    """Take the pictures with these names, or all."""
    program = chromium()
    assert program is not None, "the pictures need Debian's package `chromium`"
    async with browser(program) as tab:
        for take_some in (take_states, take_pages, take_answers, take_box, take_overview):
            await take_some(tab, folder, names)


def choose(pictures: tuple[Picture, ...], names: set[str]) -> list[Picture]:
    return [picture for picture in pictures if not names or picture.name in names]


async def take_states(tab: Tab, folder: Path, names: set[str]) -> None:
    if chosen := [state for state in STATES.values() if not names or state.name in names]:
        async with served_states() as webs:
            for state in chosen:
                await take_state(tab, webs, state, folder)
        await tab.command("Network.setExtraHTTPHeaders", headers={})
        await tab.run_scripts(on=False)


async def take_pages(tab: Tab, folder: Path, names: set[str]) -> None:
    if chosen := choose(PAGES, names):
        app = gateway(await import_entities(await demo_stores()), deadline_seconds=30, limits={"min_confidence": 0.9})
        async with served(app) as site:
            await tab.open(f"{site}/search?q=warm+up")  # the first look whether there are entities
            for picture in chosen:
                await take(tab, site, picture, folder)
        await app.state.gateway.close()


async def take_answers(tab: Tab, folder: Path, names: set[str]) -> None:
    for way, pictures in ANSWERS:
        if chosen := choose(pictures, names):
            async with model_server(way or "quote", is_strict=True) as server:
                app = await answers_app(server if way else None)
                async with served(app) as site:
                    for picture in chosen:
                        await take(tab, site, picture, folder)
                await app.state.gateway.close()


async def take_box(tab: Tab, folder: Path, names: set[str]) -> None:
    """Take the box of a site on another page, which has one look."""
    if chosen := choose((Picture("site-box", "/", height=300, has_dark=False),), names):
        async with foreign_page(allowed=False) as page:
            await take(tab, page.address, chosen[0], folder)


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
