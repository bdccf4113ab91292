"""The layout of a page of results in a browser: how much is seen, what is whole, what moves, and the keys."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import quote_plus

import pytest

from streams.answers.choosing import FoundAnswer
from streams.answers.statement_source import StatementAnswers
from streams.gateway.http.templates import templates
from streams.gateway.search.html import BESIDE_SECONDS
from streams.search.deadline import Deadline
from streams.search.searcher import Found
from streams.seen.stores import SeenStores
from tests.e2e.browser import Tab
from tests.e2e.demo import demo_stores, served
from tests.e2e.states import STATES
from tests.e2e.test_search_pages import PATHS
from tests.stages.gateway_fakes import gateway, searchable, statement

pytestmark = pytest.mark.browser

MIN_SEEN = 4.3
"""Minimum number of results on a screen of 1280 x 900."""
MAX_PIXELS = 1_900
"""Maximum height down to the end of the tenth result (pixels)."""
MAX_LINE = 80
"""Maximum characters of a line of a sentence, as a mean over its lines."""
TEN = "/search?q=sqlite+database+file"
SEEN = """[...document.querySelectorAll('.results > li')].map(e => e.getBoundingClientRect()).reduce(
  (sum, box) => sum + Math.max(0, Math.min(1, (innerHeight - box.top) / box.height)), 0)"""
END = "document.querySelector('.results > li:last-child').getBoundingClientRect().bottom + scrollY"
LINES = """[...document.querySelectorAll('.statement')].map(e => {
  const lines = Math.round(e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight));
  return lines > 1 ? e.innerText.length / lines : 0;
})"""
TOP = "document.querySelector('.results').getBoundingClientRect().top"


@pytest.fixture(autouse=True)
async def _screen(tab: Tab) -> AsyncIterator[None]:
    await tab.look(width=1280, height=900)
    yield
    await tab.run_scripts(on=False)


async def test_a_screen_shows_four_results_and_ten_are_two_screens(tab: Tab, site: str) -> None:
    await tab.open(site + TEN)
    assert await tab.evaluate("document.querySelectorAll('.results > li').length") == 10
    assert await tab.evaluate(SEEN) >= MIN_SEEN
    assert await tab.evaluate(END) <= MAX_PIXELS
    assert max(await tab.evaluate(LINES)) <= MAX_LINE
    assert await tab.evaluate("document.querySelectorAll('.results .tile').length") == 10
    assert await tab.evaluate("document.querySelectorAll('.results .about > summary').length") == 10


async def test_the_sentence_that_leads_is_whole_and_each_sentence_is_a_link_to_its_place(tab: Tab, site: str) -> None:
    await tab.open(site + TEN)
    cut = """[...document.querySelectorAll('.statement')].filter(
      e => e.scrollHeight > e.clientHeight + 1 || /…$/.test(e.innerText))"""
    assert await tab.evaluate(f"{cut}.length") == 0
    sentences = "[...document.querySelectorAll('.results :is(.statement, .more li)')]"
    assert await tab.evaluate(f"{sentences}.filter(e => !e.querySelector('a[href*=\"#\"]')).length") == 0
    assert await tab.evaluate("[...document.querySelectorAll('.more li')].every(e => e.clientHeight < 28)")


@pytest.mark.parametrize("width", [320, 390, 1280])
async def test_the_line_of_filters_does_not_wrap_and_opens_without_a_script(tab: Tab, site: str, width: int) -> None:
    await tab.look(width=width, height=900)
    for path in (
        TEN,
        "/search?q=log+water",
        "/search?q=log+after%3A2020+intitle%3Alog+inurl%3Aguide&host=rivers.example&sort=date",
    ):
        await tab.open(site + path)
        assert await tab.evaluate("document.querySelector('.line').clientHeight") < 40
        assert await tab.evaluate("document.documentElement.scrollWidth") <= width
    await tab.open(f"{site}/search?q=log+water")
    await tab.evaluate("document.querySelector('.filters summary').focus()")
    await tab.press("Enter")
    assert await tab.evaluate("document.querySelector('.filters .menu a').checkVisibility()")
    left, right = await tab.evaluate(
        "(b => [b.left, b.right])(document.querySelector('.filters [open] .menu').getBoundingClientRect())"
    )
    assert left >= 0
    assert right <= width


async def test_counts_of_sites_stand_beside_the_results_where_there_is_room(tab: Tab, site: str) -> None:
    for width, is_seen in ((1280, True), (390, False)):
        await tab.look(width=width, height=900)
        await tab.open(f"{site}/search?q=log+water")
        assert await tab.evaluate("document.querySelector('.sites').checkVisibility()") is is_seen


async def test_a_listing_has_six_lines_at_most_and_a_result_one_listing(tab: Tab) -> None:
    code = "\n".join(f"line_{number} = read_log({number})" for number in range(12))
    rows = [
        statement("https://a.example/", text, title="Logs") | {"kind": "code"}
        for text in (code, code.replace("line", "other"))
    ]
    app = gateway(await searchable(rows), deadline_seconds=30)
    async with served(app) as site:
        await tab.open(f"{site}/search?q=read_log")
        shown = await tab.evaluate(
            "[...document.querySelectorAll('.result pre')].map(e => e.innerText.trim().split('\\n').length)"
        )
        assert len(shown) == 1
        assert max(shown) <= 6
    await app.state.gateway.close()


async def test_keys_move_through_the_results_where_the_page_has_its_script(tab: Tab, site: str) -> None:
    await tab.run_scripts(on=True)
    await tab.open(site + TEN)
    number = "[...document.querySelectorAll('.result h2 a')].indexOf(document.activeElement)"
    for key, place in (("j", 0), ("j", 1), ("k", 0)):
        await type_key(tab, key)
        assert await tab.evaluate(number) == place
    await tab.evaluate("addEventListener('click', e => { window.opened = e.target.href; e.preventDefault(); })")
    await type_key(tab, "o")
    assert await tab.evaluate("window.opened === document.activeElement.href")
    await type_key(tab, "/")
    assert await tab.evaluate("document.activeElement.id") == "q"
    await type_key(tab, "j")
    assert await tab.evaluate("document.activeElement.id") == "q", "in a field a letter is a letter"
    await tab.evaluate("document.activeElement.blur(); document.querySelector('.about').open = true")
    await tab.press("Escape")
    assert await tab.evaluate("document.querySelectorAll('details[open]').length") == 0
    await tab.evaluate(
        "(menu => { menu.open = true; menu.querySelector('a').focus(); })(document.querySelector('.about'))"
    )
    await tab.press("Escape")
    assert await tab.evaluate("document.activeElement.matches('.about > summary')"), (
        "who closes a menu stays at its mark"
    )
    await tab.evaluate("document.activeElement.blur(); document.documentElement.dataset.keys = 'off'")
    await type_key(tab, "j")
    assert await tab.evaluate(number) == -1


async def type_key(tab: Tab, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        await tab.command("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("has_answer", [True, False])
async def test_a_late_answer_moves_nothing(tab: Tab, width: int, has_answer: bool) -> None:
    seen = asyncio.Event()

    class Late(StatementAnswers):
        async def find_among(self, found: Found, deadline: Deadline) -> FoundAnswer | None:
            await seen.wait()
            return await super().find_among(found, deadline) if has_answer else None

    stores = await demo_stores()
    app = gateway(stores, sources=[Late(SeenStores(stores))], deadline_seconds=30)
    await tab.look(width=width, height=900)
    async with served(app) as site:
        await tab.command("Page.navigate", url=f"{site}/search?q={quote_plus('what is a riffle in a stream?')}")
        await tab.until("location.pathname === '/search' && document.querySelector('.results > li') !== null")
        assert await tab.evaluate("document.querySelector('.place.answer').checkVisibility()"), "a sign"
        before = await tab.evaluate(TOP)
        seen.set()
        await tab.until("document.querySelector('.bottom') !== null")
        assert await tab.evaluate("document.querySelector('.found, .no-answer').getClientRects().length") == 1
        assert await tab.evaluate(TOP) == before
    await app.state.gateway.close()


@pytest.mark.parametrize(
    "query",
    [
        "q=what+is+a+riffle",  # its definition stands above the results, and is the answer
        "q=what+is+5+miles+in+km",
        "q=what+is+a+riffle&host=nowhere.example",  # nothing is found
    ],
)
async def test_nothing_is_looked_for_where_no_answer_can_come(tab: Tab, query: str) -> None:
    class Late(StatementAnswers):
        async def find_among(self, found: Found, deadline: Deadline) -> FoundAnswer | None:
            await asyncio.sleep(3 * BESIDE_SECONDS)
            return await super().find_among(found, deadline)

    stores = await demo_stores()
    app = gateway(stores, sources=[Late(SeenStores(stores))], deadline_seconds=30)
    async with served(app) as site:
        await tab.open(f"{site}/search?{query}")
        text = await tab.evaluate("document.body.innerText")
        assert "Looking for an answer" not in text
        assert "No result answers" not in text
    await app.state.gateway.close()


@pytest.mark.parametrize("path", [STATES["right-to-left"].path, PATHS["other-script"]])
async def test_a_sentence_of_any_script_has_its_place_in_a_link(tab: Tab, site: str, path: str) -> None:
    await tab.open(site + path)
    links = await tab.evaluate(
        "[...document.querySelectorAll('.statement a')].map(e => decodeURIComponent(e.href.split(':~:text=')[1] ?? ''))"
    )
    texts = await tab.evaluate("[...document.querySelectorAll('.statement a')].map(e => e.innerText)")
    assert links
    assert all(link.split(",")[0].split()[0] in text for link, text in zip(links, texts, strict=True))


@pytest.mark.parametrize("width", [320, 1280])
async def test_the_mark_of_the_menu_covers_nothing_whatever_the_direction_of_a_result(
    tab: Tab, site: str, width: int
) -> None:
    await tab.look(width=width, height=900)
    await tab.open(site + STATES["right-to-left"].path)
    assert await tab.evaluate("document.querySelectorAll('article[dir=rtl]').length") >= 1
    covered = """[...document.querySelectorAll('.result')].filter(result => {
      const mark = result.querySelector('.about > summary').getBoundingClientRect();
      return [...result.querySelectorAll('.tile, .address, .date')].map(each => each.getBoundingClientRect()).some(
        box => box.left < mark.right - 1 && mark.left < box.right - 1 && box.top < mark.bottom - 1);
    }).length"""
    assert await tab.evaluate(covered) == 0
    for menu in range(await tab.evaluate("document.querySelectorAll('.about').length")):
        left, right = await tab.evaluate(
            f"(e => {{ e.open = true; const b = e.querySelector('.menu').getBoundingClientRect(); e.open = false; "
            f"return [b.left, b.right] }})(document.querySelectorAll('.about')[{menu}])"
        )
        assert left >= 0
        assert right <= width


async def test_the_line_below_the_filters_goes_from_edge_to_edge(tab: Tab, site: str) -> None:
    for width in (1280, 1920):
        await tab.look(width=width, height=900)
        await tab.open(site + TEN)
        edges = "(b => [b.left, b.right])(document.querySelector('.filters').getBoundingClientRect())"
        assert await tab.evaluate(edges) == [0, width]
        assert await tab.evaluate("document.querySelector('.sites')?.getBoundingClientRect().width ?? 0") <= 320


async def test_a_long_name_of_a_site_leaves_its_host_in_sight(tab: Tab, site: str) -> None:
    await tab.look(width=320, height=900)
    await tab.open(f"{site}/search?q=write-ahead+log")
    line = str(templates().get_template("_text.html").module.where("sqlite.org", ("sqlite.org",), "W" * 40))  # type: ignore[attr-defined]  # a macro
    await tab.evaluate(f"document.querySelector('.where').outerHTML = {line!r}")
    ends = "['.address bdi', '.address'].map(each => document.querySelector(each).getBoundingClientRect().right)"
    host, address = await tab.evaluate(ends)
    assert host <= address
