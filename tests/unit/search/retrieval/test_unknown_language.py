"""The language of a query that the embedding model doesn't know: only where it is sure."""

import pytest

from streams.search.retrieval.model_fit import unknown_language


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Wie installiere ich die Datenbank?", "de"),
        ("Datenbank nach Absturz wiederherstellen", "de"),
        ("la base peut-elle perdre mes données", "fr"),
        ("cómo deshacer el último commit", "es"),
        ("как отменить последний коммит", "ru"),
        ("如何撤销提交", "zh"),
        # not sure, or English
        ("Datenbank", ""),
        ("commit rückgängig", ""),
        ("could a crash lose my data?", ""),
        ("What happend if mario die ?", ""),
        ("SQLITE_BUSY SQLITE_LOCKED", ""),
        ("vacuum analyze verbose", ""),
        ("Beethoven Ode an die Freude lyrics in English", ""),
        ("3.11.4", ""),
        ("😀", ""),
    ],
)
def test_a_query_in_another_language(query: str, expected: str) -> None:
    assert unknown_language(query, (), ("en",)) == expected


def test_the_language_that_a_request_names_is_its_language() -> None:
    assert unknown_language("Datenbank", ("de",), ("en",)) == "de"
    assert unknown_language("Wie installiere ich die Datenbank?", ("en",), ("en",)) == ""
    assert unknown_language("Datenbank", ("und",), ("en",)) == ""
    assert unknown_language("Wie installiere ich die Datenbank?", ("en", "de"), ("en",)) == "de"


def test_a_model_of_all_languages_knows_each() -> None:
    assert unknown_language("Wie installiere ich die Datenbank?", (), ()) == ""
    assert unknown_language("Wie installiere ich die Datenbank?", (), ("en", "de")) == ""
