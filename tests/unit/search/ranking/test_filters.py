"""Filters of results: what each leaves out, and how many."""

import random
from dataclasses import replace
from string import ascii_lowercase
from typing import Any
from uuid import UUID, uuid5

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.search.query_language.matching import fold
from streams.search.query_language.query import parse_query
from streams.search.ranking import near_duplicates
from streams.search.ranking.filters import (
    Filtered,
    Rules,
    apply_filters,
    check_pages,
)
from streams.search.ranking.near_duplicates import (
    DUPLICATE_SIMILARITY,
    MAX_ALIKE,
    MAX_COMPARED,
    MIN_DUPLICATE_CHARS,
    similarity,
    trigrams,
)
from streams.search.ranking.rules import is_adult, read_block_list
from streams.stores.protocols import Fingerprint, Hit, PageHits
from streams.stores.statement_payload import StatementPayload
from tests.sizes import FULL

SITE = "site.example"
NAMES = UUID("3f0c8f0e-5a0b-4c7e-9b55-0f6d7f3a1c11")


def page(name: str, text: str = "", host: str = "", **payload: Any) -> PageHits:
    host = host or f"{name}.example"
    known = {"url": f"https://{host}/{name}", "host": host, "title": name, "language": "en", "text": text or name}
    hit = Hit(uuid5(NAMES, f"statement {name}"), 1.0, StatementPayload.of_row({**known, **payload}))
    return PageHits(uuid5(NAMES, name), (hit,), 1.0)


def filter_pages(pages: list[PageHits], rules: Rules, wanted: int) -> Filtered:
    """Return the results after the checks and the filters. The pages of SITE have one text."""
    checked = check_pages(pages, rules, wanted)
    one_text = [each.page_id for each in checked.pages if each.hits[0].payload.host == SITE]
    texts = {each: Fingerprint(each, "text", 0, f"https://{SITE}/{each}", 1, words=9) for each in one_text}
    found = apply_filters(checked.pages, rules, wanted, checked.near, texts)
    found.counts.update(checked.counts)
    return found


def shown(pages: list[PageHits]) -> str:
    return "".join(one.hits[0].payload.url[-1] for one in pages)


def of_site(*names: str, **payload: Any) -> list[PageHits]:
    """Return pages of one host with one text."""
    return [page(name, host=SITE, **payload) for name in names]


LONG = "The write-ahead log holds changes until a checkpoint moves them into the database."
CASES = [
    # rules, pages, those shown, counts
    (Rules(), [page("a"), page("b", text="  ")], "a", {"empty": 1}),
    (Rules(), [page("a", title="", url="")], "", {"empty": 1}),
    (Rules(languages=("de", "")), [page("a"), page("b", language="de"), page("c", language="")], "bc", {"language": 1}),
    (Rules(block_list=read_block_list(["a.example"])), [page("a"), page("b")], "b", {"blocked": 1}),
    (Rules(), [page("a", host="free-porn.example"), page("b", text="an essay about porn")], "b", {"adult": 1}),
    (Rules(), [page("a", text="xxx milf pictures")], "", {"adult": 1}),
    (Rules(), [page("a", text="XXX mılf pictures"), page("b", text="FETIſH mİlf")], "", {"adult": 2}),
    (Rules(hide_adult=False), [page("a", text="xxx milf pictures")], "a", {}),
    (Rules(), [*of_site("a", "b", text=LONG), page("c", text=LONG[40:])], "ac", {"duplicate": 1}),
    (Rules(), [page("a", text="short"), page("b", text="short")], "ab", {}),
    (Rules(parse_query('"moves them"').conditions), [page("a", text=LONG), page("b")], "a", {"conditions": 1}),
]


@pytest.mark.parametrize(("rules", "pages", "expected", "counts"), CASES)
def test_a_filter(rules: Rules, pages: list[PageHits], expected: str, counts: dict[str, int]) -> None:
    found = filter_pages(pages, rules, 10)
    assert (shown(found.pages), dict(found.counts)) == (expected, counts)


HOSTS = [
    ("free-porn.example", True),
    ("www.pornofilms.example", True),
    ("best.milfs.example", True),
    ("sexcams.example", True),
    ("example.xxx", True),
    ("hotmilf.example", True),
    ("milfhunter.example", True),
    ("freelivesex.example", True),
    ("mysexcam.example", True),
    ("pornichd.example", True),
    ("www.milfordsound.co.nz", False),  # towns, a campus, a shop
    ("ci.milford.ct.us", False),
    ("www.pornic.fr", False),
    ("ot-pornichet.example", False),
    ("sussexcampus.example", False),
    ("olivesexpress.example", False),
]


@pytest.mark.parametrize(("host", "expected"), HOSTS)
def test_a_host_is_named_for_adult_content(host: str, expected: bool) -> None:
    assert is_adult(page("a", host=host)) is expected


def test_a_result_keeps_its_near_duplicates() -> None:
    pages = [*of_site("a", "b", text=LONG), page("c", text="else")]
    found = filter_pages(pages, Rules(), 10)
    assert {key: shown(value) for key, value in found.similar.items()} == {pages[0].page_id: "b"}


def test_a_copy_is_found_behind_a_page_of_its_host_that_only_quotes_both() -> None:
    """The first page has another text. The second one and the third one have one text."""
    quotation, original, copy = pages = [page(name, host="forge.example", text=LONG) for name in "abc"]
    texts = {one.page_id: Fingerprint(one.page_id, "text", 0, one.page_id.hex, 1, words=9) for one in (original, copy)}
    texts[quotation.page_id] = Fingerprint(quotation.page_id, "other", 0, "https://forge.example/a", 1, words=9)
    found = apply_filters(pages, Rules(), 10, check_pages(pages, Rules(), 10).near, texts)
    assert (shown(found.pages), found.counts["duplicate"]) == ("ab", 1)


def test_further_pages_of_a_host_come_behind_the_first_page() -> None:
    pages = [page(name, host="x.example" if name in "abcd" else "") for name in "abcdefgh"]
    found = filter_pages(pages, Rules(first_page=4, per_host=2), 8)
    assert shown(found.pages) == "abefcdgh"
    assert found.counts["host"] == 2
    assert shown(filter_pages(pages, Rules(first_page=4, per_host=0), 8).pages) == "abcdefgh"


MOVES = [
    ("a page of another host with nearly the score comes before", [4.0, 3.9, 3.0, 2.9], "acdb"),
    ("a literal answer stays before pages that have nothing", [4.0, 3.9, 0.4, 0.3], "abcd"),
    ("the share is taken of the page that would be moved", [9.0, 1.0, 0.9, 0.1], "acbd"),
]


@pytest.mark.parametrize(("why", "scores", "expected"), MOVES, ids=[why for why, *_ in MOVES])
def test_a_page_is_moved_behind_nearly_as_good_ones(why: str, scores: list[float], expected: str) -> None:
    hosts = ("x.example", "x.example", "y.example", "z.example")
    made = [
        replace(page(name, host=host), score=score) for name, host, score in zip("abcd", hosts, scores, strict=True)
    ]
    assert shown(filter_pages(made, Rules(first_page=3, per_host=1), 4).pages) == expected


def test_pages_of_few_hosts_stay_in_their_order() -> None:
    pages = [page(name, host="y.example" if name in "df" else "x.example") for name in "abcdefgh"]
    assert shown(filter_pages(pages, Rules(first_page=4, per_host=1), 8).pages) == "abcdefgh"


def test_a_web_of_one_host_fills_the_first_page() -> None:
    pages = [page(name, host="x.example") for name in "abcdef"]
    found = filter_pages(pages, Rules(first_page=4, per_host=1), 6)
    assert shown(found.pages) == "abcdef"
    assert not found.counts["host"]


@pytest.mark.parametrize("wanted", range(1, 30))
def test_pages_of_results_are_parts_of_one_order(wanted: int) -> None:
    pages = [page(f"p{n}", text=f"text number {n}", host=f"h{n % 3}.example") for n in range(40)]
    whole = filter_pages(pages, Rules(first_page=5, per_host=1), 30).pages
    assert filter_pages(pages, Rules(first_page=5, per_host=1), wanted).pages == whole[:wanted]


def trigram_set(text: str) -> frozenset[int]:
    return frozenset(trigrams(text).tolist())


def test_similarity_is_that_of_sets_of_trigrams() -> None:
    assert similarity(trigram_set(LONG), trigram_set(LONG.replace("  ", " "))) == 1.0
    assert (
        similarity(trigram_set(LONG), trigram_set("Something else of about the same length, that has other words."))
        == 0.0
    )
    assert similarity(trigram_set(""), trigram_set("")) == 0.0


@given(st.text(min_size=40))
def test_a_text_has_as_many_trigrams_as_different_slices(text: str) -> None:
    folded = fold(text)
    slices = {folded[start : start + 3] for start in range(len(folded) - 2)}
    assert len(trigram_set(text)) == (len(slices) if len(folded) >= MIN_DUPLICATE_CHARS else 0)


AT_THE_LIMIT = "aaaaacacccaaaaaaaacdabacddbdccadaaccbabaacbddaaabbbadbbccdbadadcabdabcabbdbcbbaadd"


@example(AT_THE_LIMIT, [1, 33, 39, 59])  # a similarity of exactly DUPLICATE_SIMILARITY
@given(st.text("abcd", min_size=60, max_size=120), st.lists(st.integers(0, 59), max_size=8))
def test_near_duplicates_are_those_of_a_whole_comparison(text: str, changed: list[int]) -> None:
    """The sketches lose no pair that a comparison of all trigrams would find."""
    other = "".join("x" if place in changed else char for place, char in enumerate(text))
    near = similarity(trigram_set(f"t {text}"), trigram_set(f"t {other}")) >= DUPLICATE_SIMILARITY
    found = filter_pages([*of_site("a", title="t", text=text), *of_site("b", title="t", text=other)], Rules(), 10)
    assert found.counts["duplicate"] == near


def test_pages_that_were_written_to_be_alike_cost_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pages share half of their text, so that their sketches have much in common, and none is a near-duplicate."""
    compared, number = 0, 500 if FULL else 200

    def count(first: frozenset[int], second: frozenset[int]) -> float:
        nonlocal compared
        compared += 1
        return similarity(first, second)

    monkeypatch.setattr(near_duplicates, "similarity", count)
    chance = random.Random(5)
    common = " ".join("".join(chance.choices(ascii_lowercase, k=9)) for _ in range(40))
    pages = [
        page(f"p{n}", text=f"{common} {' '.join(''.join(chance.choices(ascii_lowercase, k=9)) for _ in range(40))}")
        for n in range(number)
    ]
    assert len(filter_pages(pages, Rules(per_host=0), number).pages) == number
    assert number < compared <= number * MAX_COMPARED


def test_of_the_pages_of_a_site_that_are_all_alike_the_first_ones_are_compared() -> None:
    near = check_pages(of_site(*(f"p{n}" for n in range(100)), title="t", text=LONG), Rules(), 100).near
    assert max(len(each) for each in near.values()) == MAX_ALIKE


def test_of_a_text_of_any_length_a_part_is_compared() -> None:
    pages = [*of_site("a", text="words " * 20 + "x" * 10_000), *of_site("b", text="words " * 20 + "x" * 500_000)]
    assert filter_pages(pages, Rules(), 10).counts["duplicate"] == 1
