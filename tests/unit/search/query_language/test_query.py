"""The query's language: which parts are text, and which are conditions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.search.query_language.operators import OPERATORS, Conditions
from streams.search.query_language.query import parse_query

CASES: list[tuple[str, str, Conditions]] = [
    # query, text that is searched, conditions
    ("write-ahead log", "write-ahead log", {}),
    ('"write-ahead log" speed', "write-ahead log speed", {"phrase": ("write-ahead log",)}),
    ('say "two" "words  here"', "say two words here", {"phrase": ("two", "words here")}),
    ("log -checkpoint", "log", {"-phrase": ("checkpoint",)}),
    ('log -"roll back"', "log", {"-phrase": ("roll back",)}),
    ("log site:SQLite.org", "log", {"site": ("sqlite.org",)}),
    ("log site:https://sqlite.org/src/", "log", {"site": ("sqlite.org/src",)}),
    ("log site:a.example site:b.example", "log", {"site": ("a.example", "b.example")}),
    ("log -site:*.example.org", "log", {"-site": ("example.org",)}),
    ("haus lang:DE", "haus", {"lang": ("de",)}),
    ("soup pagetype:Recipe", "soup", {"pagetype": ("recipe",)}),
    ("pump prefer:recent", "pump", {"prefer": ("recent:2",)}),
    ("pump prefer:Recent3", "pump", {"prefer": ("recent:3",)}),
    ("pump prefer:cheap", "pump prefer:cheap", {}),
    ("soup pagetype:a-b", "soup pagetype:a-b", {}),
    ("report filetype:.PDF", "report", {"filetype": ("pdf",)}),
    ("news after:2024-05 before:2025", "news", {"after": ("2024-05",), "before": ("2025",)}),
    ("intitle:log inurl:wal speed", "speed", {"intitle": ("log",), "inurl": ("wal",)}),
    ('intitle:"ahead log" x', "x", {"intitle": ("ahead log",)}),
    ("site:sqlite.org intitle:log", "sqlite.org log", {"site": ("sqlite.org",), "intitle": ("log",)}),
    ("log site:bücher.example/a", "log", {"site": ("xn--bcher-kva.example/a",)}),
    ("log site:example.org:443/a?b=c#d", "log", {"site": ("example.org/a",)}),
    ("wal site:example.org, mode", "wal mode", {"site": ("example.org",)}),
    ("log site:1.2", "log", {"site": ("1.2",)}),
    ("log site:example.org:8080", "log", {"site": ("example.org:8080",)}),
    ("say “two words” now", "say two words now", {"phrase": ("two words",)}),
    ("dire «deux mots»", "dire deux mots", {"phrase": ("deux mots",)}),
    ("intitle:“two words” x", "x", {"intitle": ("two words",)}),
    ('what is "write-ahead log"?', "what is write-ahead log ?", {"phrase": ("write-ahead log",)}),
    ('logs ("write-ahead log")', "logs ( write-ahead log )", {"phrase": ("write-ahead log",)}),
    ('"one", "two"', "one , two", {"phrase": ("one", "two")}),
    (
        f'"{"no such file " * 12}here" linux',  # a long message is one thing that is looked for
        f"{'no such file ' * 12}here linux",
        {"phrase": (f"{'no such file ' * 12}here",)},
    ),
    # text that looks like an operator
    ('intitle:"books of', 'intitle:"books of', {}),
    ("(log site:sqlite.org)", "(log site:sqlite.org)", {}),
    ("site:.edu physics", "site:.edu physics", {}),
    ('{"error":"invalid_grant"}', '{ "error":"invalid_grant"}', {}),
    ('npm "scripts": "build"', 'npm "scripts": build', {"phrase": ("build",)}),
    ('-("write-ahead log") log', '-("write-ahead log") log', {}),
    ("after:２０２４", "after:２０２４", {}),
    ("site:a@b.example site:a%2fb", "site:a@b.example site:a%2fb", {}),
    ("git commit -m --amend -1", "git commit -m --amend -1", {}),
    ("colour:red std::vector", "colour:red std::vector", {}),
    ("before:yesterday lang:??? site:/", "before:yesterday lang:??? site:/", {}),
    ("after:2024-13 -lang:de", "after:2024-13 -lang:de", {}),
    ('12" pipe', '12" pipe', {}),
    # in a paragraph, quotation marks and minus signs are text; an operator with a name is an operator
    (
        f'{"so " * 24}"exact phrase" -word lang:de',
        f'{"so " * 24}"exact phrase" -word',
        {"lang": ("de",)},
    ),
    # so they are in several sentences
    (
        'Articles on text systems, including "what you see" systems of any kind. Examples: troff, scribe.',
        'Articles on text systems, including "what you see" systems of any kind. Examples: troff, scribe.',
        {},
    ),
    (
        'Articles on text systems, with "what you see is what you get" systems. Examples: troff, scribe.',
        'Articles on text systems, with "what you see is what you get" systems. Examples: troff, scribe.',
        {},
    ),
    # a full stop within the quoted words ends no sentence of the query
    (
        '"No such file. Giving up now" when starting the server after an upgrade to 12 on ubuntu',
        "No such file. Giving up now when starting the server after an upgrade to 12 on ubuntu",
        {"phrase": ("No such file. Giving up now",)},
    ),
    # a short query is no prose
    ('What is it? Find "exact phrase"', "What is it? Find exact phrase", {"phrase": ("exact phrase",)}),
    ('an "open quote', 'an "open quote', {}),
    ('""', '""', {}),
    ("TypeError: 'NoneType' object", "TypeError: 'NoneType' object", {}),
    ("https://example.org/a", "https://example.org/a", {}),
    ("a - b", "a - b", {}),
]


@pytest.mark.parametrize(("query", "text", "conditions"), CASES, ids=[query for query, *_ in CASES])
def test_a_query(query: str, text: str, conditions: Conditions) -> None:
    parsed = parse_query(query)
    assert (parsed.text, parsed.conditions) == (text, conditions)


def test_every_operator_has_a_case() -> None:
    assert {name for *_, conditions in CASES for name in conditions} == {operator.name for operator in OPERATORS}


def test_operators_are_bounded() -> None:
    parsed = parse_query(" ".join(f"site:h{number}.example" for number in range(100)))
    assert len(parsed.conditions["site"]) == 32
    assert parsed.text.split()[0] == "site:h32.example"


@given(st.text(max_size=200))
def test_any_text_is_a_query(query: str) -> None:
    assert parse_query(query).text or not query


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=8))
def test_a_query_of_plain_words_is_its_own_text(words: list[str]) -> None:
    assert parse_query(" ".join(words)).text == " ".join(words)
