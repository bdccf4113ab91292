"""The contract of every vector index: what filters let through."""

from dataclasses import replace
from uuid import uuid5

import pytest

from streams.stores.protocols import EVERYTHING, Filters, Point
from streams.stores.statement_payload import StatementPayload, day_of, extension_of
from tests.integration.contracts.indexes import NAMES, Index, axis, filled, page, point, search, terms

FILTERS = [
    (Filters(host="b.example"), {"b1", "b2"}, "one host"),
    (Filters(languages=("fr",)), {"b2", "c"}, "one language"),
    (Filters(host="b.example", languages=("fr",)), {"b2"}, "both must hold"),
    (Filters(languages=("de", "fr")), {"b2", "c", "d"}, "any of several languages"),
    (Filters(languages=("de", "")), {"d", "unknown"}, "a language, or none that is known"),
    (Filters(exclude_sites=("b.example", "c.example", "d.example")), {"a"}, "hosts left out"),
    (Filters(host="b.example", exclude_sites=("b.example",)), set(), "left out wins"),
    (Filters(sites=("b.example", "c.example")), {"b1", "b2", "c"}, "some sites"),
    (Filters(sites=("above.example",)), {"c"}, "a site with its subdomains"),
    (Filters(exclude_sites=("b.example", "above.example", "d.example")), {"a"}, "sites left out"),
    (Filters(page_id=uuid5(NAMES, "b1")), {"b1"}, "within a page"),
    (Filters(host="b.example", exclude_pages=(uuid5(NAMES, "b1"),)), {"b2"}, "a page left out"),
    (Filters(host="B.example"), set(), "as it was written"),
]


@pytest.mark.parametrize(("filters", "pages", "why"), FILTERS, ids=[why for _, _, why in FILTERS])
async def test_filters(index: Index, filters: Filters, pages: set[str], why: str) -> None:
    await filled(
        index,
        point("a", of="a", terms={1: 1.0}),
        point("b1", of="b1", host="b.example", terms={1: 1.0}),
        point("b2", of="b2", host="b.example", language="fr", terms={1: 1.0}),
        point("c", of="c", host="c.example", language="fr", terms={1: 1.0}),
        point("d", of="d", host="d.example", language="de", terms={1: 1.0}),
        point("unknown", of="unknown", host="d.example", language="", terms={1: 1.0}),
    )
    for dense, sparse in ((axis(7), None), (None, terms(t1=1.0)), (axis(7), terms(t1=1.0))):
        found = await search(index, dense=dense, sparse=sparse, filters=filters)
        assert {one.page_id for one in found} == {page(name) for name in pages}, why


async def test_filters_come_before_candidates_are_cut(index: Index) -> None:
    near = [point(f"n{n}", of=f"n{n}", dense=axis(0)) for n in range(30)]
    await filled(index, *near, point("far", of="far", dense=axis(3), host="far.example"))
    found = await search(index, dense=axis(0), sparse=None, filters=Filters(host="far.example"), candidates=5)
    assert [one.page_id for one in found] == [page("far")]


OF_ALL_ROWS: list[tuple[Filters, set[str]]] = [
    (Filters(phrases=("write-ahead log",)), {"wal", "context", "title"}),
    (Filters(phrases=("Ahead",)), {"wal", "context", "title", "other"}),
    (Filters(phrases=("log ahead",)), set()),
    (Filters(phrases=("ahead", "kept")), {"wal"}),
    (Filters(phrases=("SQLITE_BUSY",)), {"code"}),
    (Filters(phrases=("été",)), {"french"}),
    (Filters(title_phrases=("write ahead",)), {"title"}),
    (Filters(exclude_phrases=("ahead",)), {"code", "french"}),
    (Filters(exclude_phrases=("ahead", "busy")), {"french"}),
    (Filters(page_types=("howto", "recipe")), {"wal", "code"}),
    (Filters(extensions=("pdf",)), {"code"}),
    (Filters(extensions=("html",)), {"wal", "context", "title", "other", "french"}),
    (Filters(from_day=20240500), {"wal", "context"}),
    (Filters(before_day=20240500), {"title", "other"}),
    (Filters(from_day=20240101, before_day=20240503), {"context"}),
]


@pytest.mark.parametrize(("filters", "expected"), OF_ALL_ROWS)
async def test_words_and_facts_limit_both_lists(index: Index, filters: Filters, expected: set[str]) -> None:
    rows: dict[str, dict[str, object]] = {
        "wal": {"text": "The WRITE-AHEAD log is kept.", "page_type": "HowTo", "published": "2024-05-03"},
        "context": {"text": "It is.", "context": ["Part", "A write ahead  log"], "published": "2024-05"},
        "title": {"text": "It is.", "title": "Write-ahead log", "published": "2024"},
        "other": {"text": "Ahead of the write.", "published": "2023-12-31"},
        "code": {"text": "It says SQLITE_BUSY_SNAPSHOT.", "page_type": "Recipe", "url": "https://a.example/x.pdf?y#z"},
        "french": {"text": "L'Été est là."},
    }
    points = [with_facts(point(name, name, axis(0), {1: 1.0}), facts) for name, facts in rows.items()]
    await filled(index, *points)
    found = await index.candidates(dense=axis(0), sparse=terms(t1=1.0), visible=EVERYTHING, filters=filters)
    for hits in (found.dense, found.sparse):
        assert {hit.id for hit in hits} == {uuid5(NAMES, name) for name in expected}


def with_facts(made: Point, facts: dict[str, object]) -> Point:
    row = made.payload.row() | {"context": [], "title": "A"} | facts
    url, published = str(row["url"]), str(row.get("published", ""))
    row |= {"day": day_of(published), "extension": extension_of(url)}
    return replace(made, payload=StatementPayload.of_row(row))
