"""Who may see a page, by the private sites: the audience of an address, and of what is indexed after a change."""

import pytest

from streams.crawl.audiences import EVERYBODY, audience_of, change_audiences
from streams.models.protocols import ModelInfo
from streams.seen.sites import visible_to
from streams.stores.memory import MemoryIndex
from streams.stores.protocols import FOR_EVERYBODY, Site
from tests.integration.contracts.indexes import axis, page, point

WIKI = Site("wiki", "Wiki", ("wiki.example",), is_private=True)
BOARD = Site("board", "Board", ("board.wiki.example",), is_private=True)
BOTH = Site("both", "Both", ("board.wiki.example", "shop.example"), is_private=True)
OPEN = Site("docs", "Docs", ("docs.example", "open.wiki.example"))

AUDIENCES = [
    ("https://docs.example/", [WIKI, OPEN], EVERYBODY, "a site that is not private"),
    ("https://wiki.example/a", [WIKI, OPEN], "wiki", "its own domain"),
    ("https://a.wiki.example:8443/b", [WIKI], "wiki", "a subdomain, at any port"),
    ("https://notwiki.example/", [WIKI], EVERYBODY, "another domain that ends like it"),
    ("https://board.wiki.example/", [WIKI, BOARD], "board", "the site that names the longest domain"),
    ("https://board.wiki.example/", [WIKI, BOARD, BOTH], "board both", "two sites with one domain"),
    (
        "https://open.wiki.example/",
        [WIKI, OPEN],
        "wiki",
        "a site that is not private takes nothing out of a private one",
    ),
]


@pytest.mark.parametrize(("url", "sites", "audience", "why"), AUDIENCES, ids=[why for *_, why in AUDIENCES])
def test_the_audience_of_an_address(url: str, sites: list[Site], audience: str, why: str) -> None:
    assert audience_of(url, sites) == audience, why


HOSTS = ("docs.example", "wiki.example", "a.wiki.example", "board.wiki.example", "shop.example")
CHANGES = [
    (WIKI.hosts, [WIKI], ["", "wiki", "wiki", "wiki", ""], "a site is made"),
    (WIKI.hosts, [WIKI, BOARD], ["", "wiki", "wiki", "board", ""], "a site within it keeps its own audience"),
    (BOARD.hosts, [WIKI, BOARD], ["", "", "", "board", ""], "only what was named changes"),
    (WIKI.hosts, [BOARD], ["", "", "", "board", ""], "a site is removed around another one"),
    (BOTH.hosts, [BOARD, BOTH], ["", "", "", "board both", "both"], "two sites have one domain"),
    (OPEN.hosts, [OPEN], ["", "", "", "", ""], "a site that is not private"),
]


@pytest.mark.parametrize(("domains", "sites", "expected", "why"), CHANGES, ids=[why for *_, why in CHANGES])
async def test_a_change_reaches_what_is_indexed(
    domains: tuple[str, ...], sites: list[Site], expected: list[str], why: str
) -> None:
    index = MemoryIndex()
    collection = await index.ensure(ModelInfo("mini", "1", 8))
    for host in HOSTS:
        made = point(host, host, axis(7), host=host)
        row = made.payload.row() | {"sites": [host.partition(".")[2]] if host.count(".") > 1 else []}
        await index.upsert(collection, [type(made)(made.id, made.dense, made.sparse, type(made.payload).of_row(row))])
    await change_audiences(index, domains, sites)
    found = [(await index.scroll(collection, page(host)))[0].payload.audience for host in HOSTS]
    assert found == expected, why


async def test_the_index_in_memory_keeps_nothing_of_a_removed_page() -> None:
    index = MemoryIndex()
    collection = await index.ensure(ModelInfo("mini", "1", 8))
    for host in HOSTS:
        await index.upsert(collection, [point(host, host, axis(7), host=host)])
    await index.remove_page(collection, page(HOSTS[0]))
    kept = index._of(collection)
    assert kept.audiences.keys() == kept.points.keys()
    assert len(kept.points) == len(HOSTS) - 1


def test_a_key_sees_the_audiences_of_its_site() -> None:
    sites = {site.name: site for site in (WIKI, BOARD, BOTH, OPEN)}
    assert visible_to(None, sites).audiences == FOR_EVERYBODY.audiences
    assert visible_to(WIKI, sites).audiences == ("wiki",), "the site within it is another's"
    assert visible_to(BOARD, sites).audiences == ("board both",)
    assert visible_to(BOTH, sites).audiences == ("board both", "both")
