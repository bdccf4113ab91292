"""Events as others depend on them: what is checked in is what the code says, and it only ever grew."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.generate import asyncapi, json_schema, published_files
from schemas import EVENTS, Envelope, InvalidEvent, PageDiscovered, PageIndexed, PageRemoved
from schemas.envelope import micros_from_utc, utc_from_micros
from schemas.ids import event_id, page_id, statement_id
from schemas.unknown_values import READ_AS, WAITS
from tests.unit.schemas.compatibility import breaking_changes

SNAPSHOTS = Path(__file__).parents[2] / "data" / "schemas"
PAGE = {"page_id": str(uuid4()), "url": "https://a.test/", "generation": 1}
INDEXED = {**PAGE, "statements": 3, "model": "m", "model_version": "1", "collection": "c"}


def test_what_is_checked_in_is_what_the_code_says() -> None:
    stale = [path for path, content in published_files().items() if not path.exists() or path.read_text() != content]
    assert [path.name for path in stale] == [], "out of date: run `make schemas`"


def test_events_only_grow_since_each_release() -> None:
    snapshots = sorted(SNAPSHOTS.glob("*/*.schema.json"))
    assert snapshots
    assert [(f"{path.parent.name}/{path.name}", fault) for path in snapshots for fault in growth_faults(path)] == []


def growth_faults(snapshot: Path) -> list[str]:
    """Return the changes that break a reader of a former release."""
    topic = snapshot.name.removesuffix(".schema.json")
    event = next((event for event in EVENTS if event.topic == topic), None)
    return breaking_changes(json.loads(snapshot.read_text()), json_schema(event)) if event else ["the event is gone"]


def schema(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required or [], "properties": properties}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("old", "new", "breaks"),
    [
        pytest.param(schema(a=TEXT), schema(a=TEXT, b=NUMBER), False, id="a new optional field"),
        pytest.param(schema(a=TEXT), schema(["b"], a=TEXT, b=NUMBER), True, id="a new required field"),
        pytest.param(schema(a=TEXT, b=TEXT), schema(a=TEXT), True, id="a field that goes"),
        pytest.param(schema(a=TEXT), schema(a=NUMBER), True, id="another type"),
        pytest.param(schema(a=TEXT), schema(a={"anyOf": [TEXT, NUMBER]}), True, id="a wider type"),
        pytest.param(schema(a=TEXT), schema(a={**TEXT, "format": "uuid"}), True, id="another format"),
        pytest.param(schema(a={"anyOf": [TEXT, {"type": "null"}]}), schema(a=TEXT), True, id="null no longer taken"),
        pytest.param(schema(a={"enum": ["x"]}), schema(a={"enum": ["x", "y"]}), True, id="one more value"),
        pytest.param(
            schema(a={"enum": ["x"], READ_AS: "x"}), schema(a={"enum": ["x", "y"]}), False, id="one more, read as x"
        ),
        pytest.param(
            schema(a={"enum": ["x"], WAITS: True}), schema(a={"enum": ["x", "y"], WAITS: True}), False, id="it waits"
        ),
        pytest.param(
            schema(a={"enum": ["x"]}), schema(a={"enum": ["x", "y"], READ_AS: "x"}), True, id="only new readers map it"
        ),
        pytest.param(schema(a={"enum": ["x"]}), schema(a=TEXT), True, id="any value"),
        pytest.param(schema(a=TEXT), schema(a={**TEXT, "enum": ["x"]}), True, id="a list in place of any value"),
        pytest.param(schema(a={"enum": ["x", "y"]}), schema(a={"enum": ["x"]}), True, id="one value fewer"),
        pytest.param(schema(a=NUMBER), schema(a={**NUMBER, "minimum": 1}), True, id="a new minimum"),
        pytest.param(
            schema(a={**NUMBER, "minimum": 1}), schema(a={**NUMBER, "minimum": 0}), True, id="a lower minimum"
        ),
        pytest.param(schema(a={**NUMBER, "maximum": 9}), schema(a=NUMBER), True, id="no maximum any more"),
        pytest.param(schema(["a"], a=TEXT), schema(a=TEXT), True, id="it may be missing"),
        pytest.param(schema(a=TEXT), schema(["a"], a=TEXT), True, id="it became required"),
        pytest.param(schema(a=schema(b=TEXT)), schema(a=schema(b=TEXT, c=TEXT)), False, id="a new field below"),
        pytest.param(schema(a=schema(b=TEXT)), schema(a=schema()), True, id="a field below that goes"),
        pytest.param(
            schema(a={"type": "array", "items": TEXT}), schema(a={"type": "array", "items": NUMBER}), True, id="items"
        ),
    ],
)
def test_what_breaks_a_reader_of_either_side(old: dict[str, Any], new: dict[str, Any], breaks: bool) -> None:
    assert bool(breaking_changes(old, new)) == breaks, breaking_changes(old, new)


def test_an_event_has_the_page_the_fetch_and_the_crawl_of_its_cause() -> None:
    cause = PageIndexed.model_validate({**INDEXED, "crawl_id": "spring"})
    removed = PageRemoved.following(cause, reason="gone", generation=2)
    assert removed == PageRemoved(page_id=cause.page_id, url=cause.url, generation=2, crawl_id="spring", reason="gone")


def test_an_event_has_no_field_that_its_type_does_not_know() -> None:
    with pytest.raises(TypeError, match="PageRemoved has no field reson"):
        PageRemoved.following(PageIndexed.model_validate(INDEXED), reson="gone")


def test_an_event_is_valid_by_its_published_schema() -> None:
    event = PageIndexed.model_validate(INDEXED)
    validator = jsonschema.Draft202012Validator(json_schema(PageIndexed))
    assert list(validator.iter_errors(json.loads(event.to_json()))) == []


def test_unknown_fields_of_a_newer_producer_are_ignored() -> None:
    event = PageIndexed.from_json(json.dumps({**INDEXED, "mood": "happy"}).encode())
    assert event.statements == 3


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "Invalid JSON"),
        (b"[]", "value: Input should be an object"),
        (b'{"page_id": "x"}', "page_id: Input should be a valid UUID"),
        (json.dumps({**INDEXED, "statements": -1}).encode(), "statements: Input should be greater"),
    ],
)
def test_what_is_no_event_says_which_field_and_why(value: bytes, reason: str) -> None:
    with pytest.raises(InvalidEvent, match=reason):
        PageIndexed.from_json(value)


def test_every_event_names_a_topic_and_a_key_that_it_has() -> None:
    faulty = [
        event
        for event in EVENTS
        if event.topic.count(".") != 1 or event.key_field not in event.model_fields or not event.__doc__
    ]
    assert faulty == []


def test_asyncapi_refers_only_to_what_it_contains() -> None:
    document = asyncapi()

    def resolve(pointer: str) -> Any:
        node: Any = document
        for part in pointer.removeprefix("#/").split("/"):
            node = node[part]
        return node

    def walk(node: Any, root: bool = True) -> None:
        if isinstance(node, dict):
            if str(node.get("$ref", "")).startswith(("#/channels", "#/components")):
                assert resolve(node["$ref"])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(document)
    assert len(document["channels"]) == len(EVENTS)


@given(
    st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC)),
    st.text(max_size=40),
)
def test_the_envelope_survives_its_headers(time: datetime, subject: str) -> None:
    subject = subject.encode("utf-8", "ignore").decode()
    envelope = Envelope(id=uuid4(), type="riffle.x.v1", source="/riffle/x", time=time, subject=subject)
    assert Envelope.from_headers(envelope.to_headers()) == envelope
    assert utc_from_micros(micros_from_utc(time)) == time


def test_ids_are_the_same_on_every_machine() -> None:
    page = page_id("https://www.sqlite.org/")
    assert page == UUID("5056a529-48be-5d80-bf9b-6190a7230eb6")
    assert statement_id(page, 0, "x") == statement_id(page, 0, "x") != statement_id(page, 1, "x")
    assert event_id("t", "cause", "key", 0) != event_id("t", "cause", "key", 1)


def test_events_cannot_be_changed() -> None:
    event = PageDiscovered(page_id=uuid4(), url="https://a.test/", host="a.test", why="seed", depth=0)
    with pytest.raises(ValueError, match="frozen"):
        event.depth = 3  # type: ignore[misc]  # it can't be set
