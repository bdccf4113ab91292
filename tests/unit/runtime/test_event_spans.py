"""Spans of events: named as OpenTelemetry's conventions for messaging name them, with each failed attempt."""

from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from schemas import Event
from streams.errors import PoisonError, TransientError
from streams.runtime.agent import Delivery
from tests.unit.runtime.stage_harness import STAGE, Answered, RunningStage, asked, settle


async def handle_once(*errors: Exception) -> ReadableSpan:
    """Handle an event whose first attempts fail so, and return its span."""
    exporter = InMemorySpanExporter()
    left = list(errors)

    async def handle(_: Delivery) -> Sequence[Event]:
        if left:
            raise left.pop(0)
        return [Answered(name="a")]

    stage = RunningStage(handle)
    stage.tracing.add_span_processor(SimpleSpanProcessor(exporter))
    stream = stage.feed(asked("a", 3, partition=2))
    for _ in range(50):
        await settle()
        if stream.acknowledged:
            break
    await stage.stop()
    (found,) = exporter.get_finished_spans()
    return found


async def test_an_event_has_a_span_with_the_names_of_the_conventions() -> None:
    found = await handle_once()
    assert (found.name, found.kind) == ("process tests.asked", SpanKind.CONSUMER)
    attributes = dict(found.attributes or {})
    assert attributes.pop("messaging.message.id")
    assert attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "tests.asked",
        "messaging.destination.partition.id": "2",
        "messaging.consumer.group.name": STAGE.group,
        "messaging.kafka.offset": 3,
        "riffle.stage": "answer",
        "riffle.subject": "a",
    }
    assert not found.events
    assert found.status.is_unset


FAILURES = [
    # the errors of the attempts, and the error of the event at the end
    ([TransientError("zebra")], None),
    ([PoisonError("zebra")], "dead"),
    ([TransientError("zebra")] * 40, "retried"),
]


@pytest.mark.parametrize(("errors", "at_last"), FAILURES, ids=["handled", "dead", "retried"])
async def test_each_failed_attempt_is_on_the_span_without_its_message(
    errors: list[Exception], at_last: str | None
) -> None:
    found = await handle_once(*errors)
    kinds = {str((event.attributes or {})["exception.type"]) for event in found.events}
    assert kinds == {f"streams.errors.{type(errors[0]).__name__}"}
    assert (found.attributes or {}).get("error.type") == at_last
    assert found.status.is_ok != bool(at_last)
    assert "zebra" not in found.to_json()
