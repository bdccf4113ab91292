"""The ranks of all hosts, from stored links to stored ranks."""

from collections.abc import Sequence

import pytest

from streams.links.ranking import SCANNED_HOSTS, Ranked, rank_hosts
from streams.stores.memory import MemoryHostLinks


async def linked(links: MemoryHostLinks, *pairs: tuple[str, str]) -> MemoryHostLinks:
    for source, host in pairs:
        await links.add(host, source, f"https://{source}/", at=1)
    return links


async def rank(links: MemoryHostLinks, *, anew: bool = False, private: Sequence[str] = ()) -> Ranked:
    return await rank_hosts(links, anew=anew, private=private, progress=lambda step, hosts: None)


async def ranks_of(links: MemoryHostLinks, *hosts: str) -> dict[str, float | None]:
    return {host: one.rank for host, one in (await links.ranks(hosts)).items()}


async def test_ranks_are_written_and_the_highest_are_returned() -> None:
    links = await linked(MemoryHostLinks(), ("a", "hub"), ("b", "hub"), ("hub", "c"))
    ranked = await rank(links)
    assert (ranked.hosts, ranked.links, ranked.written) == (4, 3, 2)
    assert [(host, count) for host, _, count in ranked.first] == [("c", 1), ("hub", 2), ("a", 0), ("b", 0)]
    expected = {"hub": 1 + 2 * 0.85, "c": 1 + 0.85 * (1 + 2 * 0.85)}
    assert await ranks_of(links, "a", "b", "c", "hub") == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("anew", [False, True])
async def test_a_second_run_writes_nothing_and_a_third_what_changed(anew: bool) -> None:
    links = await linked(MemoryHostLinks(), ("a", "hub"), ("b", "hub"), ("c", "d"))
    await rank(links, anew=anew)
    assert (await rank(links, anew=anew)).written == 0
    await linked(links, ("e", "hub"))
    assert (await rank(links, anew=anew)).written == 1
    assert await ranks_of(links, "hub", "d") == pytest.approx({"hub": 1 + 3 * 0.85, "d": 1.85}, abs=1e-5)


async def test_both_ways_agree_over_more_hosts_than_one_request_reads() -> None:
    one, other = MemoryHostLinks(), MemoryHostLinks()
    pairs = [(f"s{n}", f"t{(n * n) % (2 * SCANNED_HOSTS + 1)}") for n in range(3 * SCANNED_HOSTS)]
    pairs += [(f"t{n}", f"t{(7 * n) % 100}") for n in range(SCANNED_HOSTS)]
    await linked(one, *pairs[: len(pairs) // 2])
    await rank(one)
    await linked(one, *pairs)
    await linked(other, *pairs)
    incremental, anew = await rank(one), await rank(other, anew=True)
    assert (incremental.hosts, incremental.links) == (anew.hosts, anew.links)
    hosts = [f"t{n}" for n in range(2 * SCANNED_HOSTS + 1)]
    assert await ranks_of(one, *hosts) == pytest.approx(await ranks_of(other, *hosts), rel=0.002)


# Who links to whom -> the ranks of hosts below domains.
BELOW = {
    "a blog has no part in the rank of its platform": (
        [("a.example", "famous.substack.com"), ("b.example", "famous.substack.com"), ("c.example", "substack.com")],
        {"famous.substack.com": 1 + 2 * 0.85, "evil.substack.com": None, "substack.com": 1 + 3 * 0.85},
    ),
    "nor has one of a platform that the list names": (
        [("a.example", "famous.github.io"), ("x.example", "evil.github.io")],
        {"famous.github.io": 1.85, "evil.github.io": 1.85},
    ),
    "blogs give each other nothing": (
        [("a.substack.com", "evil.substack.com"), ("b.substack.com", "evil.substack.com")],
        {"evil.substack.com": None},
    ),
    "nor do blogs of a platform that the list names": (
        [("a.github.io", "evil.github.io"), ("a.example", "evil.github.io"), ("x.example", "github.io")],
        {"evil.github.io": 1.85},
    ),
    "with and without www": (
        [("a.example", "www.docs.site.example"), ("b.example", "docs.site.example"), ("b.example", "www.site.example")],
        {"docs.site.example": 1 + 2 * 0.85, "www.docs.site.example": 1 + 2 * 0.85, "www.site.example": 1 + 2 * 0.85},
    ),
    "a suffix with two labels": ([("a.example", "www.bbc.co.uk"), ("b.example", "bbc.co.uk")], {"bbc.co.uk": 2.7}),
    "a name in another script": ([("a.example", "b.xn--e1afmkfd.xn--p1ai")], {"b.xn--e1afmkfd.xn--p1ai": 1.85}),
}


@pytest.mark.parametrize(("pairs", "expected"), BELOW.values(), ids=BELOW)
async def test_a_name_below_a_domain_has_a_rank_by_the_links_to_itself(
    pairs: list[tuple[str, str]], expected: dict[str, float | None]
) -> None:
    links = await linked(MemoryHostLinks(), *pairs)
    await rank(links)
    found = await ranks_of(links, *expected)
    assert {host: found.get(host) for host in expected} == {
        host: None if value is None else pytest.approx(value, abs=1e-5) for host, value in expected.items()
    }
    assert (await rank(links)).written == 0, "a second run changes nothing"


# Domains that became private after their links were stored -> the rank of the host that all three link to.
PRIVATE = {
    "none": ((), 1 + 3 * 0.85),
    "one": (("a.example",), 1 + 2 * 0.85),
    "one that a linking host is below": (("example",), 1.0),
    "a name that only ends alike": (("le",), 1 + 3 * 0.85),
    "a host that links to nothing": (("other.example",), 1 + 3 * 0.85),
}


@pytest.mark.parametrize(("private", "expected"), PRIVATE.values(), ids=PRIVATE)
@pytest.mark.parametrize("anew", [True, False])
async def test_links_of_a_site_that_became_private_give_no_rank(
    private: Sequence[str], expected: float, anew: bool
) -> None:
    links = await linked(MemoryHostLinks(), *((f"{name}.example", "target.example") for name in "abc"))
    await rank(links)
    await rank(links, anew=anew, private=private)
    (found,) = (await ranks_of(links, "target.example")).values()
    assert (found or 1.0) == pytest.approx(expected, abs=1e-5)


async def test_no_links_are_no_ranks() -> None:
    assert await rank(MemoryHostLinks()) == Ranked(0, 0, 0, ())
