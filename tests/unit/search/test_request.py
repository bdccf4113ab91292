"""Search requests: every input becomes a request, or a problem with what to change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streams.errors import InvalidQuery
from streams.pages.normalize import normalize
from streams.search.options import SearchOptions
from streams.search.request import MAX_DEPTH, Parameters, SearchRequest, normalize_text, parse
from streams.settings import Settings
from streams.stores.protocols import FOR_EVERYBODY, Visible

GOOD = [
    # the input, the query
    ("write-ahead log", "write-ahead log"),
    ("  many \t spaces\r\n and lines  ", "many spaces and lines"),
    ("cafe\u0301", "caf\u00e9"),  # NFC: the same word, however it was typed
    ("zero\u200bwidth\ufeff", "zerowidth"),  # format characters that no one sees
    ("\u202egnp.exe", "gnp.exe"),  # direction overrides
    ("می\u200cخواهم", "می\u200cخواهم"),  # the joiner is part of the Persian word
    ("检索 引擎", "检索 引擎"),
    ("🌊", "🌊"),  # a symbol is a word too
    ("C++", "C++"),
    (
        "<script>alert(1)</script>",
        "<script>alert(1)</script>",
    ),  # text like any other: it is escaped where it is shown
    ("' OR 1=1 --", "' OR 1=1 --"),
    ("x" * 2_000, "x" * 2_000),
]

BAD = [
    # the input, the problem's kind
    ("", "query-empty"),
    (" \t\n", "query-empty"),
    ("\u200b", "query-empty"),
    ("...!?", "query-empty"),
    ("x" * 2_001, "query-too-long"),
    ("a\x00b", "query-not-text"),
    ("\x1b[31mred", "query-not-text"),
    ("\x7f", "query-not-text"),
    ("PNG\ufffd\ufffd", "query-not-text"),  # what a decoder makes of bytes that are not UTF-8
    ("\ud800", "query-not-text"),
    ("\ufffe", "query-not-text"),
]


@pytest.mark.parametrize(("typed", "searched"), GOOD)
def test_text_is_normalised(typed: str, searched: str) -> None:
    assert parse(typed, visible=FOR_EVERYBODY).text == searched


@pytest.mark.parametrize(("typed", "kind"), BAD)
def test_an_invalid_query_is_refused_with_its_reason(typed: str, kind: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        parse(typed, visible=FOR_EVERYBODY)
    assert (refused.value.kind, refused.value.parameter) == (kind, "q")
    assert refused.value.detail
    assert refused.value.hint


def test_who_asks_says_for_whom() -> None:
    """mypy says if these would type-check."""
    with pytest.raises(TypeError, match="visible"):
        parse("water")  # type: ignore[call-arg]  # what this test does on purpose
    with pytest.raises(TypeError, match="visible"):
        SearchRequest("water")  # type: ignore[call-arg]  # what this test does on purpose


PARAMETERS = [
    # parameters, the one at fault (None: fine)
    ({"page": 50, "per_page": 10}, None),
    ({"page": 51, "per_page": 10}, "page"),  # beyond the first 500
    ({"page": 0}, "page"),
    ({"per_page": 0}, "per_page"),
    ({"per_page": 51}, "per_page"),
    ({"host": "sqlite.org"}, None),
    ({"host": "bücher.example"}, None),
    ({"host": "https://sqlite.org/"}, "host"),
    ({"host": "a b"}, "host"),
    ({"host": "user@host"}, "host"),
    ({"host": "host:8080"}, None),
    ({"host": "host:port"}, "host"),
    ({"host": "x" * 300}, "host"),
    ({"language": "en"}, None),
    ({"language": "zh-Hant-TW"}, None),
    ({"language": "*"}, None),
    ({"language": "de-1996-x-Phonebk-QQ"}, None),
    ({"language": "english"}, "language"),
    ({"language": "en-"}, "language"),
    ({"language": "en" + "-abcdefgh" * 5}, "language"),
    ({"language": "en,de"}, "language"),
    ({"language": "**"}, "language"),
    ({"language": "en; drop"}, "language"),
]


@pytest.mark.parametrize(("parameters", "at_fault"), PARAMETERS)
def test_parameters(parameters: dict[str, object], at_fault: str | None) -> None:
    if at_fault is None:
        parse("water", Parameters(**parameters), visible=FOR_EVERYBODY)  # type: ignore[arg-type]  # each case knows the parameters
        return
    with pytest.raises(InvalidQuery) as refused:
        parse("water", Parameters(**parameters), visible=FOR_EVERYBODY)  # type: ignore[arg-type]  # each case knows the parameters
    assert refused.value.parameter == at_fault


def test_hosts_and_languages_are_spelled_as_the_index_spells_them() -> None:
    request = parse("water", Parameters(host=" Bücher.EXAMPLE:443 ", language="ZH-hant-tw"), visible=FOR_EVERYBODY)
    assert (request.host, request.language) == ("xn--bcher-kva.example", "zh-Hant-TW")


@pytest.mark.parametrize("tag", [" EN ", "en_us", "pt-br", "ZH-HANT-TW", "es-419", "en-x-US", "de-1996-u-CO-PHONEBK"])
def test_a_language_is_normalised_as_in_documents(tag: str) -> None:
    document = normalize(f'<html lang="{tag}"><p>1', url="https://a.example/").document
    assert parse("water", Parameters(language=tag), visible=FOR_EVERYBODY).language == document.language != ""


LANGUAGES = [
    # the operator's languages, the parameter, the languages that are searched
    ((), "", ()),
    ((), "de", ("de",)),
    ((), "*", ()),
    (("en", "und"), "", ("en", "und")),
    (("en", "und"), " FR ", ("fr",)),
    (("en", "und"), "*", ()),
]


@pytest.mark.parametrize(("operator", "parameter", "searched"), LANGUAGES)
def test_the_languages_that_are_searched(operator: tuple[str, ...], parameter: str, searched: tuple[str, ...]) -> None:
    assert (
        parse(
            "water", Parameters(language=parameter), SearchOptions(languages=operator), visible=FOR_EVERYBODY
        ).languages
        == searched
    )


@given(st.text(max_size=300))
def test_normalising_again_changes_nothing(text: str) -> None:
    try:
        once = normalize_text(text, max_chars=2_000)
    except InvalidQuery:
        return
    assert normalize_text(once, max_chars=2_000) == once


@given(st.text(max_size=60), st.integers(), st.integers(), st.text(max_size=40), st.text(max_size=20))
def test_any_input_is_a_request_or_a_problem(text: str, page: int, per_page: int, host: str, language: str) -> None:
    try:
        request = parse(
            text, Parameters(page=page, per_page=per_page, host=host, language=language), visible=FOR_EVERYBODY
        )
    except InvalidQuery:
        return
    assert request.text == request.text.strip() != ""
    assert request.page * request.per_page <= MAX_DEPTH


SETTINGS = [
    # the setting, the languages that are searched (None: the gateway does not start)
    ('["EN", "und"]', ("en", "und")),
    ("[]", ()),
    ('["pt-BR"]', None),
    ('["*"]', None),
    ('["english"]', None),
]


@pytest.mark.parametrize(("written", "searched"), SETTINGS)
def test_the_operator_writes_primary_tags(
    written: str, searched: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIFFLE_GATEWAY__LANGUAGES", written)
    if searched is not None:
        assert Settings.load().gateway.languages == searched
        return
    with pytest.raises(ValidationError, match=r"gateway\.languages"):
        Settings.load()


READERS = [
    Visible(("intern",), ()),
    Visible((), ("intern",)),
    Visible((), (), only=("intern",)),
    Visible((), (), is_all=True),
    Visible((), ()),
]
"""Readers that see other pages."""


def test_the_cursor_of_one_reader_is_not_that_of_another() -> None:
    assert len({parse("log", visible=visible).digest for visible in READERS}) == len(READERS)
