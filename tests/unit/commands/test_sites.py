"""`riffle sites`: who finds the pages of a site after each change, also if the index was away during the first try."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.commands.operate import access
from streams.crawl.audiences import change_audiences
from streams.errors import StoreUnavailable
from streams.models.protocols import ModelInfo
from streams.stores.opener import Stores
from streams.stores.protocols import Site
from tests.integration.contracts.indexes import axis, page, point
from tests.unit.commands.stores_in_memory import open_in_memory

HOSTS = ("wiki.example", "shop.example")
OPEN = Site("wiki", "Wiki", HOSTS)
WIKI = Site("wiki", "Wiki", HOSTS, is_private=True)
BOTH = Site("shop", "Shop", ("shop.example",), is_private=True)
ADD = ("add", "wiki", "--host", "wiki.example")

CHANGES: list[tuple[list[Site], Sequence[str], list[str], str]] = [
    # the sites before, the command, audiences of HOSTS afterwards
    ([], (*ADD, "--private"), ["wiki", ""], "a private site is made"),
    ([OPEN], (*ADD, "--private"), ["wiki", ""], "a site becomes private"),
    ([WIKI], (*ADD, "--host", "shop.example"), ["", ""], "a site becomes public"),
    ([WIKI], ADD, ["", ""], "a site becomes public and loses a host"),
    ([WIKI], (*ADD, "--private"), ["wiki", ""], "a private site loses a host"),
    ([WIKI], ("add", "wiki", "--host", "shop.example", "--private"), ["", "wiki"], "it loses the other host"),
    ([WIKI], ("remove", "wiki"), ["", ""], "a private site is removed"),
    ([WIKI, BOTH], ("remove", "wiki"), ["", "shop"], "a private site is removed, and another one names its host"),
    ([OPEN], ("remove", "wiki"), ["", ""], "a public site is removed"),
]


async def prepare(stores: Stores, sites: Sequence[Site]) -> str:
    collection = await stores.vectors.ensure(ModelInfo("mini", "1", 8))
    for host in HOSTS:
        await stores.vectors.upsert(collection, [point(host, host, axis(7), host=host)])
    for site in sites:
        await stores.api_keys.put_site(site, 1)
        await change_audiences(stores.vectors, site.hosts, await stores.api_keys.sites())
    return collection


async def audiences(stores: Stores, collection: str) -> list[str]:
    return [(await stores.vectors.scroll(collection, page(host)))[0].payload.audience for host in HOSTS]


@pytest.mark.parametrize("calls", [None, 0, 1], ids=["at once", "after an outage", "after an outage in between"])
@pytest.mark.parametrize(("before", "command", "expected", "why"), CHANGES, ids=[why for *_, why in CHANGES])
def test_who_finds_the_pages(
    before: list[Site],
    command: Sequence[str],
    expected: list[str],
    why: str,
    calls: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`calls`: after so many changes in the index it is away, once."""
    stores = open_in_memory(monkeypatch, access)
    collection = asyncio.run(prepare(stores, before))
    monkeypatch.setenv("RIFFLE_ACCESS__PRIVATE_SITES", "true")
    left, real = calls, stores.vectors.set_audience

    async def set_audience(collection: str, host: str, audience: str) -> None:
        nonlocal left
        if left == 0:
            left = None
            raise StoreUnavailable("Qdrant is away")
        left = left and left - 1
        await real(collection, host, audience)

    monkeypatch.setattr(stores.vectors, "set_audience", set_audience)
    while (result := CliRunner().invoke(app, ["sites", *command])).exit_code:
        assert result.stderr.startswith("Error: Qdrant is away"), result.output
    CliRunner().invoke(app, ["sites", *command])
    assert asyncio.run(audiences(stores, collection)) == expected, why


def test_own_words_come_from_a_file_and_stay_when_the_site_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stores = open_in_memory(monkeypatch, access)
    asyncio.run(prepare(stores, [OPEN]))
    file = tmp_path / "words.json"
    given = {"synonyms": [["K8s", "kubernetes"]], "pinned": {"Help!": "https://wiki.example/help"}}
    file.write_text(json.dumps(given))
    made = CliRunner().invoke(app, ["sites", "add", "wiki", "--words", str(file)])
    assert "It has 1 groups of synonyms and 1 pinned pages." in made.output, made.output
    CliRunner().invoke(app, ["sites", "add", "wiki", "--host", "wiki.example", "--title", "New"])
    (site,) = asyncio.run(stores.api_keys.sites())
    assert (site.title, site.hosts) == ("New", ("wiki.example",))
    assert (site.synonyms, site.pinned) == ((("k8s", "kubernetes"),), (("help", "https://wiki.example/help"),))
    CliRunner().invoke(app, ["sites", "add", "wiki", "--host", "shop.example"])
    (site,) = asyncio.run(stores.api_keys.sites())
    assert (len(site.synonyms), site.pinned) == (1, ()), "no page of a host that left"
    for content, message in (
        ("[]", "It has `synonyms` and `pinned`"),
        ('{"pinned": {"a": "https://bank.example/"}}', "has no page"),
        ('{"more": 1}', "more:"),
    ):
        file.write_text(content)
        refused = CliRunner().invoke(app, ["sites", "add", "wiki", "--words", str(file)])
        assert (refused.exit_code, message in refused.output) == (2, True), refused.output
    unknown = CliRunner().invoke(app, ["sites", "add", "other", "--words", str(file)])
    assert "there is no site 'other'" in unknown.output
