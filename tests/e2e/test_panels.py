"""Panels in a browser: accessible on every screen, read by keyboard, and nothing is asked of others before a click."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.browser import Tab
from tests.e2e.demo import demo_stores, served
from tests.e2e.test_search_pages import look_at, screens_of, text
from tests.stages.entities import import_entities
from tests.stages.gateway_fakes import gateway

pytestmark = pytest.mark.browser
PATHS = {
    "panel": "/search?q=douglas+adams",
    "panel-choice": "/search?q=rust",
    "entity": "/entities/Q42",
}


@pytest.fixture
async def site() -> AsyncIterator[str]:
    app = gateway(await import_entities(await demo_stores()), deadline_seconds=30)
    async with served(app) as address:
        yield address
    await app.state.gateway.close()


@pytest.mark.parametrize("name", PATHS)
async def test_a_panel_is_accessible_and_fits_on_every_screen(tab: Tab, site: str, name: str, pictures: Path) -> None:
    await tab.open(f"{site}/search?q=warm+up")  # the first look whether there are entities
    await look_at(tab, name, site + PATHS[name], pictures, screens_of(list(PATHS).index(name)))
    assert await tab.evaluate("document.querySelectorAll('.panel').length") == 1


async def test_no_value_of_a_panel_is_wider_than_its_column(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=warm+up")
    for width in (320, 1280):
        await tab.look(width=width, height=900)
        await tab.open(site + PATHS["panel"])
        await tab.evaluate("document.querySelectorAll('.panel details').forEach(each => { each.open = true; })")
        # A panel of 1280 pixels has 20 rem: the name of this website, and any longer one.
        ends = """(list => [...list.querySelectorAll('dd')].every(
          each => each.scrollWidth <= each.clientWidth && each.getBoundingClientRect().right
            <= list.getBoundingClientRect().right + 1))(document.querySelector('.panel dl'))"""
        assert await tab.evaluate(ends)
        await tab.evaluate(f"document.querySelector('.panel dd').textContent = '{'w' * 200}'")
        assert await tab.evaluate(ends)


async def test_a_panel_loads_nothing_and_leads_on(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=warm+up")
    await tab.look(width=1600, height=900, dark=False)
    await tab.open(site + PATHS["panel"])
    assert await tab.resources() == []
    assert await tab.evaluate("document.querySelectorAll('.panel img').length") == 0
    beside = "document.querySelector('.panel').getBoundingClientRect().left > 700"
    assert await tab.evaluate(beside), "beside the results where there is room"
    await tab.click(".panel dd a[href='/entities/Q350']")
    assert "Cambridge" in await text(tab, ".panel h2")
    await tab.open(site + PATHS["panel-choice"])
    await tab.click(".panel a[href='/entities/Q2']")
    assert "programming language" in await text(tab, ".panel")


async def test_on_a_narrow_screen_a_panel_is_a_summary_above_the_results(tab: Tab, site: str) -> None:
    top = "document.querySelector({!r}).getBoundingClientRect().top"
    above = f"{top.format('.panel')} < {top.format('.results')}"
    facts = "document.querySelector('.panel dl').checkVisibility({contentVisibilityAuto: true})"
    folded = "document.querySelector('.panel .rest > summary').checkVisibility()"
    await tab.open(f"{site}/search?q=warm+up")
    await tab.look(width=360, height=740)
    for path in ("panel", "panel-choice"):
        await tab.open(site + PATHS[path])
        assert await tab.evaluate(above)
        assert await tab.evaluate("document.querySelector('.panel').getBoundingClientRect().height < 370")
    await tab.open(site + PATHS["panel"])
    assert not await tab.evaluate(facts)
    await tab.evaluate("document.querySelector('.panel .rest > summary').focus()")
    await tab.press("Enter")
    assert await tab.evaluate(facts)
    await tab.look(width=1600)
    await tab.open(site + PATHS["panel"])
    assert await tab.evaluate(f"{facts} && !{folded}"), "beside the results, all of it is seen"
