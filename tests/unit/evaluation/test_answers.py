"""Questions and the snippets that answer them."""

import json
from pathlib import Path
from typing import Any

import pytest

from streams.errors import UsageError
from streams.evaluation.answers import evaluate_answers, read_questions

QUESTIONS = [
    {"question": "how tall", "answer": ["8,849  metres", "29,032 feet"], "url": "https://peaks.example/"},
    {"question": "how deep", "answer": "10,935 m"},
    {"question": "how far", "answer": "never shown", "url": ["https://other.example/"]},
]


def result(url: str, *texts: str, context: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"url": url, "statements": [{"text": text, "context": list(context)} for text in texts]}


ANSWERS = {
    "how tall": [result("https://peaks.example/", "It is 8,849 METRES high.")],
    "how deep": [result("https://a.example/", "No."), result("https://b.example/", "So deep.", context=("10,935 m",))],
    "how far": [result("https://c.example/", "Far."), result("https://other.example/", "Away.")],
}


@pytest.mark.parametrize("lines", [True, False], ids=["a line each", "a list"])
def test_answers_are_looked_for_in_the_shown_snippets(tmp_path: Path, lines: bool) -> None:
    file = tmp_path / "questions.json"
    file.write_text("\n".join(map(json.dumps, QUESTIONS)) if lines else json.dumps(QUESTIONS, indent=1))
    assert evaluate_answers(read_questions(file), lambda question: {"results": ANSWERS[question]}) == {
        "questions": 3,
        "answer@1": 0.3333,
        "answer@5": 0.6667,
        "page@1": 0.5,
        "page@5": 1.0,
        "missed": ["how far"],
    }


@pytest.mark.parametrize("content", ["", "{", "[]", '{"answer": "x"}', '{"question": "x"}', "[1]"])
def test_a_file_that_is_no_list_of_questions_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "questions.json").write_text(content)
    with pytest.raises(UsageError, match=r"questions\.json"):
        read_questions(tmp_path / "questions.json")
