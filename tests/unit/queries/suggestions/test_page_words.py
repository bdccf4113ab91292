"""The words of pages that queries may be corrected to: which are counted, and which a hostile index can't add."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.queries.spelling.words import split_query
from streams.queries.suggestions import page_words as module
from streams.queries.suggestions.page_words import (
    MAX_PAGE_WORDS,
    MAX_SITES,
    WordSum,
    WordSums,
    add_words,
    choose_words,
    pack_words,
    page_words,
    site_of,
    text_words,
    unpack_words,
    weights_of,
    words_of,
)
from streams.queries.suggestions.sums import Hosts
from streams.statements.statement import PageStatements, Statement
from streams.stores.protocols import StoredWord

ID = UUID(int=1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("PostgreSQL and Kubeflow, (openbsd)", ["postgresql", "kubeflow", "openbsd"]),  # also with capitals inside
        ("SQLite's “Numpy”", ["sqlite", "numpy"]),
        ("write-ahead", ["write", "ahead"]),
        ("elementtree.parse x_factor_y user@example.org /usr/local/share", []),  # code and addresses
        ("numpy1 2024 https://kubeflow.org", []),
        ("l’écoleélève ﬁlebrowser", ["écoleélève", "filebrowser"]),
        ("L'Airbnb d’Artagnan's dell'openbsd", ["airbnb", "artagnan", "openbsd"]),  # behind an elided word
        ("o'reilly l'or", ["o'reilly"]),  # no elided word; too short
        ("list git of", []),  # too short
        ("x" * 29, []),
        ("", []),
    ],
)
def test_words_of_a_text_are_letters_only(text: str, words: list[str]) -> None:
    assert list(words_of(text)) == words


@pytest.mark.parametrize(
    "text",
    [
        "l'airbnb",
        "L’Airbnb",
        "(qu'airbnb)",
        "write-l'airbnb",
        "d'airbnb's",
        "o'reilly",
        "l'd'airbnb",
        "'airbnb'",
        "grafana,",
    ],
)
def test_a_page_has_the_words_that_the_same_text_has_as_a_query(text: str) -> None:
    asked = [word.text.removesuffix("'s") for word in split_query(text.lower()) if word.is_free]
    assert list(words_of(text)) == asked


@given(st.text(max_size=300))
def test_any_text_has_words_that_a_query_may_have(text: str) -> None:
    for word in words_of(text):
        assert 5 <= len(word) <= 28
        assert word.replace("'", "").isalpha()


def test_a_page_counts_each_word_of_title_headings_and_sentences_once_but_no_code() -> None:
    page = PageStatements(
        ID,
        "https://a.example/",
        "Kubeflow",
        "en",
        (
            Statement(ID, 0, "Grafana shows kubeflow.", ("Grafana dashboards",)),
            Statement(ID, 1, "wronglytyped", kind="code"),
        ),
    )
    assert page_words(page) == {"kubeflow", "grafana", "shows", "dashboards"}


def test_a_page_of_endless_words_is_bounded() -> None:
    letters = "abcdefghij"
    texts = ["".join(letters[int(digit)] for digit in f"{number:06d}") for number in range(2 * MAX_PAGE_WORDS)]
    assert len(text_words(texts)) == MAX_PAGE_WORDS


def summed(pages: list[tuple[str, str]], key: str = "a build") -> WordSums:
    sums: WordSums = {}
    for host, text in pages:
        add_words(sums, set(words_of(text)), site_of(host, key))
    return sums


def sites(count: int) -> Hosts:
    return tuple((number, f"{number}.example") for number in range(count))


def chosen(sums: WordSums, min_sites: int = 3) -> dict[str, int]:
    return weights_of(choose_words(sums, min_sites, lambda word: word == "forbidden"))


def test_a_word_needs_three_sites_and_a_site_counts_ten_pages_at_most() -> None:
    one_owner = [(f"www{number}.spam.example", "kubeflwo") for number in range(500)]
    two_owners = [(host, "grafaan") for host in ("a.example", "b.example") for _ in range(500)]
    many = [(f"{number}.example", "kubeflow") for number in range(3)] + [("0.example", "kubeflow")] * 500
    blocked = [(f"{number}.example", "forbidden") for number in range(9)]
    assert chosen(summed(one_owner + two_owners + many + blocked)) == {"kubeflow": 30}
    assert set(chosen(summed(one_owner + two_owners), min_sites=1)) == {"kubeflwo", "grafaan"}


def test_the_number_of_many_sites_is_an_estimate_that_nobody_can_choose_domains_for() -> None:
    hosts = [f"{number}.example" for number in range(1_000)]
    own = summed([(host, "kubeflow") for host in hosts])["kubeflow"]
    assert len(own.sites) == MAX_SITES
    assert 400 < own.site_count < 2_500  # hashes of one key: the same in each run
    assert {site_of("a.example", "one build"), site_of("a.example", "another")} != {site_of("a.example", "x")}
    assert site_of("www.a.example", "x")[0][0] == site_of("a.example", "x")[0][0]


def test_sums_are_the_same_in_one_part_or_in_several_and_in_any_order() -> None:
    pages = [(f"{number % 40}.example", f"kubeflow grafana wordnumber{'x' * (number % 5)}") for number in range(200)]
    whole = summed(pages)
    parts = [pack_words(summed(pages[start::3])) for start in range(3)]
    for order in (parts, parts[::-1]):
        merged: WordSums = {}
        for shard in range(64):
            merged |= unpack_words(part[shard] for part in order if shard in part)
        assert merged == whole


def test_words_share_their_hosts_in_memory() -> None:
    (value,) = pack_words({"kubeflow": WordSum(2, sites(2))}).values()
    (other,) = pack_words({"grafana": WordSum(2, sites(2))}).values()
    sums = unpack_words([value, other])
    assert [mine is its for mine, its in zip(sums["kubeflow"].sites, sums["grafana"].sites, strict=True)] == [True] * 2


def test_the_sums_of_a_shard_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SUMMED", 3)
    several = {word: WordSum(2, sites(2)) for word in ("kubeflow", "grafana")}
    once = {f"onsite{letter}": WordSum(9, sites(1)) for letter in "abcd"}
    found = unpack_words([*pack_words(several).values(), *pack_words(once).values()])
    assert set(several) <= set(found)
    assert len(found) <= 4


def test_only_the_heaviest_words_are_chosen() -> None:
    sums = {f"word{letter * 2}": WordSum(10 + place, sites(3)) for place, letter in enumerate("abcd")}
    found = choose_words(sums, 3, lambda _: False, most=2)
    hosts = ("0.example", "1.example", "2.example")
    assert found == [StoredWord("worddd", 13, hosts, 3), StoredWord("wordcc", 12, hosts, 3)]
