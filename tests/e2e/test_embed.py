"""A search on somebody else's page, in Chromium: the box without a script, and a script where its origin is allowed."""

import pytest

from tests.e2e.axe import violations
from tests.e2e.browser import Tab
from tests.e2e.foreign_page import foreign_page

pytestmark = pytest.mark.browser
FOUND = "[...document.querySelectorAll('#found li')].map(each => each.textContent)"
ASK = "void ask('write-ahead log').then(() => { ended = 'answered' }, (error) => { ended = error.name })"
HOSTS = "[...document.querySelectorAll('.result h2 a')].map(each => new URL(each.href).host)"


async def test_the_box_on_another_page_leads_to_the_sites_results(tab: Tab) -> None:
    await tab.look()
    await tab.run_scripts(on=False)
    async with foreign_page(allowed=False) as page:
        await tab.open(f"{page.address}/")
        await tab.evaluate("document.querySelector('input[name=q]').value = 'write-ahead log'")
        await tab.click("form button")
        assert (await tab.evaluate("location.href")).startswith(f"{page.gateway}/sites/handbook?q=")
        assert set(await tab.evaluate(HOSTS)) == {"sqlite.org"}
        assert await violations(tab) == []
        await tab.click(".filters a[href*='sort=date']")
        assert set(await tab.evaluate(HOSTS)) == {"sqlite.org"}
        assert (
            await tab.evaluate("location.pathname + location.search") == "/sites/handbook?q=write-ahead+log&sort=date"
        )
        await tab.look(width=390, dark=True)
        await tab.open(f"{page.gateway}/sites/handbook")
        assert await violations(tab) == []


async def test_a_script_of_another_page_asks_the_api_where_it_is_allowed(tab: Tab) -> None:
    await tab.look()
    await tab.run_scripts(on=True)
    try:
        async with foreign_page(allowed=True) as page:
            await tab.open(f"{page.address}/")
            await tab.evaluate(ASK)
            await tab.until("window.ended")
            assert await tab.evaluate("window.ended") == "answered"
            assert "Write-Ahead Logging" in await tab.evaluate(FOUND)
        async with foreign_page(allowed=False) as page:
            await tab.open(f"{page.address}/")
            await tab.evaluate(ASK)
            await tab.until("window.ended")
            assert (await tab.evaluate("window.ended"), await tab.evaluate(FOUND)) == ("TypeError", [])
    finally:
        await tab.run_scripts(on=False)
