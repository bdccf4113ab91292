"""Traces: what one request, or one event of a page, asked of Cassandra, Qdrant, Kafka and the models (OpenTelemetry).

A process traces while `traced` is open and an address for traces is set. The spans of requests to Triton (gRPC) and to
other servers (HTTP) are OpenTelemetry's own instrumentation. Spans of Cassandra, Qdrant, Kafka and models in process
are made here: OpenTelemetry's span of Cassandra ends when a statement is sent, and its spans of a web server hold the
address of the person and the query.

A span has names of routes, topics and tables, statements without their values, and times. It never has a query, a text
or an address of a person.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry.trace import INVALID_SPAN, NoOpTracer, Span, SpanKind, Tracer, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

TRACES_PATH = "/v1/traces"
"""Path of an OTLP collector (OTLP specification, "OTLP/HTTP Request")."""
SERVER = SpanKind.SERVER
_STATEMENT = re.compile(r"\s*(\w+)(?:[^;]{0,2000}?\b(?:FROM|INTO|UPDATE)\s+(\w+)|\s+(\w+))?")
_propagator = TraceContextTextMapPropagator()
_tracer: Tracer = NoOpTracer()


def span(
    name: str, attributes: Mapping[str, str | int] | None = None, kind: SpanKind = SpanKind.CLIENT
) -> AbstractContextManager[Span]:
    """Return a span around a block, below the present one. Without tracing it costs a microsecond and is not kept."""
    return _tracer.start_as_current_span(name, kind=kind, attributes=attributes)


def cassandra_span(cql: str, statements: int = 1) -> AbstractContextManager[Span]:
    """Return the span of a statement, or of a batch of them, with its text: values are never in it."""
    if isinstance(_tracer, NoOpTracer):
        return nullcontext(INVALID_SPAN)
    attributes: dict[str, str | int] = {"db.system.name": "cassandra", "db.query.text": cql}
    if statements > 1:
        attributes["db.operation.batch.size"] = statements
    return span(f"Cassandra {statement_title(cql)}", attributes)


def send_span(topics: Sequence[str]) -> AbstractContextManager[Span]:
    """Return the span of records that are sent to Kafka, until all are delivered. No records have no span."""
    if isinstance(_tracer, NoOpTracer) or not topics:
        return nullcontext(INVALID_SPAN)
    names = ", ".join(dict.fromkeys(topics))
    attributes = {"messaging.system": "kafka", "messaging.destination.name": names}
    return span(f"Kafka send {names}", {**attributes, "messaging.batch.message_count": len(topics)}, SpanKind.PRODUCER)


def traceparent() -> str:
    """Return the present span for an event that leaves this process (W3C Trace Context); empty without one."""
    if get_current_span() is INVALID_SPAN:
        return ""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier.get("traceparent", "")


@lru_cache(maxsize=512)
def statement_title(cql: str) -> str:
    """Return the verb and the table of a statement, as the name of its span."""
    found = _STATEMENT.match(cql)
    return " ".join(filter(None, found.groups())).replace("BEGIN", "BATCH") if found else "statement"


def tracer_provider(service: str, endpoint: str, share: float = 1.0) -> "TracerProvider":
    """Return a tracer whose spans go to the OTLP endpoint, of this share of the traces that begin here.

    Without an endpoint no span is kept, and only trace ids are passed on.
    """
    # Imported here: a command that traces nothing doesn't load the SDK and the clients.
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased

    sampler = ParentBased(TraceIdRatioBased(share)) if endpoint else ALWAYS_OFF
    provider = TracerProvider(sampler=sampler, resource=Resource.create({"service.name": f"riffle-{service}"}))
    if endpoint:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=traces_url(endpoint))))
    return provider


def traces_url(endpoint: str) -> str:
    """Return the URL for traces of a collector: its address with the usual path, if it has no path of its own."""
    return endpoint if urlsplit(endpoint).path.strip("/") else endpoint.rstrip("/") + TRACES_PATH


@contextmanager
def traced(
    service: str, endpoint: str, share: float = 1.0, processor: "SpanProcessor | None" = None
) -> Iterator["TracerProvider"]:
    """Trace this process until the end of the block. Open it before the stores: it adds to their clients.

    `processor` receives the spans in place of the endpoint, for tests.
    """
    global _tracer
    if processor:
        from opentelemetry.sdk.trace import TracerProvider

        provider = TracerProvider()
        provider.add_span_processor(processor)
    else:
        provider = tracer_provider(service, endpoint, share)
        if not endpoint:
            yield provider
            return
    from opentelemetry.instrumentation.grpc import GrpcAioInstrumentorClient
    from opentelemetry.instrumentation.httpx import HTTPX2ClientInstrumentor

    former, _tracer = _tracer, provider.get_tracer("riffle")
    kinds: tuple[Any, ...] = (HTTPX2ClientInstrumentor, GrpcAioInstrumentorClient)
    clients = [kind() for kind in kinds]
    for client in clients:
        client.instrument(tracer_provider=provider, request_hook=_name_request, async_request_hook=_name_request_later)
    try:
        yield provider
    finally:
        for client in clients:
            client.uninstrument()
        _tracer = former
        provider.shutdown()


def _name_request(span: Span, request: Any) -> None:
    """Name the span of a request over HTTP by its path, as in `POST /v1/chat/completions`."""
    if hasattr(request, "url"):
        method = request.method.decode() if isinstance(request.method, bytes) else request.method
        span.update_name(f"{method} {urlsplit(str(request.url)).path}")


async def _name_request_later(span: Span, request: Any) -> None:
    _name_request(span, request)
