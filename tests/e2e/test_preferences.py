"""Preferences in a browser without scripts: a site is hidden from a result, shown once in words, and set free again."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.axe import violations
from tests.e2e.browser import Tab
from tests.e2e.demo import demo_stores, served
from tests.stages.gateway_fakes import gateway

pytestmark = pytest.mark.browser


@pytest.fixture
async def own_site() -> AsyncIterator[str]:
    app = gateway(await demo_stores(), deadline_seconds=30, limits={"keys": ("k" * 32,), "hide_adult": False})
    async with served(app) as address:
        yield address
    await app.state.gateway.close()


async def text(tab: Tab, selector: str) -> str:
    found: str = await tab.evaluate(f"document.querySelector({selector!r})?.innerText ?? ''")
    return found


async def cookies(tab: Tab) -> set[str]:
    return {each["name"] for each in (await tab.command("Network.getCookies"))["cookies"]}


async def test_a_site_is_hidden_and_set_free_again(tab: Tab, own_site: str, tmp_path: Path) -> None:
    await tab.look()
    await tab.command("Network.clearBrowserCookies")
    await tab.open(f"{own_site}/search?q=log+river")
    assert await cookies(tab) == set()
    host = await tab.evaluate("document.querySelector('.result .actions [name=site]').value")
    await tab.evaluate("document.querySelector('.result .about').open = true")
    await tab.click(".result .actions button[value=hidden]")
    assert await tab.evaluate("location.pathname + location.search") == "/search?q=log+river"
    assert await text(tab, ".once p") == f"{host} is now hidden."
    assert host not in await tab.evaluate(
        "[...document.querySelectorAll('.result .actions [name=site]')].map(e => e.value)"
    )
    await keep(tab, tmp_path, "preferences-hidden")
    await tab.open(f"{own_site}/preferences")
    assert await text(tab, ".once") == "", "the message is shown once"
    assert await tab.evaluate("document.querySelector('#hidden').value") == host
    await tab.click("form[action='/preferences/reset'] button")
    assert await text(tab, ".once") == "Your preferences are removed."
    await tab.open(f"{own_site}/")
    assert await cookies(tab) == set()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
async def test_the_page_of_preferences(tab: Tab, own_site: str, tmp_path: Path, width: int, theme: str) -> None:
    await tab.look(width=width, dark=theme == "light")  # a person's choice goes before the browser's
    await tab.command("Network.clearBrowserCookies")
    await tab.open(f"{own_site}/preferences")
    await tab.evaluate(f"document.querySelector('#theme').value = {theme!r}")
    await tab.evaluate("document.querySelector('#raised').value = 'sqlite.org'")
    await tab.click("form[action='/preferences'] button")
    assert await text(tab, ".once") == "Your preferences are saved in this browser."
    color = await tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert color == {"light": "rgb(252, 251, 249)", "dark": "rgb(15, 21, 23)"}[theme]
    assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await violations(tab) == []
    await keep(tab, tmp_path, f"preferences-{width}-{theme}")
    link = await tab.evaluate("document.querySelector('a[href*=\"/preferences/shared\"]').href")
    await tab.open(link)
    assert await violations(tab) == []
    await keep(tab, tmp_path, f"preferences-shared-{width}-{theme}")


async def keep(tab: Tab, tmp_path: Path, name: str) -> None:
    write(Path(os.environ.get("RIFFLE_SCREENSHOTS") or tmp_path), name, await tab.screenshot())


def write(folder: Path, name: str, picture: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.png").write_bytes(picture)
