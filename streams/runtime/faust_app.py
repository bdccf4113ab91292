"""A Faust app per stage that loses no event: manual acknowledgement, and each option with its reason.

Known problems of Faust 0.15.3, and how each is avoided:

- an agent that raises still acknowledges its event: no exception leaves a feeder, and streams are `noack`
- the first commit of a partition may skip events in progress: `ordering.InOrder`
- records that it drops around a rebalance are not fetched again before the first commit: `runtime.consumer`
- after a lost session, buffered events of the former assignment are still handled: `StageApp._revoked`
- topics that don't exist at the start are ignored: the worker creates them first
- `exactly_once`, tables and windows have open bugs after rebalances: none is used, and all state is in Cassandra
- the web port shows table data to anyone: it is off, and `health` opens its own
"""

import asyncio
import atexit
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import faust
import structlog
from aiokafka.errors import MessageSizeTooLargeError, RecordListTooLargeError
from faust.auth import OAuthCredentials
from faust.sensors import Sensor
from faust.types import TP
from mode import OneForOneSupervisor, Service

from streams.errors import RecordTooLarge, RiffleError
from streams.grouped_calls import is_cancelled
from streams.runtime.agent import Agent
from streams.runtime.brake import Brake
from streams.runtime.connection import COMPRESSION, MAX_RECORD_BYTES, ssl_context
from streams.runtime.consumer import CompleteConsumer, change_client
from streams.runtime.lags.offsets import PartitionOffsets
from streams.runtime.lags.stage_lags import input_topics
from streams.runtime.observer import StageObserver
from streams.runtime.ordering import InOrder, KeyedTasks, Work
from streams.runtime.processing import Processor
from streams.runtime.records import Incoming, Record, incoming_of, is_sent_ahead, order_key
from streams.runtime.sign_in import TokenProvider, sign_in_with_current_passwords
from streams.settings import Settings
from streams.topology import Stage, is_urgent_topic
from streams.tracing import send_span

log = structlog.get_logger()

STREAM_BUFFER_EVENTS = 256
HEARTBEATS_PER_SESSION = 3
TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
MAX_WAITING_EVENTS = 2_000
"""Maximum number of unacknowledged events that a worker holds, per stage and kind of topic: about 2 MB."""
STARTS_SECONDS = 60.0
"""Time after which the broker is asked again which records it has deleted (seconds). It looks itself each five minutes
whether some are too old."""
COMMIT_INTERVAL_SECONDS = 2.0
"""Time between two commits of offsets. After a crash, at most the events of this time are repeated."""
REPLAYS_PER_SLOT = 4
"""Maximum number of replayed events that a worker holds, for each of the stage's slots. A new event waits for at most
these."""
NO_GENERATION = -2
"""A generation that no consumer group has: of a worker whose partitions were revoked."""
REBALANCE_SHARE = 0.8
"""Share of the session timeout that events in progress have to finish at a rebalance."""


class _NoStatistics(Sensor):
    """Faust's own statistics, left out: Riffle has its own, and these take a turn a second and work at each event.

    It has all that Faust uses of a monitor, except what Faust reads in `verify_all_partitions_active`: so it needs
    `CompleteConsumer`, which leaves that out.
    """

    def track_tp_end_offset(self, tp: TP, offset: int) -> None:
        """Do nothing: Faust calls this method, too."""

    def on_tp_commit(self, tp_offsets: Mapping[TP, int]) -> None:
        """Do nothing: Faust calls this method, too."""


class WokenSupervisor(OneForOneSupervisor):
    """The supervisor of a feeder, which a crash wakes. Faust's own looks each five seconds, for each of 60 feeders."""

    @Service.task
    async def _supervisor(self) -> None:
        while not self.should_stop:
            self._please_wakeup = asyncio.get_running_loop().create_future()
            await self._please_wakeup
            await self.restart_services([one for one in self._services if not self.service_operational(one)])


def new_app(stage: Stage, settings: Settings) -> faust.App:
    """Return the Faust app of a stage, with the name of its consumer group."""
    change_client()
    sign_in_with_current_passwords()
    session_seconds = settings.runtime.session_timeout_seconds
    options: dict[str, Any] = {}
    if settings.runtime.instance:
        # Static membership (KIP-345): a restarted worker gets its previous partitions back at once.
        options["consumer_group_instance_id"] = f"{stage.group}-{settings.runtime.instance}"
    app = faust.App(
        stage.group,
        broker=f"kafka://{settings.kafka.bootstrap}",
        broker_credentials=_credentials(settings),
        datadir=_private_folder(),
        autodiscover=False,
        web_enabled=False,
        store="memory://",
        key_serializer="raw",
        value_serializer="raw",
        topic_allow_declare=False,
        topic_disable_leader=True,
        broker_commit_interval=COMMIT_INTERVAL_SECONDS,
        broker_session_timeout=session_seconds,
        broker_heartbeat_interval=session_seconds / HEARTBEATS_PER_SESSION,
        broker_request_timeout=max(40.0, 2 * session_seconds),
        stream_buffer_maxsize=STREAM_BUFFER_EVENTS,
        stream_wait_empty=False,
        producer_acks=-1,
        producer_linger=0.005,
        producer_max_request_size=MAX_RECORD_BYTES,
        producer_compression_type=COMPRESSION,
        consumer_auto_offset_reset="earliest",
        worker_redirect_stdouts=False,
        agent_supervisor=WokenSupervisor,
        monitor=_NoStatistics(),  # type: ignore[arg-type]  # its users call nothing else
        **options,
    )
    app.transport.Consumer = CompleteConsumer  # type: ignore[misc]  # Faust has no option for it
    return app


def _private_folder() -> Path:
    """Create a folder that only this user can write. Faust wants a folder, and keeps nothing in it."""
    folder = mkdtemp(prefix="riffle-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return Path(folder)


def _credentials(settings: Settings) -> Any:
    kafka, context = settings.kafka, ssl_context(settings.kafka)
    if not kafka.has_sasl:
        return faust.SSLCredentials(context) if context else None
    if kafka.has_tokens:
        return OAuthCredentials(oauth_cb=TokenProvider(kafka), ssl_context=context)
    return faust.SASLCredentials(
        username=kafka.sasl_username,
        password=kafka.current_password(),
        mechanism=kafka.sasl_mechanism,
        ssl_context=context,
    )


async def _do_nothing() -> None: ...


class PartitionsChanged(RiffleError):
    """A topic of the stage got more partitions while the worker ran."""


class StageApp:
    """A running stage: a Faust app that feeds a Processor."""

    def __init__(
        self,
        stage: Stage,
        settings: Settings,
        on_assigned: Callable[[frozenset[int]], Awaitable[None]],
        on_revoked: Callable[[], Awaitable[None]] = _do_nothing,
        partitions: int = 0,
        brake: Brake | None = None,
        *,
        max_waiting_events: int = MAX_WAITING_EVENTS,
    ):
        """`partitions` is the number of partitions of each input. 0: it is not checked again.

        Without a `brake`, a record that ends the process is delivered again and again.
        """
        self.stage = stage
        self._brake = brake or Brake(None)
        self._partitions = partitions
        self.app = new_app(stage, settings)
        self.ready = False
        self.finished = 0
        self._on_assigned = on_assigned
        self._on_revoked = on_revoked
        # One for all feeders: an event from a retry topic never runs at the same time as another event with its key.
        concurrency = settings.runtime.concurrency or stage.concurrency
        self._tasks = KeyedTasks(concurrency)
        self._orders = {name: InOrder(max_waiting_events) for name in ("main", "retry", "retry-long", "urgent")}
        self._orders["replay"] = InOrder(REPLAYS_PER_SLOT * concurrency)
        self._drain_seconds = REBALANCE_SHARE * settings.runtime.session_timeout_seconds
        self._epoch = 0
        self._is_draining = False
        self._suspects = 0
        """Number of records that run, or wait for their turn, during which an earlier process ended."""
        self._starts: Mapping[TP, int] = {}
        """Offset of the first record of each partition, as the broker said at `_starts_at` (of the monotonic clock)."""
        self._starts_at = 0.0
        self._background: list[asyncio.Task[None]] = []
        self._started = asyncio.Event()
        self._observer: StageObserver | None = None
        self._agent: Agent | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connect(self, processor: Processor, observer: StageObserver) -> None:
        """Connect the stage's topics to the processor. Call it before `start`."""
        self._observer, self._agent = observer, processor.agent
        feeders = {
            "main": [event.topic for event in self.stage.inputs],
            "retry": [self.stage.retry_topic],
            "retry-long": [self.stage.long_retry_topic],
            "replay": [self.stage.replay_topic],
            **({"urgent": [self.stage.urgent_topic]} if self.stage.urgent else {}),
        }
        for name, topics in feeders.items():
            channel = self.app.topic(*topics, key_type=bytes, value_type=bytes, key_serializer="raw")
            feeder = self._feeder(self._orders[name], processor, observer)
            self.app.agent(channel, name=f"{self.stage.name}-{name}")(feeder)
        self.app.on_partitions_assigned.connect(self._assigned)
        self.app.on_partitions_revoked.connect(self._revoked)

    def _feeder(
        self, order: InOrder, processor: Processor, observer: StageObserver
    ) -> Callable[[Any], AsyncIterator[None]]:
        async def feed(stream: Any) -> AsyncIterator[None]:
            source = stream.noack()
            async for event in source.events():
                epoch = self._epoch
                await order.wait_for_room()
                if epoch == self._epoch and self._is_current(event):  # else its partition was revoked meanwhile
                    incoming = incoming_of(event)
                    place, acknowledge = (incoming.topic, incoming.partition), _acknowledger(source, event)
                    done = order.add(place, acknowledge, incoming.time)
                    if is_sent_ahead(self.stage, incoming):
                        await done()
                        continue
                    observer.arrived(incoming)
                    self._submit(incoming, self._guard(processor, incoming, done), processor.delay_seconds(incoming))
                yield None

        return feed

    def _is_current(self, event: Any) -> bool:
        """Return True if the event was fetched in the present generation of the group."""
        generation: int = self.app.consumer_generation_id
        return generation != NO_GENERATION and event.message.generation_id == generation

    def _submit(self, incoming: Incoming, work: Work, delay_seconds: float) -> None:
        key = order_key(self.stage, incoming)
        if is_urgent_topic(incoming.topic):
            self._tasks.submit_urgent(key, work)
        elif delay_seconds > 0:
            self._tasks.submit_later(key, work, lambda: asyncio.sleep(delay_seconds))
        else:
            self._tasks.submit(key, work)

    def _guard(
        self, processor: Processor, incoming: Incoming, done: Callable[[], Awaitable[None]]
    ) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            try:
                with self._hurry_for(incoming):
                    async with self._brake.watch(incoming) as ends_worker:
                        if ends_worker:
                            await processor.set_aside(incoming, ends_worker)
                        else:
                            await processor.process(incoming)
                self.finished += 1
                await done()
            except BaseException as error:
                # The event is not acknowledged, so it is delivered again, to this worker or another.
                if is_cancelled(error):
                    raise
                self._fail(error)

        return work

    def _fail(self, error: BaseException) -> None:
        """End the worker because of an error. A task that was cancelled from inside would end unseen."""
        if isinstance(error, asyncio.CancelledError):
            error = RiffleError("what a task of the worker waited for was cancelled")
        if not self.failed.done():
            self.failed.set_exception(error)

    async def send(self, records: Sequence[Record]) -> None:
        """Send records and wait until all in-sync replicas have them. Before the app's start it waits for the start.

        Raises RecordTooLarge.
        """
        await self._started.wait()
        producer = self.app.producer
        try:
            with send_span([record.topic for record in records]):
                deliveries = [
                    await producer.send(record.topic, record.key, record.value, None, None, _headers(record))
                    for record in records
                ]
                for delivery in deliveries:
                    await delivery
        except Exception as error:
            # Faust wraps the error of `send`, but not the error of the delivery.
            if isinstance(error, TOO_LARGE) or isinstance(error.__cause__, TOO_LARGE):
                raise RecordTooLarge(f"a record is too large for Kafka: {error}") from error
            raise

    async def start(self) -> None:
        self.app.finalize()
        await self.app.start()
        self._started.set()

    def run_in_background(self, activity: Coroutine[None, None, None]) -> None:
        """Run an activity beside the events until the stop. If it fails before, the worker ends."""

        async def run() -> None:
            try:
                await activity
            except BaseException as error:
                if is_cancelled(error):
                    raise
                self._fail(error)

        self._background.append(asyncio.create_task(run()))

    async def stop(self, grace_seconds: float) -> None:
        """Take no more events, finish those in progress, commit, and leave the group."""
        self.ready = False
        for task in self._background:
            task.cancel()
        if self.app.started:
            self.app.consumer.stop_flow()
            await self._drain(grace_seconds)
            await self.app.stop()

    def crash_error(self) -> BaseException | None:
        """Return the error that crashed Faust, or None."""
        reason: BaseException | None = self.app.crash_reason
        return reason

    async def _assigned(self, *args: Any, **_: Any) -> None:
        _app, assigned = args[:2]
        if problem := self._partitions_changed():
            # After a restart the worker checks the topics, and its agent counts with the new number.
            self._fail(problem)
            return
        await self._announce(assigned)
        self.ready = True

    def _partitions_changed(self) -> PartitionsChanged | None:
        """Return the failure that ends the worker after its topics got more partitions, or None."""
        topic = self.stage.inputs[0].topic
        today = self.app.consumer.topic_partitions(topic) or 0  # 0: the client does not know them at this moment
        if not self._partitions or today <= self._partitions:
            return None
        return PartitionsChanged(
            f"{topic} has {today} partitions now, and had {self._partitions} when the worker began"
        )

    async def _revoked(self, *_: Any, **__: Any) -> None:
        """Finish the events in progress before another worker gets them, and forget the events that have not started.

        An event that is not finished in time is cancelled. It is not acknowledged, so it is delivered again.
        """
        self.ready = False
        self._epoch += 1
        # Faust empties its buffers only while the client still knows its partitions: not after the worker was away for
        # longer than its session. It does skip buffered events of another generation. Otherwise they would be handled
        # after `forget`, and committed before the events that were forgotten.
        self.app.consumer_generation_id = NO_GENERATION
        await self._on_revoked()
        is_done = await self._drain(self._drain_seconds)
        self._hurry(is_on=False)
        if not is_done:
            log.warning("events were cancelled at a rebalance", stage=self.stage.name)
        for order in self._orders.values():
            order.forget()
        if self._observer:
            self._observer.forget()

    async def _drain(self, grace_seconds: float) -> bool:
        """Drop the events that have not started, and finish the others. Returns False if some had to be cancelled."""
        self._hurry(is_on=True)
        return await self._tasks.drain(grace_seconds)

    @contextmanager
    def _hurry_for(self, incoming: Incoming) -> Iterator[None]:
        """Let no event gather while a suspect runs, or waits for another one: suspects run one at a time."""
        is_suspect = self._brake.is_suspect(incoming)
        self._suspects += is_suspect
        if is_suspect:
            self._hurry(is_on=self._is_draining)
        try:
            yield
        finally:
            self._suspects -= is_suspect
            if is_suspect:
                self._hurry(is_on=self._is_draining)

    def _hurry(self, *, is_on: bool) -> None:
        self._is_draining = is_on
        if self._agent:
            self._agent.hurry(is_on=is_on or self._suspects > 0)

    async def _announce(self, owned: set[TP]) -> None:
        main = self.stage.inputs[0].topic
        await self._on_assigned(frozenset(tp.partition for tp in owned if tp.topic == main))

    async def offsets(self) -> dict[TP, PartitionOffsets]:
        """Return the broker's committed, first and next offset of each of this worker's partitions."""
        consumer: Any = self.app.consumer
        owned = self._owned()
        if not owned:
            return {}
        if not owned <= self._starts.keys() or time.monotonic() - self._starts_at >= STARTS_SECONDS:
            # Both at once: each may wait behind a request for records.
            ends, starts = await asyncio.gather(consumer.highwaters(*owned), consumer.earliest_offsets(*owned))
            self._starts, self._starts_at = starts, time.monotonic()
        else:
            ends = await consumer.highwaters(*owned)
        committed, starts = consumer._committed_offset, self._starts
        return {tp: PartitionOffsets(committed.get(tp), starts[tp], ends[tp]) for tp in owned if tp in ends}

    def oldest(self) -> float | None:
        """Return Kafka's time of the oldest event that this worker has not acknowledged, or None if there is none."""
        return min((time for order in self._orders.values() if (time := order.oldest()) is not None), default=None)

    def _owned(self) -> set[TP]:
        if not self.app.started or not self.ready:
            return set()
        topics = set(input_topics(self.stage))
        return {tp for tp in self.app.consumer.assignment() if tp.topic in topics}


def _headers(record: Record) -> Any:
    """Return a record's headers for the client. It takes null values, which its annotations leave out."""
    return record.headers


def _acknowledger(stream: Any, event: Any) -> Callable[[], Awaitable[None]]:
    async def acknowledge() -> None:
        await stream.ack(event)

    return acknowledge
