"""Corrections to words that only the index has, and the mistakes of an index that are none."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.queries.spelling.corrector import Corrector
from streams.queries.spelling.index_words import IndexWords
from streams.queries.spelling.vocabulary import Vocabulary

BASE = {
    "receive": 900, "install": 800, "database": 900, "flow": 700, "cube": 300, "the": 9000, "granite": 90, "how": 900,
    "definitely": 300, "rust": 300,
}  # fmt: skip
INDEX = {
    "receive": 4000, "recieve": 12, "definitely": 900, "definately": 45,  # mistakes that many sites have
    "kubeflow": 200, "kubflow": 4,
    "grafana": 300, "granite": 3, "nginx": 90, "openbsd": 3, "étranger": 40,
    "install": 2000, "database": 5000, "kafka": 900, "rustc": 60,
}  # fmt: skip
"""Numbers of pages."""


@cache
def corrector() -> Corrector:
    return Corrector(Vocabulary({word: float(count) for word, count in BASE.items()})).with_index(INDEX)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kubefolw", "kubeflow"),  # letters exchanged
        ("Kubefow", "Kubeflow"),  # a missing letter
        ("grafanna", "grafana"),
        ("ngnix", "nginx"),
        ("opnebsd", "openbsd"),
        ("etranger", "étranger"),
        ("install grafna", "install grafana"),
        ("how to instal kafak", "how to install kafka"),  # words of both kinds
        ("kube flow", "kubeflow"),  # a space too many
        ("kubflow", "kubeflow"),  # the index has the mistake, too
        ("recieve", "receive"),
        ("definately", "definitely"),
        ("kubeflow", ""),  # the index knows it
        ("kubeflow's", ""),
        ("grafana nginx openbsd", ""),
        ("zzqxv", ""),  # nothing is near
        ('"kubefolw"', ""),
        ("KUBEFOLW", ""),
        ("-kubefolw", ""),
    ],
)
def test_queries_are_corrected_to_words_of_the_index_but_not_to_its_mistakes(query: str, expected: str) -> None:
    found = corrector().correct(query)
    assert (found.text if found else "") == expected


def test_a_word_of_the_index_is_no_mistake_if_its_neighbour_is_not_far_more_frequent() -> None:
    words = IndexWords(Vocabulary({word: float(count) for word, count in BASE.items()}), INDEX)
    trusted = {word for word in INDEX if words.trusts(word)}
    assert trusted == {"kubeflow", "grafana", "nginx", "openbsd", "étranger", "kafka", "rustc"}
    assert len(words) == 10, "words of the base vocabulary are not held twice"
    assert words.share("recieve") is None


def test_only_words_that_may_be_misspelt_are_corrected_in_a_thread() -> None:
    """A gateway asks for unknown words before it begins a thread, so the answer may not look at near words."""
    unknown = corrector().unknown_words("how to install kubeflow or kubefolw")
    assert [word.text for word in unknown] == ["kubeflow", "kubefolw"]


@given(st.dictionaries(st.text(st.characters(categories=["L"]), min_size=1, max_size=30), st.integers(1, 99)))
def test_any_index_may_be_known(counts: dict[str, int]) -> None:
    made = Corrector(Vocabulary({"receive": 9.0})).with_index(counts)
    for word in [*counts, "recieve"]:
        made.correct(f"{word} recieve")
