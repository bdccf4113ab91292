"""The rules of the election."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.ids import page_id
from streams.dedup.election import order_by_preference
from streams.stores.protocols import Fingerprint, Sight


def page(url: str, **fields: object) -> Fingerprint:
    return replace(Fingerprint(page_id(url), "hash", 0, url, 1, first_seen=5), **fields)  # type: ignore[arg-type]  # each test knows the fields


LONG, SHORT = "https://example.com/a/long/path", "https://example.com/a"
VARIANT, LOWER, UPPER = f"{SHORT}?from=home", SHORT, "https://example.com/A"
ONE, TWO = "https://a.com/1", "https://a.com/2"
OTHER_SITE, WWW = "https://b.com/a/long/path", "https://www.a.com/a/long/path"
CASES = [
    # (winner, loser, why)
    (page(LONG), page(SHORT, canonical_url=LONG), "a page that names another one loses, although shorter"),
    (page(LONG, canonical_url=LONG), page(SHORT, canonical_url=LONG), "a page may name itself"),
    (page(LONG, first_seen=1), page(SHORT, in_links=9), "on one site the older page, before links and length"),
    (page(SHORT), page(VARIANT, first_seen=1, in_links=9), "of variants the shorter URL, before links and age"),
    (page(LOWER, in_links=2), page(UPPER, in_links=1, first_seen=1), "of variants the one with more links, before age"),
    (page(TWO, first_seen=1), page(ONE), "the older page"),
    (page(ONE), page(TWO), "the URL that sorts first"),
    (page(OTHER_SITE, first_seen=4), page(ONE, in_links=9), "across sites the older page, before links and length"),
    (page(ONE), page(OTHER_SITE, in_links=9), "the host that sorts first, if they are equally old"),
    (page(OTHER_SITE, canonical_url=OTHER_SITE), page(ONE, first_seen=1, canonical_url=OTHER_SITE), "both name it"),
    (page(ONE, first_seen=4, canonical_url=OTHER_SITE), page(OTHER_SITE), "a page that says nothing gets nothing"),
    (page(OTHER_SITE), page(ONE, canonical_url="https://c.com/"), "of equally old pages, one that names no other site"),
    (page(ONE, first_seen=1, canonical_url=OTHER_SITE), page(OTHER_SITE, canonical_url=ONE), "a circle of two domains"),
    (
        page(ONE, first_seen=1, canonical_url=OTHER_SITE),
        page(OTHER_SITE, canonical_url="https://b.com/"),
        "a page of another domain that names another page of its own",
    ),
    (page(OTHER_SITE, first_seen=4), page(ONE, canonical_url=ONE), "naming itself makes no page older"),
    (
        page(WWW),
        page(ONE, first_seen=1, canonical_url=WWW),
        "a page of another host of the domain may say nothing",
    ),
    (page(ONE, canonical_url=WWW), page(WWW, canonical_url=ONE), "a circle of two hosts of a domain"),
    (page(ONE, first_seen=1, canonical_url="https://c.com/"), page(OTHER_SITE), "naming a page of no one here"),
    (
        page(OTHER_SITE, canonical_url="https://c.com/"),
        page(ONE, first_seen=6, canonical_url=OTHER_SITE),
        "naming a page that names another site",
    ),
    (
        page(OTHER_SITE, canonical_url=OTHER_SITE),
        page(ONE, canonical_url=OTHER_SITE),
        "a page that agrees, before a shorter one of a site that names it",
    ),
]


@pytest.mark.parametrize(("winner", "loser", "why"), CASES, ids=[case[2] for case in CASES])
def test_the_rules(winner: Fingerprint, loser: Fingerprint, why: str) -> None:
    assert order_by_preference([winner, loser])[0].url == winner.url, why
    assert order_by_preference([loser, winner])[0].url == winner.url, why


def test_a_page_inherits_the_age_of_its_variants_and_of_its_site() -> None:
    older, shorter = page(VARIANT, first_seen=1), page(SHORT)
    assert order_by_preference([older, shorter])[0] == replace(shorter, inherited=(Sight(b"", 1),))
    assert order_by_preference([page(ONE, first_seen=1), page(TWO, first_seen=3)])[1].inherited == (
        Sight(b"", 1, False),
    )
    assert order_by_preference([page(ONE), page(OTHER_SITE, first_seen=1)])[0].inherited == ()


PAGES = st.builds(
    lambda host, path, seen, links, named: page(
        f"https://{host}.test/{path}", first_seen=seen, in_links=links, canonical_url=named
    ),
    st.sampled_from("ab"),
    st.text("xy", max_size=3),
    st.integers(1, 3),
    st.integers(0, 2),
    st.sampled_from([None, "https://x.test/", "https://a.test/", "https://b.test/x"]),
)


@given(st.lists(PAGES, min_size=1, max_size=5, unique_by=lambda found: found.url))
def test_any_order_elects_the_same(pages: list[Fingerprint]) -> None:
    assert {order_by_preference(order)[0].url for order in permutations(pages)} == {order_by_preference(pages)[0].url}


@given(st.lists(PAGES, min_size=2, max_size=6, unique_by=lambda found: found.url))
def test_an_elected_page_wins_against_each_other_page(pages: list[Fingerprint]) -> None:
    """So elections end, in whatever order pages meet."""
    elected = order_by_preference(pages)[0]
    others = [other for other in pages if other.page_id != elected.page_id]
    assert all(order_by_preference([elected, other])[0].url == elected.url for other in others)


def test_an_election_needs_a_page() -> None:
    with pytest.raises(ValueError, match="needs a page"):
        order_by_preference([])
