"""Questions and the snippets that answer them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from streams.commands.measure.answers import Question, evaluate_answers, read_questions
from streams.errors import UsageError

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
        "answered": 0.0,
        "answered_without_answer": None,
        "right": None,
        "calibration_error": None,
        "reliability": [],
        "missed": ["how far"],
    }


WRONG = [
    ("", "questions.json is empty"),
    ("{", "questions.json, line 1: not JSON"),
    ("[]", "questions.json has no questions"),
    ("[1]", "questions.json, item 1: not a JSON object"),
    ('{"answer": "x"}', "questions.json, line 1: no question"),
    ('{"question": ["x"], "answer": "x"}', "questions.json, line 1: no question"),
    ('{"question": " ", "answer": "x"}', "questions.json, line 1: no question"),
    ('{"question": "x"}', "questions.json, line 1: no answer"),
    ('{"question": "x", "answer": ["", " "]}', "questions.json, line 1: no answer"),
    ('{"question": "x", "answers": null}', "questions.json, line 1: no answer"),
    ('{"question": "x", "answer": "x"}\n\n{"question": "x", "answer": 5}', "questions.json, line 3: 'answer' is 5"),
    ('[{"question": "x", "answer": {"text": "x"}}]', "questions.json, item 1: 'answer' is {'text': 'x'}"),
    ('{"question": "x", "answer": ["x", null]}', "questions.json, line 1: 'answer' is ['x', None]"),
    ('{"question": "x", "answer": "x", "url": 5}', "questions.json, line 1: 'url' is 5"),
]


@pytest.mark.parametrize(("content", "message"), WRONG, ids=[content for content, _ in WRONG])
def test_a_file_that_is_no_list_of_questions_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "questions.json").write_text(content)
    with pytest.raises(UsageError, match=re.escape(message)):
        read_questions(tmp_path / "questions.json")


def test_an_empty_answer_is_left_out_since_it_is_in_every_text(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps({"question": "how tall", "answer": ["", "29,032 feet", " "], "url": ""}))
    (question,) = read_questions(file)
    assert (question.answers, question.urls) == (("29,032 feet",), ())
    assert evaluate_answers([question], lambda _: {"results": ANSWERS["how tall"]})["answer@5"] == 0


def test_the_answer_of_the_gateway_is_judged_with_its_confidence() -> None:
    given = {
        "how tall": ("It is 29,032 feet high.", 0.9),  # right
        "how far": ("It is far.", 0.7),  # wrong
    }

    def ask(question: str) -> dict[str, Any]:
        if question not in given:
            return {"results": []}
        text, confidence = given[question]
        return {"results": [], "beside": {"answer": {"confidence": confidence, "answers": [{"text": text}]}}}

    questions = [Question(text, ("29,032 feet",)) for text in ("how tall", "how far", "how old")]
    found = evaluate_answers(questions, ask)
    assert (found["answered"], found["right"]) == (0.6667, 0.5)
    assert found["calibration_error"] == pytest.approx((0.1 + 0.7) / 2)


def test_an_answer_to_a_question_that_no_page_answers_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    rows = [{"question": "how tall", "answer": "29,032 feet"}, {"question": "how wide", "answer": None}]
    file.write_text("\n".join(map(json.dumps, rows)))

    def ask(question: str) -> dict[str, Any]:
        return {"results": [], "beside": {"answer": {"confidence": 0.8, "answers": [{"text": "It is 29,032 feet."}]}}}

    found = evaluate_answers(read_questions(file), ask)
    names = ("questions", "answered", "answered_without_answer", "right", "missed")
    assert [found[name] for name in names] == [2, 1.0, 1.0, 0.5, ["how tall"]]
    assert found["calibration_error"] == pytest.approx(0.3)


def test_a_question_that_the_gateway_refuses_is_named() -> None:
    def refuse(question: str) -> dict[str, Any]:
        raise UsageError("the query is too long")

    with pytest.raises(UsageError, match="the question 'how tall': the query is too long"):
        evaluate_answers([Question("how tall", ("x",))], refuse)
