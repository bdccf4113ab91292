"""Nonsense over many webs: the made queries, what a search saw of a query, the rules, and the shares of each web."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid5

import pytest

from benchmarks.search.nonsense_words import (
    ROW_WORDS,
    ROWS,
    SYLLABLES,
    Observer,
    Seen,
    apart,
    nearest_nonsense,
    rows_of_words,
    scattered,
    summarize,
    syllables,
    table,
    vocabulary,
    web_of,
)
from streams.pages.document.model import Block, Document
from streams.search.ranker import PASSES
from streams.search.ranking.fusion import merge_lists
from streams.stores.protocols import Candidates, Hit
from streams.vectors.bm25 import query_words
from tests.stages.gateway_fakes import payload_of, statement
from tests.unit.search.ranking.contexts import context_of

WORDS = {"a": ["ant", "ape"], "b": ["bee", "bat"], "c": ["cow"], "empty": []}


def document(number: int, text: str, title: str = "") -> Document:
    return Document(f"https://d{number}.test/", title, blocks=(Block("p", text),))


def hit(page: int, ordinal: int, text: str) -> Hit:
    row = statement(f"https://a.example/{page}", text, title="")
    return Hit(uuid5(UUID(int=0), f"{page} {ordinal}"), 1.0, payload_of(row))


def test_invented_words_are_different_and_always_the_same() -> None:
    asked = syllables()
    assert len(set(asked)) == SYLLABLES == len(asked)
    assert asked == syllables()


def test_words_of_medium_frequency_stand_on_two_documents_and_on_a_fifth_at_most() -> None:
    documents = [document(n, "harbour the wind of x1") for n in range(2)]
    documents += [document(n, "wind", title="Pilot") for n in range(2, 4)]
    documents += [document(n, f"word{n} rare" if n == 9 else "sea") for n in range(4, 10)]
    assert vocabulary(documents) == ["harbour", "pilot"]


def test_rows_have_words_of_the_webs_that_their_kind_names() -> None:
    found = rows_of_words("a", WORDS)
    assert {kind: len(rows) for kind, rows in found.items()} == {
        "of its own": ROWS,
        "of another": ROWS,
        "mixed up": ROWS,
    }
    assert {word for row in found["of its own"] for word in row.split()} == {"ant", "ape"}
    assert {word for row in found["mixed up"] for word in row.split()} == {"bee", "bat", "cow"}
    for row in found["of another"]:
        assert len({word[0] for word in row.split()}) == 1, row
    for row in found["mixed up"]:
        assert len({word[0] for word in row.split()[:2]}) == 2, row
    assert {len(row.split()) for rows in found.values() for row in rows} == set(ROW_WORDS)
    assert found == rows_of_words("a", WORDS)
    assert list(rows_of_words("a", {"a": ["ant"]})) == ["of its own"]


@pytest.mark.parametrize(
    ("name", "web"),
    [
        ("open/cacm", "open/cacm"),
        ("open/links", "open"),
        ("open/keywords", "open"),
        ("more/questions", "more"),
    ],
)
def test_made_collections_of_one_folder_are_one_web(name: str, web: str) -> None:
    assert web_of(name) == web


@pytest.mark.parametrize(
    ("occurring", "together", "expected"), [(3, 1, True), (2, 1, False), (3, 2, False), (5, 1, True), (0, 0, False)]
)
def test_scattered_words(occurring: int, together: int, expected: bool) -> None:
    assert scattered(Seen(0.5, 0.3, 5, occurring, together, 1)) is expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (Seen(0.4, 0.3, 4, 3, 1, 1), True),
        (Seen(0.6, 0.3, 4, 3, 1, 1), False),  # some statement is about it, in other words
        (Seen(0.4, 0.3, 2, 1, 1, 1), False),  # of two words, one is enough
        (Seen(0.4, 0.5, 4, 3, 2, 2), False),
        (Seen(0.4, 0.0, 3, 0, 0, 0), True),
    ],
)
def test_words_that_stand_apart(seen: Seen, expected: bool) -> None:
    assert apart(seen, near=0.5) is expected
    if seen.together == 2:
        assert apart(seen, near=0.5, most=seen.asked / 2), "half of the words"


def test_nonsense_comes_as_near_as_one_of_forty_made_queries() -> None:
    made = [Seen(step / 200, 0.0, 1, 0, 0, 0) for step in range(200)]
    assert nearest_nonsense(made) == pytest.approx(195 / 200)
    assert nearest_nonsense([]) == 0.0


def test_a_pass_sees_the_words_of_statements_and_of_pages() -> None:
    hits = (hit(1, 1, "A harbour."), hit(1, 2, "A pilot."), hit(2, 3, "The harbour has wind."))
    found = Candidates((replace(hits[0], score=0.4),), hits, limit=9)
    query = "harbour pilot wind velvet"
    observer = Observer()
    context = replace(context_of(query), found=found, words=query_words(query), asked=query)
    pages = merge_lists(found)
    assert observer.observe(context, pages) == pages
    seen = observer.seen[query]
    assert (seen.closeness, seen.asked, seen.occurring, seen.together, seen.on_page) == (0.4, 4, 3, 2, 2)
    assert [each.name for each in observer.passes() if each.name != "seen"] == [each.name for each in PASSES]


def test_shares_are_of_webs_and_each_web_counts_once() -> None:
    sure, unsure, nothing = Seen(0.6, 0.4, 4, 4, 2, 2), Seen(0.4, 0.2, 4, 3, 1, 1), Seen(0.1, 0.1, 4, 3, 1, 1)

    def row(name: str, answered: list[Seen], fresh: list[Seen], index: float = 0.55) -> dict[str, Any]:
        return {"set": name, "answered": answered, "kinds": {"fresh": fresh}, "bounds": [0.55, index]}

    rows = [
        row("open/links", [sure], [sure, nothing]),
        row("open/keywords", [unsure], [nothing, nothing]),
        row("open/npl", [sure, nothing], [unsure], index=0.7),
    ]
    found = summarize(rows)
    rules = found["rules"]
    assert rules["model"]["webs"] == {"open": {"fresh": 0.25, "lost": 0.0}, "open/npl": {"fresh": 1.0, "lost": 0.5}}
    assert rules["index"]["webs"]["open/npl"] == {"fresh": 0.0, "lost": 0.5}
    assert (rules["model"]["mean"]["fresh"], rules["model"]["most"]["fresh"]) == (0.625, 1.0)
    assert rules["index, scattered"]["webs"]["open"] == {"fresh": 0.25, "lost": 0.5}
    assert "| open/npl | 0.0 | 50.0 |" in table(found)
    assert table(found)[-1] == "answered: 4"
