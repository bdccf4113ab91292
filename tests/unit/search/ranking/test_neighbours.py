"""Similar pages: which pages are alike, what a page gains from them, and what never changes."""

from uuid import UUID, uuid5

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.search.ranking.neighbours import (
    MAX_CHARS,
    NEIGHBOURS,
    PAGES,
    SIMILARITY,
    STATEMENTS,
    add_neighbour_gains,
    similarities,
)
from streams.stores.protocols import Hit, PageHits
from streams.stores.statement_payload import StatementPayload

WEIGHT = 0.5
NAMES = UUID("6c0f4a53-9f0e-4a43-9d53-5c2f8a2b7e10")


def page(name: str, score: float, *texts: str, context: tuple[str, ...] = ()) -> PageHits:
    payload = [StatementPayload.of_row({"text": text, "context": context}) for text in texts]
    hits = tuple(Hit(uuid5(NAMES, name + str(number)), score, one) for number, one in enumerate(payload))
    return PageHits(uuid5(NAMES, name), hits, score)


WING, WING_TOO = "Lift of a slender delta wing.", "The slender wing has much lift."
HEAT, STEEL = "Heat flows through the plate.", "Steel bends under a load."


def named(*pages: PageHits) -> dict[UUID, str]:
    return {one.page_id: one.hits[0].payload.text for one in pages}


ALIKE = [
    # first text, second text, whether they are more alike than the first is to the text about steel
    (WING, WING_TOO, True),
    (WING, HEAT, False),
    # other endings, other case, other marks
    ("Measuring temperatures", "measured temperature", True),
    # scripts without spaces
    ("数据库事务的隔离级别", "事务隔离与数据库", True),
    ("", WING, False),
]


@pytest.mark.parametrize(("first", "second", "expected"), ALIKE)
def test_pages_are_alike_that_share_words_which_others_lack(first: str, second: str, expected: bool) -> None:
    found = similarities([page("a", 3, first), page("b", 2, second), page("c", 1, STEEL)])
    assert bool(found[0, 1] > found[0, 2]) is expected


def test_a_word_that_all_pages_have_makes_none_alike() -> None:
    found = similarities([page("a", 3, "wing lift"), page("b", 2, "wing heat"), page("c", 1, "wing steel")])
    assert found[0, 1] < 0.1
    assert found[0, 0] == pytest.approx(1)


def test_context_counts_like_text_and_once() -> None:
    below = page("a", 3, "It rises.", "It falls.", context=("Slender delta wings",))
    found = similarities([below, page("b", 2, WING), page("c", 1, STEEL)])
    assert found[0, 1] > SIMILARITY > found[0, 2]
    once = page("a", 3, "It rises.", context=("Slender delta wings",))
    assert similarities([below, page("b", 2, WING)])[0, 1] <= similarities([once, page("b", 2, WING)])[0, 1]


def test_a_page_gains_from_a_similar_page_above_it() -> None:
    pages = [page("a", 3.0, WING), page("b", 2.0, HEAT), page("c", 1.9, WING_TOO), page("d", 0.5, STEEL)]
    ordered, gains = add_neighbour_gains(pages, WEIGHT)
    texts = named(*pages)
    # a distance of 1.1, of five neighbours that it could have
    assert {texts[one]: gain for one, gain in gains.items()} == {WING_TOO: pytest.approx(WEIGHT * 1.1 / NEIGHBOURS)}
    assert [texts[one.page_id] for one in ordered] == [WING, WING_TOO, HEAT, STEEL]
    assert ordered[1].score == pytest.approx(1.9 + gains[pages[2].page_id])


def test_only_the_nearest_neighbours_count() -> None:
    """Ten pages of one topic above: the last page gains from five of them, not from all."""
    topic = [page(f"t{number}", 10.0, f"{WING} part{number}") for number in range(10)]
    others = [page(f"o{number}", 5.0, f"{HEAT} part{number}") for number in range(20)]
    last = page("last", 0.0, WING)
    _, gains = add_neighbour_gains([*topic, *others, last], WEIGHT)
    assert gains[last.page_id] == pytest.approx(WEIGHT * 10.0)


def test_a_page_loses_nothing_to_similar_pages_below_it() -> None:
    best, worst = page("a", 3.0, WING), page("b", 1.0, WING_TOO)
    ordered, gains = add_neighbour_gains([best, page("c", 2.0, HEAT), worst], WEIGHT)
    assert best.page_id not in gains
    assert ordered[0] == best


def test_weight_0_and_a_single_page_change_nothing() -> None:
    pages = [page("a", 3.0, WING), page("b", 1.0, WING_TOO)]
    assert add_neighbour_gains(pages, 0.0) == (pages, {})
    assert add_neighbour_gains(pages[:1], WEIGHT) == (pages[:1], {})
    assert add_neighbour_gains([], WEIGHT) == ([], {})


def test_what_is_read_is_bounded() -> None:
    """Long statements, further statements and further pages are not read: a stranger writes them."""
    further = page("a", 3.0, *[HEAT] * STATEMENTS, WING)
    many = [further, page("b", 2.0, "x" * MAX_CHARS + " " + WING), page("c", 1, WING)]
    assert similarities(many)[2, :2].max() == 0
    behind = [page(f"p{number}", 100.0 - number, f"word{number}") for number in range(PAGES)]
    last = page("last", 1.0, "word0")
    ordered, gains = add_neighbour_gains([*behind, last], WEIGHT)
    assert not gains
    assert ordered[-1] is last


texts = st.lists(st.sampled_from([WING, WING_TOO, HEAT, STEEL, ""]), min_size=1, max_size=4)
found_pages = st.lists(st.tuples(texts, st.floats(0, 20, allow_nan=False)), max_size=PAGES + 5)


@given(found_pages, st.floats(0, 1))
def test_laws_of_the_gain(drawn: list[tuple[list[str], float]], weight: float) -> None:
    """All pages stay, no score falls or passes the best one, and the best page stays the first."""
    scored = sorted(drawn, key=lambda one: -one[1])
    pages = [page(str(number), score, *texts) for number, (texts, score) in enumerate(scored)]
    ordered, gains = add_neighbour_gains(pages, weight)
    after, before = {one.page_id: one.score for one in ordered}, {one.page_id: one.score for one in pages}
    assert after.keys() == before.keys()
    assert all(after[one] == pytest.approx(score + gains.get(one, 0)) for one, score in before.items())
    assert all(before[one] <= score <= pages[0].score + 1e-6 for one, score in after.items())
    assert np.all(np.diff([one.score for one in ordered]) <= 0)
    assert not pages or ordered[0].score == pytest.approx(pages[0].score)
