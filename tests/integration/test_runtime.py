"""The runtime on real Kafka: what raises, what is poison, what is killed, and who joins: nothing is lost."""

import asyncio
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka import Producer as RawProducer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from streams.local.ports import free_ports
from streams.local.server_set import running_servers
from streams.logs import LINES_PER_LIBRARY
from streams.runtime.connection import client_config
from streams.runtime.lags.retention import check_retention
from streams.runtime.lags.stage_lags import stage_lags
from streams.runtime.processing import SHORT_ROUNDS, Retries
from streams.runtime.producer import EventProducer
from streams.runtime.readers import topic_reader
from streams.runtime.records import encode, read_failure
from streams.runtime.topics import create_topics, set_record_times
from streams.runtime.worker import EXIT_CONFIGURATION
from streams.settings import Settings
from streams.topology import Stage, topics_of
from tests.integration.runtime_worker import Answered, Asked, settings_of, stage_of

pytestmark = pytest.mark.integration("kafka")

DEADLINE_SECONDS = 180.0
SHORT_SESSION_SECONDS, LONG_SESSION_SECONDS = 6.0, 60.0
"""Time after which the broker gives the partitions of a silent worker to others: short where a test kills or stops
a worker, elsewhere longer than a machine stands still, since what is not committed by then is handled twice.
"""


class Run:
    """One stage of its own, its topics, and the worker processes that a test starts and kills."""

    def __init__(self, bootstrap: str, home: Path, session_seconds: float = LONG_SESSION_SECONDS) -> None:
        self.home = home
        self.stage: Stage = stage_of(f"test-{uuid4().hex[:8]}")
        self.settings = settings_of(bootstrap, home, session_timeout_seconds=session_seconds)
        self.workers: list[subprocess.Popen[bytes]] = []
        create_topics(self.settings, topics_of((Asked, Answered), (self.stage,)))

    def start_worker(
        self, *options: str, instance: str = "", pause_seconds: float = 0.0, newer: bool = False
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.integration.runtime_worker"]
        command += [self.settings.kafka.bootstrap, self.stage.name, str(self.home), "--instance", instance, *options]
        command += ["--session-seconds", str(self.settings.runtime.session_timeout_seconds)]
        release = {"NEWER_RELEASE": "yes"} if newer else {}
        with (self.home / f"worker-{len(self.workers)}.log").open("wb") as log:
            worker = subprocess.Popen(
                command,
                stderr=log,
                stdout=log,
                env={**release, "PAUSE_SECONDS": str(pause_seconds), "PATH": "/usr/bin"},
            )
        self.workers.append(worker)
        return worker

    async def ask(self, numbers: Iterable[int], wish: str = "work") -> None:
        async with EventProducer(self.settings, "test") as producer:
            await producer.send_all([Asked(name=f"key-{n % 17}", number=n, wish=wish) for n in numbers])

    def handled(self) -> Counter[int]:
        file = self.home / "handled"
        return Counter(map(int, file.read_text().split())) if file.exists() else Counter()

    async def until_done(self, count: int) -> None:
        """Wait until `count` events were handled and every offset is committed."""
        end = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < end:
            if len(self.handled()) >= count:
                lags = await asyncio.to_thread(stage_lags, self.settings, (self.stage,))
                if sum(lag.events for lag in lags) == 0:
                    return
            await asyncio.sleep(0.1)
        logs = "\n".join(path.read_text()[-1500:] for path in sorted(self.home.glob("*.log")))
        pytest.fail(f"{len(self.handled())} of {count} events were handled in {DEADLINE_SECONDS} s. The logs:\n{logs}")

    async def until_handled(self, count: int) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len(self.handled()) < count:
                await asyncio.sleep(0.05)

    async def until_logged(self, text: str, worker: int = 0) -> None:
        """Wait until the log of a worker contains a text."""
        log, end = self.home / f"worker-{worker}.log", time.monotonic() + DEADLINE_SECONDS
        while text not in log.read_text():
            assert time.monotonic() < end, f"no {text!r} in the log:\n{log.read_text()[-1500:]}"
            await asyncio.sleep(0.1)

    def read_topic(self, topic: str) -> list[Message]:
        consumer = Consumer(
            {**client_config(self.settings.kafka), "group.id": "test-reader", "enable.auto.commit": False}
        )
        found = []
        for number in range(self.settings.kafka.partitions):
            place = TopicPartition(topic, number, 0)
            _, top = consumer.get_watermark_offsets(place, timeout=DEADLINE_SECONDS)
            consumer.assign([place])
            while top > 0:
                message = consumer.poll(DEADLINE_SECONDS)
                assert message is not None, f"{topic} ends at {top}, but no more came"
                found.append(message)
                if (message.offset() or 0) + 1 >= top:
                    break
        consumer.close()
        return found

    def stop(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()


@pytest.fixture
async def run(only_kafka: Settings, tmp_path: Path) -> AsyncIterator[Run]:
    run = Run(only_kafka.kafka.bootstrap, tmp_path)
    yield run
    run.stop()


@pytest.fixture
async def short_run(only_kafka: Settings, tmp_path: Path) -> AsyncIterator[Run]:
    """A run whose broker soon notices workers that fall silent, or come."""
    run = Run(only_kafka.kafka.bootstrap, tmp_path, SHORT_SESSION_SECONDS)
    yield run
    run.stop()


async def test_an_agent_that_raises_loses_nothing(run: Run) -> None:
    await run.ask(range(100), "raise")
    await run.ask(range(100, 150), "flaky")
    await run.ask(range(150, 200))
    run.start_worker()
    await run.until_done(200)
    assert set(run.handled()) == set(range(200))
    assert {int(Answered.from_json(m.value()).number) for m in run.read_topic(Answered.topic)} == set(range(200))
    assert run.read_topic(run.stage.dead_topic) == []


async def test_poison_is_dead_lettered_exactly_once_with_its_error_and_bytes(run: Run) -> None:
    await run.ask(range(20))
    await run.ask([20], "poison")
    async with EventProducer(run.settings, "test") as producer:
        from streams.runtime.records import Record

        await producer.send_records([Record(Asked.topic, b"key", b"\x00\xffno event", [("ce_id", b"?")])])
    run.start_worker()
    await run.until_done(20)
    letters = {m.value(): read_failure(dict(m.headers() or [])) for m in run.read_topic(run.stage.dead_topic)}
    assert len(run.read_topic(run.stage.dead_topic)) == 2
    assert letters[b"\x00\xffno event"] is not None
    poison = letters[Asked(name="key-3", number=20, wish="poison").to_json()]
    assert poison is not None
    assert (poison.error_type, poison.error) == ("PoisonError", "this can't be digested")
    assert poison.topic == Asked.topic


async def test_kafkas_clock_gives_records_their_times_also_in_topics_of_a_former_release(run: Run) -> None:
    topics = topics_of((Asked, Answered), (run.stage,))
    admin = AdminClient(client_config(run.settings.kafka))
    former = ConfigEntry("message.timestamp.type", "CreateTime", incremental_operation=AlterConfigOpType.SET)
    place = ConfigResource(ResourceType.TOPIC, Asked.topic, incremental_configs=[former])
    admin.incremental_alter_configs([place])[place].result(DEADLINE_SECONDS)
    changed: list[str] = []
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not changed:  # until the broker shows the former value
            changed = set_record_times(run.settings, topics)
            await asyncio.sleep(0.2)
    assert changed == [Asked.topic]
    async with asyncio.timeout(DEADLINE_SECONDS):
        while set_record_times(run.settings, topics):  # until the broker shows the new value, too
            await asyncio.sleep(0.2)
    producer = RawProducer(client_config(run.settings.kafka))
    for seconds in (0, time.time() - 8 * 86_400, time.time() + 10 * 365 * 86_400):
        producer.produce(Asked.topic, b"x", timestamp=int(seconds * 1_000))
    producer.flush(DEADLINE_SECONDS)
    times = [message.timestamp()[1] / 1_000 for message in run.read_topic(Asked.topic)]
    assert len(times) == 3
    assert all(abs(found - time.time()) < 300 for found in times)


async def test_headers_without_a_value_stop_no_worker_and_stay_in_the_letter(run: Run) -> None:
    await run.ask(range(20))
    good = encode(Asked(name="key-1", number=20), cause="test", source="test", time=datetime.now(UTC))
    producer = RawProducer(client_config(run.settings.kafka))
    null_subject = [(name, None if name == "ce_subject" else value) for name, value in good.headers]
    producer.produce(Asked.topic, good.value, good.key, headers=null_subject)  # type: ignore[arg-type]  # null is legal
    producer.produce(Asked.topic, good.value, good.key, headers=[("ce_id", None)])  # type: ignore[list-item]  # as above
    not_before = [("riffle-topic", b"x"), ("riffle-not-before", b"2026-01-01T00:00:00"), ("riffle-stage", None)]
    producer.produce(run.stage.retry_topic, None, None, headers=not_before)  # type: ignore[arg-type]  # as above
    producer.flush(DEADLINE_SECONDS)
    worker = run.start_worker()
    await run.until_done(21)
    assert worker.poll() is None
    letters = run.read_topic(run.stage.dead_topic)
    assert len(letters) == 2
    assert {("ce_id", None)} <= {header for letter in letters for header in letter.headers() or []}


async def test_a_worker_that_was_away_before_its_first_commit_skips_nothing(short_run: Run) -> None:
    """It still holds events of the partitions that it lost. One of them must not be committed before the others."""
    await short_run.ask(range(4), "slow")
    await short_run.ask(range(4, 2_000))
    worker = short_run.start_worker(pause_seconds=0.05, instance="0")
    await short_run.until_logged("worker started")
    await asyncio.sleep(1.0)
    worker.send_signal(signal.SIGSTOP)
    await asyncio.sleep(short_run.settings.runtime.session_timeout_seconds + 3)
    worker.send_signal(signal.SIGCONT)
    await asyncio.sleep(3.0)
    worker.kill()
    short_run.start_worker()
    await short_run.until_done(2_000)
    assert set(short_run.handled()) == set(range(2_000))


async def test_an_event_that_fails_in_place_comes_back_through_the_retry_topic(run: Run) -> None:
    await run.ask([1], "always-flaky")
    await run.ask([2])
    run.start_worker()
    await run.until_done(1)
    end = time.monotonic() + DEADLINE_SECONDS
    while not run.read_topic(run.stage.dead_topic) and time.monotonic() < end:
        await asyncio.sleep(0.2)
    passes = [len(run.read_topic(topic)) for topic in (run.stage.retry_topic, run.stage.long_retry_topic)]
    assert passes == [SHORT_ROUNDS, Retries().topic_attempts - SHORT_ROUNDS]
    (dead,) = run.read_topic(run.stage.dead_topic)
    letter = read_failure(dict(dead.headers() or []))
    assert letter is not None
    assert letter.error_type == "TransientError"


@pytest.mark.parametrize("instance", ["", "0"], ids=["anonymous", "static member"])
async def test_kill_in_mid_batch_loses_nothing(short_run: Run, instance: str) -> None:
    await short_run.ask(range(400))
    for kill in range(3):
        worker = short_run.start_worker(instance=instance, pause_seconds=0.05)
        end = time.monotonic() + DEADLINE_SECONDS
        while len(short_run.handled()) < 60 * (kill + 1) and time.monotonic() < end:
            await asyncio.sleep(0.02)
        worker.kill()
        worker.wait()
    short_run.start_worker(instance=instance)
    await short_run.until_done(400)
    handled = short_run.handled()
    assert set(handled) == set(range(400)), "an event was lost"
    # What was in progress or not yet committed comes again, and no more than that.
    assert sum(handled.values()) - 400 < 3 * 200
    answers = short_run.read_topic(Answered.topic)
    ids = {dict(m.headers() or [])["ce_id"] for m in answers}
    assert len(ids) == 400, "an event that was handled again got another id"


async def test_a_worker_that_was_stopped_for_longer_than_its_session_loses_nothing(short_run: Run) -> None:
    """Also before the first commit of a partition: what Faust drops at the rebalance must be fetched again."""
    asked = 0

    enough = False

    async def go_on_asking() -> None:
        nonlocal asked
        while not enough:  # a cancelled client of Kafka may leave a connection open
            await short_run.ask(range(asked, asked + 5))
            asked += 5
            await asyncio.sleep(0.05)

    worker = short_run.start_worker(pause_seconds=0.02)
    await short_run.until_logged("worker started")
    asking = asyncio.create_task(go_on_asking())
    await short_run.until_handled(1)
    worker.send_signal(signal.SIGSTOP)
    await asyncio.sleep(short_run.settings.runtime.session_timeout_seconds + 4)
    worker.send_signal(signal.SIGCONT)
    await asyncio.sleep(6)
    enough = True
    await asking
    await short_run.until_done(asked)
    assert set(short_run.handled()) >= set(range(asked))


async def test_two_workers_split_the_partitions_and_a_third_joining_loses_nothing(short_run: Run) -> None:
    await short_run.ask(range(300))
    for _ in range(2):
        short_run.start_worker(pause_seconds=0.02)
    end = time.monotonic() + DEADLINE_SECONDS
    while len(short_run.handled()) < 50 and time.monotonic() < end:
        await asyncio.sleep(0.05)
    third = short_run.start_worker(pause_seconds=0.02)
    await short_run.ask(range(300, 600))
    await short_run.until_done(600)
    assert set(short_run.handled()) == set(range(600))
    await short_run.until_logged("worker started", worker=2)
    third.send_signal(signal.SIGTERM)
    assert third.wait(DEADLINE_SECONDS) == 0, "a worker that gets SIGTERM finishes its events and ends with status 0"
    await short_run.ask(range(600, 650))
    await short_run.until_done(650)
    assert set(short_run.handled()) == set(range(650))


async def send_bytes(run: Run, *values: bytes) -> None:
    """Send records as an outside producer does, up to the broker's own limit."""
    producer = RawProducer({**client_config(run.settings.kafka), "message.max.bytes": 2_000_000})
    for value in values:
        producer.produce(run.stage.inputs[0].topic, key=b"key", value=value)
    assert await asyncio.to_thread(producer.flush, DEADLINE_SECONDS) == 0


async def test_records_of_a_megabyte_are_dead_letters_and_stop_nothing(run: Run) -> None:
    large, too_large_with_headers = random.Random(1).randbytes(1_010_000), random.Random(2).randbytes(1_048_400)
    await run.ask(range(20))
    await send_bytes(run, large, too_large_with_headers)
    await run.ask(range(20, 40))
    worker = run.start_worker()
    await run.until_done(40)
    assert worker.poll() is None, "the worker did not end"
    letters = run.read_topic(run.stage.dead_topic)
    assert len(letters) == 2
    assert {letter.value() or b"" for letter in letters} == {large, b""}
    (info,) = [read_failure(dict(letter.headers() or [])) for letter in letters if not letter.value()]
    assert info is not None
    assert (run.home / info.value_ref).read_bytes() == too_large_with_headers


async def test_while_a_store_is_away_events_wait_in_their_topic(run: Run) -> None:
    await run.ask(range(200))
    (run.home / "outage").touch()
    (port,) = free_ports(1)
    worker = run.start_worker("--health-port", str(port))
    await run.until_logged("worker started")
    end = time.monotonic() + DEADLINE_SECONDS
    while "waiting_for" not in (answer := await asyncio.to_thread(page, port, "readyz")):
        assert time.monotonic() < end, answer
        await asyncio.sleep(0.2)
    assert "the store is away" in answer
    await asyncio.sleep(2)
    assert '"healthy": true' in await asyncio.to_thread(page, port, "healthz")
    assert "riffle_waiting_for_store" in await asyncio.to_thread(page, port, "metrics")
    (run.home / "outage").unlink()
    await run.until_done(200)
    assert worker.poll() is None
    assert run.read_topic(run.stage.retry_topic) == []
    assert run.read_topic(run.stage.dead_topic) == []


def page(port: int, name: str) -> str:
    """A page of the worker, whatever its status."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=DEADLINE_SECONDS) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()


async def test_a_worker_that_is_stopped_while_kafka_is_away_ends_and_writes_few_lines(tmp_path: Path) -> None:
    """The client of Kafka waits for the broker, and logs each try to reach it."""
    with running_servers(tmp_path / "servers", {"kafka"}) as settings:
        run = Run(settings.kafka.bootstrap, tmp_path, SHORT_SESSION_SECONDS)
        try:
            worker = run.start_worker(pause_seconds=0.05)
            await run.ask(range(100))
            await run.until_handled(10)
            follower = topic_reader.Follower(run.settings, (Asked,))
            # Other tests of this process have a broker, too.
            own = str(tmp_path / "servers")
            (broker,) = [
                process
                for process in psutil.Process().children(recursive=True)
                if "kafka.Kafka" in process.cmdline() and own in " ".join(process.cmdline())
            ]
            broker.kill()
            await run.until_logged("aiokafka", worker=0)
            worker.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(worker.wait, DEADLINE_SECONDS) == 0
            await asyncio.to_thread(until_it_is_seen, follower)
            follower.close()
        finally:
            run.stop()
    lines = (tmp_path / "worker-0.log").read_text().splitlines()
    assert len(lines) < 10 * LINES_PER_LIBRARY, "in some minutes, of few libraries"


def until_it_is_seen(follower: topic_reader.Follower) -> None:
    """Poll until the follower knows that the brokers are away: who waits for events learns of it soon."""
    began = time.monotonic()
    while follower.away_since is None:
        assert list(follower.poll(0.5)) == []
        assert time.monotonic() - began < DEADLINE_SECONDS


async def test_a_missing_permission_stops_the_worker_with_its_message(run: Run) -> None:
    await run.ask([0], "unauthorized")
    worker = run.start_worker()
    assert await asyncio.to_thread(worker.wait, DEADLINE_SECONDS) == EXIT_CONFIGURATION
    assert "no MODIFY permission" in (run.home / "worker-0.log").read_text()
    assert run.read_topic(run.stage.dead_topic) == []
    (lag,) = [lag for lag in stage_lags(run.settings, (run.stage,)) if lag.topic == run.stage.inputs[0].topic]
    assert lag.events == 1


async def test_a_follower_reads_partitions_that_were_added_since(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_reader, "PARTITIONS_SECONDS", 0.0)
    follower = topic_reader.Follower(run.settings, (Asked,))
    await run.ask(range(20))
    seen = await asyncio.to_thread(lambda: poll_until(follower, 20))
    admin = AdminClient(client_config(run.settings.kafka))
    for future in admin.create_partitions([NewPartitions(Asked.topic, 9)]).values():
        future.result(DEADLINE_SECONDS)
    await asyncio.sleep(1)
    await run.ask(range(20, 60))
    seen += await asyncio.to_thread(lambda: poll_until(follower, 40))
    follower.close()
    assert sorted(seen) == list(range(60)), "none twice, none left out"


def poll_until(follower: topic_reader.Follower, count: int) -> list[int]:
    """The numbers of the next events."""
    seen: list[int] = []
    end = time.monotonic() + DEADLINE_SECONDS
    while len(seen) < count and time.monotonic() < end:
        seen += [event.number for event in follower.poll(0.5)]  # type: ignore[attr-defined]  # all are of the test's type
    return seen


async def test_an_event_of_a_newer_release_waits_until_the_worker_is_upgraded(run: Run) -> None:
    plain = encode(Asked(name="key-1", number=20), cause="newer", source="test", time=datetime.now(UTC))
    newer = replace(plain, value=plain.value.replace(b'"walk"', b'"run"'))
    assert newer != plain
    async with EventProducer(run.settings, "test") as producer:
        await producer.send_records([newer])
    await run.ask(range(20))
    former = run.start_worker()
    await run.until_logged("A newer release of Riffle may know it")
    end = time.monotonic() + DEADLINE_SECONDS
    while len(run.handled()) < 20 or not run.read_topic(run.stage.long_retry_topic):
        assert time.monotonic() < end, "the other events are handled, and this one waits"
        await asyncio.sleep(0.2)
    assert 20 not in run.handled()
    former.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(former.wait, DEADLINE_SECONDS) == 0
    run.start_worker(newer=True)
    await run.until_done(21)
    assert set(run.handled()) == set(range(21))
    assert run.read_topic(run.stage.dead_topic) == []


async def test_events_that_are_deleted_before_the_first_one_was_handled_are_noticed(run: Run) -> None:
    worker = run.start_worker()
    await run.until_logged("worker started")
    worker.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(worker.wait, DEADLINE_SECONDS) == 0
    await run.ask(range(40))
    topic = run.stage.inputs[0].topic
    places = [TopicPartition(topic, number, -1) for number in range(run.settings.kafka.partitions)]
    admin = AdminClient(client_config(run.settings.kafka))
    for future in admin.delete_records(places).values():
        future.result(DEADLINE_SECONDS)
    refused = run.start_worker()
    assert await asyncio.to_thread(refused.wait, DEADLINE_SECONDS) == 1
    assert f"40 of {topic}" in (run.home / "worker-1.log").read_text()


async def test_a_worker_refuses_to_start_after_events_that_were_deleted_unhandled(run: Run) -> None:
    await run.ask(range(50))
    worker = run.start_worker()
    await run.until_done(50)
    worker.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(worker.wait, DEADLINE_SECONDS) == 0
    await run.ask(range(50, 400))
    topic = run.stage.inputs[0].topic
    places = [TopicPartition(topic, number, -1) for number in range(run.settings.kafka.partitions)]
    admin = AdminClient(client_config(run.settings.kafka))
    for future in admin.delete_records(places).values():
        future.result(DEADLINE_SECONDS)
    lost = {lag.topic: (lag.events, lag.lost) for lag in stage_lags(run.settings, (run.stage,))}[topic]
    assert lost == (0, 350)
    await run.ask(range(400, 420))
    refused = run.start_worker()
    assert await asyncio.to_thread(refused.wait, DEADLINE_SECONDS) == 1
    assert f"350 of {topic}" in (run.home / "worker-1.log").read_text()
    accepting = run.start_worker("--accept-loss")
    await run.until_done(70)
    accepting.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(accepting.wait, DEADLINE_SECONDS) == 0
    assert set(run.handled()) == {*range(50), *range(400, 420)}
    check_retention(run.settings, (run.stage,))
