"""The payload of a statement in the index: the written row, and rows of other releases."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.stores.statement_payload import StatementPayload

PAGE = UUID(int=7)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
NUMBER = st.integers(0, 2**53)
FACTS = st.fixed_dictionaries(
    {"page_id": st.uuids(), "ordinal": NUMBER, "generation": NUMBER, "sites": TEXTS, "context": TEXTS}
    | dict.fromkeys(("url", "host", "title", "text", "language", "published", "page_type", "kind"), TEXT)
)


@given(FACTS)
def test_every_fact_comes_back_from_the_row(facts: dict[str, Any]) -> None:
    written = StatementPayload(**facts)
    read = StatementPayload.of_row(written.row())
    assert {name: getattr(read, name) for name in facts} == facts
    assert read == written
    assert read.row() == written.row()


@given(FACTS)
def test_another_fact_is_another_payload(facts: dict[str, Any]) -> None:
    written = StatementPayload(**facts)
    added = {str: "x", int: 1, tuple: ("x",)}
    for name, value in facts.items():
        other = UUID(int=value.int ^ 1) if isinstance(value, UUID) else value + added[type(value)]
        assert StatementPayload(**{**facts, name: other}) != written, name


def test_the_row_is_the_stored_format() -> None:
    payload = StatementPayload(
        page_id=PAGE,
        url="https://docs.example.org/",
        host="docs.example.org",
        sites=("example.org",),
        title="A title",
        text="A statement.",
        context=("A heading",),
        language="en",
        published="2024-05-01",
        page_type="Recipe",
        ordinal=3,
        kind="sentence",
        entry=True,
        before="The sentence before.",
        generation=5,
    )
    assert payload.row() == {
        "text": "A statement.",
        "context": ["A heading"],
        "ordinal": 3,
        "kind": "sentence",
        "page_id": str(PAGE),
        "url": "https://docs.example.org/",
        "title": "A title",
        "language": "en",
        "host": "docs.example.org",
        "generation": 5,
        "sites": ["example.org"],
        "published": "2024-05-01",
        "page_type": "Recipe",
        "entry": True,
        "before": "The sentence before.",
        "day": 20240501,
        "extension": "html",
    }


@pytest.mark.parametrize(
    ("row", "name", "value"),
    [
        pytest.param({}, "text", "", id="no text"),
        pytest.param({"title": None}, "title", "", id="a title that is null"),
        pytest.param({}, "sites", (), id="no sites, as of the first releases"),
        pytest.param({}, "published", "", id="no date"),
        pytest.param({}, "page_type", "", id="no type"),
        pytest.param({}, "ordinal", 0, id="no place"),
        pytest.param({}, "entry", False, id="no entry, as of releases that did not know them"),
        pytest.param({}, "before", "", id="no sentence before"),
        pytest.param({"generation": "7"}, "generation", 0, id="a generation that is no number"),
        pytest.param({"context": "A heading"}, "context", ("A heading",), id="one line as the context"),
        pytest.param({"context": 5}, "context", (), id="a context that is none"),
    ],
)
def test_rows_of_other_releases_are_read(row: dict[str, Any], name: str, value: object) -> None:
    assert getattr(StatementPayload.of_row(row), name) == value


def test_unknown_facts_stay_in_the_row() -> None:
    row = {"page_id": str(PAGE), "mood": "good"}
    assert StatementPayload.of_row(row).row() == row
    assert StatementPayload.of_row(row) != StatementPayload.of_row({"page_id": str(PAGE)})


def test_a_payload_never_changes() -> None:
    payload = StatementPayload.of_row({"text": "A statement."})
    with pytest.raises(AttributeError):
        payload.text = "Another."  # type: ignore[misc]  # it can't be set
    payload.row()["text"] = "Another."
    assert payload.text == "A statement."
