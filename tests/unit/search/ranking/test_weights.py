"""The weight of meaning: its features, its direction, and that it is what its training data give."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from benchmarks.search import meaning_weight
from benchmarks.search.meaning_weight import fit, quality_of
from streams.search.ranking.weights import PARAMETERS, features_of, is_question, parameters, weight_of
from streams.stores.protocols import Candidates, Hit, SparseVector
from streams.stores.statement_payload import StatementPayload

ROWS = Path(meaning_weight.__file__).with_suffix(".jsonl")


def found(*scores: float) -> Candidates:
    payloads = [StatementPayload.of_row({"page_id": str(UUID(int=n))}) for n in range(len(scores))]
    return Candidates(tuple(Hit(UUID(int=n), score, payloads[n]) for n, score in enumerate(scores)))


def terms(count: int) -> SparseVector:
    return SparseVector(tuple(range(count)), (1.0,) * count)


QUESTIONS = [
    ("who wrote hamlet", True),
    ("hamlet author?", True),
    ("Was war zuerst da？", True),
    ("hamlet author", False),
    ("whose", True),
    ("however", False),
    ("?", True),
    ("", False),
]


@pytest.mark.parametrize(("query", "expected"), QUESTIONS)
def test_questions(query: str, expected: bool) -> None:
    assert is_question(query) is expected


def test_features_are_of_the_query_and_of_the_first_ten_pages() -> None:
    ten = [0.9, *[0.8] * 8, 0.7, 0.1]
    assert features_of("a query", terms(3), found(*ten)) == pytest.approx(
        {"terms": 1.3863, "fall": 0.2, "question": 0.0}, abs=1e-4
    )
    assert features_of("🌊", None, found()) == {"terms": 0.0, "fall": 0.0, "question": 0.0}


def test_meaning_counts_more_for_short_questions_with_one_clear_answer() -> None:
    sharp, flat = found(0.9, *[0.4] * 20), found(*[0.5] * 20)
    assert weight_of("who wrote hamlet", terms(2), sharp).meaning > weight_of("hamlet author", terms(2), sharp).meaning
    assert weight_of("a b", terms(2), sharp).meaning > weight_of("a b", terms(2), flat).meaning
    assert weight_of("a b", terms(2), flat).meaning > weight_of("a b", terms(30), flat).meaning


def test_the_parameters_are_those_of_their_training_data() -> None:
    sets: dict[str, list[dict[str, object]]] = {}
    for line in ROWS.read_text().splitlines():
        row = json.loads(line)
        sets.setdefault(row.pop("set"), []).append(row)
    trained, stored = fit(sets), json.loads(PARAMETERS.read_text())
    for name, rows in sets.items():
        assert quality_of(stored, rows) == pytest.approx(quality_of(trained, rows), abs=1e-3), name
    assert parameters().intercept == stored["intercept"]
