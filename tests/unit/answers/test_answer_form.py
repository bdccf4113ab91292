"""The form of the answer that a question asks for, and which statements have it."""

import pytest

from streams.answers.answer_form import form_of, has_form, is_question
from streams.pages.text.tokens import words

FORMS = [
    ("when did the marlins start", "time"),
    ("WHAT YEARS WAS THE C5 PRODUCED", "time"),
    ("in which century did he live?", "time"),
    ("how many players on a side for a football game", "number"),
    ("what is the population of san francisco", "number"),
    ("who designed the statue of liberty", "person"),
    ("where is cougar town filmed", "place"),
    ("what county is jacksonville florida in", "place"),
    ("what is a duvet", "definition"),
    ("who is antoine walker", "definition"),
    ("meaning of karma", "definition"),
    # no question, or none with such a form
    ("write-ahead log", ""),
    ("how does vacuum work", ""),
    ("whenever it rains", ""),
    ("the city of mithridates", ""),
    ("", ""),
    # a longer question asks for more than one thing
    ("what is the effect of the shape of the wing on its lift at low speed", ""),
]


@pytest.mark.parametrize(("query", "form"), FORMS)
def test_the_form_that_a_question_asks_for(query: str, form: str) -> None:
    assert form_of(query) == form


STATEMENTS_WITH = [
    ("when did the marlins start", "The Marlins began play in the 1993 season.", True),
    ("when did the marlins start", "The Marlins began play in Florida.", False),
    ("when was john shot", "He was shot on April 4 in Memphis.", True),
    # what the question has itself is no answer
    ("when was the 2011 super bowl", "The 2011 Super Bowl was played.", False),
    ("when was the 2011 super bowl", "The 2011 Super Bowl was that of the 2010 season.", True),
    ("how many books are in the bible", "It has sixty-six books.", True),
    ("how many books are in the bible", "It has several books.", False),
    ("who married mary matalin", "Mary Matalin was married.", False),
    ("who married mary matalin", "She is married to James Carville.", True),
    ("where is cougar town filmed", "Filming takes place at Culver Studios.", True),
    ("where is cougar town filmed", "Filming takes place in Cougar Town.", False),
    ("what is a duvet", "A duvet is a type of bedding.", True),
    ("what is a duvet", "Bedding is often sold with a duvet.", False),
    ("what is a duvet", "Duvet covers!", False),
]


@pytest.mark.parametrize(("query", "text", "expected"), STATEMENTS_WITH)
def test_a_statement_has_the_form_in_words_of_its_own(query: str, text: str, expected: bool) -> None:
    assert has_form(text, form_of(query), frozenset(words(query))) is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("who wrote hamlet", True),
        ("Can a page be removed", True),
        ("hamlet author?", True),
        ("qui a écrit hamlet ？", True),
        ("the author of hamlet", False),
        ("", False),
    ],
)
def test_a_question_has_a_mark_or_begins_with_a_question_word(query: str, expected: bool) -> None:
    assert is_question(query) is expected
