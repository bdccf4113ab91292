"""The form of the answer that a question asks for, which statements have it, and what it does to the order of pages."""

from collections.abc import Sequence
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.text.tokens import words
from streams.search.ranking.answer_form import PAGES, STATEMENTS, add_answer_bonuses, form_of, has_form, prefer_answers
from streams.search.ranking.context import Notes
from streams.stores.protocols import Hit, PageHits
from streams.stores.statement_payload import StatementPayload
from tests.unit.search.ranking.contexts import context_of

NAMES = UUID("0b1f9f4e-2a53-4c4d-8a34-6f6b5a0e1d22")

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


def page(name: str, score: float, *texts: tuple[str, float]) -> PageHits:
    """A page with its statements and their scores."""
    hits = tuple(Hit(uuid5(NAMES, name + text), own, StatementPayload.of_row({"text": text})) for text, own in texts)
    return PageHits(uuid5(NAMES, name), hits, score)


WITH, WITHOUT = "It opened in 1912.", "It opened later."


def test_a_page_gains_as_much_as_its_best_statement() -> None:
    pages = [
        page("a", 3.0, (WITHOUT, 3.0)),
        page("b", 2.7, (WITH, 2.7)),
        page("c", 2.9, (WITHOUT, 2.9), (WITH, 2.6)),  # 3.2 with the bonus, .3 more than its best had
        page("d", 2.6, (WITHOUT, 2.6), (WITH, 1.0)),
    ]
    context = context_of("when did it open", answer_weight=0.6)
    ordered = prefer_answers(context, pages)
    assert [round(one.score, 3) for one in ordered] == [3.3, 3.2, 3.0, 2.6]
    assert [one.hits[0].payload.text for one in ordered] == [WITH, WITH, WITHOUT, WITHOUT]
    assert context.notes.passes == {"answer_form": {"form": "time"}}
    assert {key: round(parts["answer_form"], 3) for key, parts in context.notes.parts.items()} == {
        uuid5(NAMES, "b"): 0.6,
        uuid5(NAMES, "c"): 0.3,
    }


@pytest.mark.parametrize(("query", "weight"), [("when did it open", 0.0), ("it opened", 0.6)])
def test_without_a_form_or_a_weight_nothing_changes(query: str, weight: float) -> None:
    pages = [page("a", 1.0, (WITHOUT, 1.0)), page("b", 1.0, (WITH, 1.0))]
    context = context_of(query, answer_weight=weight)
    assert (prefer_answers(context, pages), context.notes) == (pages, Notes())


@given(
    scores=st.lists(st.floats(0, 9), min_size=1, max_size=PAGES + 5),
    texts=st.lists(st.sampled_from([WITH, WITHOUT, ""]), min_size=1, max_size=STATEMENTS + 2),
    weight=st.floats(0, 3),
)
def test_no_page_is_lost_and_none_gains_more_than_the_weight(
    scores: Sequence[float], texts: Sequence[str], weight: float
) -> None:
    pages = [
        page(str(number), score, *((text, score - place) for place, text in enumerate(texts)))
        for number, score in enumerate(sorted(scores, reverse=True))
    ]
    ordered = add_answer_bonuses(pages, "when did it open", "time", weight)
    before = {one.page_id: one for one in pages}
    assert {one.page_id for one in ordered} == before.keys()
    for one in ordered:
        assert -1e-9 <= one.score - before[one.page_id].score <= weight + 1e-9
        assert sorted(hit.id for hit in one.hits) == sorted(hit.id for hit in before[one.page_id].hits)
    assert [one.score for one in ordered] == sorted((one.score for one in ordered), reverse=True)
