"""The query's language: which parts are text, and which are conditions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.search.ranking.query import Conditions, parse_query

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
    ("log site:bücher.example/a", "log", Conditions(sites=("xn--bcher-kva.example/a",))),
    ("log site:example.org:443/a?b=c#d", "log", Conditions(sites=("example.org/a",))),
    ("wal site:example.org, mode", "wal mode", Conditions(sites=("example.org",))),
    ("log site:1.2", "log", Conditions(sites=("1.2",))),
    ("log site:example.org:8080", "log", Conditions(sites=("example.org:8080",))),
    ("say “two words” now", "say two words now", Conditions(phrases=("two words",))),
    ("dire «deux mots»", "dire deux mots", Conditions(phrases=("deux mots",))),
    ("intitle:“two words” x", "x", Conditions(in_title=("two words",))),
    ('what is "write-ahead log"?', "what is write-ahead log ?", Conditions(phrases=("write-ahead log",))),
    ('logs ("write-ahead log")', "logs ( write-ahead log )", Conditions(phrases=("write-ahead log",))),
    ('"one", "two"', "one , two", Conditions(phrases=("one", "two"))),
    (
        f'"{"no such file " * 12}here" linux',  # a long message is one thing that is looked for
        f"{'no such file ' * 12}here linux",
        Conditions(phrases=(f"{'no such file ' * 12}here",)),
    ),
    # text that looks like an operator
    ('intitle:"books of', 'intitle:"books of', Conditions()),
    ("(log site:sqlite.org)", "(log site:sqlite.org)", Conditions()),
    ("site:.edu physics", "site:.edu physics", Conditions()),
    ('{"error":"invalid_grant"}', '{ "error":"invalid_grant"}', Conditions()),
    ('npm "scripts": "build"', 'npm "scripts": build', Conditions(phrases=("build",))),
    ('-("write-ahead log") log', '-("write-ahead log") log', Conditions()),
    ("after:２０２４", "after:２０２４", Conditions()),
    ("site:a@b.example site:a%2fb", "site:a@b.example site:a%2fb", Conditions()),
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
    (
        'Articles on text systems, with "what you see is what you get" systems. Examples: troff, scribe.',
        'Articles on text systems, with "what you see is what you get" systems. Examples: troff, scribe.',
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
