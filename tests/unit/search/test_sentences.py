"""The sentences that are shown of a page: by nearness, words and form, one for each clause, each once."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid5

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import StoreUnavailable
from streams.models.protocols import ModelInfo
from streams.search.deadline import Deadline
from streams.search.ranker import Ranker
from streams.search.request import parse
from streams.search.retrieval.query import IndexQuery
from streams.search.sentences import MARGIN, Looked, SentenceReader, choose_sentences, clauses_of
from streams.search.trace import Trace
from streams.seen.stores import SeenStores
from streams.stores.protocols import EVERYTHING, Hit, PageHits
from streams.stores.statement_payload import MAX_ALONE, StatementPayload
from streams.vectors.bm25 import query_vector, query_words

MODEL = ModelInfo("any", "1", 2, cosine_unrelated=0.75, cosine_related=0.85)
NAMES = UUID("b7a9d0f1-33a5-4b5c-8f0f-51b3f1f6c0aa")
FERRY = "The ferry leaves the harbour of the north at noon on each day of the week in summer."
PRICE = "A ticket for the crossing costs nine crowns for a grown person and nothing for a small child."
TIDE = "Nobody sails against the tide here, since the current is stronger than any of the boats."


def hit(text: str, score: float = 0.5, kind: str = "sentence", page: str = "a", **row: Any) -> Hit:
    known = {"page_id": str(uuid5(NAMES, page)), "title": "Ferries", "text": text, "kind": kind, "language": "en"}
    return Hit(uuid5(NAMES, f"{page} {text}"), score, StatementPayload.of_row({**known, **row}))


def page_of(*hits: Hit) -> PageHits:
    return PageHits(hits[0].payload.page_id, hits, 1.0)


def shown(
    asked: str, *hits: Hit, clauses: Sequence[Sequence[float]] = (), count: int = 3, frame: Any = ()
) -> list[str]:
    """Return the texts that are shown of one page. `clauses` has the cosines of the hits for each clause."""
    lists = [
        hits,
        *(tuple(Hit(one.id, score, one.payload) for one, score in zip(hits, each, strict=True)) for each in clauses),
    ]
    words = [query_words(each, "en") for each in (asked, *clauses_of(asked)[: len(clauses)])]
    found = choose_sentences([page_of(*hits)], Looked({hits[0].payload.page_id: lists}, words), count, frame)
    return [each.payload.text for each in found[0].hits]


CLAUSES = [
    ("When does it leave, and what is the price?", ("When does it leave", "what is the price")),
    ("when does it leave and what is the price", ("when does it leave", "what is the price")),
    ("Wann fährt sie ab und was kostet die Fahrt?", ("Wann fährt sie ab", "was kostet die Fahrt")),
    ("渡轮几点离开港口？一张船票要多少钱？", ("渡轮几点离开港口", "一张船票要多少钱")),
    ("cats and dogs", ()),  # names
    ("When do cats and dogs leave?", ()),
    ("vacuum full", ()),
    ("why does std::vector of 12,500 items at 12:30 take so long", ()),  # no white space behind the marks
    (
        "one two three, four five six, seven eight nine, ten eleven twelve",
        ("one two three", "four five six", "seven eight nine"),
    ),
    ("The ferry leaves at noon, and it is always full of people. " * 9, ()),  # a paragraph
    ("", ()),
]


@pytest.mark.parametrize(("query", "expected"), CLAUSES)
def test_clauses(query: str, expected: tuple[str, ...]) -> None:
    assert clauses_of(query) == expected


@given(st.text(max_size=200))
def test_clauses_are_parts_of_the_query(query: str) -> None:
    for clause in clauses_of(query):
        assert all(word in query for word in clause.split())


ROW = hit("Default: KeepAliveTimeout 5", 0.72)
VAGUE = hit(
    "Setting KeepAliveTimeout to a high value may cause problems of performance in heavily loaded servers.", 0.6
)
AFTER_PRICE = hit(FERRY, 0.9, before=PRICE)
TEA, FAR = "free tea for each of the guests on board", [hit(f"{FERRY} {n}", 0.1) for n in range(9)]
OTHER = hit("The name of a server is needed for each of the virtual hosts that are served at one address.", 0.4)


@pytest.mark.parametrize(
    ("why", "asked", "hits", "expected"),
    [
        ("the nearest leads", "boat", [hit(FERRY, 0.4), hit(PRICE, 0.9)], [PRICE, FERRY]),
        ("the row with all words leads", "KeepAliveTimeout default", [VAGUE, OTHER, ROW], [ROW.payload.text]),
        ("a sentence before a name as near", "gull", [hit("Crowns", 0.52), hit(FERRY), hit(PRICE, 0.1)], [FERRY]),
        ("a name that is far nearer", "gull", [hit(TEA, 0.9, "item"), *FAR], [TEA]),
        ("the title is shown above", "ferries", [hit("Ferries", 0.9), hit(FERRY, 0.2)], [FERRY]),
        ("a page that has only its title", "ferries", [hit("Ferries", 0.9)], ["Ferries"]),
        ("equal texts", "boat", [hit(FERRY, 0.9), hit(FERRY.upper(), 0.8), hit(PRICE, 0.1)], [FERRY, PRICE]),
        ("a text that may be hidden", "boat", [hit(TIDE, 0.9, doubtful=True), hit(FERRY, 0.1)], [FERRY]),
        ("the context of one shown", "gull", [AFTER_PRICE, hit(PRICE, 0.1), hit(TIDE, 0.1)], [FERRY, TIDE]),
    ],
)  # fmt: skip
def test_the_statements_that_are_shown(why: str, asked: str, hits: list[Hit], expected: list[str]) -> None:
    assert shown(asked, *hits)[: len(expected)] == expected


WIDE = [hit(f"{TIDE} It is number {n}.", n % 2 - 1, alone=128) for n in range(9)]
"""Other statements, with which one standard deviation of the cosines is about three quarters."""
SURELY, HARDLY, UNKNOWN = MAX_ALONE, 1, 0


@pytest.mark.parametrize(
    ("why", "near", "far", "expected"),
    [
        ("equal ones", (SURELY, 1.0), (HARDLY, 1.0), [FERRY, PRICE]),
        ("equal ones, in the other order", (HARDLY, 1.0), (SURELY, 1.0), [PRICE, FERRY]),
        ("a little less near, and it stands alone", (HARDLY, 1.2), (SURELY, 1.0), [PRICE, FERRY]),
        ("far less near: the number says nothing", (HARDLY, 2.9), (SURELY, 1.0), [FERRY, PRICE]),
        ("about as sure: the score says which", (200, 1.2), (210, 1.0), [FERRY, PRICE]),
        ("nobody has judged them", (UNKNOWN, 1.2), (UNKNOWN, 1.0), [FERRY, PRICE]),
        ("not judged is no loss", (UNKNOWN, 1.2), (MAX_ALONE // 2, 1.0), [FERRY, PRICE]),
        ("not judged is no gain", (MAX_ALONE // 2, 1.2), (UNKNOWN, 1.0), [FERRY, PRICE]),
        ("not judged, before one that surely does not stand alone", (HARDLY, 1.05), (UNKNOWN, 1.0), [PRICE, FERRY]),
    ],
)  # fmt: skip
def test_of_two_about_as_good_the_one_that_stands_alone_is_first(
    why: str, near: tuple[int, float], far: tuple[int, float], expected: list[str]
) -> None:
    hits = [hit(text, score, alone=alone) for text, (alone, score) in ((FERRY, near), (PRICE, far))]
    assert shown("gull", *hits, *WIDE, count=2) == expected


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(0, MAX_ALONE)), min_size=2, max_size=9), st.integers(1, 3))
def test_no_number_hides_the_best_statement_nor_moves_one_over_the_margin(
    judged: list[tuple[float, int]], count: int
) -> None:
    def scores(*numbers: int) -> dict[str, float]:
        hits = [
            hit(f"{FERRY} {n}", score, alone=number)
            for n, ((score, _), number) in enumerate(zip(judged, numbers, strict=True))
        ]
        chosen = choose_sentences([page_of(*hits)], Looked({hits[0].payload.page_id: [hits]}, [()]), count)
        return {each.payload.text: each.score for each in chosen[0].hits}

    plain, found = scores(*[UNKNOWN] * len(judged)), scores(*(number for _, number in judged))
    assert next(iter(plain)) in found, "the best one is shown whatever the numbers say"
    rounding = 1e-9
    assert all(abs(found[text] - plain[text]) <= MARGIN / 2 + rounding for text in plain.keys() & found.keys())


def test_a_line_of_the_frame_is_shown_only_where_there_is_nothing_else() -> None:
    line = hit(TIDE, 0.9)
    assert shown("boat", line, hit(FERRY, 0.1), frame={line.id}) == [FERRY]
    assert shown("boat", line, frame={line.id}) == [TIDE]


def test_a_statement_that_is_shown_is_no_context_of_another() -> None:
    later = hit(FERRY, 0.8, context=["Ferries", PRICE], before=TIDE)
    found = choose_sentences(
        [page_of(hit(PRICE, 0.9), later)], Looked({}, [query_words("boat", "en")]), 3
    )[0].hits  # fmt: skip
    assert [each.payload.text for each in found] == [PRICE, FERRY]
    assert found[1].payload.context == ("Ferries",)
    assert found[1].payload.before == TIDE


@pytest.mark.parametrize(("of_context", "first"), [(0.99, PRICE), (0.2, FERRY)])
def test_what_matched_in_the_context_of_a_statement_is_shown_itself(of_context: float, first: str) -> None:
    pair = hit(FERRY, 1.0, alone=SURELY, context=[PRICE]), hit(PRICE, of_context, alone=SURELY)
    assert shown("gull", *pair, *WIDE)[0] == first


TWO = "When does it leave, and what is the price?"


def test_each_clause_has_its_statement() -> None:
    about_both = [hit(f"{TIDE} It is number {n}.", 0.9) for n in range(3)]
    hits = [*about_both, hit(FERRY, 0.2), hit(PRICE, 0.2)]
    assert set(shown(TWO, *hits, clauses=[[0.1, 0.1, 0.1, 0.9, 0.1], [0.1, 0.1, 0.1, 0.1, 0.9]])) >= {FERRY, PRICE}
    assert not {FERRY, PRICE} & set(shown(TWO, *hits))


def test_a_clause_takes_no_place_on_a_page_that_has_nothing_for_it() -> None:
    both, one = [hit(FERRY, 0.9), hit(PRICE, 0.9)], [hit(text, 0.9, page="b") for text in (FERRY, TIDE)]
    one += [hit(f"{TIDE} It is number {n}.", 0.0, page="b") for n in range(9)]
    scores = {FERRY: (0.9, 0.0), PRICE: (0.0, 0.9)}
    lists = {
        each[0].payload.page_id: [
            each,
            *(
                [Hit(h.id, scores.get(h.payload.text, (0.0, 0.0))[clause], h.payload) for h in each]
                for clause in (0, 1)
            ),
        ]
        for each in (both, one)
    }
    words: list[Any] = [(), (), ()]
    found = choose_sentences([page_of(*both), page_of(*one)], Looked(lists, words), 2)
    assert {each.payload.text for each in found[0].hits} == {FERRY, PRICE}
    assert {each.payload.text for each in found[1].hits} == {FERRY, TIDE}, "its second place is for the whole query"


texts = st.lists(
    st.sampled_from([FERRY, PRICE, TIDE, "Ferries", "a storm, or", "Prev | Up | Next", ""]), min_size=1, max_size=9
)


@given(texts, st.lists(st.floats(-1, 1), min_size=9, max_size=9), st.integers(1, 4))
def test_at_most_so_many_of_the_page_each_once(found: list[str], cosines: list[float], count: int) -> None:
    hits = [hit(text, score, ordinal=n) for n, (text, score) in enumerate(zip(found, cosines, strict=False))]
    chosen = shown("ferries of the north", *hits, count=count)
    assert 1 <= len(chosen) <= count
    assert set(chosen) <= set(found)
    assert len({text.casefold() for text in chosen if text}) == len([text for text in chosen if text])


class Asked:
    """An index and a model that remember what they were asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.embedded, self.requests = error, list[str](), list[dict[str, Any]]()

    async def embed(self, texts: Sequence[str], role: str, **_: object) -> Any:
        self.embedded += texts
        return np.zeros((len(texts), 2), np.float32)

    async def search_pages(self, pages: Sequence[UUID], **asked: Any) -> list[tuple[Hit]]:
        if self.error:
            raise self.error
        self.requests.append({"pages": list(pages), **asked})
        lists = len(asked["dense"]) + (asked["sparse"] is not None)
        return [(hit(TIDE, 0.7),)] * lists * len(pages)

    async def read(
        self, text: str, dense: Sequence[float] | None = (1.0, 0.0), pages: int = 12
    ) -> tuple[Looked, Trace]:
        stores: Any = SimpleNamespace(vectors=self, embedder=self)
        query = IndexQuery(
            parse(text, visible=EVERYTHING), text, {}, dense=dense, sparse=query_vector(text), words=query_words(text)
        )
        trace = Trace(model=MODEL)
        reader = SentenceReader(SeenStores(stores), lambda *_: None)
        return await reader.read([page_of(hit(FERRY))] * pages, query, Deadline(30.0), trace), trace


async def test_the_pages_are_asked_once_for_the_query_and_its_clauses() -> None:
    asked = Asked()
    looked, trace = await asked.read(TWO)
    assert asked.embedded == list(clauses_of(TWO))
    assert [(len(one["pages"]), len(one["dense"])) for one in asked.requests] == [(10, 3)]
    assert len(looked.words) == 3
    assert trace.similarities[hit(TIDE).id] == MODEL.closeness(0.7) < 0, "its cosines begin at 0.75"


async def test_without_pages_nothing_is_asked() -> None:
    asked = Asked()
    await asked.read(TWO, pages=0)
    assert not asked.embedded
    assert not asked.requests


async def test_without_meaning_only_words_are_looked_for() -> None:
    asked = Asked()
    looked, trace = await asked.read(TWO, None)
    assert not asked.embedded
    assert [len(one["dense"]) for one in asked.requests] == [0]
    assert not trace.similarities
    assert choose_sentences([page_of(hit(FERRY, 0.1))], looked, 3)[0].hits


async def test_without_the_index_the_statements_of_the_lists_are_shown() -> None:
    looked, _ = await Asked(StoreUnavailable("away")).read(TWO)
    found = choose_sentences([page_of(hit(FERRY), hit(PRICE, 0.1))], looked, 3)
    assert [each.payload.text for each in found[0].hits] == [FERRY, PRICE]


async def test_behind_the_deadline_the_first_statements_of_the_lists_are_shown() -> None:
    page = page_of(hit(FERRY), hit(PRICE, 0.4), hit(TIDE, 0.3))
    found = await Ranker({}).choose([page], Looked({}, ((),)), 2, (), Deadline(0.0))
    assert [each.payload.text for each in found[0].hits] == [FERRY, PRICE]
