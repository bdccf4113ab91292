"""Traces: nothing is kept without an address, spans are named by routes and tables, and hold nothing of a person."""

import importlib
import json
import logging
import pkgutil
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import grpc
import httpx2
import numpy as np
import opentelemetry.semconv._incubating.attributes
import opentelemetry.semconv.attributes
import pytest
import structlog
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tritonclient.grpc import InferInput, service_pb2_grpc

from streams.errors import PoisonError, StoreUnavailable
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.middleware import HeadersAndMetrics
from streams.logs import configure_logging
from streams.models.triton_connection import TritonConnection
from streams.settings import Settings, TritonSettings
from streams.stores.opener import memory_stores
from streams.stores.qdrant.connections import describe
from streams.tracing import (
    PROTOCOL_VARIABLES,
    cassandra_span,
    send_span,
    span,
    traced,
    traceparent,
    tracer_provider,
    traces_url,
)
from tests.integration.collector import collector, find_leaks, grpc_collector
from tests.stages.gateway_fakes import client, gateway
from tests.unit.models.test_triton_servers import serving

TITLES = [
    # the statements of one request, and the name of its span
    (["SELECT part, value FROM pages WHERE page_id = :page_id"], "SELECT pages"),
    (["INSERT INTO pages (page_id) VALUES (:page_id) USING TIMESTAMP :at"], "INSERT pages"),
    (["UPDATE fingerprints USING TTL :t SET a = :a"], "UPDATE fingerprints"),
    (["DELETE FROM reindexing WHERE collection = :c"], "DELETE reindexing"),
    (["BEGIN UNLOGGED BATCH INSERT INTO fingerprints (a) VALUES (:a) APPLY BATCH"], "BATCH fingerprints"),
    (["DELETE FROM a WHERE b = :b"] * 2, "BATCH DELETE a"),
    (["DELETE FROM a WHERE b = :b", "INSERT INTO a (b) VALUES (:b)"], "BATCH a"),
    ([""], "statement"),
]


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    with traced("test", "", processor=SimpleSpanProcessor(exporter)):
        yield exporter


@pytest.mark.parametrize(("texts", "title"), TITLES)
def test_a_statement_is_named_by_its_verb_and_table(spans: InMemorySpanExporter, texts: list[str], title: str) -> None:
    with cassandra_span(texts):
        pass
    assert [each.name for each in spans.get_finished_spans()] == [title]


REQUESTS = [
    ("POST", "/collections/statements-1/points/query/batch", "POST points/query/batch statements-1"),
    ("GET", "/collections/statements-1/points/5e2b9d7c-0000-4000-8000-00c04fd430c8", "GET points/{id} statements-1"),
    ("GET", "/collections/statements-1/points/17", "GET points/{id} statements-1"),
    ("PUT", "/collections/statements-1", "PUT collections statements-1"),
    ("GET", "/aliases", "GET aliases"),
    ("GET", "/", "GET"),
]


@pytest.mark.parametrize(("method", "path", "name"), REQUESTS)
def test_a_request_to_qdrant_is_named_by_its_operation_and_collection(method: str, path: str, name: str) -> None:
    described, attributes = describe(method, path, "qdrant.example:6333")
    assert described == name
    assert (attributes["server.address"], attributes["server.port"]) == ("qdrant.example", 6333)


def names_of_conventions() -> set[str]:
    """The attributes of the conventions that OpenTelemetry's own package has, without those that are deprecated."""
    found: set[str] = set()
    for package in (opentelemetry.semconv.attributes, opentelemetry.semconv._incubating.attributes):
        for module in pkgutil.iter_modules(package.__path__):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            source = Path(loaded.__file__ or "").read_text()
            found |= set(re.findall(r'^[A-Z_]+(?:: Final)? = "([a-z_.]+)"\n"""\n(?!Deprecated)', source, re.MULTILINE))
    return found


async def test_attributes_have_the_names_of_the_conventions(spans: InMemorySpanExporter) -> None:
    """All but those that are Riffle's own, and say so."""
    known = names_of_conventions()
    assert {"http.route", "db.query.summary", "messaging.operation.name"} <= known
    assert not known & {"http.method", "http.status_code", "db.system", "messaging.kafka.consumer.group"}, "older names"
    with cassandra_span(["SELECT a FROM b"] * 2, "riffle", "cassandra.example:9042"), send_span(["t", "t"]):
        pass
    request = describe("POST", "/collections/c/points/query", "qdrant.example:6333")
    with span(*request), suppress(OSError), span("model x embed", {"riffle.texts": 1}):
        raise OSError
    async with client(gateway(memory_stores(), deadline_seconds=60.0)) as web:
        await web.get("/search", params={"q": "zebra"})
    found = spans.get_finished_spans()
    used = {name for each in found for name in each.attributes or {}}
    used |= {name for each in found for event in each.events for name in event.attributes or {}}
    assert {name for name in used - known if not name.startswith("riffle.")} == set()
    assert {"server.address", "error.type", "exception.stacktrace", "messaging.batch.message_count"} <= used


def test_an_error_is_on_its_span_by_its_type_and_its_lines_without_its_message(spans: InMemorySpanExporter) -> None:
    read = "black and white"

    def fail(text: str) -> None:
        raise StoreUnavailable(f"no answer about {text}")

    with pytest.raises(StoreUnavailable), send_span(["pages.fetched"]), cassandra_span(["SELECT a FROM b"]):
        fail(read)
    for found in spans.get_finished_spans():
        assert found.status.status_code is StatusCode.ERROR
        assert (found.attributes or {})["error.type"] == "streams.errors.StoreUnavailable"
        (event,) = found.events
        assert event.name == "exception"
        assert (event.attributes or {})["exception.type"] == "streams.errors.StoreUnavailable"
        assert "in fail" in str((event.attributes or {})["exception.stacktrace"])
        assert "no answer about black" not in found.to_json()
    assert len(spans.get_finished_spans()) == 2


QUERY = "How do I undo a commit?"
PAGE = "A zebra repository has black and white stripes, and commits them in pairs."
SPAN_TEXTS = [
    ("SELECT pages", False),
    ("SELECT part, value FROM pages WHERE page_id = :page_id AND part IN :parts", False),
    ("http://127.0.0.1:6333/collections/statements/points/query/batch", False),
    ("GET /search?q=how+do+i+undo+it", True),  # words of the query in a URL
    ("/search?q=%55ndo", True),  # escaped
    ("UNDO", True),  # in another case
    ("SELECT a FROM notes WHERE address = '192.0.2.7'", True),  # a value in a statement
    ("embed 'Black and white stripes'", True),  # a text of the page
    ("black stripes", False),  # two words that the page has apart: a name may have them
]


@pytest.mark.parametrize(("text", "leaks"), SPAN_TEXTS)
def test_the_check_of_traces_finds_what_must_not_be_in_a_span(text: str, leaks: bool) -> None:
    assert find_leaks([text], QUERY, [PAGE]) == [text] * leaks


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("http://collector:4318/", "http://collector:4318/v1/traces"),
        ("https://traces.example/otlp/v1/traces", "https://traces.example/otlp/v1/traces"),
    ],
)
def test_the_address_of_a_collector_gets_the_usual_path(endpoint: str, url: str) -> None:
    assert traces_url(endpoint) == url


def test_without_an_address_no_span_is_kept_and_ids_are_passed_on() -> None:
    with traced("test", "") as provider, span("a"), cassandra_span(["SELECT a FROM b"]) as inner, send_span(["t"]):
        assert not inner.is_recording()
        assert traceparent() == ""
        assert not provider.get_tracer("riffle").start_span("stage").is_recording()


@pytest.mark.parametrize(("share", "kept"), [(0.0, 0), (1.0, 20)])
def test_the_share_of_traces_that_are_kept(share: float, kept: int) -> None:
    own = Settings(otlp_endpoint="http://127.0.0.1:9/", trace_share=share)
    provider = tracer_provider("test", own.otlp_endpoint, own.trace_share)
    tracer = provider.get_tracer("riffle")
    assert sum(tracer.start_span("stage").is_recording() for _ in range(20)) == kept


def test_what_a_block_asks_is_below_its_span(spans: InMemorySpanExporter) -> None:
    with span("outer"):
        assert int(traceparent()[-2:], 16) & 1, "it is sampled (W3C Trace Context, trace-flags)"
        with cassandra_span(["SELECT a FROM b WHERE c = :c"]), send_span(["pages.fetched", "links.found"]):
            pass
    *sent, read, outer = spans.get_finished_spans()
    assert {each.name for each in sent} == {"send pages.fetched", "send links.found"}
    assert [each.name for each in (outer, read)] == ["outer", "SELECT b"]
    assert read.parent is not None
    assert read.parent.span_id == outer.context.span_id
    assert {each.parent.span_id for each in sent if each.parent} == {read.context.span_id}


async def test_a_request_has_a_span_without_its_query_and_its_client(spans: InMemorySpanExporter) -> None:
    async with client(gateway(memory_stores(), deadline_seconds=60.0)) as web:
        assert (await web.get("/api/v1/search", params={"q": "zebra stripes"})).status_code == 200
    root = next(each for each in spans.get_finished_spans() if each.parent is None)
    assert root.name == "GET /api/v1/search"
    assert dict(root.attributes or {}) == {
        "http.request.method": "GET",
        "http.route": "/api/v1/search",
        "url.path": "/api/v1/search",
        "url.scheme": "http",
        "network.protocol.version": "1.1",
        "http.response.status_code": 200,
    }
    assert "zebra" not in "".join(each.to_json() for each in spans.get_finished_spans())


async def test_an_unknown_path_is_in_no_span(spans: InMemorySpanExporter) -> None:
    async with client(gateway(memory_stores(), deadline_seconds=60.0)) as web:
        assert (await web.get("/zebra")).status_code == 404
    (root,) = spans.get_finished_spans()
    assert root.name == "GET"
    assert "zebra" not in root.to_json()


async def test_a_request_that_fails_is_an_error(spans: InMemorySpanExporter) -> None:
    async def fail(*_: object) -> None:
        raise OSError

    scope = {"type": "http", "method": "BREW", "scheme": "http", "http_version": "1.1"}
    with pytest.raises(OSError):  # noqa: PT011  # it has no message
        # Nothing is received or sent.
        await HeadersAndMetrics(fail, Metrics(), "")(scope, fail, fail)  # type: ignore[arg-type]  # stand-ins
    (root,) = spans.get_finished_spans()
    assert root.name == "HTTP"
    assert (root.attributes or {})["http.request.method"] == "_OTHER"
    assert (root.attributes or {})["error.type"] == "OSError"


async def test_requests_to_other_servers_have_the_stable_names(spans: InMemorySpanExporter) -> None:
    with collector() as server:
        async with httpx2.AsyncClient() as asking:
            await asking.post(f"{server.address}/v1/chat/completions?key=zebra", timeout=30)
    (found,) = spans.get_finished_spans()
    assert found.name == "POST /v1/chat/completions"
    assert {"http.request.method", "server.address", "url.full"} <= set(found.attributes or {})
    assert (found.attributes or {})["url.full"] == f"{server.address}/v1/chat/completions"


@pytest.mark.parametrize("variable", PROTOCOL_VARIABLES)
def test_spans_leave_by_grpc_when_opentelemetrys_variable_says_so(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real gRPC server takes them, with the header and the names of the other variables."""
    monkeypatch.setenv(variable, "grpc")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=riffle")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "search-gateway")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging")
    with grpc_collector() as server:
        with traced("gateway", server.address), span("one"):
            pass
        (request,) = server.requests
    (group,) = request.resource_spans
    of_process = {each.key: each.value.string_value for each in group.resource.attributes}
    assert of_process["service.name"] == "search-gateway"
    assert of_process["deployment.environment.name"] == "staging"
    assert of_process["service.version"] == version("riffle-search")
    assert of_process["service.instance.id"]
    assert [each.name for each in group.scope_spans[0].spans] == ["one"]
    assert ("x-tenant", "riffle") in server.headers


def test_spans_leave_by_http_by_default() -> None:
    with collector() as server:
        with traced("gateway", server.address), span("one"):
            pass
        assert [(service, each.name) for service, each in server.spans] == [("riffle-gateway", "one")]


def test_another_protocol_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROTOCOL_VARIABLES[1], "http/json")
    with pytest.raises(ValueError, match="name `grpc` or `http/protobuf`"):
        tracer_provider("test", "http://127.0.0.1:9/")


def test_a_log_line_has_the_ids_of_its_span(capfd: pytest.CaptureFixture[str]) -> None:
    """Lines in JSON, of Riffle and of libraries, within a span and without one."""
    configure_logging(Settings(log_json=True))
    with traced("test", "", processor=SimpleSpanProcessor(InMemorySpanExporter())), span("outer") as outer:
        structlog.get_logger().info("within")
        logging.getLogger("aiokafka.conn").error("away")
    structlog.get_logger().info("outside")
    within, away, outside = (json.loads(line) for line in capfd.readouterr().err.splitlines())
    found = outer.get_span_context()
    for line in (within, away):
        assert (int(line["trace_id"], 16), int(line["span_id"], 16)) == (found.trace_id, found.span_id)
        assert int(line["trace_flags"], 16) == found.trace_flags
    assert away["logger"] == "aiokafka.conn"
    assert "trace_id" not in outside


async def test_a_request_to_triton_is_a_span_with_the_name_of_its_method(spans: InMemorySpanExporter) -> None:
    """Spans of a request, of a refused request, and no text of theirs. Tokens are sent, in place of words."""
    async with serving("127.0.0.1") as (_, port):
        connection = TritonConnection(TritonSettings(url=f"127.0.0.1:{port}", timeout_seconds=30))
        try:
            with span("model sbert embed") as outer:
                await connection.config("sbert")
                text = InferInput("TEXT", [1], "BYTES")
                text.set_data_from_numpy(np.array([b"zebra stripes"], np.object_))
                with pytest.raises(StoreUnavailable):
                    await connection.infer("sbert", [text], ["embedding"], 30, lambda _: "")
        finally:
            await connection.close()
    config, infer, _ = spans.get_finished_spans()
    assert config.name == "/inference.GRPCInferenceService/ModelConfig"
    assert infer.name == "/inference.GRPCInferenceService/ModelInfer"
    assert {each.parent.span_id for each in (config, infer) if each.parent} == {outer.get_span_context().span_id}
    assert config.end_time is not None
    assert (config.status.is_ok, infer.status.is_ok) == (True, False)
    assert "zebra" not in "".join(each.to_json() for each in (config, infer))


async def test_no_span_has_the_message_of_an_error() -> None:
    """Neither those of OpenTelemetry's instrumentation: what a server says about a text may quote it."""

    class Quoting(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]  # generated without types
        async def ModelConfig(self, request: object, context: grpc.aio.ServicerContext) -> None:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "can't read 'zebra stripes'")

    server = grpc.aio.server()
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(Quoting(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    with collector() as received, traced("test", received.address):
        connection = TritonConnection(TritonSettings(url=f"127.0.0.1:{port}", timeout_seconds=30))
        with pytest.raises(PoisonError, match="zebra"), span("model sbert config"):
            await connection.config("sbert")
        async with httpx2.AsyncClient() as web:
            with pytest.raises(httpx2.UnsupportedProtocol, match="'zebra://'"), span("web"):
                await web.get("zebra://127.0.0.1/")
        await connection.close()
    await server.stop(None)
    sent = [each for trace in received.traces() for _, each in trace.spans]
    assert {each.name for each in sent} == {
        "model sbert config",
        "/inference.GRPCInferenceService/ModelConfig",
        "web",
        "GET /",
    }
    assert {each.status.code for each in sent} == {StatusCode.ERROR.value}
    texts = " ".join(text for trace in received.traces() for text in trace.texts())
    assert "UnsupportedProtocol" in texts
    assert "in config" in texts, "lines of code stay"
    assert "zebra stripes" not in texts
    assert "'zebra://'" not in texts
