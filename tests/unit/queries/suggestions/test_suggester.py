"""Suggestions for a prefix: their order, languages, mistakes and blocked words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.index import MAX_SCANNED, MAX_SHOWN, LanguageIndex, Suggestion
from streams.queries.suggestions.normal_form import key_of, normalize_prefix, normalize_query
from streams.queries.suggestions.suggester import Suggester

KNOWN = [
    Suggestion("write-ahead log", 9.0, "en"),
    Suggestion("write-ahead logging in SQLite", 5.0, "en"),
    Suggestion("writers", 1.0, "en"),
    Suggestion("wrist", 2.0, "en"),
    Suggestion("Wrack", 20.0, "de"),
    Suggestion("Écologie", 3.0, "fr"),
    Suggestion("日本の歴史", 4.0, "ja"),
    Suggestion("日本語", 8.0, "ja"),
]


@pytest.mark.parametrize(
    ("typed", "language", "expected"),
    [
        ("write", "", ["write-ahead log", "write-ahead logging in sqlite", "writers"]),
        ("WRITE-A", "", ["write-ahead log", "write-ahead logging in sqlite"]),
        ("wr", "", ["wrack", "write-ahead log", "write-ahead logging in sqlite", "wrist", "writers"]),
        ("wr", "en", ["write-ahead log", "write-ahead logging in sqlite", "wrist", "writers", "wrack"]),  # own first
        ("wr", "xx", ["wrack", "write-ahead log", "write-ahead logging in sqlite", "wrist", "writers"]),
        ("ecol", "", ["écologie"]),
        ("日本", "", ["日本語", "日本の歴史"]),  # the letters choose the script
        ("", "", []),
        ("   ", "", []),
        ("q", "", []),
    ],
)
def test_completions_are_in_the_order_of_their_weights(typed: str, language: str, expected: list[str]) -> None:
    assert [found.text for found in Suggester(KNOWN).suggest(typed, language)] == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("wirte-a", "write-ahead log"),  # exchanged
        ("wrtie-", "write-ahead log"),
        ("wrte-", "write-ahead log"),  # one too few
        ("wrrite-", "write-ahead log"),  # one too many
        ("wrote-", "write-ahead log"),  # another one
        ("écolgi", "écologie"),
        ("日木語", "日本語"),
    ],
)
def test_one_mistake_is_forgiven(typed: str, expected: str) -> None:
    assert expected in [found.text for found in Suggester(KNOWN).suggest(typed)]


@pytest.mark.parametrize("typed", ["xrite-a", "wxyte-a", "zz", "qqqqqq"])
def test_a_wrong_first_letter_and_two_mistakes_find_nothing(typed: str) -> None:
    assert Suggester(KNOWN).suggest(typed) == []


@pytest.mark.parametrize(
    ("text", "blocked"),
    [
        ("a BAD day", True),
        ("bád day", True),
        ("badly done", False),
        ("one two", True),
        ("one, two", True),
        ("two one", False),
    ],
)
def test_blocked_words_are_whole_words(text: str, blocked: bool) -> None:
    words = BlockedWords(["# a comment", "", "Bad  # why", "one two"])
    assert words.blocks(text) is blocked
    assert bool(Suggester([Suggestion(text, 1.0)], words).suggest(text[:2])) is not blocked


def test_a_broad_prefix_has_its_best_computed_beforehand() -> None:
    texts = [(f"a{number:05d}", float(number % 977)) for number in range(8 * MAX_SCANNED)]
    index = LanguageIndex(texts)
    best = sorted(texts, key=lambda each: (-each[1], each[0]))[:MAX_SHOWN]
    assert [(found.text, found.weight) for found in index.complete(b"a")] == best


_TEXTS = st.lists(st.tuples(st.text("abé本", min_size=1, max_size=6), st.integers(1, 9)), max_size=60)


@given(_TEXTS, st.text("abe本", min_size=1, max_size=3))
def test_completions_are_as_those_of_a_search_through_all(texts: list[tuple[str, int]], prefix: str) -> None:
    """The plain definition: all keys with the prefix, the heaviest first."""
    heaviest: dict[str, int] = {}
    for text, weight in texts:
        key = key_of(normalize_query(text))
        heaviest[key] = max(weight, heaviest.get(key, 0))
    expected = sorted((-weight, key) for key, weight in heaviest.items() if key.startswith(prefix))[:MAX_SHOWN]
    found = LanguageIndex([(normalize_query(text), float(weight)) for text, weight in texts]).complete(prefix.encode())
    assert [(-one.weight, key_of(one.text)) for one in found] == expected


@given(_TEXTS, st.text("abé本", min_size=1, max_size=6))
def test_a_suggestion_begins_with_what_was_typed_but_for_one_edit(texts: list[tuple[str, int]], typed: str) -> None:
    prefix = key_of(normalize_prefix(typed))
    for found in Suggester(Suggestion(text, float(weight)) for text, weight in texts).suggest(typed):
        key = key_of(found.text)
        assert any(_edits(prefix, key[: len(prefix) + more]) <= 1 for more in (-1, 0, 1))


def _edits(one: str, other: str) -> int:
    """Return the distance of Damerau and Levenshtein (optimal string alignment), by its definition."""
    rows = [[i + j if not i * j else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            step = rows[i - 1][j - 1] + (one[i - 1] != other[j - 1])
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, step)
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]
