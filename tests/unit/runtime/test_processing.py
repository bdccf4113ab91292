"""The processing of one event without Kafka: a table of failures, and no acknowledgement before delivery."""

import asyncio
from asyncio import CancelledError
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from errno import EAGAIN, EIO
from typing import Annotated, ClassVar, Literal

import pytest

from schemas import Event, InvalidEvent
from schemas.unknown_values import Waits
from streams.errors import (
    DeadlineExceeded,
    NotDelivered,
    PoisonError,
    RecordTooLarge,
    SandboxAway,
    StoreUnavailable,
    TransientError,
    UsageError,
)
from streams.runtime.agent import Agent, Delivery
from streams.runtime.breaker import Breaker
from streams.runtime.processing import OUTAGE_ROUNDS, Processor, Result, Retries, backoff_seconds
from streams.runtime.records import Incoming, Record, encode, read_failure
from streams.settings import RuntimeSettings
from streams.stores.memory import MemoryBlobs
from streams.topology import Stage

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Asked(Event):
    topic: ClassVar[str] = "tests.asked"
    key_field: ClassVar[str] = "name"
    name: str
    wish: Annotated[Literal["work"], Waits()] = "work"


class NewerAsked(Asked):
    """The same event in a newer release."""

    wish: Annotated[Literal["work", "dance"], Waits()] = "work"  # type: ignore[assignment]  # fewer words than its base


class Answered(Event):
    topic: ClassVar[str] = "tests.answered"
    key_field: ClassVar[str] = "name"
    name: str


class Unlisted(Answered):
    topic: ClassVar[str] = "tests.unlisted"


class Failing(Agent):
    """Raises the errors given, one a call, then answers."""

    def __init__(self, *errors: BaseException, output: type[Answered] = Answered) -> None:
        self.errors = list(errors)
        self.output = output
        self.seen: list[Delivery] = []
        self.pauses = False
        self.delivered_outputs: list[Event] = []

    def delivered(self, delivery: Delivery, outputs: Sequence[Event]) -> None:
        self.delivered_outputs += outputs

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        self.seen.append(delivery)
        if self.pauses:
            await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop(0)
        assert isinstance(delivery.event, Asked)
        return [self.output(name=delivery.event.name)]


class Silent:
    """An Observer that only counts."""

    def __init__(self) -> None:
        self.failures = 0

    def started(self, incoming: Incoming, delivery: Delivery) -> str:
        return ""

    def failed(self, incoming: Incoming, error: Exception, attempt: int) -> None:
        self.failures += 1

    def finished(self, incoming: Incoming, result: Result) -> None: ...


def harness(agent: Agent, topic_attempts: int = 2, **settings: object) -> tuple[Processor, list[Record], list[float]]:
    sent: list[Record] = []
    slept: list[float] = []

    async def send(records: Sequence[Record]) -> None:
        sent.extend(records)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    stage = Stage("answer", "answers", (Asked,), (Answered,), "tests:none")
    retries = Retries(in_place=2, topic_attempts=topic_attempts)
    options = RuntimeSettings.model_validate(settings)
    breaker = Breaker(sleep=sleep)
    processor = Processor(
        stage,
        agent,
        send,
        Silent(),
        options,
        retries,
        breaker=breaker,
        now=lambda: NOW,
        sleep=sleep,
        jitter=lambda: 1.0,
    )
    return processor, sent, slept


def header(record: Record, name: str) -> bytes:
    return dict(record.headers)[name] or b""


def incoming(value: bytes | None = b'{"name": "a"}', **changes: object) -> Incoming:
    record = encode(Asked(name="a"), cause="test", source="test", time=NOW)
    fields = {"topic": "tests.asked", "partition": 3, "offset": 14, "key": b"a", "headers": record.headers}
    return Incoming(value=value, **{**fields, **changes})  # type: ignore[arg-type]  # each test knows the fields


@pytest.mark.parametrize(
    ("errors", "result", "topics", "calls"),
    [
        pytest.param([], "handled", ["tests.answered"], 1, id="no failure"),
        pytest.param([TransientError("x")], "handled", ["tests.answered"], 2, id="a store that was away for a moment"),
        pytest.param([TransientError("x")] * 3, "retried", ["answer.retry"], 3, id="a fault that stays for a while"),
        pytest.param([StoreUnavailable("x")] * 30, "handled", ["tests.answered"], 31, id="a store that stays away"),
        pytest.param([DeadlineExceeded("x")] * 30, "handled", ["tests.answered"], 31, id="a store that hangs"),
        pytest.param([SandboxAway("x")] * 30, "handled", ["tests.answered"], 31, id="no process can be started"),
        pytest.param([MemoryError()] * 30, "handled", ["tests.answered"], 31, id="no memory for long"),
        pytest.param([OSError(EAGAIN, "x")] * 30, "handled", ["tests.answered"], 31, id="no process for long"),
        pytest.param([OSError(EIO, "x")] * 2, "dead", ["answer.dead"], 2, id="an error of a file is no shortage"),
        pytest.param(
            [CancelledError()], "handled", ["tests.answered"], 2, id="a client closed what the event waits for"
        ),
        pytest.param([CancelledError()] * 3, "retried", ["answer.retry"], 3, id="it closes it again and again"),
        pytest.param([PoisonError("x")], "dead", ["answer.dead"], 1, id="poison is tried once"),
        pytest.param([KeyError("x")], "handled", ["tests.answered"], 2, id="unforeseen, and gone at the second try"),
        pytest.param([KeyError("x")] * 2, "dead", ["answer.dead"], 2, id="unforeseen, and stays"),
        pytest.param([TransientError("x"), PoisonError("y")], "dead", ["answer.dead"], 2, id="turns out as poison"),
    ],
)
async def test_a_failure_goes_where_its_type_says(
    errors: list[BaseException], result: Result, topics: list[str], calls: int
) -> None:
    agent = Failing(*errors)
    processor, sent, _ = harness(agent)
    assert await processor.process(incoming()) == result
    assert [record.topic for record in sent] == topics
    assert len(agent.seen) == calls


async def test_an_event_of_a_newer_release_waits_for_an_upgrade() -> None:
    processor, sent, _ = harness(Failing())
    record = incoming(b'{"name": "a", "wish": "dance"}')
    for _ in range(20):  # more than retry_topic_attempts
        assert await processor.process(record) == "retried"
        letter = sent[-1]
        record = Incoming(letter.topic, 0, 0, letter.key, letter.value, letter.headers)
    assert {letter.topic for letter in sent} == {"answer.retry-long"}
    again = Failing()
    upgraded, sent, _ = harness(again)
    upgraded.stage = replace(upgraded.stage, inputs=(NewerAsked,))
    assert await upgraded.process(record) == "handled"
    assert again.seen[0].event == NewerAsked(name="a", wish="dance")


class Fetched(Asked):
    """An event with a generation, or a removal."""

    generation: int | None = None
    reason: str | None = None


@pytest.mark.parametrize(
    ("ahead", "generation_ahead", "reason", "result"),
    [
        pytest.param(10, None, None, "handled", id="clocks may differ by the bound, each in its direction"),
        pytest.param(11, None, None, "retried", id="a producer whose clock is ahead"),
        pytest.param(0, 10, None, "handled", id="a generation of now"),
        pytest.param(0, 7_200, None, "retried", id="a generation that would outrank the events of two hours"),
        pytest.param(-7_200, -1e9, None, "handled", id="an import of an old page, or a late event"),
        pytest.param(0, 7_200, "request", "handled", id="a removal on request outranks what is known of its page"),
    ],
)
async def test_an_event_from_the_future_waits_for_its_time(
    ahead: float, generation_ahead: float | None, reason: str | None, result: Result
) -> None:
    agent = Failing()
    processor, sent, _ = harness(agent)
    processor.stage = replace(processor.stage, inputs=(Fetched,))
    processor.max_ahead_seconds = 10
    seconds = NOW.timestamp()
    generation = None if generation_ahead is None else int((seconds + generation_ahead) * 1_000_000)
    event = Fetched(name="a", generation=generation, reason=reason)
    record = encode(event, cause="test", source="clock", time=NOW + timedelta(seconds=ahead))
    record = replace(record, headers=[(n, b"/other/clock" if n == "ce_source" else v) for n, v in record.headers])
    came = Incoming(record.topic, 0, 0, record.key, record.value, record.headers, time=seconds)
    assert await processor.process(came) == result
    assert len(agent.seen) == (result == "handled")
    if result == "handled":
        return
    again = Incoming("answer.retry", 0, 0, record.key, record.value, sent[0].headers, time=seconds)
    assert sent[0].topic == "answer.retry"
    assert await processor.process(again) == "retried"
    processor.now = lambda: NOW + timedelta(hours=2)
    assert await processor.process(again) == "handled", "its time has come"
    assert b"/other/clock" in header(sent[0], "riffle-error")


@pytest.mark.parametrize("source", ["frontier", "replay"])
async def test_a_generation_that_is_from_the_stores_is_not_early(source: str) -> None:
    """A machine's clock was days ahead and was set right: the next lease of each page has a later generation still."""
    processor, _, _ = harness(Failing())
    processor.stage = replace(processor.stage, inputs=(Fetched,))
    processor.max_ahead_seconds = 10
    event = Fetched(name="a", generation=int((NOW.timestamp() + 86_400) * 1_000_000))
    record = encode(event, cause="test", source=source, time=NOW)
    came = Incoming(record.topic, 0, 0, record.key, record.value, record.headers)
    assert await processor.process(came) == "handled"


@pytest.mark.parametrize("ahead", [-3_600, 3_600])
async def test_the_clock_of_a_broker_makes_no_event_early(ahead: float) -> None:
    """Nobody compares it with another clock: the events of all producers came from an hour ahead."""
    processor, _, _ = harness(Failing())
    processor.max_ahead_seconds = 10
    assert await processor.process(replace(incoming(), time=NOW.timestamp() + ahead)) == "handled"


async def test_an_event_far_in_the_future_is_a_dead_letter() -> None:
    processor, sent, _ = harness(Failing())
    processor.max_ahead_seconds = 10
    processor.now = lambda: NOW - timedelta(days=1)
    came = incoming()
    results = [await processor.process(came)]
    while results[-1] == "retried":
        letter = sent[-1]
        results.append(await processor.process(replace(came, topic=letter.topic, headers=letter.headers)))
    assert (results[-1], sent[-1].topic, len(results)) == ("dead", "answer.dead", 3)


async def test_an_event_that_no_release_reads_is_a_dead_letter_after_a_day() -> None:
    processor, sent, _ = harness(Failing())
    record, rounds = incoming(b'{"name": "a", "wish": "dance"}'), 1
    while await processor.process(record) == "retried":
        letter, rounds = sent[-1], rounds + 1
        record = Incoming(letter.topic, 0, 0, letter.key, letter.value, letter.headers)
    assert rounds == OUTAGE_ROUNDS + 1
    assert b"wish" in header(sent[-1], "riffle-error")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (incoming(b"{"), "Invalid JSON"),
        (incoming(b'{"nom": "a"}'), "name: Field required"),
        (incoming(None), "has no value"),
        (incoming(headers=[]), "attributes missing or malformed"),
        (incoming(headers=[("ce_id", b"no uuid")]), "attributes missing or malformed: id"),
        (incoming(topic="tests.other"), "no event with the topic 'tests.other'"),
        (incoming(headers=[("riffle-topic", b"tests.asked"), ("riffle-partition", b"x")]), "invalid literal"),
    ],
)
async def test_a_record_that_is_no_event_is_dead_lettered_with_the_reason(broken: Incoming, reason: str) -> None:
    processor, sent, _ = harness(Failing())
    assert await processor.process(broken) == "dead"
    letter = read_failure(dict(sent[0].headers))
    assert letter is not None
    assert reason in letter.error
    assert sent[0].value == (broken.value or b"")
    assert letter.error_type == InvalidEvent.__name__


async def test_a_dead_letter_keeps_the_original_and_says_where_it_was() -> None:
    processor, sent, _ = harness(Failing(PoisonError("no more")))
    original = incoming()
    await processor.process(original)
    letter = read_failure(dict(sent[0].headers))
    assert letter is not None
    assert (letter.topic, letter.partition, letter.offset) == ("tests.asked", 3, 14)
    assert (letter.stage, letter.attempts, letter.error_type, letter.error) == ("answer", 1, "PoisonError", "no more")
    assert (sent[0].key, sent[0].value) == (original.key, original.value)
    assert set(original.headers) <= set(sent[0].headers)


async def test_the_retry_topic_is_read_after_its_delay_and_counts_on() -> None:
    processor, sent, _ = harness(Failing(*[TransientError("x")] * 3), retry_topic_delay_seconds=7.0)
    await processor.process(incoming())
    letter = sent[0]
    again = Failing()
    processor, sent, _ = harness(again)
    record = Incoming("answer.retry", 0, 99, letter.key, letter.value, letter.headers)
    assert processor.delay_seconds(record) == 7.0
    assert processor.delay_seconds(incoming()) == 0.0
    assert await processor.process(record) == "handled"
    assert [record.topic for record in sent] == ["tests.answered"]
    assert (again.seen[0].topic, again.seen[0].offset, again.seen[0].attempt) == ("tests.asked", 14, 4)


async def test_the_first_passes_are_short_and_later_ones_long_in_a_topic_of_their_own() -> None:
    processor, sent, _ = harness(Failing(*[TransientError("never")] * 99), topic_attempts=4)
    record = incoming()
    while await processor.process(record) == "retried":
        letter = sent[-1]
        record = Incoming(letter.topic, 0, 0, letter.key, letter.value, letter.headers)
    failures = [(record.topic, read_failure(dict(record.headers))) for record in sent]
    delays = [(topic, (info.not_before - NOW).total_seconds()) for topic, info in failures if info and info.not_before]
    assert delays == [("answer.retry", 5.0)] * 2 + [("answer.retry-long", 60.0)] * 2
    assert sent[-1].topic == "answer.dead"


async def test_an_event_that_always_fails_ends_as_a_dead_letter_after_all_rounds() -> None:
    agent = Failing(*[TransientError("never")] * 99)
    processor, sent, _ = harness(agent)
    result = await processor.process(incoming())
    rounds = 1
    while result == "retried":
        letter = sent[-1]
        result = await processor.process(Incoming("answer.retry", 0, rounds, letter.key, letter.value, letter.headers))
        rounds += 1
    assert (result, rounds, len(agent.seen)) == ("dead", 3, 9)


async def test_when_an_output_cannot_be_sent_nothing_says_that_the_event_is_done() -> None:
    processor, _, _ = harness(Failing())

    async def broken(records: Sequence[Record]) -> None:
        raise ConnectionError("the broker is gone")

    processor.send = broken
    with pytest.raises(NotDelivered, match="the broker is gone"):
        await processor.process(incoming())


async def test_an_output_that_the_topology_does_not_list_is_poison() -> None:
    processor, sent, _ = harness(Failing(output=Unlisted))
    assert await processor.process(incoming()) == "dead"
    assert b"no output Unlisted" in header(sent[0], "riffle-error")


async def test_the_same_event_handled_twice_sends_the_same_ids() -> None:
    processor, sent, _ = harness(Failing())
    await processor.process(incoming())
    await processor.process(incoming())
    first, second = (dict(record.headers)["ce_id"] for record in sent)
    assert first == second


@pytest.mark.parametrize(
    ("attempt", "jitter", "expected"), [(1, 0.0, 0.1), (1, 1.0, 0.2), (3, 1.0, 0.8), (50, 1.0, 10.0)]
)
def test_backoff_doubles_with_jitter_up_to_ten_seconds(attempt: int, jitter: float, expected: float) -> None:
    assert backoff_seconds(0.2, attempt, jitter) == pytest.approx(expected)


def test_a_letters_headers_are_read_back() -> None:
    processor, _, _ = harness(Failing())
    letter = processor._failure(incoming(), PoisonError("é" * 3000), 4, not_before=NOW + timedelta(seconds=1))
    found = read_failure(dict(letter.headers([])))
    assert found is not None
    assert found.not_before == NOW + timedelta(seconds=1)
    assert found.id == "answer/tests.asked/3/14"
    assert len(found.error) == 2000


async def test_a_store_that_is_away_leaves_every_event_in_its_topic() -> None:
    agent = Failing(*[StoreUnavailable("Cassandra doesn't answer")] * 500)
    processor, sent, slept = harness(agent)
    events = [asyncio.create_task(processor.process(incoming(offset=number))) for number in range(10)]
    agent.pauses = True
    while not processor.breaker.reason:
        await asyncio.sleep(0)
    assert processor.breaker.reason == "StoreUnavailable: Cassandra doesn't answer"
    assert await asyncio.gather(*events) == ["handled"] * 10
    assert {record.topic for record in sent} == {"tests.answered"}
    assert processor.breaker.reason == ""
    assert max(slept) == 10.0, "tries become rare"
    assert len(agent.seen) == 510


async def test_an_event_whose_store_fails_while_others_are_handled_goes_through_the_retry_topic() -> None:
    processor, sent, _ = harness(Failing())

    async def handle(delivery: Delivery) -> Sequence[Event]:
        await asyncio.sleep(0)
        if delivery.offset == 14:
            raise StoreUnavailable("this row can't be written")
        return []

    processor.agent.handle = handle  # type: ignore[method-assign]  # of this object only
    record = incoming()
    for _ in range(20):  # more than retry_topic_attempts: an outage makes no dead letter
        failing = asyncio.create_task(processor.process(record))
        while not failing.done():
            assert await processor.process(incoming(offset=1)) == "handled"
            await asyncio.sleep(0)
        assert failing.result() == "retried"
        letter = sent[-1]
        record = Incoming("answer.retry", 0, 0, letter.key, letter.value, letter.headers)


async def test_a_missing_permission_stops_the_worker_and_makes_no_dead_letter() -> None:
    processor, sent, _ = harness(Failing(*[UsageError("Unauthorized: no MODIFY permission")] * 9))
    with pytest.raises(UsageError, match="MODIFY"):
        await processor.process(incoming())
    assert sent == []


async def test_an_event_that_takes_too_long_ends_in_the_retry_topic_and_then_as_a_dead_letter() -> None:
    async def handle(delivery: Delivery) -> Sequence[Event]:
        await asyncio.Event().wait()
        return []

    processor, sent, _ = harness(Failing(), event_deadline_seconds=0.01)
    processor.agent.handle = handle  # type: ignore[method-assign]  # of this object only
    results = [await processor.process(incoming())]
    while results[-1] == "retried":
        letter = sent[-1]
        results.append(
            await processor.process(Incoming("answer.retry", 0, 0, letter.key, letter.value, letter.headers))
        )
    assert results == ["retried", "retried", "dead"]
    failure = read_failure(dict(sent[-1].headers))
    assert failure is not None
    assert failure.error_type == "EventOverdue"


LIMIT = 1_000


def limited(processor: Processor, sent: list[Record]) -> MemoryBlobs:
    """Make the processor's Kafka refuse records that are larger than LIMIT. Returns its blobs."""

    async def send(records: Sequence[Record]) -> None:
        for record in records:
            headers = sum(len(name) + len(value or b"") for name, value in record.headers)
            if len(record.key) + len(record.value) + headers > LIMIT:
                raise RecordTooLarge("too large")
        sent.extend(records)

    blobs = MemoryBlobs()
    processor.send, processor.blobs = send, blobs
    return blobs


async def test_a_dead_letter_that_is_too_large_points_to_a_blob() -> None:
    processor, sent, _ = harness(Failing())
    blobs = limited(processor, sent)
    value = b"x" * LIMIT
    assert await processor.process(incoming(value)) == "dead"
    failure = read_failure(dict(sent[-1].headers))
    assert failure is not None
    assert (sent[-1].topic, sent[-1].value) == ("answer.dead", b"")
    assert await blobs.get(failure.value_ref) == value


async def test_headers_that_are_too_large_are_left_out_of_the_letter() -> None:
    processor, sent, _ = harness(Failing())
    limited(processor, sent)
    assert await processor.process(incoming(b"{", headers=[("x", b"y" * LIMIT)])) == "dead"
    assert read_failure(dict(sent[-1].headers)) is not None


async def test_an_output_that_is_too_large_is_poison() -> None:
    processor, sent, _ = harness(Failing())
    limited(processor, sent)
    assert await processor.process(incoming(b'{"name": "%s"}' % (b"a" * LIMIT))) == "dead"
    assert b"RecordTooLarge" in header(sent[-1], "riffle-error-type")


async def test_a_large_event_is_replayed_from_its_blob() -> None:
    processor, sent, _ = harness(Failing(TransientError("x"), TransientError("x"), TransientError("x")))
    limited(processor, sent)
    value = b'{"name": "a", "more": "%s"}' % (b"x" * LIMIT)
    assert await processor.process(incoming(value)) == "retried"
    letter = sent[-1]
    assert await processor.process(Incoming("answer.retry", 0, 0, b"a", letter.value, letter.headers)) == "handled"
    assert sent[-1].topic == "tests.answered"


async def test_an_agent_learns_that_its_outputs_are_delivered_once_kafka_has_them() -> None:
    agent = Failing()
    processor, sent, _ = harness(agent)
    delivered_at_send = []

    async def send(records: Sequence[Record]) -> None:
        delivered_at_send.append(list(agent.delivered_outputs))
        sent.extend(records)

    processor.send = send
    assert await processor.process(incoming()) == "handled"
    assert (delivered_at_send, agent.delivered_outputs) == ([[]], [Answered(name="a")])


@pytest.mark.parametrize("error", [RecordTooLarge("x"), OSError("x")], ids=["too large", "not sent"])
async def test_an_agent_does_not_count_outputs_that_kafka_refused(error: Exception) -> None:
    agent = Failing()
    processor, _, _ = harness(agent)

    async def send(records: Sequence[Record]) -> None:
        if records[0].topic == "tests.answered":
            raise error

    processor.send = send
    with suppress(NotDelivered):
        await processor.process(incoming())
    assert agent.seen
    assert not agent.delivered_outputs
