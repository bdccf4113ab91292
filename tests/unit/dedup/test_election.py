"""The rules of the election."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.ids import page_id
from streams.dedup.election import elect, rank
from streams.stores.protocols import Fingerprint


def page(url: str, **fields: object) -> Fingerprint:
    return replace(Fingerprint(page_id(url), "hash", 0, url, 1, first_seen=5), **fields)  # type: ignore[arg-type]


LONG, SHORT = "https://example.com/a/long/path", "https://example.com/a"
CASES = [
    # (winner, loser, why)
    (page(LONG), page(SHORT, canonical_url=LONG), "a page that names another one loses, although shorter"),
    (page(LONG, canonical_url=LONG), page(SHORT, canonical_url=LONG), "a page may name itself"),
    (page(SHORT), page(LONG, first_seen=1, in_links=9), "shorter URL, before links and age"),
    (page("https://a.com/2", in_links=2), page("https://a.com/1", in_links=1, first_seen=1), "more links, before age"),
    (page("https://a.com/2", first_seen=1), page("https://a.com/1"), "older"),
    (page("https://a.com/1"), page("https://a.com/2"), "the URL that sorts first"),
]


@pytest.mark.parametrize(("winner", "loser", "why"), CASES, ids=[case[2] for case in CASES])
def test_the_rules(winner: Fingerprint, loser: Fingerprint, why: str) -> None:
    assert elect([winner, loser]) is winner, why
    assert elect([loser, winner]) is winner, why


PAGES = st.builds(
    lambda host, path, seen, links, away: page(
        f"https://{host}.test/{path}",
        first_seen=seen,
        in_links=links,
        canonical_url="https://x.test/" if away else None,
    ),
    st.sampled_from("ab"),
    st.text("xy", max_size=3),
    st.integers(0, 2),
    st.integers(0, 2),
    st.booleans(),
)


@given(st.lists(PAGES, min_size=1, max_size=5, unique_by=lambda found: found.url))
def test_any_order_elects_the_same(pages: list[Fingerprint]) -> None:
    assert {elect(order).url for order in permutations(pages)} == {elect(pages).url}


@given(st.lists(PAGES, min_size=2, max_size=6, unique_by=lambda found: found.url))
def test_the_best_of_many_is_the_best_of_any_two(pages: list[Fingerprint]) -> None:
    best = elect(pages)
    assert all(elect([best, other]) is best for other in pages)
    assert len({rank(other) for other in pages}) == len(pages), "no ties"


def test_an_election_needs_a_page() -> None:
    with pytest.raises(ValueError, match="empty"):
        elect([])
