"""Links to pages: one owner counts once, and a link has one row."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import LinkFound
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.commands.operate.links import rank_by_batch
from streams.errors import UsageError
from streams.links.batch import Here
from streams.links.page_links import (
    DOMAINS,
    PAGES_PER_DOMAIN,
    group_by_domain,
    links_to_store,
    place_of,
)
from streams.links.pagerank import GraphBuilder, HostGraph, Ranks
from streams.links.ranking import rank_hosts
from streams.stores.memory import MemoryHostLinks
from streams.stores.protocols import PageLink

TARGET = "https://sea.example/tides"


def found(source: str, *anchors: str, target: str = TARGET, nofollow: bool = False) -> LinkFound:
    first, *more = anchors or ("tides",)
    return LinkFound(
        target_page_id=page_id(target),
        target_url=target,
        target_host="sea.example",
        source_page_id=page_id(source),
        source_url=source,
        generation=1,
        anchor=first,
        nofollow=nofollow,
        more=tuple(MoreLink(target_url=f"{target}/{n}", anchor=anchor) for n, anchor in enumerate(more)),
    )


def test_only_links_from_other_domains_are_stored() -> None:
    assert list(links_to_store(found("https://docs.sea.example/"))) == []
    event = found("https://moon.example/", "tides", "ebb")
    (one, other) = links_to_store(event)
    assert one.host == "sea.example"
    assert list(links_to_store(event.model_copy(update={"target_host": ""}))) == [one, other], "an earlier version"
    assert (one.page_id, one.anchor, other.page_id, other.anchor) == (
        page_id(TARGET), "tides", page_id(f"{TARGET}/0"), "ebb",
    )  # fmt: skip


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_pages_of_a_domain_share_a_few_places(number: int, other: int) -> None:
    places = {place_of(f"https://h{n}.farm.example/{n}") for n in (number, other)}
    assert all(0 <= place < DOMAINS * PAGES_PER_DOMAIN for place in places)
    assert len({place // PAGES_PER_DOMAIN for place in places}) == 1, "subdomains of one owner are one domain"


def test_domains_that_vouch_for_a_link_come_first() -> None:
    urls = ["https://a.moon.example/", "https://b.lake.example/", "https://b.lake.example/2", "https://x.farm.example/"]
    links = [
        PageLink("sea.example", page_id(TARGET), n, url, "Tides " * (n % 2 + 1), n == 0) for n, url in enumerate(urls)
    ]
    domains = group_by_domain(links)
    assert [one.domain for one in domains] == ["lake.example", "farm.example", "moon.example"]


PLATFORMS = ["github.io", "pages.dev", "wordpress.com", "substack.com", "blogspot.com", "s3.amazonaws.com", "free.fr"]


@pytest.mark.parametrize(
    "name", ["farm.example", "farm.co.uk", "xn--e1afmkfd.xn--p1ai", "a.b.farm.example", *PLATFORMS]
)
async def test_names_below_one_name_give_no_more_rank_than_one_host(name: str) -> None:
    """One owner makes any number of them, or gets them free of a platform."""
    farm, honest = MemoryHostLinks(), MemoryHostLinks()
    for number in range(100):
        await farm.add("target.example", f"h{number}.{name}", f"https://h{number}.{name}/", at=1)
    await honest.add("target.example", name, f"https://{name}/", at=1)
    for store in (farm, honest):
        await rank_hosts(store, anew=True, private=(), progress=lambda step, hosts: None)
    ranks = [(await store.ranks(["target.example"]))["target.example"].rank for store in (farm, honest)]
    assert ranks[0] == pytest.approx(ranks[1])


async def test_ranks_that_are_computed_elsewhere_are_those_of_one_process(tmp_path: Path) -> None:
    here, there = MemoryHostLinks(), MemoryHostLinks()
    for store in (here, there):
        for source in ("moon.example", "hill.example", "www.sea.example"):
            await store.add("www.lake.example", source, f"https://{source}/", at=1)
        await store.add("www.sea.example", "moon.example", "https://moon.example/", at=1)

    async def compute_there(graph: HostGraph) -> Ranks:
        return rank_by_batch(Here(), graph, tmp_path / "edges.tsv", lambda _, __: None)

    ranked = await rank_hosts(here, anew=True, private=(), progress=lambda _, __: None)
    other = await rank_hosts(there, anew=False, private=(), progress=lambda _, __: None, compute_there=compute_there)
    assert (other.hosts, other.links, other.written) == (ranked.hosts, ranked.links, ranked.written)
    for one, two in zip(ranked.first, other.first, strict=True):
        assert (one[0], one[2]) == (two[0], two[2])
        assert one[1] == pytest.approx(two[1], rel=1e-3)


def test_a_file_of_links_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be written"):
        rank_by_batch(Here(), graph_of([(1, 2)]), tmp_path, lambda _, __: None)


def graph_of(edges: list[tuple[int, int]]) -> HostGraph:
    builder = GraphBuilder()
    for source, target in edges:
        builder.add(str(target), [str(source)])
    return builder.graph()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_the_edges_of_a_graph_are_each_given_once(edges: list[tuple[int, int]]) -> None:
    assert sorted(graph_of(edges).edges()) == sorted({(str(a), str(b)) for a, b in edges if a != b})
