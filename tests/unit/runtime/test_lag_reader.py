"""The clients by which lags are read: each look uses the same ones."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from streams.errors import StoreUnavailable
from streams.runtime.lags import offsets, stage_lags
from streams.runtime.lags.stage_lags import LagReader
from streams.settings import Settings
from streams.topology import STAGES

WAITING = 7


class Cluster:
    """A cluster that counts its clients."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.is_away = False

    def consumer(self, config: dict[str, Any]) -> Any:
        group = config["group.id"]
        self.opened.append(group)
        return SimpleNamespace(committed=self.committed, close=lambda: self.closed.append(group))

    def admin(self, _: object) -> Any:
        self.opened.append("admin")
        return SimpleNamespace()

    def committed(self, asked: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return [TopicPartition(place.topic, place.partition, 3) for place in asked]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    list_offsets: Callable[..., Any] = lambda _admin, places, spec: {  # noqa: E731 # as short as the others
        place: 0 if spec._value == OffsetSpec.earliest()._value else 3 + WAITING for place in places
    }
    monkeypatch.setattr(offsets, "Consumer", made.consumer)
    monkeypatch.setattr(stage_lags, "AdminClient", made.admin)
    monkeypatch.setattr(stage_lags, "find_places", lambda _admin, topics: [(topic, 0) for topic in sorted(topics)])
    monkeypatch.setattr(stage_lags, "list_offsets", list_offsets)
    return made


def test_all_looks_use_one_client_for_each_group(cluster: Cluster) -> None:
    reader = LagReader(Settings(), STAGES)
    first = reader.read()
    assert {lag.events for lag in first} == {WAITING}
    assert [reader.read() for _ in range(5)] == [first] * 5
    assert sorted(cluster.opened) == sorted(["admin", *{stage.group for stage in STAGES}])
    assert not cluster.closed


def test_after_a_failure_all_clients_are_closed_and_opened_again(cluster: Cluster) -> None:
    reader = LagReader(Settings(), STAGES[:2])
    first = reader.read()
    cluster.is_away = True
    with pytest.raises(StoreUnavailable):
        reader.read()
    assert sorted(cluster.closed) == sorted(stage.group for stage in STAGES[:2])
    cluster.is_away = False
    assert reader.read() == first


def test_one_look_closes_its_clients(cluster: Cluster) -> None:
    stage_lags.stage_lags(Settings(), STAGES[:2])
    assert sorted(cluster.closed) == sorted(stage.group for stage in STAGES[:2])


# Partition -> its first offset, and the offset after its last record; and the committed one, if there is one.
PARTITIONS = {0: (0, 0), 1: (0, 9), 2: (2, 9), 3: (6, 9), 4: (5, 9), 5: (9, 9)}
COMMITTED = {1: 9, 2: 4, 3: 4, 5: 4}


def test_a_look_asks_only_about_partitions_that_may_have_waiting_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at all stages asks about a thousand partitions, of which most never had a record."""
    asked: dict[str, list[int]] = {}

    def list_offsets(_admin: object, places: list[tuple[str, int]], spec: Any) -> dict[tuple[str, int], int]:
        which = 0 if spec._value == OffsetSpec.earliest()._value else 1
        asked["starts" if which == 0 else "ends"] = [number for _, number in places]
        return {place: PARTITIONS[place[1]][which] for place in places}

    def committed(_self: object, _group: str, places: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
        asked["committed"] = [number for _, number in places]
        return {place: COMMITTED[place[1]] for place in places if place[1] in COMMITTED}

    stage = next(stage for stage in STAGES if stage.name == "statements")
    topic = stage.inputs[0].topic
    monkeypatch.setattr(stage_lags, "AdminClient", lambda _: SimpleNamespace())
    monkeypatch.setattr(stage_lags, "find_places", lambda _admin, _topics: [(topic, number) for number in PARTITIONS])
    monkeypatch.setattr(stage_lags, "list_offsets", list_offsets)
    monkeypatch.setattr(offsets.CommittedOffsets, "read", committed)
    of_topic = {lag.topic: lag for lag in LagReader(Settings(), [stage]).read()}
    assert asked == {"ends": [0, 1, 2, 3, 4, 5], "committed": [1, 2, 3, 4, 5], "starts": [2, 3, 4, 5]}
    found = of_topic[topic]
    assert (found.events, found.lost, found.handled) == (5 + 3 + 4 + 0, 0 + 2 + 0 + 5, 9 + 4 + 4 + 4)
    assert {lag.events for name, lag in of_topic.items() if name != topic} == {0}
