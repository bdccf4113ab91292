"""A worker process: it opens the stores of its stages, starts their agents, and watches them until it is stopped.

The worker ends with status 70, and without committing events in progress, when an event could neither be handled nor
dead-lettered, or when Faust crashed. Its supervisor then starts it again, and the events are delivered again. It ends
with status 78 when a permission, table or setting is missing: a person must change the configuration.
"""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn

import structlog
import uvloop
from opentelemetry.sdk.trace import TracerProvider

from schemas import Event
from streams.errors import UsageError
from streams.resources import FULL_AFTER_IN_WORKERS, exempt_loaded_objects, return_freed_memory
from streams.runtime.agent import Agent, Emit
from streams.runtime.brake import Brake, notes_path
from streams.runtime.breaker import Breaker
from streams.runtime.clock import MIN_STEP_SECONDS, ClockWatch, compare_clocks
from streams.runtime.faust_app import StageApp
from streams.runtime.health import HealthServer, Progress
from streams.runtime.health_thread import OwnTime
from streams.runtime.lags.backpressure import AFTER_SOURCES, LagWatch, describe_shortage
from streams.runtime.lags.offsets import PartitionOffsets
from streams.runtime.lags.stage_lags import LagReader
from streams.runtime.observer import Metrics, StageObserver
from streams.runtime.preparation import Prepared, prepare, prepare_with_retries
from streams.runtime.processing import Processor
from streams.runtime.records import encode
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.topology import Stage, in_regions
from streams.tracing import traced

log = structlog.get_logger()

WATCH_SECONDS = 1.0
END_SECONDS = 3.0
"""Time for the end of a worker after the grace for its events (seconds)."""
EXIT_FAILED = 70
"""Exit status EX_SOFTWARE of sysexits: a restart may help."""
EXIT_CONFIGURATION = 78
"""Exit status EX_CONFIG of sysexits: a restart doesn't help."""
STUCK_DEADLINES = 4
"""Number of event deadlines without a commit after which a partition with waiting events counts as stuck: an hour.
A page of 40,000 statements takes 45 minutes at 15 a second."""
OFFSETS_SECONDS = 10.0
"""Time between two requests to the broker for offsets (seconds). It may keep one for `consumer.SILENCE_SECONDS`."""


@dataclass(slots=True)
class _Running:
    stage: Stage
    agent: Agent
    app: StageApp
    progress: Progress
    breaker: Breaker
    later_stages: LagWatch | None = None
    """The watch of a source's worker over the stages behind it."""
    offsets: dict[Any, PartitionOffsets] = field(default_factory=dict)


def use_fast_loop() -> None:
    """Make every event loop of this process one of uvloop: this one, and the loops of each client of Kafka.

    It takes a twentieth of the CPU time of everything but the models, and a tenth of a crawling worker's.
    """
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())


async def run_worker(
    stages: Sequence[Stage], settings: Settings, *, accept_loss: bool = False, stores: Stores | None = None
) -> int:
    """Run the stages in this process. Returns the exit status. Raises UsageError.

    If a server is away, the worker waits for it, also before the start. `stores` replaces the settings' stores, for
    tests.
    """
    stages = with_region(stages, settings)
    return_freed_memory()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    names = "+".join(stage.label for stage in stages)
    brake = Brake(notes_path(settings, names))

    def ask_to_stop() -> None:
        stop.set()
        end_in_time(settings.runtime.grace_seconds, brake)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask_to_stop)
    metrics = Metrics()
    runtime = settings.runtime
    progress = {
        stage.label: Progress(
            runtime.stall_seconds, runtime.stall_seconds + STUCK_DEADLINES * runtime.event_deadline_seconds
        )
        for stage in stages
    }
    running: list[_Running] = []
    async with AsyncExitStack() as stack:
        provider = stack.enter_context(traced(names, settings.otlp_endpoint, settings.trace_share))
        health = HealthServer(
            metrics,
            progress,
            lambda: len(running) == len(stages) and all(item.app.ready for item in running),
            host=runtime.health_host,
            port=runtime.health_port,
            stuck_seconds=runtime.stall_seconds,
        )
        for label, one in progress.items():  # from the start on, when nothing is observed yet
            _follow(metrics, label, one, health.own_time)
        await health.start()
        stack.push_async_callback(health.stop)
        prepared = await prepare_with_retries(
            lambda: prepare(stages, settings, stores, accept_loss=accept_loss),
            tuple(progress.values()),
            stop,
            lambda: health.own_time.seconds,
        )
        if prepared is None:
            return 0
        stack.push_async_callback(prepared.close)
        brake.begin()
        # All at once, since each joins its group and waits for the broker.
        starts = (
            _start(stage, settings, prepared, metrics, provider, progress[stage.label], brake) for stage in stages
        )
        try:
            running += await asyncio.gather(*starts)
        except (Exception, asyncio.CancelledError) as error:
            _end_at_once(error, brake, names)
        if clock_ahead := prepared.stores.clock_ahead:
            comparing = asyncio.create_task(compare_clocks(clock_ahead, partial(_show_clock, metrics, stages)))
            stack.callback(comparing.cancel)
        exempt_loaded_objects(full_after=FULL_AFTER_IN_WORKERS)
        log.info("worker started", stages=names, health=f"http://{runtime.health_host}:{health.port}")
        clock = ClockWatch(settings.crawl.clock_bound_seconds)
        failure = await _watch(running, metrics, stop, health.own_time, clock)
        if failure:
            _end_at_once(failure, brake, names)
        await asyncio.gather(*(item.app.stop(runtime.grace_seconds) for item in running))
        for item in running:
            await item.agent.stop()
        brake.end()
    log.info("worker stopped", stages=names)
    return 0


def _follow(metrics: Metrics, label: str, progress: Progress, own_time: OwnTime) -> None:
    """Let metrics read what a stage waits for whenever they are asked for."""
    metrics.waiting_for_store.labels(label).set_function(lambda: 1 if progress.waiting_for else 0)
    metrics.kafka_silence.labels(label).set_function(lambda: progress.silent_seconds(own_time.seconds))


def _show_clock(metrics: Metrics, stages: Sequence[Stage], ahead_seconds: float) -> None:
    for stage in stages:
        metrics.clock_ahead.labels(stage.label).set(ahead_seconds)


def end_in_time(grace_seconds: float, brake: Brake) -> None:
    """End this process soon after the grace, whatever its orderly stop waits for.

    A client of Kafka waits for a broker that is away. The events in progress are delivered again.
    """

    def end() -> None:
        log.warning("the orderly stop took too long: the worker ends, and events in progress are delivered again")
        brake.end()
        os._exit(0)

    timer = threading.Timer(grace_seconds + END_SECONDS, end)
    timer.daemon = True
    timer.start()


def _end_at_once(failure: BaseException, brake: Brake, names: str) -> NoReturn:
    """End this process because of a failure.

    An orderly stop would wait for events that must be delivered again, and perhaps commit them. And an exception would
    not end the process: each stage that has started has threads of Kafka's clients, which go on for ever.
    """
    if isinstance(failure, Exception | asyncio.CancelledError):
        brake.end()  # Kafka, the configuration or a bug of the runtime, but no record
    os._exit(_report_failure(failure, names))


def _report_failure(failure: BaseException, names: str) -> int:
    """Log why the worker ends. Returns the exit status."""
    if isinstance(failure, UsageError):
        log.error("worker stops: its configuration must be changed", stages=names, error=str(failure))
        return EXIT_CONFIGURATION
    log.error("worker ends, and the same events are delivered again", stages=names, exc_info=failure)
    return EXIT_FAILED


async def _start(
    stage: Stage,
    settings: Settings,
    prepared: Prepared,
    metrics: Metrics,
    provider: TracerProvider,
    progress: Progress,
    brake: Brake,
) -> _Running:
    agent, partitions = prepared.agents[stage.label], prepared.partitions[stage.name]
    agent.partition_count = partitions
    observer = StageObserver(stage.label, stage.group, metrics, provider)
    app = StageApp(stage, settings, agent.assigned, agent.revoked, partitions, brake)
    processor = Processor(stage, agent, app.send, observer, settings.runtime, blobs=prepared.stores.blobs)
    # The clocks of the event's producer and of this machine may each differ by the bound from Cassandra's.
    processor.max_ahead_seconds = 2 * max(settings.crawl.clock_bound_seconds, MIN_STEP_SECONDS)
    app.connect(processor, observer)
    watch = None
    if stage.source:
        watch = LagWatch(LagReader(settings, AFTER_SOURCES).read, settings.crawl.max_stage_lag_events)
        watch.describe_shortage = lambda: describe_shortage(settings)
        agent.later_stage_behind = watch
        app.run_in_background(watch.run())
    # The agent first: it must be ready for the first event, and that may come with the assignment.
    await agent.start(_emitter(stage, app))
    await app.start()
    return _Running(stage, agent, app, progress, processor.breaker, watch)


def with_region(stages: Sequence[Stage], settings: Settings) -> tuple[Stage, ...]:
    """Return the stages as this worker runs them: a regional stage in the worker's region. Raises UsageError."""
    regions, region = settings.crawl.regions, settings.crawl.region
    known = ", ".join(sorted(regions)) or "none"
    if region not in regions and (region or regions) and (wanted := [one.name for one in stages if one.regional]):
        problem = f"RIFFLE_CRAWL__REGION is {region!r}" if region else "RIFFLE_CRAWL__REGION is not set"
        raise UsageError(
            f"the stage {wanted[0]} runs in a region: {problem}, and the regions of RIFFLE_CRAWL__REGIONS are {known}"
        )
    return in_regions(tuple(stages), [region] if region else [])


def _emitter(stage: Stage, app: StageApp) -> Emit:
    async def emit(event: Event, cause: str) -> None:
        assert type(event) in stage.outputs, f"{stage.name} has no output {type(event).__name__} in the topology"
        await app.send([encode(event, cause=cause, source=stage.name, time=datetime.now(UTC))])

    return emit


async def _watch(
    running: list[_Running], metrics: Metrics, stop: asyncio.Event, own_time: OwnTime, clock: ClockWatch
) -> BaseException | None:
    """Wait for the stop signal or a failure, and observe the progress meanwhile. A clock that is set is a failure."""
    # Side by side: a stage that waits for the broker's answer delays no other stage's observation, and no stop.
    askers = [asyncio.create_task(_keep_asking(item)) for item in running]
    try:
        while not stop.is_set():
            for item in running:
                _observe(item, metrics, own_time.seconds)
            failures = (*map(_failure_of, running), *map(_error_of, askers), clock.change())
            if failure := next(filter(None, failures), None):
                return failure
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), WATCH_SECONDS)
    except Exception as error:
        return error
    finally:
        for asker in askers:
            asker.cancel()
    return None


def _failure_of(item: _Running) -> BaseException | None:
    return item.app.failed.exception() if item.app.failed.done() else item.app.crash_error()


def _error_of(task: asyncio.Task[None]) -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None


async def _keep_asking(item: _Running) -> None:
    while True:
        try:
            async with asyncio.timeout(OFFSETS_SECONDS):
                item.offsets = await item.app.offsets()
        except Exception as error:  # the broker is away, or a rebalance is under way: the last offsets stay
            log.debug("no offsets", stage=item.stage.label, error=repr(error))
        await asyncio.sleep(OFFSETS_SECONDS)


def _observe(item: _Running, metrics: Metrics, now: float) -> None:
    name = item.stage.label
    done = item.app.finished + item.agent.steps
    item.progress.paused_for = item.agent.later_stage_behind()
    item.progress.observe(item.offsets, done, now, assigned=item.app.ready, waiting_for=item.breaker.reason)
    item.progress.measurements = item.agent.measurements()
    metrics.set_measurements(name, item.progress.measurements)
    oldest = item.app.oldest()
    metrics.lag.labels(name).set(item.progress.lag)
    metrics.lag_age.labels(name).set(max(time.time() - oldest, 0.0) if oldest else 0.0)
    metrics.committed_age.labels(name).set(item.progress.uncommitted_seconds(now))
    metrics.partitions.labels(name).set(len(item.offsets))
    metrics.set_lost(name, item.progress.lost, seen_by=name)
    # A stage whose workers refuse to start, because of the loss, says nothing itself.
    for later, lost in (item.later_stages.lost if item.later_stages else {}).items():
        metrics.set_lost(later, lost, seen_by=name)
