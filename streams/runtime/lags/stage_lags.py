"""The lag of each stage by the broker's offsets: for people, for health, for backpressure and for autoscaling."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.runtime.connection import client_config, unreachable_error
from streams.runtime.lags.offsets import CommittedOffsets, PartitionOffsets, find_places, list_offsets
from streams.settings import Settings
from streams.topology import STAGES, Stage, in_regions


@dataclass(frozen=True, slots=True)
class Lag:
    """The events of one topic that a stage has not acknowledged yet."""

    stage: str
    topic: str
    events: int
    lost: int = 0
    """Number of events that retention deleted before the stage handled them."""
    handled: int = 0
    """Number of events that the stage has handled since the topic exists: the sum of its committed offsets."""


def waiting_by_stage(lags: Iterable[Lag]) -> Counter[str]:
    """Return the number of events that wait for each stage of these lags."""
    waiting: Counter[str] = Counter()
    for lag in lags:
        waiting[lag.stage] += lag.events
    return waiting


def input_topics(stage: Stage) -> list[str]:
    """Return the topics that a stage reads: its inputs, then its topics of retries and replays."""
    return [*(event.topic for event in stage.inputs), *stage.own_topics]


class LagReader:
    """Reads the lag of every input of some stages, again and again, with the same clients."""

    def __init__(self, settings: Settings, stages: Sequence[Stage]) -> None:
        self._settings = settings
        self._stages = in_regions(tuple(stages), settings.crawl.regions)
        self._admin: AdminClient | None = None
        self._committed = CommittedOffsets(settings.kafka)

    def read(self) -> list[Lag]:
        """Return the lag of every input of the stages, in each region. Raises StoreUnavailable."""
        if not self._stages:
            return []
        try:
            self._admin = self._admin or AdminClient(client_config(self._settings.kafka))
            return self._read(self._admin)
        except KafkaException as error:
            self.close()
            raise unreachable_error(self._settings.kafka, error) from error

    def _read(self, admin: AdminClient) -> list[Lag]:
        topics = {topic for stage in self._stages for topic in input_topics(stage)}
        # Most partitions never had a record, and most others have none that waits: those are asked about no further.
        ends = {
            place: end
            for place, end in list_offsets(admin, find_places(admin, topics), OffsetSpec.latest()).items()
            if end > 0
        }
        inputs = {stage.label: [place for place in ends if place[0] in input_topics(stage)] for stage in self._stages}
        committed = {stage.label: self._committed.read(stage.group, inputs[stage.label]) for stage in self._stages}
        behind = {p for label, places in inputs.items() for p in places if committed[label].get(p, 0) < ends[p]}
        starts = list_offsets(admin, sorted(behind), OffsetSpec.earliest())
        lags = []
        for stage in self._stages:
            done = committed[stage.label]
            for topic in input_topics(stage):
                places = [place for place in inputs[stage.label] if place[0] == topic]
                parts = [PartitionOffsets(done.get(p), starts.get(p, 0), ends[p]) for p in places]
                waiting, lost = sum(part.waiting for part in parts), sum(part.lost for part in parts)
                handled = sum(part.committed or 0 for part in parts)
                lags.append(Lag(stage.label, topic, waiting, lost, handled))
        return lags

    def close(self) -> None:
        """Close all clients. The next look opens them again."""
        self._committed.close()
        self._admin = None


def stage_lags(settings: Settings, stages: tuple[Stage, ...] = STAGES) -> list[Lag]:
    """Return the lag of every input of the stages, in each region. Raises StoreUnavailable."""
    with closing(LagReader(settings, stages)) as reader:
        return reader.read()
