"""The parts of a page's record: the rows that are written, and rows of other releases."""

from collections.abc import Mapping
from dataclasses import fields, replace
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import PageFetched
from streams.stores.packing import pack, unpack
from streams.stores.page_record import (
    PART_TYPES,
    Deduplicated,
    Fetched,
    Normalized,
    PageRecord,
    Removed,
    RemovedText,
    StoredPart,
)

PAGE = UUID(int=7)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
NUMBER = st.integers(0, 2**53)
IDS = st.lists(st.uuids(), max_size=3).map(tuple)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: NUMBER,
    float: st.floats(0, 1),
    bool: st.booleans(),
    NoneType: st.none(),
    UUID: st.uuids(),
    tuple[str, ...]: st.lists(TEXT, max_size=3).map(tuple),
    tuple[UUID, ...]: IDS,
    RemovedText: st.builds(RemovedText, content_hash=TEXT, first_seen=NUMBER),
}
ANY_VALUE = st.none() | st.booleans() | NUMBER | TEXT | st.lists(TEXT, max_size=2) | st.dictionaries(TEXT, TEXT)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type."""
    if hint in VALUES:
        return VALUES[hint]
    if get_origin(hint) is Mapping:
        return st.dictionaries(TEXT, values(get_args(hint)[1]), max_size=2)
    return st.one_of(*map(values, get_args(hint)))


def parts(part: type[StoredPart]) -> st.SearchStrategy[StoredPart]:
    """Parts with every fact."""
    hints = get_type_hints(part)
    facts = {field.name: values(hints[field.name]) for field in fields(part) if field.name != "stored"}
    return st.builds(part, **facts)


def rows(part: type[StoredPart]) -> st.SearchStrategy[dict[str, Any]]:
    """Rows of any release: facts of any type, and unknown ones."""
    known = st.sampled_from([field.name for field in fields(part) if field.name != "stored"])
    return st.dictionaries(known | TEXT, ANY_VALUE, max_size=6)


@pytest.mark.parametrize("part", PART_TYPES.values())
@given(data=st.data())
def test_every_fact_comes_back_from_the_row(part: type[StoredPart], data: st.DataObject) -> None:
    written = data.draw(parts(part))
    read = part.of_row(unpack(pack(written.row())))
    assert read == written
    assert pack(read.row()) == pack(written.row())


@pytest.mark.parametrize("part", PART_TYPES.values())
@given(data=st.data())
def test_a_row_of_any_release_is_read_and_written_again_as_it_was(part: type[StoredPart], data: st.DataObject) -> None:
    row = data.draw(rows(part).filter(lambda row: "changes" not in row and "overtaken" not in row))
    row.pop("removed_text", None)
    read = part.of_row(row)
    assert read.row() == row
    changed = replace(read, url=f"{read.url}/")
    assert changed.row() == {**row, "url": f"{read.url}/"}


def test_a_missing_fact_has_the_empty_value_of_its_type() -> None:
    record = PageRecord()
    assert (record.indexed.generation, record.indexed.vectors_ref, record.indexed.at) == (-1, "", 0)
    assert (record.normalized.directives, record.normalized.published) == ((), None)
    assert (record.fetched.headers, record.fetched.lease_id, record.fetched.body_ref) == ({}, None, None)
    assert (record.deduplicated.changes, record.deduplicated.removed_text, record.removed.withdrawn) == (None,) * 3
    assert record.parts() == []


def test_a_record_has_its_known_parts_in_the_order_of_the_journey_and_all_rows() -> None:
    stored: dict[str, dict[str, Any]] = {
        "removed": {"generation": 2},
        "fetched": {"generation": 1},
        "of another release": {"url": "x"},
    }
    record = PageRecord(stored)
    assert [(part.PART, part.generation) for part in record.parts()] == [("fetched", 1), ("removed", 2)]
    assert record.rows == stored
    assert record.has(Fetched)
    assert not record.has(Normalized)


def test_the_answer_to_a_request_is_stored_as_its_event() -> None:
    event = PageFetched(
        page_id=PAGE, url="https://a.example/", host="a.example", outcome="ok", generation=5, lease_id=UUID(int=1)
    )
    part = Fetched.of_event(event)
    assert part.row() == event.model_dump(mode="json", exclude_none=True)
    assert (part.event(), part.lease_id, part.generation) == (event, UUID(int=1), 5)


def test_a_removal_is_stored_without_what_it_lacks() -> None:
    part = Removed(url="u", generation=1, reason="gone", detail=None, canonical_page_id=None, withdrawn=None, at=3)
    row = {"url": "u", "generation": 1, "reason": "gone", "at": 3}
    assert part.row() == row
    assert replace(part, withdrawn=1, canonical_page_id=PAGE).row() == {
        **row,
        "withdrawn": 1,
        "canonical_page_id": PAGE,
    }


def test_a_decision_is_stored_without_what_it_lacks_and_may_have_ids_as_text() -> None:
    row = {
        "url": "u",
        "generation": 1,
        "verdict": "removed",
        "reason": "gone",
        "removed_text": {"content_hash": "c", "first_seen": 2},
        "event": "e",
        "changes": [str(PAGE)],
        "overtaken": {"d": [str(PAGE)]},
        "at": 3,
    }
    read = Deduplicated.of_row(row)
    assert (read.changes, read.overtaken) == ((PAGE,), {"d": (PAGE,)})
    assert replace(read, stored=None).row() == row | {"changes": (PAGE,), "overtaken": {"d": (PAGE,)}}


def test_a_refused_document_is_stored_with_its_reason_only() -> None:
    part = Normalized.of_refusal("u", 1, "too deep")
    assert part.row() == {"url": "u", "generation": 1, "refused": "too deep"}
    assert (part.refused, part.document_ref) == ("too deep", "")
