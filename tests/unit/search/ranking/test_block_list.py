"""Block lists in the formats in which they are shared."""

import pytest

from streams.search.ranking.rules import BlockList, merge_block_lists, read_block_list

LISTS = [
    # lines, a blocked host, a host that is not blocked
    (["# ads", "0.0.0.0 ads.example", "127.0.0.1 localhost"], "ads.example", "localhost"),
    (["127.0.0.1\ttracker.example other.example # both"], "other.example", "example"),
    (["ads.example", "! a comment", "[Adblock Plus 2.0]"], "www.ads.example", "notads.example"),
    (["||ads.example^"], "a.b.ads.example", "ads.example.org"),
    (["||ads.example^$third-party,document"], "ads.example", "example"),
    (["||ads.example^", "@@||good.ads.example^"], "bad.ads.example", "x.good.ads.example"),
    (["*://*.ads.example/*"], "ads.example", "other.example"),
    (["*.ads.example"], "x.ads.example", "other.example"),
    (["ADS.Example"], "ads.EXAMPLE:8080", "other.example"),
    (["0.0.0.0 ads.example\t# not good.example.org"], "ads.example", "good.example.org"),
    (["ads.example  # two spaces"], "ads.example", "other.example"),
    (["||ads.example^\t\t# why"], "ads.example", "other.example"),
    (["*://*.ads.example/*   # why"], "ads.example", "other.example"),
    (["bücher.example", "||bäder.example^"], "xn--bcher-kva.example", "example"),
    (["||ads.example^", "@@||ads.example^$elemhide"], "ads.example", "other.example"),  # an exception only for looks
]


@pytest.mark.parametrize(("lines", "blocked", "shown"), LISTS, ids=[lines[0] for lines, *_ in LISTS])
def test_a_list(lines: list[str], blocked: str, shown: str) -> None:
    found = read_block_list(lines)
    assert found.blocks(blocked)
    assert not found.blocks(shown)


PARTIAL = [
    "||ads.example^$removeparam=utm",
    "||ads.example^$badfilter",
    "||ads.example^$domain=other.example",
    "||ads.example^$image",
    "||ads.example^path",
    "example.org##.banner",
    "/banner[0-9]+/",
    "||ads.example/banner^",
    "one-word",
]


@pytest.mark.parametrize("line", PARTIAL)
def test_a_rule_for_a_part_of_a_site_blocks_nothing(line: str) -> None:
    found = read_block_list([line])
    assert (found.blocked, found.left_out) == (frozenset(), 1)


def test_lists_are_joined() -> None:
    found = merge_block_lists([read_block_list(["a.example"]), read_block_list(["@@||b.a.example^"]), BlockList()])
    assert found.blocks("a.example")
    assert not found.blocks("b.a.example")
