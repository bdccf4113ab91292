"""Quick checks in a browser: the box stands above the results, and the definition leads to its page."""

import pytest

from tests.e2e.browser import Tab

pytestmark = pytest.mark.browser


async def text(tab: Tab, selector: str) -> str:
    found: str = await tab.evaluate(f"document.querySelector({selector!r})?.innerText ?? ''")
    return found


async def test_the_box_stands_above_the_results(tab: Tab, site: str) -> None:
    await tab.look()
    await tab.open(f"{site}/search?q=5+miles+in+km")
    assert await text(tab, ".quick .value") == "8.04672 km"
    assert await text(tab, ".quick .asked") == "5 miles ="
    top = "document.querySelector({!r}).getBoundingClientRect().top"
    assert await tab.evaluate(f"{top.format('.quick')} < {top.format('.results')}")


async def test_a_definition_has_its_link(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=what+is+a+riffle")
    assert await text(tab, ".quick blockquote") == "A riffle is a shallow stretch where a stream runs fast over stones."
    link = await tab.evaluate("document.querySelector('.quick a').href")
    assert link.startswith("https://rivers.example/guide/reading%20water/riffles?part=2#:~:text=A%20riffle")


async def test_an_ordinary_query_has_no_box(tab: Tab, site: str) -> None:
    await tab.open(f"{site}/search?q=write-ahead+log")
    assert not await tab.evaluate("document.querySelector('.quick') !== null")
