"""People searching in a real browser that runs no scripts: by mouse, only by keyboard, on wide and narrow screens.

RIFFLE_SCREENSHOTS=FOLDER keeps the pictures; otherwise they are taken only at night.
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest

from tests.e2e.axe import violations
from tests.e2e.browser import Tab
from tests.e2e.demo import COPIES, demo_stores, served
from tests.e2e.states import STATES
from tests.sizes import FULL
from tests.stages.gateway_fakes import Dead, gateway
from tests.unit.gateway.test_messages import TAGS

pytestmark = pytest.mark.browser

PARAGRAPH = quote_plus(
    "My laptop lost power while a program was saving its file. Now the file is empty, though the program said before "
    "that it had saved. What can a program do so that either the old or the new content is there after a crash?"
)
PATHS = {
    "start": "/",
    "filtered": "/search?q=log+water&language=en",
    "definition": "/search?q=what+is+a+riffle",
    "nothing-of-host": "/search?q=zyzzyva&host=nowhere.example",
    "refused-query": "/search?q=%00",
    "life-refused": "/page?url=sqlite.org/private.html",
    "life-unknown": "/page?url=sqlite.org/nothing.html",
    "look-up": "/page",
    "privacy": "/privacy",
    "site-named": "/search?q=sqlite",
    "other-script": "/search?q=%E3%83%AD%E3%82%B0%E3%81%AE%E6%9B%B8%E3%81%8D%E8%BE%BC%E3%81%BF",
    "long-query": f"/search?q={PARAGRAPH}",
    "labs": "/labs/page?url=sqlite.org/wal.html",
    "labs-statements": "/labs/statements?url=sqlite.org/wal.html&ask=how+long+do+readers+wait",
    "labs-label": "/labs/label?url=sqlite.org/wal.html&labeller=pictures",
    "labs-label-start": "/labs/label",
}
"""The pages beside those of the table of states."""
WITH_MENUS = ["results", "help", "why"]
WITHOUT = {
    # the page, the store that is down
    "partial": "embedder",
    "unavailable": "vectors",
}
TAKES_PICTURES = FULL or "RIFFLE_SCREENSHOTS" in os.environ
SCREENS = [(width, dark) for width in (1280, 390) for dark in (False, True)]
SCREENS_OF_DAY = ([(1280, False), (390, True)], [(1280, True), (390, False)])
"""By day one page is looked at on the first two screens and the next page on the others: each page on both widths and
in both colours. On one of them, in turns, axe looks at it, too, which takes longer than all else."""


def screens_of(number: int) -> list[tuple[int, bool]]:
    """Return the screens on which the page with this number is looked at."""
    of_day = SCREENS_OF_DAY[number % 2]
    return SCREENS if FULL else of_day if number % 4 < 2 else of_day[::-1]


@pytest.fixture(autouse=True)
async def _wide_and_light(tab: Tab) -> None:
    await tab.look()


async def text(tab: Tab, selector: str) -> str:
    found: str = await tab.evaluate(f"document.querySelector({selector!r})?.innerText ?? ''")
    return found


async def test_searching_by_keyboard_alone(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/")
    await tab.until("document.activeElement?.name === 'q'")  # at once, though perhaps after the event of the load
    await tab.type("write-ahead log")
    await tab.press("Enter", navigates=True)
    assert await tab.evaluate("location.pathname + location.search") == "/search?q=write-ahead+log"
    assert "write-ahead log" in (await text(tab, ".results")).lower()
    assert await tab.evaluate("document.title") == "write-ahead log – Riffle"

    await tab.press("Tab")
    assert await text(tab, ":focus") == "Skip to the content"
    await tab.press("Enter")
    await tab.until("document.activeElement.id === 'content'")
    order = []
    for _ in range(8):
        await tab.press("Tab")
        order.append(await tab.evaluate("document.activeElement.closest('.results, .filters')?.className ?? ''"))
        assert await tab.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2, (
            "focus is seen"
        )
    assert order == sorted(order), f"filters come before results: {order}"
    assert order[-1] == "results"


async def test_paging_there_and_back(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=sqlite+database+file")
    first = await titles(tab)
    await tab.click("a[rel=next]")
    second = await titles(tab)
    assert "page=2" in await tab.evaluate("location.search")
    assert len(first) == 10
    assert second
    assert not set(first) & set(second)
    assert (await text(tab, ".range")).startswith("Results 11–")
    assert await text(tab, "[aria-current=page]") == "Page 2"
    await tab.click("a[rel=prev]")
    assert await titles(tab) == first


async def titles(tab: Tab) -> list[str]:
    found: list[str] = await tab.evaluate("[...document.querySelectorAll('.result h2')].map(e => e.innerText)")
    return found


async def test_filters_are_put_on_and_taken_off(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=log+river+protokoll")
    await tab.evaluate("document.querySelector('.filters a[href*=\"language=de\"]').closest('details').open = true")
    await tab.click(".filters a[href*='language=de']")
    assert await titles(tab) == ["Stromschnelle"]
    assert await tab.evaluate("document.querySelector('.result article').lang") == "de"
    await tab.click("a.chip.on")
    assert len(await titles(tab)) > 1


async def test_from_a_result_to_its_history(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=shared-memory+WAL&host=sqlite.org")
    await tab.evaluate("document.querySelector('.about summary').focus()")
    await tab.press("Enter")
    assert "it has words of your query" in await text(tab, ".about[open] .signals")
    await tab.click(".about[open] a[href^='/page'][href*='wal.html']")
    assert await text(tab, "h1") == "Write-Ahead Logging"
    assert (await text(tab, ".verdict .says")).startswith("Indexed: 14 statements")
    assert await tab.evaluate("document.querySelectorAll('.timeline li').length") == 8
    await tab.click(".also a[href^='/labs']")
    assert "default method by which SQLite implements atomic commit" in await text(tab, ".blocks")
    assert "<nav>" in await text(tab, ".source")


async def test_labelling_by_keyboard_alone(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/labs/label?url=sqlite.org/wal.html&labeller=ada")
    first = await text(tab, ".asked")
    await tab.until("document.activeElement.name == 'antecedent'")  # the browser focuses it with its first frame
    await tab.press("Enter", navigates=True)
    assert (await text(tab, ".lead")).startswith("1 of ")
    second = await text(tab, ".asked")
    assert second != first
    await tab.press("ArrowDown")
    assert first in await tab.evaluate("document.querySelector(':checked').closest('label').innerText")
    await tab.press("Enter", navigates=True)
    assert "needs" in await text(tab, "[aria-labelledby=last] li:nth-child(2)")
    await tab.evaluate("document.querySelector('button[value=undo]').focus()")
    await tab.press("Enter", navigates=True)
    assert await text(tab, ".asked") == second


async def test_a_query_is_tried_against_one_page(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/page?url=sqlite.org/wal.html")
    await tab.click(".also a[href^='/labs/statements']")
    count = await tab.evaluate("document.querySelectorAll('.sentences > li').length")
    await tab.evaluate("document.querySelector('#ask').focus()")
    await tab.type("shared-memory file")
    await tab.press("Enter", navigates=True)
    scores = await tab.evaluate("[...document.querySelectorAll('.score')].map(e => parseFloat(e.innerText))")
    assert len(scores) == count > 5
    assert scores == sorted(scores, reverse=True)
    assert "shared-memory" in (await text(tab, ".sentences > li:first-child .own")).lower()


async def test_similar_pages_unfold_without_scripts(tab: Tab, site: str, pictures: Path) -> None:
    await tab.open(f"{site}/search?q=write-ahead+log&host=sqlite.org")
    assert "About this result, 3 similar pages: " in await text(tab, ".about:has(.similar) summary")
    await tab.evaluate("document.querySelector('.about:has(.similar) summary').focus()")
    await tab.press("Enter")
    assert await tab.evaluate("document.querySelector('.about:has(.similar)').open")
    shown = await tab.evaluate("[...document.querySelectorAll('.similar a')].map(e => e.getAttribute('href'))")
    assert sorted(shown) == sorted(COPIES)
    for width in (390, 1280):
        await tab.look(width=width)
        await tab.until(f"innerWidth === {width}")
        assert await tab.evaluate("document.documentElement.scrollWidth") <= width, f"{width} px: scrolls sideways"
        assert await tab.evaluate(AUDIT) == []
        (pictures / f"similar-{width}.png").write_bytes(await tab.screenshot())


async def test_scripts_are_off_and_nothing_else_is_loaded(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=write-ahead+log")
    assert await tab.resources() == [], "one answer has all of the page"
    assert await tab.evaluate("[...document.scripts].map(each => each.src || each.parentElement.localName)") == [
        "header"
    ]
    assert await tab.evaluate("document.querySelector('#suggestions')") is None, "the script did not run"
    assert await tab.evaluate("document.cookie") == ""


@pytest.mark.parametrize("name", PATHS)
async def test_every_page_is_accessible_and_fits_on_every_screen(
    tab: Tab, site: str, name: str, pictures: Path
) -> None:
    await look_at(tab, name, site + PATHS[name], pictures, screens_of(list(PATHS).index(name)))


@pytest.mark.parametrize("language", [*TAGS] if FULL else ["de", "ja"])
async def test_a_page_in_another_language_is_accessible_and_fits_on_a_small_screen(
    tab: Tab, site: str, language: str
) -> None:
    await tab.look(width=320)
    await tab.command("Network.enable")
    await tab.command("Network.setExtraHTTPHeaders", headers={"Accept-Language": language})
    try:
        for name in ("suggestions", "results", "nothing", "why", "help"):
            await tab.open(site + STATES[name].path)
            assert await tab.evaluate("document.documentElement.lang") == language
            assert await tab.evaluate("document.documentElement.scrollWidth") <= 320, f"{name}: scrolls sideways"
            assert await tab.evaluate(AUDIT) == [], name
            assert await violations(tab) == [], name
    finally:
        await tab.command("Network.setExtraHTTPHeaders", headers={})
        await tab.command("Network.disable")


@pytest.mark.parametrize("name", WITHOUT)
async def test_a_search_while_a_store_is_down_is_accessible_too(tab: Tab, name: str, pictures: Path) -> None:
    stores = await demo_stores()
    setattr(stores, WITHOUT[name], Dead())
    async with served(gateway(stores)) as site:
        await look_at(tab, name, f"{site}/search?q=write-ahead+log", pictures, screens_of(list(WITHOUT).index(name)))
    assert "incomplete" in await text(tab, ".notice") or "not available" in await text(tab, "h1")


async def look_at(tab: Tab, name: str, address: str, pictures: Path, screens: list[tuple[int, bool]]) -> None:
    """Audit the page on these screens, and take its pictures if they are wanted."""
    for width, dark in screens:
        await tab.look(width=width, height=800 if width > 600 else 844, dark=dark)
        await tab.open(address)
        where = f"{name}, {width} px, {'dark' if dark else 'light'}"
        assert await tab.evaluate("document.documentElement.scrollWidth") <= width, f"{where}: scrolls sideways"
        faults = await tab.evaluate(AUDIT)
        assert faults == [], f"{where}: {faults}"
        found = await violations(tab) if FULL or (width, dark) == screens[0] else []
        assert found == [], f"{where}: {found}"
        if not TAKES_PICTURES:
            continue
        picture = await tab.screenshot()
        assert picture.startswith(b"\x89PNG")
        (pictures / f"{name}-{width}-{'dark' if dark else 'light'}.png").write_bytes(picture)


@pytest.mark.parametrize("name", WITH_MENUS)
async def test_every_page_is_accessible_with_its_menus_open(tab: Tab, site: str, name: str) -> None:
    for width, dark in screens_of(WITH_MENUS.index(name)):
        await tab.look(width=width, dark=dark)
        await tab.open(site + STATES[name].path)
        await tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        assert await tab.evaluate("document.documentElement.scrollWidth") <= width
        assert await violations(tab) == [], f"{width} px, {'dark' if dark else 'light'}"


async def test_axe_finds_what_is_wrong(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/help")
    await tab.evaluate("document.querySelector('#long').labels.forEach(each => each.remove())")
    await tab.evaluate("document.querySelector('h1').style.color = '#eee'")
    found = await violations(tab)
    assert sorted(each.partition(":")[0] for each in found) == ["color-contrast", "label"]


async def test_a_printed_page_has_its_query_and_its_addresses_but_no_controls(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=write-ahead+log")
    await tab.command("Emulation.setEmulatedMedia", media="print")
    try:
        shown = "[...document.querySelectorAll({!r})].filter(each => each.checkVisibility()).length"
        assert await tab.evaluate(shown.format(".top, .bottom, .filters, .paging, .about, button, input")) == 0
        assert await tab.evaluate(shown.format(".result")) == 10
        assert await tab.evaluate("document.querySelector('h1').getBoundingClientRect().height") > 20
        address = await tab.evaluate("getComputedStyle(document.querySelector('.result h2 a'), '::after').content")
        assert "https://" in address
        # A link that is counted has no address that a reader could type.
        await tab.evaluate("document.querySelector('.result h2 a').setAttribute('href', '/act?c=payload')")
        address = await tab.evaluate("getComputedStyle(document.querySelector('.result h2 a'), '::after').content")
        assert "payload" not in address
    finally:
        await tab.command("Emulation.setEmulatedMedia", media="")


async def test_a_printed_page_is_whole_and_black_on_white_also_for_a_reader_of_dark_pages(tab: Tab, site: str) -> None:
    await tab.look(dark=True)
    await tab.open(f"{site}/search?q=savepoint+insert+listing")
    await tab.evaluate("document.documentElement.dataset.theme = 'dark'")
    await tab.evaluate(
        """document.querySelector('main').insertAdjacentHTML('afterbegin', '<p class="place answer"></p>'
           + '<section class="found answer">' + '<p>A line.</p>'.repeat(40) + '</section>'
           + '<section class="model-answer">' + '<p>A line.</p>'.repeat(40) + '</section>')"""
    )
    await tab.evaluate(f"document.querySelector('.result pre a').append('{'long ' * 60}')")
    await tab.command("Emulation.setEmulatedMedia", media="print")
    try:
        colours = "(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))"
        assert await tab.evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
        cut = "[...document.querySelectorAll('.found, .model-answer, pre, .address')].filter(e => {})"
        is_cut = "e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1"
        assert await tab.evaluate(f"{cut.format(is_cut)}.map(e => e.className || e.tagName)") == []
    finally:
        await tab.command("Emulation.setEmulatedMedia", media="")


async def test_the_form_of_the_filters_is_used_only_with_the_keyboard(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=log+water")
    await tab.evaluate("document.querySelector('.filters li:has(form) summary').focus()")
    await tab.press("Enter")
    await tab.evaluate("document.querySelector('#language').focus()")
    await tab.press("ArrowDown")
    await tab.evaluate("document.querySelector('.filters form button').focus()")
    await tab.press("Enter", navigates=True)
    assert "language=" in await tab.evaluate("location.search")
    assert await text(tab, ".chip.on")


async def test_dark_is_dark_and_light_is_light(tab: Tab, site: str) -> None:
    grounds = {}
    for dark in (False, True):
        await tab.look(dark=dark)
        await tab.open(f"{site}/")
        grounds[dark] = await tab.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert min(grounds[False]) > 200
    assert max(grounds[True]) < 60


def _rules() -> dict[str, Any]:
    """WCAG 2.2 success criteria that a program can judge, as expressions that give the elements at fault."""
    return {
        "1.1.1 images have a text, or are hidden": "[...$('img:not([alt]), svg:not([aria-hidden])')]",
        "1.3.1 one main landmark": "$('main').length === 1 ? [] : ['main']",
        "1.3.1 one h1": "$('h1').length === 1 ? [] : ['h1']",
        "1.3.1 headings skip no level": (
            "[...$('h1,h2,h3,h4')].filter((e, i, all) => i && e.tagName[1] - all[i - 1].tagName[1] > 1)"
        ),
        "3.3.2 fields have a label": (
            "[...$('input:not([type=hidden]), select, textarea')].filter(e => !e.labels.length && !e.ariaLabel)"
        ),
        "4.1.1 ids are unique": "[...$('[id]')].filter(e => $('#' + CSS.escape(e.id)).length > 1)",
        "2.4.2 the page has a title": "document.title.trim() ? [] : ['title']",
        "3.1.1 the page has a language": "document.documentElement.lang ? [] : ['html']",
        "2.4.4 links have a text": "[...$('a, button')].filter(e => !(e.textContent.trim() || e.ariaLabel))",
        "2.4.4 one text, one place": (
            "[...$('main a')].filter((a, _, all) => all.some(b => linkText(b) === linkText(a) && b.href !== a.href))"
        ),
        "2.5.8 targets are 24 pixels, or apart": (
            "[...$('button, .chip, .paging a')].filter(e => e.getClientRects()[0] && e.getClientRects()[0].height < 24)"
        ),
        "1.4.3 contrast is 4.5 to 1": "[...$('body *')].filter(e => ownText(e) && contrast(e) < 4.5)",
    }


AUDIT = (
    """(() => {
  const $ = selector => document.querySelectorAll(selector);
  const rgba = colour => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const contrast = e => {
    const [one, other] = [luminance(rgba(getComputedStyle(e).color)), luminance(ground(e))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  };
  const ownText = e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  const linkText = e => e.textContent.trim();
  const name = e => typeof e === 'string' ? e : e.outerHTML.slice(0, 120);
  return ["""
    + ",".join(f"...({rule}).map(e => {title!r} + ': ' + name(e))" for title, rule in _rules().items())
    + """];
})()"""
)
"""Gives a list of faults; it runs in the browser's inspector, not as a script of the page."""
