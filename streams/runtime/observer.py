"""Metrics, traces and log lines about the events of a stage. Only this module decides which events are logged.

A trace goes from the seed to the index: W3C trace context in, a span per stage, trace context out (OpenTelemetry).
"""

import time
from contextvars import Token

import structlog
from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from streams.errors import PoisonError, TransientError
from streams.runtime.agent import Delivery
from streams.runtime.metrics import Metrics
from streams.runtime.processing import Result
from streams.runtime.records import Incoming

log = structlog.get_logger()
_propagator = TraceContextTextMapPropagator()


class StageObserver:
    """The `Observer` of one stage in a worker."""

    def __init__(self, stage: str, metrics: Metrics, provider: TracerProvider) -> None:
        self._stage = stage
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
            "messaging.destination.name": delivery.topic,
            "messaging.kafka.offset": delivery.offset,
            "riffle.subject": delivery.envelope.subject,
        }
        span, traceparent = start_span(self._tracer, self._stage, delivery.envelope.traceparent, attributes)
        # The event's task has the span from here on: what it asks of stores and models is below it.
        self._spans[_place(incoming)] = span, attach(set_span_in_context(span))
        return traceparent

    def failed(self, incoming: Incoming, error: Exception, attempt: int) -> None:
        self._metrics.events_failed.labels(self._stage, type(error).__name__).inc()
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
