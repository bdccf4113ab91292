"""The labels of statements in seven languages name statements, and no site has a part in both halves."""

from collections import Counter

from benchmarks.labelling.standing import HELD_OUT, SITES, Standing, read_labels

LANGUAGES = {"de", "en", "es", "fr", "ja", "ru", "zh"}


def test_each_language_has_labels_of_sites_that_teach_and_of_sites_that_judge() -> None:
    languages = Counter((language, site in HELD_OUT) for site, each in SITES.items() for language in each)
    assert set(languages) == {(language, held) for language in LANGUAGES for held in (False, True)}


def test_both_answers_are_frequent() -> None:
    labels = read_labels()
    assert len(labels) > 1_000
    assert 0.3 < sum(labels.values()) / len(labels) < 0.7


def test_a_name_is_of_what_a_reader_judges() -> None:
    one = Standing("harbour", "en", "Ferries", ("Times",), "It leaves at eight.", "sentence")
    assert one.name == one.labelled(False).name
    assert one.name != Standing("harbour", "en", "Ferries", (), "It leaves at eight.", "sentence").name
