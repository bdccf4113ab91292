import math
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.language.function_words import FUNCTION_WORDS
from streams.stores.protocols import SparseVector
from streams.vectors import bm25, stemming
from streams.vectors.bm25 import document_vector, query_vector, statement_terms
from streams.vectors.stemming import LANGUAGES, stems


@pytest.mark.parametrize(
    ("word", "expected"),
    [  # Examples of Porter's paper, a few of each step.
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("cats", "cat"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("bled", "bled"),
        ("sing", "sing"),
        ("conflated", "conflat"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("happy", "happi"),
        ("sky", "sky"),
        ("relational", "relat"),
        ("rational", "ration"),
        ("sensibiliti", "sensibl"),
        ("triplicate", "triplic"),
        ("goodness", "good"),
        ("revival", "reviv"),
        ("replacement", "replac"),
        ("adoption", "adopt"),
        ("probate", "probat"),
        ("rate", "rate"),
        ("controll", "control"),
        ("roll", "roll"),
        ("generalizations", "gener"),
        # What isn't a plain word stays.
        ("is", "is"),
        ("c++", "c++"),
        ("utf8", "utf8"),
        ("größen", "größen"),
        ("", ""),
    ],
)
def test_english_stems(word: str, expected: str) -> None:
    assert stems([word]) == [(expected,)]


@pytest.mark.parametrize(
    ("language", "word", "expected"),
    [
        ("de", "häuser", ("häuser", "haus")),
        ("de-AT", "häusern", ("häusern", "haus")),
        ("fr", "chevaux", ("chevaux", "cheval")),
        ("ru", "книгами", ("книгами", "книг")),
        ("es", "gatos", ("gatos", "gat")),
        ("nb", "husene", ("husene", "hus")),
        ("hi", "किताबें", ("किताबें", "किताब")),
        ("en-GB", "houses", ("hous",)),
        ("zh", "手机", ("手机",)),
        ("", "häuser", ("häuser",)),
        ("de", "haus", ("haus",)),  # no English stem: "hau" is another word
        ("uk", "будинки", ("будинки",)),  # a language without a stemmer keeps its words
        ("vi", "houses", ("houses",)),
        # Words that no language inflects.
        ("de", "utf8", ("utf8",)),
        ("de", "c++", ("c++",)),
        ("fr", "es", ("es",)),
    ],
)
def test_stems_by_language(language: str, word: str, expected: tuple[str, ...]) -> None:
    assert stems([word], language) == [expected]


def test_each_stemmer_is_there() -> None:
    assert all(stems(["wort"], language) for language in LANGUAGES)


def score(query: SparseVector, document: SparseVector) -> float:
    weights = dict(zip(document.indices, document.values, strict=True))
    return sum(asked * weights.get(term, 0.0) for term, asked in zip(query.indices, query.values, strict=True))


@pytest.mark.parametrize(
    ("query", "better", "worse", "why"),
    [
        ("vacuum", "vacuum frees pages", "the log frees pages", "a word that is there"),
        ("vacuuming", "VACUUM frees pages", "the log frees pages", "whatever its form and case"),
        ("vacuum", "vacuum, then vacuum once more", "vacuum, then nothing at all", "more often is better"),
        (
            "vacuum",
            "vacuum frees pages",
            "vacuum frees pages " + "and writes many other words " * 5,
            "shorter is better",
        ),
        ("what is vacuum", "vacuum frees pages", "what is what here", "function words ask for nothing"),
    ],
)
def test_ranks(query: str, better: str, worse: str, why: str) -> None:
    asked = query_vector(query, "en")
    assert score(asked, document_vector(better)) > score(asked, document_vector(worse)), why


@pytest.mark.parametrize(
    ("language", "query", "text"),
    [
        ("de", "Haus bauen", "Die Häuser wurden gebaut."),
        ("fr", "le cheval blanc", "Des chevaux sont dans le pré."),
        ("ru", "книга о войне", "Он писал книгами."),
    ],
)
def test_a_query_finds_inflections_of_its_language(language: str, query: str, text: str) -> None:
    found = document_vector(text, language=language)
    assert score(query_vector(query, language), found) > 0
    assert score(query_vector(query), found) > 0, "its language is looked for where the searcher names none"


def test_a_query_of_another_language_finds_words_as_they_are_written() -> None:
    found = document_vector("Die Installation von PostgreSQL mit Vacuum.", language="de")
    assert score(query_vector("postgresql vacuuming", "en"), found) > 0


def test_context_is_found_and_its_repetition_ranks_higher() -> None:
    asked = query_vector("installing")
    under, says = document_vector("Run the script.", ["Installing"]), document_vector("Install it.", ["Installing"])
    assert 0 < score(asked, under) < score(asked, says)


@pytest.mark.parametrize("label", ["Note", "NOTE:", "Warning!", "Hinweis", "Advertencia"])
def test_the_label_of_a_box_says_nothing_about_the_statement_in_it(label: str) -> None:
    # "release notes" found a note about releasing savepoints before the release notes.
    plain = document_vector("Rolling back releases the savepoint.", ["Transactions"], title="Transactions")
    boxed = document_vector("Rolling back releases the savepoint.", ["Transactions", label], title="Transactions")
    assert boxed == plain


@pytest.mark.parametrize("heading", ["Release notes", "Notes of the release", "Warnings of the compiler"])
def test_a_heading_with_further_words_counts(heading: str) -> None:
    assert document_vector("It is new.", ["Ferries", heading]) != document_vector("It is new.", ["Ferries"])


def test_a_title_is_no_label() -> None:
    asked = query_vector("warnings")
    assert score(asked, document_vector("Call warn() to issue one.", ["Warnings"], title="Warnings")) > 0


def test_a_query_of_function_words_alone_still_asks() -> None:
    assert set(query_vector("to be or not to be").indices) >= set(document_vector("not").indices)
    assert query_vector("the who").indices
    assert {"the", "who"} <= FUNCTION_WORDS["en"]


@pytest.mark.parametrize(
    ("query", "word"),
    [  # all are taken for another language, where the word is a function word
        ("cold war", "war"),
        ("war of 1812", "war"),
        ("mit license", "mit"),
        ("jest mock module", "jest"),
        ("os module", "os"),
        ("du command", "du"),
        ("sin function", "sin"),
        ("pour over coffee", "pour"),
    ],
)
def test_a_short_query_keeps_what_another_language_would_leave_out(query: str, word: str) -> None:
    assert set(document_vector(word).indices) <= set(query_vector(query).indices)


def test_other_languages_keep_their_words() -> None:
    assert query_vector("was ist das", "de").indices != query_vector("was ist das", "en").indices


@given(st.text(max_size=400), st.lists(st.text(max_size=60), max_size=3))
def test_vectors_are_sorted_unique_finite_and_repeatable(text: str, context: list[str]) -> None:
    vector = document_vector(text, context)
    assert list(vector.indices) == sorted(set(vector.indices))
    assert all(0 <= term < 2**32 for term in vector.indices)
    assert all(math.isfinite(weight) and weight > 0 for weight in vector.values)
    assert vector == document_vector(text, context)


@given(st.text(max_size=200))
def test_a_query_finds_the_statement_that_it_quotes(text: str) -> None:
    asked = query_vector(text)
    assert not asked.indices or score(asked, document_vector(text)) > 0


@pytest.mark.parametrize(
    ("language", "word", "number"),
    [
        ("", "connections", 1),
        ("en", "connections", 1),
        ("de", "häuser", 2),
        ("de", "haus", 2),  # a German stem is another term than the same letters elsewhere
        ("de", "dieser", 1),  # queries are searched without function words
        ("de", "utf8", 1),
        ("ru", "домами", 2),
        ("vi", "houses", 1),  # a language without a stemmer
        ("de", "x" * 500, 2),
        ("", "\ud800", 1),
    ],
)
def test_a_word_has_the_term_of_its_english_stem_and_one_of_its_language(language: str, word: str, number: int) -> None:
    for _ in ("found", "kept"):
        (found,) = stemming.terms([word], language)
        assert found[0] == stemming.terms([word])[0][0], "whatever the language of the page"
        assert len(set(found)) == number
    for other in {"de", "ru", "es"} - {language}:
        assert set(found[1:]).isdisjoint(chain.from_iterable(stemming.terms([word, "haus", "дом"], other)))


@pytest.mark.parametrize(
    ("word", "other"),
    [("news", "new"), ("use", "us"), ("uses", "us"), ("theses", "these"), ("ones", "on"), ("canned", "can")],
)
def test_a_word_that_only_looks_like_an_inflection_has_its_own_stem(word: str, other: str) -> None:
    # Porter's rules join each pair.
    assert stems([word]) != stems([other])
    assert stems(["using"]) == stems(["used"]) == stems(["use"])


@given(st.lists(st.text(), max_size=4), st.sampled_from(["", "en", "de", "fr"]))
def test_terms_of_texts_are_the_terms_of_one_text_with_a_line_for_each(texts: list[str], language: str) -> None:
    """Terms are cached by text, so that the statements of a page share its title's."""
    lines = [" ".join(text.split()) for text in texts]
    assert statement_terms(lines, language) == statement_terms(["\n".join(lines)], language)


def test_long_texts_have_terms_too() -> None:
    long = " ".join(f"word{number}" for number in range(500))
    assert len(long) > bm25._MAX_KEPT_TEXT_CHARS
    assert len(statement_terms([long])) >= 500
