"""Dumps that somebody made to harm: each item has rows or a reason, and the items behind it are read."""

from typing import Any

import orjson
import pytest

from streams.knowledge.dumps.tasks import pack_items, read_answer, read_items, read_own_lines, read_pages
from streams.knowledge.wikipedia.wikitext import read_lead

GOOD_ITEM = {
    "type": "item",
    "id": "Q2",
    "labels": {"en": {"value": "Oslo"}},
    "descriptions": {"en": {"value": "capital of Norway"}},
}


def item(**fields: Any) -> bytes:
    return orjson.dumps({**GOOD_ITEM, "id": "Q1", **fields})


def claim(kind: str, value: Any, **fields: Any) -> dict[str, Any]:
    snak = {"snaktype": "value", "datavalue": {"type": kind, "value": value}}
    return {"mainsnak": snak, "rank": "normal", "type": "statement", **fields}


ITEMS = {
    "many claims": item(claims={f"P{n}": [claim("string", "x")] for n in range(5_000)}),
    "many names": item(aliases={"en": [{"value": "a" * 50}] * 20_000}),
    "names that are no list": item(aliases={"en": {"value": "a"}}),
    "many links": item(sitelinks={f"a{n}wiki": {"title": "x"} for n in range(20_000)}),
    "a year of 20 digits": item(claims={"P569": [claim("time", {"time": "+99999999999999999999-01-01T00:00:00Z"})]}),
    "a time that is none": item(claims={"P569": [claim("time", {"time": "x", "precision": {}}, rank=[])]}),
    "a place that is no number": item(claims={"P625": [claim("globecoordinate", {"latitude": "x"})]}),
    "an amount of 5,000 digits": item(
        claims={"P1082": [claim("quantity", {"amount": f"+{'9' * 5_000}", "unit": "1"})]}
    ),
    "labels that are a list": item(labels=[1, 2]),
    "a label that is a number": item(labels={"en": {"value": 1}}),
    "claims that are a text": item(claims="x"),
    "a claim that is a number": item(claims={"P569": [1, None, []]}),
    "an id that is a list": item(id=["Q1"]),
    "an id with a path": item(id="Q1/../../x"),
    "deep objects": b'{"type":"item","id":"Q1","labels":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
    "objects without an end": b'{"a":' * 100_000,
    "half of a pair": b'{"type":"item","id":"Q1","labels":{"en":{"value":"\\ud800"}}}',
    "null": b"null",
    "a number of 5,000 digits": b"1" * 5_000,
    "a long list of numbers": b"[" + b"1," * 100_000 + b"1]",
    "no UTF-8": b'{"type":"item","id":"\xff"}',
    "nothing": b"",
}


@pytest.mark.parametrize("hostile", ITEMS.values(), ids=ITEMS)
@pytest.mark.parametrize("read", [read_items, read_own_lines])
def test_an_item_has_rows_or_a_reason(read: Any, hostile: bytes) -> None:
    good = orjson.dumps(GOOD_ITEM) if read is read_items else orjson.dumps({"id": "a", "name": "Oslo"})
    single = read_answer(read(pack_items("en", [good], "2024-05-01")))
    both = read_answer(read(pack_items("en", [hostile, good], "2024-05-01")))
    assert both.rows[-1:] == single.rows[-1:]


def page(text: str, more: str = "") -> bytes:
    head = f"<page{more}><title>A</title><ns>0</ns><id>1</id>"
    return f"{head}<revision><text>{text}</text></revision></page>".encode()


GOOD_PAGE = page("'''Oslo''' is the capital of Norway and a city of many people.")
PAGES = {
    "entities": b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><page><title>&b;</title></page>',
    "an entity of a file": b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><page><title>&a;</title></page>',
    "numbers of 5,000 digits": b"<page><ns>" + b"9" * 5_000 + b"</ns><id>1</id></page>",
    "many attributes": page("x", "".join(f" a{n}='1'" for n in range(10_000))),
    "deep elements": b"<page>" + b"<a>" * 50_000 + b"</page>",
    "a long text of references": page("&amp;" * 200_000),
    "no end": b"<page><title>A",
    "two roots": GOOD_PAGE + GOOD_PAGE,
    "no XML": b"\x00\xff",
}


@pytest.mark.parametrize("hostile", PAGES.values(), ids=PAGES)
def test_a_page_has_rows_or_a_reason(hostile: bytes) -> None:
    found = read_answer(read_pages(pack_items("en", [hostile, GOOD_PAGE])))
    assert [row for row in found.rows if "etc" in str(row) or "root:" in str(row)] == []
    assert found.rows[-1:] == read_answer(read_pages(pack_items("en", [GOOD_PAGE]))).rows
    assert len(found.rows) + sum(found.skipped.values()) >= 2


WIKITEXTS = {
    "open templates": "{{" * 1_999,
    "open links": "[[" * 1_999,
    "both": "{{a|[[b|" * 90,
    "templates in each other": "{{lang|fr|" * 300 + "x" + "}}" * 300,
    "apostrophes": "'" * 20_000,
    "tags": "<b>" * 300,
    "references": "<ref name=" * 150,
    "tables in each other": "{|\n|\n" * 300,
    "arguments": "{{{" * 1_999,
    "comments": "<!--" * 600,
    "marks of lists": ("*#:;" * 100 + "x\n") * 8,
    "private characters": "\ue000" * 20_000,
    "sentences": "a. " * 10_000,
    "zero width": "\u200b" * 20_000,
}


@pytest.mark.parametrize("text", WIKITEXTS.values(), ids=WIKITEXTS)
def test_any_wikitext_has_a_beginning(text: str) -> None:
    assert len(read_lead(text).text) <= len(text)
    assert len(read_lead(f"Oslo is a city.\n\n{text}").text) <= len(text) + 20
