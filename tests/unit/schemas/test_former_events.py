"""Two releases side by side: each reads the other's events, and values that are unknown to it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from docs.generate import json_schema
from schemas import EVENTS, Event, InvalidEvent, NewerEvent, PageDiscovered, PageFetched, PageRemoved, PageScheduled
from schemas.unknown_values import READ_AS, WAITS
from streams.runtime.records import decode
from tests.former_release import FORMER, FormerRecord, FormerRelease
from tests.unit.schemas.samples import all_samples, listed_values, samples

FORMER_SCHEMAS = Path(__file__).parents[2] / "data" / "schemas"
MODELS = {event.topic: event for event in EVENTS}
RECORDS = FormerRelease().records


def known_topics(release: str) -> set[str]:
    """The topics of the events that a release knew."""
    return {path.name.removesuffix(".schema.json") for path in (FORMER_SCHEMAS / release).glob("*.schema.json")}


def test_events_of_the_former_release_are_read_with_all_their_values() -> None:
    assert RECORDS
    assert [(n, record.topic) for n, record in enumerate(RECORDS) if not is_read_whole(record)] == []


def is_read_whole(record: FormerRecord) -> bool:
    """True if an event is read with all its values, its id and its key."""
    event, envelope = decode(MODELS[record.topic], record.value, record.headers)
    written = json.loads(record.value)
    read = {name: value for name, value in json.loads(event.to_json()).items() if name in written}
    ids = (str(envelope.id), event.key().encode())
    return read == written and ids == (dict(record.headers)["ce_id"].decode(), record.key)


def test_the_former_release_wrote_every_type_that_it_knew() -> None:
    assert {record.topic for record in RECORDS} == known_topics(FORMER)


TODAYS_EVENTS = [
    (event, release) for release in ("0.1.0", FORMER) for event in all_samples() if event.topic in known_topics(release)
]
"""Each sample with each release that knew its type. A later type has its own topic, which no former release reads."""


def test_todays_events_are_read_by_the_former_releases() -> None:
    """Their readers check what these schemas check: they were generated from the same models."""
    assert TODAYS_EVENTS
    assert [(release, event, error) for event, release in TODAYS_EVENTS for error in errors_of(event, release)] == []


def errors_of(event: Event, release: str) -> Iterator[str]:
    schema = json.loads((FORMER_SCHEMAS / release / f"{event.topic}.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    return (error.message for error in validator.iter_errors(json.loads(event.to_json())))


def test_samples_have_every_field_and_every_listed_value() -> None:
    made = list(samples(PageFetched))
    assert made[1].model_fields_set == PageFetched.model_fields.keys()
    fields = PageFetched.model_fields
    assert {event.outcome for event in made} == set(listed_values(fields["outcome"].annotation))  # type: ignore[attr-defined]  # they are fetches


LISTED = [
    (event, name) for event in EVENTS for name, field in event.model_fields.items() if listed_values(field.annotation)
]


@pytest.mark.parametrize(("event", "name"), LISTED, ids=[f"{event.__name__}.{name}" for event, name in LISTED])
def test_every_list_of_values_says_how_an_unknown_one_is_read(event: type[Event], name: str) -> None:
    schema = json_schema(event)["properties"][name]
    written = {**json.loads(list(samples(event))[1].to_json()), name: "of-a-newer-release"}
    if schema.get(WAITS):
        with pytest.raises(NewerEvent, match=name):
            event.from_json(json.dumps(written).encode())
    else:
        assert getattr(event.from_json(json.dumps(written).encode()), name) == schema[READ_AS]


@pytest.mark.parametrize(
    ("event", "changes", "error"),
    [
        pytest.param(PageScheduled, {"purpose": "feed"}, NewerEvent, id="a purpose of a newer release"),
        pytest.param(PageScheduled, {"purpose": 5}, InvalidEvent, id="no text"),
        pytest.param(PageScheduled, {"purpose": "feed", "attempt": 0}, InvalidEvent, id="and another fault"),
        pytest.param(PageDiscovered, {"why": 5}, InvalidEvent, id="a known field with no text"),
    ],
)
def test_only_an_unknown_value_alone_waits(
    event: type[Event], changes: dict[str, Any], error: type[InvalidEvent]
) -> None:
    written = {**json.loads(list(samples(event))[1].to_json()), **changes}
    with pytest.raises(InvalidEvent) as raised:
        event.from_json(json.dumps(written).encode())
    assert raised.type is error


def test_no_producer_may_send_an_unknown_value() -> None:
    whole = list(samples(PageRemoved))[1].model_dump()
    with pytest.raises(ValueError, match="reason"):
        PageRemoved(**{**whole, "reason": "of-a-newer-release"})


@pytest.mark.parametrize(
    ("version", "error"),
    [("v2", NewerEvent), ("v17", NewerEvent), ("v0", InvalidEvent), ("v", InvalidEvent), ("vx", InvalidEvent)],
)
def test_an_event_of_a_newer_version_waits(version: str, error: type[InvalidEvent]) -> None:
    record = FormerRelease().journey("pages.fetched")
    headers = {**dict(record.headers), "ce_type": f"riffle.pages.fetched.{version}".encode()}
    with pytest.raises(InvalidEvent) as raised:
        decode(PageFetched, record.value, headers)
    assert raised.type is error
