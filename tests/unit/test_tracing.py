"""Traces: nothing is kept without an address, spans are named by routes and tables, and hold nothing of a person."""

from collections.abc import Iterator

import numpy as np
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tritonclient.grpc import InferInput

from streams.errors import StoreUnavailable
from streams.models.triton_connection import TritonConnection
from streams.settings import Settings, TritonSettings
from streams.stores.opener import memory_stores
from streams.tracing import (
    cassandra_span,
    send_span,
    span,
    statement_title,
    traced,
    traceparent,
    tracer_provider,
    traces_url,
)
from tests.integration.collector import find_leaks
from tests.stages.gateway_fakes import client, gateway
from tests.unit.models.test_triton_servers import serving

TITLES = [
    ("SELECT part, value FROM pages WHERE page_id = :page_id", "SELECT pages"),
    ("INSERT INTO pages (page_id) VALUES (:page_id) USING TIMESTAMP :at", "INSERT pages"),
    ("UPDATE fingerprints USING TTL :t SET a = :a", "UPDATE fingerprints"),
    ("DELETE FROM reindexing WHERE collection = :c", "DELETE reindexing"),
    ("BEGIN UNLOGGED BATCH INSERT INTO fingerprints (a) VALUES (:a) APPLY BATCH", "BATCH fingerprints"),
    ("", "statement"),
]


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    with traced("test", "", processor=SimpleSpanProcessor(exporter)):
        yield exporter


@pytest.mark.parametrize(("cql", "title"), TITLES)
def test_a_statement_is_named_by_its_verb_and_table(cql: str, title: str) -> None:
    assert statement_title(cql) == title


QUERY = "How do I undo a commit?"
PAGE = "A zebra repository has black and white stripes, and commits them in pairs."
SPAN_TEXTS = [
    ("Cassandra SELECT pages", False),
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
    with traced("test", "") as provider, span("a"), cassandra_span("SELECT a FROM b"), send_span(["t"]) as inner:
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
        with cassandra_span("SELECT a FROM b WHERE c = :c"), send_span(["pages.fetched", "pages.fetched"]):
            pass
    sent, read, outer = spans.get_finished_spans()
    assert [each.name for each in (outer, read, sent)] == ["outer", "Cassandra SELECT b", "Kafka send pages.fetched"]
    assert read.parent is not None
    assert sent.parent is not None
    assert (read.parent.span_id, sent.parent.span_id) == (outer.context.span_id, read.context.span_id)


async def test_a_request_has_a_span_without_its_query_and_its_client(spans: InMemorySpanExporter) -> None:
    async with client(gateway(memory_stores(), deadline_seconds=60.0)) as web:
        assert (await web.get("/api/v1/search", params={"q": "zebra stripes"})).status_code == 200
    root = next(each for each in spans.get_finished_spans() if each.parent is None)
    assert root.name == "GET /api/v1/search"
    assert dict(root.attributes or {}) == {"http.response.status_code": 200}
    assert "zebra" not in "".join(each.to_json() for each in spans.get_finished_spans())


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
