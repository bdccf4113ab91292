"""One trace from the seed to the index: W3C trace context in, spans per stage, trace context out (OpenTelemetry)."""

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_propagator = TraceContextTextMapPropagator()


def tracer_provider(service: str, otlp_endpoint: str) -> TracerProvider:
    """A tracer whose spans go to the OTLP endpoint. Without one they are dropped, and only trace ids are passed on."""
    provider = TracerProvider(resource=Resource.create({"service.name": f"riffle-{service}"}))
    if otlp_endpoint:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=otlp_endpoint)))
    return provider


def start_span(tracer: Tracer, name: str, traceparent: str, attributes: dict[str, str | int]) -> tuple[Span, str]:
    """Start a span below the one in `traceparent` (or a new trace). Return both it and the next traceparent."""
    parent = _propagator.extract({"traceparent": traceparent}) if traceparent else None
    span = tracer.start_span(name, context=parent, attributes=attributes)
    carrier: dict[str, str] = {}
    _propagator.inject(carrier, context=set_span_in_context(span))
    assert isinstance(span, Span)
    return span, carrier.get("traceparent", "")
