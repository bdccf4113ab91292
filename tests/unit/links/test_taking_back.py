"""Erased pages leave the graph of hosts: their links, their addresses, and the ranks that follow from them."""

import pytest

from streams.links import taking_back
from streams.links.ranking import rank_hosts
from streams.links.taking_back import take_back_links
from streams.stores.memory import MemoryHostLinks
from streams.stores.protocols import HostRank

ERASED = "https://a.example/private"


async def report(_: str, share: float) -> None:
    assert 0 <= share <= 1


async def rank(links: MemoryHostLinks) -> None:
    await rank_hosts(links, anew=False, progress=lambda step, hosts: None)


@pytest.fixture(params=[1, 500])
def batch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking_back, "SCANNED_HOSTS", request.param)


@pytest.mark.usefixtures("batch")
async def test_links_of_an_erased_page_are_deleted_and_those_of_others_stay() -> None:
    links = MemoryHostLinks()
    for host, source, url in [
        ("hub.example", "a.example", ERASED),
        ("hub.example", "b.example", "https://b.example/"),
        ("other.example", "a.example", "https://a.example/public"),
        ("alone.example", "a.example", ERASED),
    ]:
        await links.add(host, source, url, at=1)
    assert await take_back_links(links, [ERASED, "https://c.example/"], 2, report) == 2
    assert await links.sources("hub.example", 9) == {"b.example": "https://b.example/"}
    assert await links.sources("other.example", 9) == {"a.example": "https://a.example/public"}
    assert await links.sources("alone.example", 9) == {}
    assert await take_back_links(links, [ERASED], 2, report) == 0, "a repetition finds nothing"


async def test_the_next_ranks_are_those_of_a_graph_that_never_had_the_links() -> None:
    links, without = MemoryHostLinks(), MemoryHostLinks()
    for graph in (links, without):
        await graph.add("hub.example", "b.example", "https://b.example/", at=1)
        await graph.add("hub.example", "c.example", "https://c.example/", at=1)
    await links.add("hub.example", "a.example", ERASED, at=1)
    await links.add("alone.example", "a.example", ERASED, at=1)
    await links.put_in_links("alone.example", 1)
    await rank(links)
    assert (await links.ranks(["alone.example"]))["alone.example"].rank == pytest.approx(1.425, abs=1e-5)
    await take_back_links(links, {ERASED}, 2, report)
    await rank(links)
    await rank(without)
    expected = (await without.ranks(["hub.example"]))["hub.example"].rank
    found = await links.ranks(["hub.example", "alone.example"])
    assert found["hub.example"].rank == pytest.approx(expected, rel=1e-3)
    assert found["alone.example"] == HostRank(0, 1.0)
