"""Metrics, traces and log lines about the events of a stage. Only this module decides which events are logged.

The metrics are for Prometheus: all stages use the same names, with the label `stage`.
"""

import time
from collections.abc import Mapping
from contextvars import Token

import structlog
from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import Counter, Gauge, Histogram

from streams.errors import PoisonError, TransientError
from streams.resources import new_registry
from streams.runtime.agent import Delivery
from streams.runtime.processing import Result
from streams.runtime.records import Incoming
from streams.tracing import add_exception

LATENCY_BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
log = structlog.get_logger()
_propagator = TraceContextTextMapPropagator()


class Metrics:
    """The metrics of one worker process, in their own registry."""

    def __init__(self) -> None:
        self.registry = new_registry()
        labels = ["stage"]

        def counter(name: str, description: str, *more: str) -> Counter:
            return Counter(f"riffle_{name}", description, [*labels, *more], registry=self.registry)

        def gauge(name: str, description: str) -> Gauge:
            return Gauge(f"riffle_{name}", description, labels, registry=self.registry)

        self.events_in = counter("events_in", "Events received, by topic", "topic")
        self.events_failed = counter("events_failed", "Failed attempts, by error type", "error")
        self.events_retried = counter("events_retried", "Events sent to the retry topic")
        self.events_dead = counter("events_dead", "Events sent to the dead-letter topic")
        self.latency = Histogram(
            "riffle_event_seconds",
            "Time from receiving an event to the delivery of all events that it led to",
            labels,
            buckets=LATENCY_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.in_flight = gauge("events_in_flight", "Events in progress")
        self.lag = gauge("lag_events", "Events that wait in the topics, of the partitions that this worker owns")
        self.lag_age = gauge("lag_seconds", "Age of the oldest event that this worker has not acknowledged")
        self.committed_age = gauge(
            "committed_age_seconds", "Time since the last commit, of the partition with the longest wait"
        )
        self._lost = gauge(
            "events_lost",
            "Events that Kafka deleted before they were handled: since the start of the stage's own worker, or still "
            "unanswered, as a worker of the frontier sees it",
        )
        self._lost_as_seen: dict[str, dict[str, int]] = {}
        self.kafka_silence = gauge(
            "kafka_silence_seconds", "Time since Kafka last answered the worker. 0 if it has no partition to ask about"
        )
        self.waiting_for_store = gauge(
            "waiting_for_store", "1 while the stage waits for a store that is away, or at its start for Kafka; else 0"
        )
        self.clock_ahead = gauge("clock_ahead_seconds", "How far the worker's clock is ahead of Cassandra's")
        self.partitions = gauge("partitions", "Partitions that this worker owns")
        self._gauge = gauge
        self._of_agents: dict[str, Gauge] = {}

    def set_lost(self, stage: str, events: int, *, seen_by: str) -> None:
        """Set how many events a stage has lost, as a stage of this process sees it. The most that one sees counts."""
        seen = self._lost_as_seen.setdefault(stage, {})
        seen[seen_by] = events
        self._lost.labels(stage).set(max(seen.values()))

    def set_measurements(self, stage: str, measurements: Mapping[str, float]) -> None:
        """Set the agent's own numbers: `riffle_NAME`."""
        for name, value in measurements.items():
            if name not in self._of_agents:
                self._of_agents[name] = self._gauge(name, f"{name.replace('_', ' ')}, measured by the stage's agent")
            self._of_agents[name].labels(stage).set(value)


class StageObserver:
    """The `Observer` of one stage in a worker."""

    def __init__(self, stage: str, group: str, metrics: Metrics, provider: TracerProvider) -> None:
        self._stage = stage
        self._group = group
        self._metrics = metrics
        self._tracer = provider.get_tracer("riffle")
        self._spans: dict[tuple[str, int, int], tuple[Span, Token[Context]]] = {}
        """The span of each event in progress, and the way back to the context before it."""
        self._arrivals: dict[tuple[str, int, int], float] = {}

    def arrived(self, incoming: Incoming) -> None:
        self._metrics.events_in.labels(self._stage, incoming.topic).inc()
        self._metrics.in_flight.labels(self._stage).inc()
        self._arrivals[_place(incoming)] = time.perf_counter()

    def started(self, incoming: Incoming, delivery: Delivery) -> str:
        attributes: dict[str, str | int] = {
            "messaging.system": "kafka",
            "messaging.operation.name": "process",
            "messaging.operation.type": "process",
            "messaging.destination.name": delivery.topic,
            "messaging.destination.partition.id": str(delivery.partition),
            "messaging.consumer.group.name": self._group,
            "messaging.kafka.offset": delivery.offset,
            "messaging.message.id": str(delivery.envelope.id),
            "riffle.stage": self._stage,
            "riffle.subject": delivery.envelope.subject,
        }
        span, traceparent = start_span(
            self._tracer, f"process {delivery.topic}", delivery.envelope.traceparent, attributes
        )
        # The event's task has the span from here on: what it asks of stores and models is below it.
        self._spans[_place(incoming)] = span, attach(set_span_in_context(span))
        return traceparent

    def failed(self, incoming: Incoming, error: Exception, attempt: int) -> None:
        self._metrics.events_failed.labels(self._stage, type(error).__name__).inc()
        add_exception(get_current_span(), error)
        expected = isinstance(error, TransientError | PoisonError | ValueError)
        log.warning(
            "event failed",
            stage=self._stage,
            topic=incoming.topic,
            partition=incoming.partition,
            offset=incoming.offset,
            attempt=attempt,
            error=f"{type(error).__name__}: {error}",
            exc_info=None if expected else error,
        )

    def finished(self, incoming: Incoming, result: Result) -> None:
        place = _place(incoming)
        self._metrics.in_flight.labels(self._stage).dec()
        started = self._arrivals.pop(place, None)
        if started is not None:
            self._metrics.latency.labels(self._stage).observe(time.perf_counter() - started)
        if result == "retried":
            self._metrics.events_retried.labels(self._stage).inc()
        elif result == "dead":
            self._metrics.events_dead.labels(self._stage).inc()
            log.error("event dead-lettered", stage=self._stage, topic=incoming.topic, offset=incoming.offset)
        if traced := self._spans.pop(place, None):
            span, before = traced
            detach(before)
            if result != "handled":
                span.set_attribute("error.type", result)
                span.set_status(StatusCode.ERROR, result)
            span.end()

    def forget(self) -> None:
        """Forget all events in progress, after a rebalance."""
        for span, _ in self._spans.values():
            span.end()
        self._spans.clear()
        self._arrivals.clear()
        self._metrics.in_flight.labels(self._stage).set(0)


def _place(incoming: Incoming) -> tuple[str, int, int]:
    return incoming.topic, incoming.partition, incoming.offset


def start_span(tracer: Tracer, name: str, traceparent: str, attributes: dict[str, str | int]) -> tuple[Span, str]:
    """Start a span below the span in `traceparent` (or a new trace). Return the span and the next traceparent."""
    parent = _propagator.extract({"traceparent": traceparent}) if traceparent else Context()
    span = tracer.start_span(name, context=parent, kind=SpanKind.CONSUMER, attributes=attributes)
    carrier: dict[str, str] = {}
    _propagator.inject(carrier, context=set_span_in_context(span))
    return span, carrier.get("traceparent", "")
