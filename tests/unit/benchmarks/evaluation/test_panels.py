"""Figures of panels: what counts as shown, right and wrong."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.evaluation.panels import LabelledQuery, evaluate_panels, read_queries
from streams.errors import UsageError

SHOWN: dict[str, dict[str, Any]] = {
    "rust language": {"id": "Q2", "label": "Rust"},
    "albedo": {"id": "enwiki:Albedo", "label": "Albedo"},
    "london bridge": {"id": "Q84", "label": "London"},
    "how are you": {"id": "Q9", "label": "You"},
    "rust": {
        "kind": "choice",
        "label": "Rust",
        "others": [{"id": "Q1", "label": "rust"}, {"id": "Q2", "label": "Rust"}],
    },
    "mercury": {"kind": "choice", "label": "Mercury", "others": [{"id": "Q7", "label": "Mercury"}]},
}
QUERIES = [
    LabelledQuery("rust language", "Q2"),  # right, by its id
    LabelledQuery("albedo", "Albedo"),  # right, by its label
    LabelledQuery("london bridge", "Q130206"),  # wrong
    LabelledQuery("nothing is shown", "Q5"),
    LabelledQuery("rust", "Q2"),  # a choice that has it
    LabelledQuery("mercury", "Q308"),  # a choice without it
    LabelledQuery("how are you", None),  # should not be there
    LabelledQuery("no panel", None),
    LabelledQuery("mercury", None),  # a choice that should not be there
]


def test_the_figures() -> None:
    figures = evaluate_panels(QUERIES, lambda query: SHOWN.get(query))
    wrong = figures.pop("wrong")
    assert figures == {
        "queries": 9,
        "with_an_entity": 6,
        "precision": 0.4,
        "share_shown": 0.5,
        "wrong_shown_without_an_entity": 0.6667,
        "choices_without_an_entity": 1,
        "choices": 2,
        "choices_that_have_it": 1,
    }
    assert [each["query"] for each in wrong] == ["london bridge", "how are you", "mercury"]


def test_a_file_is_read_and_its_faults_are_named(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"query": "a", "entity": "Q1"}\n{"query": "b", "entity": null}\n')
    assert read_queries(path) == [LabelledQuery("a", "Q1"), LabelledQuery("b", None)]
    for fault in ('{"entity": "Q1"}', '{"query": "a", "entity": 3}'):
        path.write_text(fault)
        with pytest.raises(UsageError, match="line 1"):
            read_queries(path)
