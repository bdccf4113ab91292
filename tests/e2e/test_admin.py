"""The pages of operators in a browser without scripts: seen by all, and an action that is confirmed and logged."""

import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from streams.maintenance.mapping import Gap, IndexMap, MappedPage, label_regions
from streams.stores.index_maps import put_map
from tests.e2e.axe import violations
from tests.e2e.browser import Tab
from tests.e2e.demo import demo_stores, served
from tests.e2e.test_preferences import keep
from tests.stages.admin_fakes import AUTHORIZATION, admin

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
async def operators(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    folder = tmp_path_factory.mktemp("admin")
    stores = await demo_stores()
    await put_map(stores.notes, 1, made_map().pack())
    async with admin(stores, folder) as (app, _, _audit), served(app) as address:
        yield address


LETTERS = "/admin/letters?stage=embed&error=TritonError"


def made_map() -> IndexMap:
    """A map of three groups of pages, without a model."""
    chance = random.Random(1)
    groups = (("www.sqlite.test", "transaction journal", 0.25, 0.3), ("git.test", "commit branch", 0.7, 0.25),
              ("docs.python.test", "module function", 0.55, 0.75))  # fmt: skip
    pages = tuple(
        MappedPage(f"{host} {number}", f"https://{host}/{number}", f"{words} {number}", host, tuple(words.split()),
                   min(max(chance.gauss(x, 0.08), 0), 1), min(max(chance.gauss(y, 0.08), 0), 1))
        for host, words, x, y in groups for number in range(120)
    )  # fmt: skip
    gaps = tuple(Gap(query, "en", times, x, y) for query, times, x, y in (
        ("how to undo a frobnication", 14.0, 0.62, 0.34), ("frobnicate a branch", 6.0, 0.66, 0.37)))  # fmt: skip
    return IndexMap("2026-11-24T12:00:00+00:00", "statements_1", pages, label_regions(pages), gaps)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
async def test_the_pages_of_operators(tab: Tab, operators: str, tmp_path: Path, width: int, dark: bool) -> None:
    await tab.look(width=width, dark=dark)
    await tab.command("Network.enable")
    await tab.command("Network.setExtraHTTPHeaders", headers=AUTHORIZATION)
    try:
        await tab.open(f"{operators}/admin")
        await tab.click("form[action='/admin/do/rank'] button")
        notice = await tab.evaluate("document.querySelector('.once').innerText")
        assert notice.endswith("has begun: riffle links rank")
        for path in ("/admin", "/admin/host?name=www.sqlite.test", "/admin/map?q=commit", LETTERS, "/admin/audit"):
            await tab.open(f"{operators}{path}")
            assert await violations(tab) == []
            assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            name = path.partition("?")[0].strip("/").replace("/", "-")
            await keep(tab, Path(os.environ.get("RIFFLE_SCREENSHOTS") or tmp_path), f"{name}-{width}")
        assert "start rank" in await tab.evaluate("document.querySelector('table').innerText")
    finally:
        await tab.command("Network.setExtraHTTPHeaders", headers={})
