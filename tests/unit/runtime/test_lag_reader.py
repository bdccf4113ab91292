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
