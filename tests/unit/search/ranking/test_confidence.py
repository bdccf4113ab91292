"""The confidence in results: its features, the queries that are judged, and what is left where nothing was found."""

import math
from dataclasses import replace
from uuid import UUID, uuid5

import pytest

from streams.models.protocols import ModelInfo
from streams.search.query_language.query import parse_query
from streams.search.ranking.confidence import (
    MAX_NEAREST,
    MAX_RAISE,
    Confidence,
    bound_of_index,
    keep_nearest_only,
    measure_confidence,
    measure_second_site,
    min_confidence,
    model_bounds,
)
from streams.search.ranking.other_languages import AskedIn
from streams.stores.protocols import Candidates, Hit, PageHits
from streams.vectors.bm25 import query_words
from tests.stages.gateway_fakes import payload_of, statement
from tests.unit.search.ranking.contexts import context_of

MODEL = ModelInfo("all-minilm-l6-v2", "1", 384)


def hit(number: int, score: float, text: str = "The log is kept.", context: tuple[str, ...] = ()) -> Hit:
    row = statement(f"https://a.example/{number}", text, title="A crash", context=context)
    return Hit(uuid5(UUID(int=0), f"{number} {text}"), score, payload_of(row))


def test_words_count_in_a_statement_with_its_context_and_title() -> None:
    terms = query_words("does a crash lose the log?")
    one = hit(1, 2.0, "Data is lost.")
    found = Candidates(dense=(hit(1, 0.4), hit(2, 0.3)), sparse=(one, hit(2, 1.0)), limit=9)
    # Of two statements both have "crash", one has "log", and none has "lose", whose past is another stem.
    worth = {word: math.log(1 + 2.5 / (count + 0.5)) for word, count in (("crash", 2), ("log", 1), ("lose", 0))}
    share = (worth["crash"] + worth["log"]) / sum(worth.values())
    assert measure_confidence(found, terms) == Confidence(0.4, round(share, 4))
    assert measure_confidence(replace(found, sparse=()), terms) == Confidence(0.4, 0.0)
    assert measure_confidence(Candidates(), ()) == Confidence(0.0, 0.0), "an emoji has no terms"


def test_the_second_best_site_counts_where_one_site_alone_must_not() -> None:
    def with_site(number: int, score: float, site: str, text: str) -> Hit:
        row = statement(f"https://{site}/{number}", text, title="")
        return Hit(uuid5(UUID(int=0), f"{number} {site}"), score, payload_of(row))

    terms = query_words("harbour crash")
    dense = (with_site(1, 0.9, "a.example", ""), with_site(2, 0.8, "a.example", ""), with_site(1, 0.5, "b.example", ""))
    sparse = (with_site(1, 9.0, "a.example", "harbour crash"), with_site(1, 3.0, "b.example", "a crash"))
    found = Candidates(dense, sparse, limit=9)
    second = measure_second_site(found, terms, str)
    assert second.closeness == 0.5
    assert 0.0 < second.words < measure_confidence(found, terms).words == 1.0
    of_one = Candidates(dense[:2], sparse[:1], limit=9)
    assert measure_second_site(of_one, terms, str) == Confidence(0.0, 0.0)
    assert measure_second_site(found, (), str).words == 0.0


@pytest.mark.parametrize(
    ("query", "is_judged"),
    [
        ("zxcvq qwe", True),
        ("zxcvq site:sqlite.org", True),
        ('"zxcvq qwe"', False),  # each result has the phrase
        ("zxcvq intitle:log", False),
        ("site:sqlite.org", False),  # all of the site
    ],
)
def test_a_query_whose_words_are_conditions_is_not_judged(query: str, is_judged: bool) -> None:
    parsed = parse_query(query)
    bound = min_confidence(MODEL, parsed.conditions, has_text=parsed.has_text)
    assert bound == (model_bounds()[MODEL.name] if is_judged else None)


def test_only_a_measured_model_or_a_setting_has_a_bound() -> None:
    other = replace(MODEL, name="another")
    assert min_confidence(other, {}, has_text=True) is None
    assert min_confidence(other, {}, has_text=True, fixed=0.7) == 0.7
    assert min_confidence(None, {}, has_text=True, fixed=0.7) is None, "meaning was not searched"


def test_a_measured_index_has_its_own_bound_and_a_setting_comes_first() -> None:
    def of_index(model: str) -> float | None:
        return 0.7 if model == MODEL.name else None

    assert min_confidence(MODEL, {}, has_text=True, of_index=of_index) == 0.7
    assert min_confidence(MODEL, {}, has_text=True, fixed=0.4, of_index=of_index) == 0.4
    assert min_confidence(replace(MODEL, name="another"), {}, has_text=True, of_index=of_index) is None


@pytest.mark.parametrize(
    ("nonsense", "bound"),
    [
        ([], 0.5),
        ([0.1] * 200, 0.5),
        ([0.1] * 195 + [0.9] * 5, 0.7),
        ([0.1] * 196 + [0.9] * 4, 0.5),
        ([0.1] * 190 + [0.6] * 10, 0.6),
        ([0.1] * 100 + [math.inf] * 100, 0.5 + MAX_RAISE),
    ],
)
def test_a_bound_of_an_index_lets_2_5_percent_of_nonsense_pass(nonsense: list[float], bound: float) -> None:
    assert bound_of_index(0.5, nonsense) == pytest.approx(bound)
    assert bound_of_index(0.5, nonsense[::-1]) == pytest.approx(bound)


def test_the_nearest_pages_are_left_where_nothing_was_found() -> None:
    hits = tuple(hit(number, 0.3 - number / 100) for number in range(5))
    pages = [PageHits(each.payload.page_id, (each,), 1.0) for each in reversed(hits)]
    context = replace(
        context_of("zxcvq"),
        found=Candidates(dense=hits, limit=9),
        words=query_words("zxcvq"),
        min_confidence=0.5,
    )
    assert keep_nearest_only(context, pages) == pages[::-1][:MAX_NEAREST]
    assert context.notes.nearest_only

    found = replace(context, min_confidence=0.2, notes=type(context.notes)())
    assert keep_nearest_only(found, pages) == pages
    assert not found.notes.nearest_only


def test_a_statement_with_all_words_is_found_however_far_its_meaning_is() -> None:
    far = hit(1, 0.1, "zxcvq")
    context = replace(
        context_of("zxcvq"),
        found=Candidates(dense=(far,), sparse=(far,), limit=9),
        words=query_words("zxcvq"),
        min_confidence=0.9,
    )
    keep_nearest_only(context, [PageHits(far.payload.page_id, (far,), 1.0)])
    assert not context.notes.nearest_only


ALL, SOME, NO_WORDS = "The log after a crash.", "The log is kept.", "Otters hold hands."
"""Texts with all, one and none of the words of the query `log crash`."""


@pytest.mark.parametrize(
    ("pages", "far"),
    [
        # Pages in their order (closeness, text, language), and the places of those that are folded.
        pytest.param([(0.6, ALL, "en"), (0.1, NO_WORDS, "en"), (0.2, NO_WORDS, "en")], {1, 2}, id="behind an answer"),
        pytest.param([(0.6, ALL, "en"), (0.1, NO_WORDS, "en"), (0.1, ALL, "en")], set(), id="only at the end"),
        pytest.param([(0.3, NO_WORDS, "en"), (0.2, NO_WORDS, "en")], set(), id="no page stands out"),
        pytest.param([(0.1, NO_WORDS, "en"), (0.6, ALL, "en"), (0.1, NO_WORDS, "en")], {2}, id="best behind the first"),
        pytest.param([(0.9, ALL, "en"), (0.1, ALL, "en")], set(), id="a page with all words"),
        pytest.param([(0.6, ALL, "en"), (0.1, NO_WORDS, "fr")], set(), id="words say nothing in another language"),
        pytest.param([(0.5, SOME, "en"), (0.2, SOME, "en")], set(), id="as many of the words"),
    ],
)
def test_pages_at_the_end_that_share_far_less_than_the_best_are_folded(
    pages: list[tuple[float, str, str]], far: set[int]
) -> None:
    rows = [
        statement(f"https://a.example/{place}", text, title="", language=language)
        for place, (_, text, language) in enumerate(pages)
    ]
    hits = [
        Hit(uuid5(UUID(int=0), str(place)), score, payload_of(row))
        for place, (row, (score, *_)) in enumerate(zip(rows, pages, strict=True))
    ]
    context = replace(
        context_of("log crash"),
        found=Candidates(
            dense=tuple(hits), sparse=tuple(each for each in hits if each.payload.text != NO_WORDS), limit=9
        ),
        words=query_words("log crash"),
        min_confidence=0.1,
        asked_in=AskedIn("en", "Latn"),
    )
    found = [PageHits(each.payload.page_id, (each,), 1.0) for each in hits]
    assert keep_nearest_only(context, found) == found, "nothing is lost, and the order stays"
    assert context.notes.far == {found[place].page_id for place in far}
