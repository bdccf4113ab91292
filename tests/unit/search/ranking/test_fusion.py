"""The combination of the two lists: scores count, not ranks, and neither list drowns the other."""

from collections.abc import Sequence
from uuid import UUID, uuid5

import pytest
from hypothesis import strategies as st

from streams.search.ranking.fusion import REFERENCE_STATEMENTS, merge_lists, scale_of
from streams.stores.protocols import Candidates, Hit
from streams.stores.statement_payload import StatementPayload

NAMES = UUID("3f0c8f0e-5a0b-4c7e-9b55-0f6d7f3a1c11")


def hit(name: str, score: float, text: str = "", kind: str = "sentence") -> Hit:
    """A statement; its page is the first letter of its name."""
    page = uuid5(NAMES, name[0])
    payload = StatementPayload.of_row({"page_id": str(page), "url": name, "text": text or name, "kind": kind})
    return Hit(uuid5(NAMES, f"statement {name}"), score, payload)


def lists(dense: dict[str, float], sparse: dict[str, float], limit: int = 100) -> Candidates:
    def ranked(scores: dict[str, float]) -> tuple[Hit, ...]:
        return tuple(sorted((hit(name, score) for name, score in scores.items()), key=lambda one: -one.score))

    return Candidates(ranked(dense), ranked(sparse), limit)


def names(found: Candidates, meaning: float = 0.7) -> list[str]:
    return [page.hits[0].payload.url[0] for page in merge_lists(found, meaning)]


CASES = [
    ("a statement far above the others of its list wins", {"a": 0.9, "b": 0.5, "c": 0.49}, {"b": 5.1, "a": 5.0}, "a"),
    ("with equal meaning the words decide", {"a": 0.5, "b": 0.5, "c": 0.1}, {"b": 9.0, "a": 3.0}, "b"),
    ("with equal words the meaning decides", {"a": 0.5, "b": 0.6, "c": 0.1}, {"a": 4.0, "b": 4.0}, "b"),
    ("two statements of a page count together", {"a1": 0.8, "b1": 0.8, "c": 0.1}, {"a2": 7.0, "c": 7.0}, "a"),
    ("one list alone", {}, {"b": 2.0, "a": 1.0}, "b"),
    ("the only page that has the word", {"a": 0.3, "b": 0.3}, {"b": 1.0}, "b"),
]


@pytest.mark.parametrize(("why", "dense", "sparse", "first"), CASES, ids=[why for why, *_ in CASES])
def test_the_first_page(why: str, dense: dict[str, float], sparse: dict[str, float], first: str) -> None:
    assert names(lists(dense, sparse))[0] == first


def test_the_weight_decides_between_the_lists() -> None:
    found = lists({"a": 0.9, "b": 0.1}, {"b": 9.0, "a": 1.0})
    assert names(found, 0.9) == ["a", "b"]
    assert names(found, 0.1) == ["b", "a"]


scores = st.dictionaries(st.sampled_from([f"{page}{n}" for page in "abcdef" for n in range(3)]), st.floats(0.001, 30))


def best_of(values: Sequence[float]) -> Sequence[Hit]:
    return [hit(f"{chr(97 + number)}1", value) for number, value in enumerate(values)]


def test_a_longer_list_measures_its_scores_as_the_short_one_does() -> None:
    hits = [hit(f"{chr(0x4E00 + number)}", 1.0 - number / 1_000) for number in range(5 * REFERENCE_STATEMENTS)]
    short, long = scale_of(hits[:REFERENCE_STATEMENTS]), scale_of(hits)
    assert long.deviation == short.deviation
    assert long(0.9) - long(0.85) == pytest.approx(short(0.9) - short(0.85))


def test_a_scale_of_equal_scores_divides_by_nothing() -> None:
    hits = best_of([0.5, 0.5])
    assert scale_of(hits)(0.5) == 0.0
    assert scale_of([])(0.0) == 0.0
