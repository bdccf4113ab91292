"""The metrics of a worker, for Prometheus. All stages use the same names, with the label `stage`."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

LATENCY_BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one worker process, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
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
