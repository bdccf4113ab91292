"""A collector of traces for tests: it takes spans over HTTP as an OTLP collector does, and keeps them in memory."""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote_plus

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

LOOK_SECONDS = 0.5


@dataclass
class Collector:
    """The spans that came, with the service of each."""

    address: str = ""
    spans: list[tuple[str, Span]] = field(default_factory=list)

    def traces(self) -> list["Trace"]:
        """Return the spans of each trace."""
        found: dict[bytes, Trace] = {}
        for service, span in list(self.spans):
            found.setdefault(span.trace_id, Trace()).spans.append((service, span))
        return list(found.values())

    def wait_for(self, is_wanted: "Callable[[Trace], bool]", seconds: float) -> "Trace":
        """Return the first trace that is wanted, and wait until it is there."""
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            if found := next(filter(is_wanted, self.traces()), None):
                return found
            time.sleep(LOOK_SECONDS)
        shown = "\n\n".join(trace.tree() for trace in self.traces()[:5])
        raise AssertionError(f"no such trace within {seconds:g} s. Some of {len(self.traces())}:\n{shown}")


@dataclass
class Trace:
    """All spans of one request or page."""

    spans: list[tuple[str, Span]] = field(default_factory=list)

    def names(self) -> set[str]:
        return {span.name for _, span in self.spans}

    def has(self, *prefixes: str) -> bool:
        """True if there is a span with each of these beginnings."""
        return all(any(name.startswith(prefix) for name in self.names()) for prefix in prefixes)

    def texts(self) -> list[str]:
        """Return all that is a text in the spans: names, and the attributes of spans and of their events."""
        found: list[str] = []
        for _, span in self.spans:
            attributes = [*span.attributes, *(each for event in span.events for each in event.attributes)]
            found += [span.name, span.status.message, *(event.name for event in span.events)]
            found += [attribute.value.string_value for attribute in attributes]
        return list(filter(None, found))

    def tree(self) -> str:
        """The spans as a text: one on each line, below its parent, with its begin and length in milliseconds."""
        known = {span.span_id for _, span in self.spans}
        first = min(span.start_time_unix_nano for _, span in self.spans)
        lines: list[str] = []

        def add(parent: bytes | None, depth: int) -> None:
            children = [
                span
                for _, span in self.spans
                if (span.parent_span_id == parent if parent else span.parent_span_id not in known)
            ]
            for span in sorted(children, key=lambda child: child.start_time_unix_nano):
                begin = (span.start_time_unix_nano - first) / 1e6
                length = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
                lines.append(f"{begin:8.1f} {length:8.1f} ms  {'  ' * depth}{span.name}")
                add(span.span_id, depth + 1)

        add(None, 0)
        return "\n".join(lines)


LEAK_WORDS = 4
"""Number of words in a row that are a text of a page, and not a name that a page and a span have by chance."""
MIN_QUERY_CHARS = 3


def find_leaks(texts: Iterable[str], query: str, pages: Iterable[str]) -> list[str]:
    """Return the texts of spans that have a word of the query, four words in a row of a page, or a value in CQL.

    Words count in any case, and in the forms in which URLs have them.
    """
    asked = {word for word in _words(query) if len(word) >= MIN_QUERY_CHARS}
    read = {row for page in pages for row in _rows(_words(page))}
    return [
        text
        for text in texts
        if asked & set(_words(text)) or read & set(_rows(_words(text))) or re.search(r"\bWHERE\b.*['\"]", text)
    ]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", unquote_plus(text).casefold())


def _rows(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(words[first : first + LEAK_WORDS]) for first in range(len(words) - LEAK_WORDS + 1))


@contextmanager
def collector() -> Iterator[Collector]:
    """A collector on a free port of loopback."""
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/v1/traces":
                for group in request.resource_spans:
                    service = next(a.value.string_value for a in group.resource.attributes if a.key == "service.name")
                    found.spans += [(service, span) for scope in group.scope_spans for span in scope.spans]
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *values: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()


@dataclass
class GrpcCollector:
    """Requests that came over gRPC, and their headers."""

    address: str = ""
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    headers: set[tuple[str, str]] = field(default_factory=set)


@contextmanager
def grpc_collector() -> Iterator[GrpcCollector]:
    """A collector of OTLP over gRPC on a free port of loopback."""
    found = GrpcCollector()

    def export(request: ExportTraceServiceRequest, context: grpc.ServicerContext) -> ExportTraceServiceResponse:
        found.requests.append(request)
        found.headers |= {(name, value) for name, value in context.invocation_metadata() if isinstance(value, str)}
        return ExportTraceServiceResponse()

    handler = grpc.unary_unary_rpc_method_handler(
        export,
        request_deserializer=ExportTraceServiceRequest.FromString,
        response_serializer=ExportTraceServiceResponse.SerializeToString,
    )
    server = grpc.server(ThreadPoolExecutor(1))
    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {"Export": handler})])
    found.address = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield found
    finally:
        server.stop(grace=None).wait()
