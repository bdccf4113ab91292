"""Links to sentences in Chromium: the browser opens the place of a sentence, also where its text stands twice."""

import asyncio

import pytest
from fastapi import FastAPI
from starlette.responses import HTMLResponse

from schemas.ids import page_id
from streams.gateway.http.presentation import fragment_href
from streams.models.memory import MemoryChains
from streams.pages.document.codec import encode_document
from streams.pages.normalize import normalize
from streams.statements.chaining import chain_drafts
from streams.statements.sandbox_tasks import decode_drafts, draft
from streams.vectors.page_records import PageFacts
from streams.vectors.points import payloads_of
from tests.e2e.browser import Tab
from tests.e2e.demo import served

pytestmark = pytest.mark.browser
FILLED = "".join(
    f"<p>Paragraph {number} fills the page, so that each place of it is on a screen of its own.</p>"
    for number in range(40)
)
PAGE = f"""<!doctype html><html lang=en><title>Modes of the log</title><main><h1>Modes of the log</h1>
<h2 id=full>Full</h2><p id=first>The full mode waits for the disk, and is safe. This is the default of the server.</p>
<ul><li id=item>The server must be restarted, since it reads this only once at its start.</ul>{FILLED}
<h2 id=normal>Normal</h2>
<p id=second>The normal mode waits for nobody, and is fast. This is the default of the server. It may lose data.</p>
{FILLED}<h2 id=off>Off</h2>
<p id=long>A well-known & old way, as the manual of the year 1999 says, was to leave out the log altogether.</p>
<ul><li id=other>The server must be restarted, since it reads this only once at its start.</ul>{FILLED}</main>"""
URL = "https://log.example/"
PLACES = [
    ("This is the default of the server.", 0, "first", "the first of two is found by its text"),
    ("This is the default of the server.", 1, "second", "the second one by the sentence before"),
    ("The server must be restarted", 0, "item", "a long text by its first and its last words"),
    ("The server must be restarted", 1, "off", "without neighbours in its block, its section is opened"),
    ("A well-known & old way", 0, "long", "the marks of a directive are written as text"),
]


@pytest.mark.parametrize(("text", "number", "place", "why"), PLACES, ids=[why for *_, why in PLACES])
async def test_a_browser_opens_the_place_of_a_sentence(tab: Tab, text: str, number: int, place: str, why: str) -> None:
    document = encode_document(normalize(PAGE, url=URL).document)
    drafted = await asyncio.to_thread(lambda: decode_drafts(draft(document)))
    statements = await chain_drafts(MemoryChains(), page_id(URL), URL, drafted)
    found = [each for each in payloads_of(statements, PageFacts(1)) if each.text.startswith(text)][number]
    app = FastAPI()
    app.get("/")(lambda: HTMLResponse(PAGE))
    await tab.look(width=800, height=300)
    async with served(app) as site:
        await tab.open(fragment_href(f"{site}/", found.text, found.place))
        top = f"document.getElementById({place!r}).getBoundingClientRect().top"
        await tab.until(f"{top} > -2 && {top} < innerHeight")
        await tab.open("about:blank")
