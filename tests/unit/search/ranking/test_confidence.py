"""The confidence in results: its features, the queries that are judged, and what is left where nothing was found."""

import math
from dataclasses import replace
from uuid import UUID, uuid5

import pytest

from streams.models.protocols import ModelInfo
from streams.search.query_language.query import parse_query
from streams.search.ranking.confidence import (
    MAX_NEAREST,
    Confidence,
    keep_nearest_only,
    measure_confidence,
    min_confidence,
    model_bounds,
)
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
