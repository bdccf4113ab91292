"""The query's language: which parts are text, and which are conditions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.ranking.query import Conditions, parse_query

CASES = [
    # query, text that is searched, conditions
    ("write-ahead log", "write-ahead log", Conditions()),
    ('"write-ahead log" speed', "write-ahead log speed", Conditions(phrases=("write-ahead log",))),
    ('say "two" "words  here"', "say two words here", Conditions(phrases=("two", "words here"))),
    ("log -checkpoint", "log", Conditions(excluded=("checkpoint",))),
    ('log -"roll back"', "log", Conditions(excluded=("roll back",))),
    ("log site:SQLite.org", "log", Conditions(sites=("sqlite.org",))),
    ("log site:https://sqlite.org/src/", "log", Conditions(sites=("sqlite.org/src",))),
    ("log site:a.example site:b.example", "log", Conditions(sites=("a.example", "b.example"))),
    ("log -site:*.example.org", "log", Conditions(excluded_sites=("example.org",))),
    ("haus lang:DE", "haus", Conditions(languages=("de",))),
    ("report filetype:.PDF", "report", Conditions(extensions=("pdf",))),
    ("news after:2024-05 before:2025", "news", Conditions(after="2024-05", before="2025")),
    ("intitle:log inurl:wal speed", "speed", Conditions(in_title=("log",), in_url=("wal",))),
    ('intitle:"ahead log" x', "x", Conditions(in_title=("ahead log",))),
    ("site:sqlite.org intitle:log", "sqlite.org log", Conditions(sites=("sqlite.org",), in_title=("log",))),
    # text that looks like an operator
    ("git commit -m --amend -1", "git commit -m --amend -1", Conditions()),
    ("colour:red std::vector", "colour:red std::vector", Conditions()),
    ("before:yesterday lang:??? site:/", "before:yesterday lang:??? site:/", Conditions()),
    ("after:2024-13 -lang:de", "after:2024-13 -lang:de", Conditions()),
    ('12" pipe', '12" pipe', Conditions()),
    # in a paragraph, quotation marks and minus signs are text; an operator with a name is an operator
    (
        f'{"so " * 24}"exact phrase" -word lang:de',
        f'{"so " * 24}"exact phrase" -word',
        Conditions(languages=("de",)),
    ),
    # so they are in several sentences
    (
        'Articles on text systems, including "what you see" systems of any kind. Examples: troff, scribe.',
        'Articles on text systems, including "what you see" systems of any kind. Examples: troff, scribe.',
        Conditions(),
    ),
    # a full stop within the quoted words ends no sentence of the query
    (
        '"No such file. Giving up now" when starting the server after an upgrade to 12 on ubuntu',
        "No such file. Giving up now when starting the server after an upgrade to 12 on ubuntu",
        Conditions(phrases=("No such file. Giving up now",)),
    ),
    # a short query is no prose
    ('What is it? Find "exact phrase"', "What is it? Find exact phrase", Conditions(phrases=("exact phrase",))),
    ('an "open quote', 'an "open quote', Conditions()),
    ('""', '""', Conditions()),
    ("TypeError: 'NoneType' object", "TypeError: 'NoneType' object", Conditions()),
    ("https://example.org/a", "https://example.org/a", Conditions()),
    ("a - b", "a - b", Conditions()),
]


@pytest.mark.parametrize(("query", "text", "conditions"), CASES, ids=[query for query, *_ in CASES])
def test_a_query(query: str, text: str, conditions: Conditions) -> None:
    parsed = parse_query(query)
    assert (parsed.text, parsed.conditions) == (text, conditions)


def test_operators_are_bounded() -> None:
    parsed = parse_query(" ".join(f"site:h{number}.example" for number in range(100)))
    assert len(parsed.conditions.sites) == 32
    assert parsed.text.split()[0] == "site:h32.example"


@given(st.text(max_size=200))
def test_any_text_is_a_query(query: str) -> None:
    assert parse_query(query).text or not query


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=8))
def test_a_query_of_plain_words_is_its_own_text(words: list[str]) -> None:
    assert parse_query(" ".join(words)).text == " ".join(words)
