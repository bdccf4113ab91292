"""The second web: 100 queries, what counts as found, and whose judgement counts."""

from collections import Counter

from benchmarks.second_web.command import SITES, rows
from benchmarks.second_web.judgements import ABSENT, VERDICTS, Asked, Query, Shown, figures, read_judged, read_queries

QUERIES = read_queries()
QUERY = Query("question", "When does the ferry leave?", ("harbour.test/ferry.html",), ("at eight",))
FERRY = Shown("harbour.test/ferry.html", "en", "The ferry", (("Times", "The ferry leaves at eight."),))
MAST = Shown("harbour.test/mast.html", "de", "Der Mast", (("Der Mast ist hoch.",),))


def test_there_are_a_hundred_queries_each_with_pages_of_the_five_sites_or_absent() -> None:
    assert len({query.text for query in QUERIES}) == 100
    assert len(SITES) == 5
    assert Counter(query.kind for query in QUERIES)[ABSENT] == 11
    for query in QUERIES:
        assert bool(query.pages) is (query.kind != ABSENT)
        assert {page.partition("/")[0] for page in query.pages} <= set(SITES)


def test_each_kept_judgement_is_about_a_query_and_has_a_verdict() -> None:
    judged = read_judged()
    assert {query for query, _ in judged} <= {query.text for query in QUERIES}
    assert set(judged.values()) <= set(VERDICTS)


def test_the_place_is_that_of_the_first_right_page_and_the_sentence_has_all_keys() -> None:
    asked = Asked(QUERY, (MAST, FERRY), says_so=False)
    assert (asked.place, asked.shows_sentence) == (2, True)
    without = Asked(QUERY, (MAST,), says_so=False)
    assert (without.place, without.shows_sentence) == (0, False)


def test_a_verdict_is_about_the_first_snippet_as_it_was_shown() -> None:
    judged = {(QUERY.text, FERRY.snippet): "answers"}
    assert Asked(QUERY, (FERRY, MAST), says_so=False).verdict(judged) == "answers"
    other = Shown(FERRY.page, "en", FERRY.title, (("The ferry leaves at eight.",),))  # without its heading
    assert Asked(QUERY, (other,), says_so=False).verdict(judged) == ""
    assert Asked(QUERY, (), says_so=True).verdict(judged) == "bad"


def test_absent_subjects_and_languages_are_counted_by_themselves() -> None:
    absent = Query(ABSENT, "masts of Mars", (), ())
    asked = [Asked(QUERY, (MAST, FERRY), says_so=False), Asked(absent, (MAST,), says_so=True)]
    found = figures(asked, {(QUERY.text, MAST.snippet): "bad"})
    assert found["all"]["page of three"] == 1
    assert (found["all"]["page first"], found["all"]["bad"], found["all"]["not judged"]) == (0, 1, 0)
    assert (found["absent"], found["wrongly said"]) == ({"queries": 1, "said": 1}, 0)
    assert found["another language first"] == 1
    assert rows(found)[2].startswith("| all | 1 | 0 | 1 | 1 |")
