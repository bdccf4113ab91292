"""Corrections of queries: which words are touched, what is offered, and how long it may take."""

from functools import cache
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.queries.spelling.base import base_corrector
from streams.queries.spelling.corrector import Corrector
from streams.queries.spelling.decision import has_words
from streams.queries.spelling.error_model import Weights, encode_all, typing_costs
from streams.queries.spelling.inflection import add_regular_forms
from streams.queries.spelling.vocabulary import Vocabulary
from streams.queries.spelling.word_forms import form_of
from streams.queries.spelling.words import split_query

COUNTS = {
    "write": 900, "ahead": 800, "log": 900, "vacuum": 500, "table": 900, "tables": 400, "server": 900, "serve": 300,
    "piece": 400, "peace": 420, "war": 800, "and": 5000, "of": 9000, "cake": 300, "a": 9000, "lot": 700, "the": 9000,
    "keyboard": 300, "key": 600, "board": 500, "café": 200, "straße": 200, "война": 300,
}  # fmt: skip
PAIRS = {("war", "and"): 50, ("and", "peace"): 50, ("piece", "of"): 60, ("of", "cake"): 60, ("a", "lot"): 90}


@cache
def small() -> Corrector:
    return Corrector(Vocabulary({word: float(count) for word, count in COUNTS.items()}, PAIRS))


def corrected(query: str) -> str:
    found = small().correct(query)
    return found.text if found else ""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("vaccum table", "vacuum table"),  # a missing and a double letter
        ("tabel", "table"),  # two letters in the wrong order
        ("Vacum", "Vacuum"),  # a capital stays
        ("servr log", "server log"),
        ("war and peece", "war and peace"),  # the neighbours decide
        ("peece of cake", "piece of cake"),
        ("alot", "a lot"),  # a missing space
        ("keybo ard", "keyboard"),  # a space too many
        ("cafe", "café"),
        ("strase", "straße"),
        ("воина", "война"),
        ("write-ahaed log", "write-ahead log"),  # a part between hyphens
    ],
)
def test_a_misspelt_word_is_corrected_in_its_context(query: str, expected: str) -> None:
    assert corrected(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "write ahead log",  # all known
        '"vaccum table"',  # a phrase is meant as it is
        'the "vaccum',  # an open phrase, too
        "site:vaccum.org",
        "-vaccum",
        "vaccum_table",
        "vaccumTable",
        "VACCUM",
        "vaccum2",
        "vaccum.py",
        "tabel/servr",
        "zzqx",  # nothing is near
        "",
        "   ",
        "vaccum " * 30,  # too many words
    ],
)
def test_what_people_mean_as_it_is_stays(query: str) -> None:
    assert small().correct(query) is None


@given(st.lists(st.sampled_from(sorted(COUNTS)), max_size=12))
def test_known_words_are_never_corrected(words: list[str]) -> None:
    assert small().correct(" ".join(words)) is None


@given(st.text(max_size=500))
def test_any_text_is_answered_and_keeps_its_known_words(query: str) -> None:
    found = small().correct(query)
    if found:
        assert found.text != query
        known = {word.text for word in split_query(query) if word.text in COUNTS and len(word.text) > 4}
        assert known <= {word.text for word in split_query(found.text)}


@given(st.lists(st.text(st.characters(categories=["L"]), min_size=1, max_size=28), min_size=1, max_size=5), st.data())
def test_the_right_word_costs_nothing_and_any_other_something(words: list[str], data: st.DataObject) -> None:
    typed = data.draw(st.sampled_from(words))
    lengths = encode_all(words).astype(bool).sum(axis=1).astype("uint8")
    costs = typing_costs(typed, encode_all(words), lengths, Weights())
    assert costs[words.index(typed)] == 0
    assert (costs >= 0).all()


@pytest.mark.parametrize(
    "query",
    [
        "a" * 400,
        "ab" * 200,
        "aaaa " * 24,
        "eeeeeeeeeeeeeeeeeeeeeeeeeeee " * 4,
        "x-" * 200,
        '"' * 400,
        "'" * 400,
        "é" * 399,
    ],
)
def test_hostile_queries_take_a_bounded_time(query: str) -> None:
    base = base_corrector()
    started = process_time()
    base.correct(query)
    assert process_time() - started < 1.0  # of CPU; a few milliseconds, measured


def test_a_search_without_time_gets_no_correction() -> None:
    assert small().correct("vaccum", lambda: True) is None


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("logger", "plain"),  # `log` doubles its letter, but is too short to tell
        ("tabled", "derived"),
        ("serverless", "derived"),
        ("unserve", "derived"),
        ("tablewrite", "compound"),
        ("tabbel", "plain"),
    ],
)
def test_forms_of_known_words_need_more(word: str, form: str) -> None:
    assert form_of(word, small().vocabulary) == form


def test_regular_forms_follow_the_rules_of_spelling() -> None:
    counts = {
        "execute": 9.0,
        "executing": 5.0,
        "query": 9.0,
        "begin": 9.0,
        "beginning": 9.0,
        "organize": 9.0,
        "box": 9.0,
    }
    made = add_regular_forms(counts)
    assert {"executable", "executes", "executed", "queries", "beginner", "organise", "organisation"} <= set(made)
    assert not {"executeing", "querys", "begining", "organizeing"} & set(made)


@cache
def french() -> Corrector:
    counts = {"hôtel": 300, "école": 900, "élève": 400, "événement": 90, "garçon": 300, "qualité": 300, "la": 9000}
    return Corrector(Vocabulary({word: float(count) for word, count in counts.items()}))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ecole", "école"),  # a missing accent, also of the first letter
        ("evenement", "événement"),
        ("garcon", "garçon"),
        ("l'hotel", "l'hôtel"),  # behind an elided word
        ("L’hotel", "L’hôtel"),
        ("qu'eleve", "qu'élève"),
        ("l'école d'hôtel", ""),  # known words behind elided ones
        ("qualitte", "qualité"),
    ],
)
def test_words_have_accents_and_elided_words_before_them(query: str, expected: str) -> None:
    found = french().correct(query)
    assert (found.text if found else "") == expected


def test_there_are_words_before_there_is_an_index() -> None:
    assert len(base_corrector().vocabulary) > 50_000


def test_a_word_behind_an_elided_one_is_a_word_of_the_page() -> None:
    assert has_words(frozenset({"hotel"}), ["Devant l’hotel"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("recieve", "receive"),
        ("definately seperate", "definitely separate"),
        ("accomodation in berlin", "accommodation in berlin"),
        ("untracked tuple", ""),  # technical words are known
        ("how to instll postgres", "how to install postgres"),
    ],
)
def test_the_base_vocabulary_corrects_common_mistakes(query: str, expected: str) -> None:
    found = base_corrector().correct(query)
    assert (found.text if found else "") == expected
