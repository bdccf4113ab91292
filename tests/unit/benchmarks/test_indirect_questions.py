"""Indirect questions: the set keeps its rule, and the places of answers are counted fairly."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.search.indirect_questions import (
    FOLDER,
    answers_in,
    document_of,
    figures,
    place_of,
    read_questions,
    share_of,
    standardize,
)
from schemas.ids import page_id
from streams.local.demo import unpack
from streams.statements.statement import PageStatements, Statement
from streams.vectors.bm25 import query_words, statement_terms

WORDS_OF_NO_SUBJECT = (
    "the a of to is it be are was do does did having i my me you your this that in on for with by as or and not no "
    "can could may must should would what which who how why when where while if up "
    "der die das ein eine einen eines einem einer und oder ist sind wird werden kann mich man wie was wer wo in im zu "
    "mit von auf daran dabei damit ich mein es sich muss soll darf lassen noch mehr etwas wenn ob für trotz dort schon"
)
SHARED = frozenset(WORDS_OF_NO_SUBJECT.split())
"""Words that say nothing of a subject: articles, pronouns, prepositions, auxiliary verbs."""


@pytest.fixture(scope="module")
def webs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return unpack(tmp_path_factory.mktemp("web") / "demo"), FOLDER


def sentence_of(text: str, answer: str) -> str:
    """Return the sentence of the text that has the answer."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ«»\"„])|\n", text)
    (found,) = {each for each in sentences if answer in each}
    return found


def test_no_question_has_a_content_word_of_its_answer(webs: tuple[Path, Path]) -> None:
    questions = read_questions()
    assert Counter(each.language for each in questions) == {"en": 38, "de": 31}
    shared = {}
    for each in questions:
        answer = statement_terms([sentence_of(document_of(each.url, webs).text, each.answer)], each.language)
        asked = [word for word in re.findall(r"[\w']+", each.question.casefold()) if word not in SHARED]
        if common := [word for word in asked if answer & {*query_words(word, each.language)[0]}]:
            shared[each.question] = common
    assert not shared


@pytest.mark.parametrize(
    ("scores", "answers", "place"),
    [
        ([0.1, 0.9, 0.5], [1], 1),
        ([0.1, 0.9, 0.5], [0], 3),
        ([0.1, 0.9, 0.5], [0, 2], 2),  # the better of two
        ([0.5, 0.5, 0.5], [0], 3),  # a model that knows no difference has found nothing
    ],
)
def test_the_place_is_that_of_the_best_answer(scores: list[float], answers: list[int], place: int) -> None:
    assert place_of(np.array(scores), answers) == place


def test_lists_side_by_side_have_one_scale() -> None:
    first, second = standardize(np.array([0.80, 0.81, 0.84])), standardize(np.array([0.0, 0.1, 0.4]))
    assert np.allclose(first, second)
    assert not standardize(np.array([0.5, 0.5])).any()


def test_shares_are_of_each_language_and_of_all() -> None:
    assert figures({"model": {"en": [1, 20], "de": [5, 2]}})["model"]["all"]["3"] == share_of([1, 20, 5, 2], 3)
    assert share_of([1, 2, 9, 9], 3) == {"share": 0.5, "error": 0.25}


def test_an_answer_that_the_page_lacks_is_an_error() -> None:
    url = "https://handbuch.test/a.html"
    page = PageStatements(page_id(url), url, "", "de", (Statement(page_id(url), 0, "Ein Satz."),))
    assert answers_in(page, "Satz") == [0]
    with pytest.raises(ValueError, match="has no statement"):
        answers_in(page, "Wort")
