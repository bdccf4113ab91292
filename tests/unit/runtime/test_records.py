"""No record ends a stage: whatever its key, value and headers are, it is handled, tried again or a dead letter."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import Event
from schemas.envelope import Header
from streams.runtime.agent import Delivery
from streams.runtime.processing import LONG_DELAY
from streams.runtime.records import Incoming, incoming_of, read_failure
from tests.sizes import examples
from tests.unit.runtime.stage_harness import STAGE, RunningStage, asked, retried, settle

KNOWN_NAMES = sorted(
    {name for name, _ in retried(asked("a"), not_before=datetime(2026, 1, 1, tzinfo=UTC)).headers}
    | {"ce_", "ce_dataschema", "traceparent", "tracestate", "riffle-value-ref", "riffle-replayed-at", "riffle-", ""}
)
VERSION = "riffle.tests.asked.v"
TIMES = ["2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2026-01-01"]
VALUES = ["tests.asked", "answer", "-1", "1e9", "9" * 5_000, VERSION + "9", VERSION + "9" * 5_000]
header_values = st.none() | st.binary(max_size=60) | st.sampled_from(TIMES + VALUES).map(str.encode)
other_headers = st.lists(st.tuples(st.sampled_from(KNOWN_NAMES) | st.text(max_size=20), header_values), max_size=6)
BAD_JSON = [b"[" * 100_000, b'{"name": "\\ud800"}', b'{"name": null}', b"[]", b'{"name":%s}' % (b"9" * 5_000)]
payloads = st.none() | st.binary(max_size=60) | st.sampled_from(BAD_JSON)
STARTS = {
    "main": asked("a"),
    "retry": retried(asked("a")),
    "retry-long": retried(asked("a"), topic=STAGE.long_retry_topic),
    "replay": retried(asked("a"), topic=STAGE.replay_topic),
    "urgent": replace(asked("a"), topic=STAGE.urgent_topic),
}


@st.composite
def records(draw: st.DrawFn) -> tuple[str, Incoming]:
    """A kind of feeder and a record for it: a valid one of which some headers, the key or the value are replaced."""
    kind = draw(st.sampled_from(sorted(STARTS)))
    record = STARTS[kind]
    kept = draw(st.sets(st.sampled_from([name for name, _ in record.headers])))
    headers: list[Header] = [header for header in record.headers if header[0] in kept]
    changes: dict[str, object] = {"headers": headers + draw(other_headers)}
    if draw(st.booleans()):
        changes["value"] = draw(payloads)
    if draw(st.booleans()):
        changes["key"] = draw(st.binary(max_size=20))
    return kind, replace(record, **changes)  # type: ignore[arg-type]  # the names are its fields' names


async def handle_at_once(delivery: Delivery) -> Sequence[Event]:
    return []


async def feed_one(kind: str, record: Incoming) -> RunningStage:
    """Feed a record and then a valid one, and check that the stage handles both. Returns the stopped stage."""
    stage = RunningStage(handle_at_once, retry_topic_delay_seconds=0.0)
    stream = stage.feed(record, replace(STARTS[kind], offset=1), kind=kind)
    for _ in range(100):
        await settle(20)
        if len(stream.acknowledged) == 2:
            break
    failure = stage.app.failed.exception() if stage.app.failed.done() else None
    await stage.stop()
    assert failure is None, f"the worker ends: {failure!r}"
    assert [offset for _, _, offset in stream.acknowledged] == [record.offset, 1]
    return stage


@settings(max_examples=examples(300), deadline=None)
@given(records())
def test_no_record_ends_a_stage(kind_and_record: tuple[str, Incoming]) -> None:
    asyncio.run(feed_one(*kind_and_record))


@pytest.mark.parametrize("name", [name for name in KNOWN_NAMES if name.startswith("ce_")])
@pytest.mark.parametrize("kind", STARTS)
async def test_a_header_without_a_value_counts_as_missing(kind: str, name: str) -> None:
    record = STARTS[kind]
    headers = [(known, None if known == name else value) for known, value in record.headers]
    stage = await feed_one(kind, replace(record, headers=[*headers, ("ce_unknown", None)]))
    required = name in {"ce_id", "ce_type", "ce_source", "ce_time"}
    assert [sent.topic for sent in stage.sent] == ([STAGE.dead_topic] if required else [])
    for letter in stage.sent:
        assert (name, None) in letter.headers, "the letter has the header as it came"


@pytest.mark.parametrize("kind", ["retry", "retry-long", "replay"])
@pytest.mark.parametrize("field", ["topic", "partition", "offset", "attempts", "failed-at"])
async def test_a_failure_without_a_value_is_a_dead_letter(kind: str, field: str) -> None:
    record, name = STARTS[kind], f"riffle-{field}"
    headers: list[Header] = [(known, None if known == name else value) for known, value in record.headers]
    stage = await feed_one(kind, replace(record, headers=headers))
    assert [sent.topic for sent in stage.sent] == [STAGE.dead_topic]
    letter = read_failure(dict(stage.sent[0].headers))
    assert letter is not None
    assert letter.error_type == "InvalidEvent"


async def test_a_time_without_a_zone_is_a_dead_letter() -> None:
    headers = [*STARTS["retry"].headers, ("riffle-not-before", b"2026-01-01T00:00:00")]
    stage = await feed_one("retry", replace(STARTS["retry"], headers=headers))
    letter = read_failure(dict(stage.sent[0].headers))
    assert letter is not None
    assert "has no zone" in letter.error


async def test_a_record_that_asks_for_years_of_delay_waits_no_longer_than_others() -> None:
    stage = RunningStage(handle_at_once)
    record = retried(asked("a"), not_before=stage.processor.now() + timedelta(days=3_650))
    longest_seconds = LONG_DELAY * stage.settings.runtime.retry_topic_delay_seconds
    assert stage.processor.delay_seconds(record) == longest_seconds
    await stage.stop()


async def test_a_mistake_of_the_runtime_itself_makes_a_dead_letter() -> None:
    class Broken:
        def __getattr__(self, name: str) -> object:
            if name == "started":
                raise AttributeError("a mistake")
            return lambda *_: ""

    stage = RunningStage(handle_at_once)
    stage.processor.observer = Broken()  # type: ignore[assignment]  # an observer with a mistake
    stream = stage.feed(asked("a"))
    await settle()
    assert [sent.topic for sent in stage.sent] == [STAGE.dead_topic]
    assert stream.acknowledged == [("tests.asked", 0, 0)]
    await stage.stop()


@pytest.mark.parametrize("headers", [None, (), {}, (("a", None), ("a", b"1")), {"a": b"1"}])
def test_a_record_of_the_client_is_taken_as_it_is(headers: object) -> None:
    message = SimpleNamespace(topic="t", partition=0, offset=1, key=None, value=None, headers=headers, timestamp=None)
    record = incoming_of(SimpleNamespace(message=message))
    assert (record.key, record.value, record.time) == (b"", None, 0.0)
    assert record.header("a") == (b"1" if headers else b"")
