"""Each state of the pages: axe, the audit of WCAG and the layout find no fault, at three widths and in both colours."""

from collections.abc import AsyncIterator

import pytest

from tests.e2e.axe import violations
from tests.e2e.browser import Tab
from tests.e2e.layout import layout_faults
from tests.e2e.states import STATES, Webs, served_states
from tests.e2e.test_search_pages import AUDIT, screens_of
from tests.sizes import FULL

pytestmark = pytest.mark.browser
NARROW = 320


@pytest.fixture(scope="module")
async def webs() -> AsyncIterator[Webs]:
    async with served_states() as opened:
        yield opened


@pytest.fixture(autouse=True)
async def _as_before(tab: Tab) -> AsyncIterator[None]:
    """The next test has a reader without a language, cookies or scripts."""
    yield
    await tab.command("Network.setExtraHTTPHeaders", headers={})
    await tab.command("Network.clearBrowserCookies")
    await tab.run_scripts(on=False)


@pytest.mark.parametrize("name", STATES)
async def test_a_state_is_accessible_and_nothing_of_it_is_cut_or_covered(tab: Tab, webs: Webs, name: str) -> None:
    state, number = STATES[name], list(STATES).index(name)
    screens = screens_of(number)
    for width, dark in (*screens, (NARROW, number % 2 == 0)):
        await tab.look(width=width, height=900, dark=dark)
        await webs.show(tab, state)
        assert await layout_faults(tab, width, dark=dark, has_menu=state.has_menu) == [], f"{width} px"
        assert await tab.evaluate(AUDIT) == [], f"{width} px, {'dark' if dark else 'light'}"
        if FULL or (width, dark) == screens[0]:
            assert await violations(tab) == [], f"{width} px, {'dark' if dark else 'light'}"


async def test_the_layout_finds_what_is_covered_cut_or_outside(tab: Tab, webs: Webs) -> None:
    await tab.look(width=1280, height=900)
    await webs.show(tab, STATES["results"])
    await tab.evaluate(
        """(([one, two, three]) => {
          const cover = one.appendChild(document.createElement('i'));
          one.style.position = 'relative';
          cover.style.cssText = 'position: absolute; inset: 0; z-index: 9';
          two.style.cssText = 'overflow: hidden; height: 16px';
          three.style.cssText = 'position: relative; left: -300px';
        })(document.querySelectorAll('.result h2'))"""
    )
    found = await layout_faults(tab, 1280)
    assert {fault.partition(":")[0] for fault in found} == {"covered by i", "outside", "cut off"}
