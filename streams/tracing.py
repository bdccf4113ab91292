"""Traces: what one request, or one event of a page, asked of Cassandra, Qdrant, Kafka and the models (OpenTelemetry).

A process traces while `traced` is open and an address for traces is set. The spans of requests to Triton (gRPC) and to
other servers (HTTP) are OpenTelemetry's own instrumentation. Spans of Cassandra, Qdrant, Kafka and models in process
are made here: OpenTelemetry's span of Cassandra ends when a statement is sent, and its spans of a web server hold the
address of the person and the query.

Names follow OpenTelemetry's conventions (semantic-conventions 1.45: HTTP and databases are stable, messaging is not).
A span has names of routes, topics and tables, statements without their values, times, and of an error its type and the
lines of code. It never has a query, a text, the message of an error or an address of a person. So `url.path` is the
route, and neither `url.query` nor `client.address` exists.
"""

import os
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry.trace import INVALID_SPAN, NoOpTracer, Span, SpanKind, StatusCode, Tracer, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

TRACES_PATH = "/v1/traces"
"""Path of an OTLP collector (OTLP specification, "OTLP/HTTP Request")."""
PROTOCOL_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
"""OpenTelemetry's variables for the protocol of traces, the first that is set: `grpc` or `http/protobuf`."""
CONVENTIONS_VARIABLE, CONVENTIONS = "OTEL_SEMCONV_STABILITY_OPT_IN", "http"
"""OpenTelemetry's variable by which its instrumentation of HTTP uses the stable names, too."""
OTHER_METHOD = "_OTHER"
"""Name in the conventions of each method of HTTP that the server does not know."""
SERVER = SpanKind.SERVER
INTERNAL = SpanKind.INTERNAL
MAX_FRAMES = 20
"""Maximum number of lines of code that are kept of an error."""
Attributes = Mapping[str, str | int]
_STATEMENT = re.compile(r"\s*(\w+)(?:[^;]{0,2000}?\b(?:FROM|INTO|UPDATE)\s+(\w+)|\s+(\w+))?")
_propagator = TraceContextTextMapPropagator()
_tracer: Tracer = NoOpTracer()


def span(
    name: str, attributes: Attributes | None = None, kind: SpanKind = SpanKind.CLIENT
) -> AbstractContextManager[Span]:
    """Return a span around a block, below the present one. Without tracing it costs a microsecond and is not kept."""
    return nullcontext(INVALID_SPAN) if isinstance(_tracer, NoOpTracer) else _recorded(name, attributes, kind)


@contextmanager
def _recorded(name: str, attributes: Attributes | None, kind: SpanKind) -> Iterator[Span]:
    # The SDK would record an error with its message, which may quote a page or a query.
    with _tracer.start_as_current_span(
        name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except Exception as error:
            record_error(current, error)
            raise


def record_error(failed: Span, error: BaseException) -> None:
    """Note on a span that its work failed."""
    failed.set_attribute("error.type", add_exception(failed, error))
    failed.set_status(StatusCode.ERROR)


def add_exception(span: Span, error: BaseException) -> str:
    """Add an error to a span: its type, and the lines of code without any value. Returns the type."""
    kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    frames = "".join(traceback.format_tb(error.__traceback__, limit=-MAX_FRAMES))
    span.add_event("exception", {"exception.type": kind, "exception.stacktrace": frames})
    return kind


def cassandra_span(texts: Sequence[str], keyspace: str = "", address: str = "") -> AbstractContextManager[Span]:
    """Return the span of a statement, or of a batch of them, with their text: values are never in it.

    `address` (HOST:PORT) is known if there is one node to connect to.
    """
    if isinstance(_tracer, NoOpTracer):
        return nullcontext(INVALID_SPAN)
    verb, table = _statement_parts(texts[0])
    verbs = {_statement_parts(text)[0] for text in texts}
    attributes: dict[str, str | int] = {"db.system.name": "cassandra", "db.query.text": "; ".join(dict.fromkeys(texts))}
    if len(texts) > 1:
        attributes["db.operation.batch.size"] = len(texts)
        verb = f"BATCH {verb}" if len(verbs) == 1 and verb != "BATCH" else "BATCH"
    title = f"{verb} {table}".strip()
    attributes |= {"db.operation.name": verb, "db.query.summary": title, **server_attributes(address)}
    named = {"db.collection.name": table, "db.namespace": keyspace}
    return span(title, attributes | {name: value for name, value in named.items() if value})


def server_attributes(address: str) -> dict[str, str | int]:
    """Return the names of a server in the conventions, from its address (HOST:PORT). Empty without an address."""
    host, _, port = address.rpartition(":")
    return {"server.address": host, "server.port": int(port)} if host and port.isdecimal() else {}


@contextmanager
def request_span(method: str, scheme: str, protocol: str) -> Iterator[Span]:
    """Span of a request to a server of this process, until its answer is sent. `answered` names it by its route."""
    attributes = {"url.scheme": scheme, "network.protocol.version": protocol, "http.request.method": method}
    with span("HTTP" if method == OTHER_METHOD else method, attributes, SERVER) as current:
        yield current


def answered(request: Span, method: str, route: str, status: int) -> None:
    """Name the span of a request by its route, and note its status. An unknown path has no route."""
    request.set_attribute("http.response.status_code", status)
    if route:
        request.update_name(f"{'HTTP' if method == OTHER_METHOD else method} {route}")
        request.set_attributes({"http.route": route, "url.path": route})
    if status >= 500:
        request.set_attribute("error.type", str(status))
        request.set_status(StatusCode.ERROR)


@contextmanager
def send_span(topics: Sequence[str]) -> Iterator[None]:
    """Span of records that are sent to each topic of Kafka, until all are delivered. No records have no span."""
    if isinstance(_tracer, NoOpTracer):
        yield
        return
    with ExitStack() as stack:
        spans = []
        for topic in dict.fromkeys(topics):
            attributes: dict[str, str | int] = {
                "messaging.system": "kafka",
                "messaging.operation.name": "send",
                "messaging.operation.type": "send",
                "messaging.destination.name": topic,
            }
            if (count := topics.count(topic)) > 1:
                attributes["messaging.batch.message_count"] = count
            spans.append(_tracer.start_span(f"send {topic}", kind=SpanKind.PRODUCER, attributes=attributes))
            stack.callback(spans[-1].end)
        try:
            yield
        except Exception as error:
            for sent in spans:
                record_error(sent, error)
            raise


def trace_fields() -> dict[str, str]:
    """Return the present span for a log line ("Trace Context in non-OTLP Log Formats"); empty without one."""
    found = get_current_span().get_span_context()
    if not found.is_valid:
        return {}
    return {
        "trace_id": f"{found.trace_id:032x}",
        "span_id": f"{found.span_id:016x}",
        "trace_flags": f"{found.trace_flags:02x}",
    }


def traceparent() -> str:
    """Return the present span for an event that leaves this process (W3C Trace Context); empty without one."""
    if get_current_span() is INVALID_SPAN:
        return ""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier.get("traceparent", "")


@lru_cache(maxsize=512)
def _statement_parts(cql: str) -> tuple[str, str]:
    """Return the verb and the table of a statement."""
    found = _STATEMENT.match(cql)
    if not found:
        return "statement", ""
    verb, table, other = found.groups()
    return "BATCH" if verb == "BEGIN" else verb, table or other or ""


def tracer_provider(service: str, endpoint: str, share: float = 1.0) -> "TracerProvider":
    """Return a tracer whose spans go to the OTLP endpoint, of this share of the traces that begin here.

    Without an endpoint no span is kept, and only trace ids are passed on.
    """
    # Imported here: a command that traces nothing doesn't load the SDK and the clients.
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased

    sampler = ParentBased(TraceIdRatioBased(share)) if endpoint else ALWAYS_OFF
    provider = TracerProvider(sampler=sampler, resource=resource(service))
    if endpoint:
        exporter: Any = WithoutMessages(_exporter(endpoint))
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


class WithoutMessages:
    """A sender of spans that leaves out messages of errors, which OpenTelemetry's own instrumentation adds to them.

    The answer of a server may quote the text that it was asked about.
    """

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter
        self.shutdown, self.force_flush = exporter.shutdown, exporter.force_flush

    def export(self, spans: "Sequence[ReadableSpan]") -> Any:
        return self._exporter.export([_without_messages(each) for each in spans])


def _without_messages(ended: "ReadableSpan") -> "ReadableSpan":
    if ended.status.status_code is not StatusCode.ERROR and not ended.events:
        return ended
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import Status

    events = []
    for event in ended.events:
        attributes = dict(event.attributes or {})
        if attributes.pop("exception.message", None) is not None:  # Riffle's own events have none
            attributes.pop("exception.stacktrace", None)
        events.append(Event(event.name, attributes, event.timestamp))
    return ReadableSpan(
        ended.name,
        ended.context,
        ended.parent,
        ended.resource,
        ended.attributes,
        events,
        ended.links,
        ended.kind,
        status=Status(ended.status.status_code),
        start_time=ended.start_time,
        end_time=ended.end_time,
        instrumentation_scope=ended.instrumentation_scope,
    )


def resource(service: str) -> "Resource":
    """Return what names this process. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES change and add to it."""
    from importlib.metadata import version
    from uuid import uuid4

    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    own = {
        "service.name": f"riffle-{service}",
        "service.version": version("riffle-search"),
        "service.instance.id": str(uuid4()),
    }
    return Resource.create({**own, **OTELResourceDetector().detect().attributes})


def _exporter(endpoint: str) -> Any:
    """Return a sender of spans by the protocol of OpenTelemetry's variables. Others name headers and certificates."""
    protocol = next(filter(None, map(os.environ.get, PROTOCOL_VARIABLES)), "http/protobuf")
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter(endpoint=endpoint)
    if protocol != "http/protobuf":
        raise ValueError(f"{PROTOCOL_VARIABLES[1]} is {protocol!r}: name `grpc` or `http/protobuf`")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=traces_url(endpoint))


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
    os.environ.setdefault(CONVENTIONS_VARIABLE, CONVENTIONS)
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
    """Name the span of a request over HTTP by its path, as in `POST /v1/chat/completions`. What follows is left out."""
    if hasattr(request, "url"):
        method = request.method.decode() if isinstance(request.method, bytes) else request.method
        url = urlsplit(str(request.url))
        span.update_name(f"{method} {url.path}")
        shown = url._replace(netloc=url.netloc.rpartition("@")[2], query="", fragment="")
        span.set_attribute("url.full", shown.geturl())


async def _name_request_later(span: Span, request: Any) -> None:
    _name_request(span, request)
