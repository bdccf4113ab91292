"""Suggestions while a person types, in Chromium with the script of the page: keys, mouse, cache, prefetch, roles."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from streams.queries.counts import quarter_of
from streams.queries.suggestions.index import Suggestion
from streams.queries.suggestions.prefix_lists import offer
from streams.stores.protocols import StoredSuggestion
from tests.e2e.axe import violations
from tests.e2e.browser import Tab
from tests.e2e.demo import demo_stores, served
from tests.stages.gateway_fakes import NOW, gateway

pytestmark = pytest.mark.browser

KNOWN = [("write-ahead log", 9.0), ("write-ahead logging", 8.0), ("write lock", 7.0), ("wraparound", 1.0)]
MANY = [(f"sqlite {letter}{number} option", float(100 - number)) for number, letter in enumerate("aaaaaabcdefgh")]
SHOWN = "[...document.querySelectorAll('#suggestions li')].map(each => each.textContent)"
BOLD = "[...document.querySelectorAll('#suggestions strong')].map(each => each.textContent)"
IS_OPEN = "document.querySelector('#suggestions')?.hidden === false"
KEPT = "Object.keys(JSON.parse(sessionStorage.getItem('riffle-suggestions') ?? '{}')).length"
TYPE_AT_ONCE = """(() => {
  const box = document.querySelector('#q');
  for (const letter of %r) { box.value += letter; box.dispatchEvent(new InputEvent('input', {bubbles: true})); }
})()"""
"""Type letters without a pause between them, however slow the machine is."""
ASKED = "performance.getEntriesByType('resource').filter(each => each.name.includes('/api/v1/suggest')).length"


@pytest.fixture(scope="module")
async def suggesting() -> AsyncIterator[str]:
    stores = await demo_stores()
    app = gateway(stores, deadline_seconds=30)
    app.state.gateway.suggest.use(Suggestion(text, weight, "en") for text, weight in [*KNOWN, *MANY])
    await offer(stores.suggestions, [StoredSuggestion("السجل الأول", "ar", 1.0)], quarter_of(NOW), 1)
    async with served(app) as address:
        yield address
    await app.state.gateway.close()


@pytest.fixture(autouse=True)
async def _with_scripts(tab: Tab, suggesting: str) -> AsyncIterator[None]:
    await tab.look()
    await tab.run_scripts(on=True)
    await tab.open(f"{suggesting}/")
    await tab.evaluate("sessionStorage.clear()")
    await tab.open(f"{suggesting}/")
    yield
    await tab.run_scripts(on=False)


async def asked(tab: Tab, least: int) -> int:
    """Return the number of requests for suggestions. The browser may count one a moment after its answer is used."""
    await tab.until(f"{ASKED} >= {least}")
    count: int = await tab.evaluate(ASKED)
    return count


async def box(tab: Tab, name: str) -> Any:
    return await tab.evaluate(f"document.querySelector('#q').{name}")


async def test_a_person_chooses_by_the_arrow_keys(tab: Tab, suggesting: str) -> None:
    await tab.type("write")
    await tab.until(IS_OPEN)
    assert await tab.evaluate(SHOWN) == ["write-ahead log", "write-ahead logging", "write lock"]
    assert await tab.evaluate(BOLD) == ["-ahead log", "-ahead logging", " lock"]
    assert (await box(tab, "ariaExpanded"), await box(tab, "role")) == ("true", "combobox")
    for key, value, chosen in [
        ("ArrowDown", "write-ahead log", "suggestion-0"),
        ("ArrowDown", "write-ahead logging", "suggestion-1"),
        ("ArrowUp", "write-ahead log", "suggestion-0"),
        ("ArrowUp", "write", None),  # what was typed is between the last and the first
        ("ArrowUp", "write lock", "suggestion-2"),
    ]:
        await tab.press(key)
        assert await box(tab, "value") == value
        assert await box(tab, "getAttribute('aria-activedescendant')") == chosen
    await tab.press("Escape")
    assert (await box(tab, "value"), await tab.evaluate(IS_OPEN)) == ("write", False)
    await tab.press("ArrowDown")  # opens the list again
    await tab.until(IS_OPEN)
    await tab.press("ArrowDown")
    await tab.press("Enter", navigates=True)
    assert await tab.evaluate("location.search") == "?q=write-ahead+log"


async def test_a_person_chooses_by_the_mouse(tab: Tab, suggesting: str) -> None:
    await tab.type("write l")
    await tab.until(IS_OPEN)
    await tab.click("#suggestions li")
    assert await tab.evaluate("location.search") == "?q=write+lock"


async def test_a_request_waits_for_a_pause_and_answers_are_kept(tab: Tab, suggesting: str) -> None:
    await tab.until("document.activeElement?.id === 'q'")
    await tab.evaluate(TYPE_AT_ONCE % "write")
    await tab.until(IS_OPEN)
    assert await asked(tab, 1) == 1, "five letters in a row are one request"
    for letter in "-ahe":
        await tab.type(letter)
    await tab.until(f"{SHOWN}.length === 2")
    for _ in range(4):
        await tab.press("Backspace")
    await tab.until(f"{SHOWN}.length === 3")
    assert await asked(tab, 1) == 1, "a short list has all completions"
    await tab.open(f"{suggesting}/help")
    await tab.evaluate("document.querySelector('#q').focus()")
    await tab.type("write")
    await tab.until(IS_OPEN)
    assert await asked(tab, 0) == 0, "the next page knows the answer"
    await tab.evaluate(
        "sessionStorage.setItem('riffle-suggestions', JSON.stringify({write: [Date.now() - 1, ['stale']]}))"
    )
    await tab.open(f"{suggesting}/help")
    await tab.evaluate("document.querySelector('#q').focus()")
    await tab.type("write")
    await tab.until(IS_OPEN)
    assert (await asked(tab, 1), "stale" in await tab.evaluate(SHOWN)) == (1, False), "an old answer expires"


async def test_the_likely_next_letters_are_asked_ahead(tab: Tab, suggesting: str) -> None:
    await tab.type("sqlite ")
    await tab.until(IS_OPEN)
    await tab.until(f"{KEPT} === 3")
    assert await asked(tab, 3) == 3
    await tab.type("a")
    await tab.until(f"{SHOWN}.every(each => each.startsWith('sqlite a'))")
    assert await asked(tab, 3) == 3, "the list was there before the letter"


async def test_another_script_is_suggested_in_its_direction(tab: Tab, suggesting: str) -> None:
    await tab.type("السج")
    await tab.until(IS_OPEN)
    assert await tab.evaluate("getComputedStyle(document.querySelector('#suggestions li')).direction") == "rtl"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
async def test_an_open_list_has_no_violations(
    tab: Tab,
    suggesting: str,
    pictures: Path,
    width: int,
    dark: bool,
) -> None:
    await tab.look(width=width, dark=dark)
    await tab.open(f"{suggesting}/search?q=log")
    await tab.evaluate("document.querySelector('#q').select()")
    await tab.type("write")
    await tab.until(IS_OPEN)
    await tab.press("ArrowDown")
    assert await violations(tab) == []
    (pictures / f"suggestions-{width}-{'dark' if dark else 'light'}.png").write_bytes(await tab.screenshot())


async def test_a_broken_server_leaves_the_search_box_as_it_is(tab: Tab, suggesting: str) -> None:
    await tab.evaluate("document.querySelector('form[data-suggest]').dataset.suggest = '/nowhere'")
    await tab.type("write")
    await tab.until("performance.getEntriesByType('resource').some(each => each.name.includes('/nowhere'))")
    assert await tab.evaluate(IS_OPEN) is False
    await tab.press("Enter", navigates=True)
    assert await tab.evaluate("location.search") == "?q=write"


async def test_the_policy_allows_this_script_and_no_other(tab: Tab, suggesting: str) -> None:
    await tab.evaluate(
        "(() => { const other = document.createElement('script'); other.textContent = 'window.ran = true';"
        " document.body.append(other) })()"
    )
    assert await tab.evaluate("window.ran ?? null") is None
