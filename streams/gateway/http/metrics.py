"""The gateway's metrics. Each app has its own registry, so that two apps in one process don't share counters."""

from prometheus_client import Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from streams.resources import new_registry
from streams.servers import Store

LATENCY_BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
RECALL_BUCKETS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Metrics:
    """The metrics of one app. Labels are route templates and roles of stores, never a person's input."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
        self.registry = new_registry()
        self.requests = self._counter("riffle_gateway_requests", "Requests answered", "route", "method", "status")
        self.latency = Histogram(
            "riffle_gateway_latency_seconds",
            "From a request's first byte to the end of its response",
            ("route",),
            buckets=LATENCY_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.partial_answers = self._counter(
            "riffle_gateway_partial_answers", "Searches that were answered without one part", "part"
        )
        self.filtered = self._counter(
            "riffle_gateway_filtered_results", "Results that a filter left out or moved", "filter"
        )
        self.store_errors = self._counter("riffle_gateway_store_errors", "Calls that a store failed", "store", "error")
        self.recall = Histogram(
            "riffle_search_recall",
            "Share of the ten nearest vectors that a search found, of searches that were compared with an exact one",
            buckets=RECALL_BUCKETS,
            registry=self.registry,
        )
        self.recall_failures = self._counter(
            "riffle_search_recall_failures", "Comparisons with an exact search that failed"
        )
        self.limited = self._counter("riffle_gateway_limited", "Requests refused because a budget was spent", "client")
        self.unshared_budgets = self._counter(
            "riffle_gateway_unshared_budgets", "Exchanges of budgets with the other gateways that failed"
        )
        self.unpublished = self._counter(
            "riffle_gateway_events_unpublished", "Query events that were not sent to Kafka"
        )

    def count_failure(self, store: Store, error: BaseException) -> None:
        self.store_errors.labels(store, type(error).__name__).inc()

    def exposition(self) -> bytes:
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)
