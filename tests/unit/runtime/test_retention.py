"""The check for events that Kafka deleted before they were handled."""

from collections.abc import Iterable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams.errors import UsageError
from streams.runtime.lags import retention
from streams.runtime.lags.retention import check_retention
from streams.settings import Settings
from tests.unit.runtime.stage_harness import STAGE

Place = tuple[str, int]


class Broker:
    """The answers of a broker, and how often it was asked for committed offsets."""

    def __init__(self, committed: dict[Place, int], starts: dict[Place, int]) -> None:
        self.committed, self.starts = committed, starts
        self.asked = 0
        self.moved: list[tuple[str, int, int]] = []
        self.refusals = 0
        """Number of times that it refuses to move offsets: the group has a member."""

    def committed_offsets(self, *_: Any) -> dict[Place, int]:
        self.asked += 1
        return self.committed

    def first_offsets(self, _admin: object, places: Iterable[Place], _spec: object) -> dict[Place, int]:
        return {place: self.starts[place] for place in places}

    def alter_consumer_group_offsets(self, requests: list[Any]) -> dict[str, Any]:
        self.moved += [(p.topic, p.partition, p.offset) for p in requests[0].topic_partitions]

        return {requests[0].group_id: self}

    def result(self, timeout: float) -> None:
        if self.refusals:
            self.refusals -= 1
            self.moved.clear()
            raise KafkaException(KafkaError(KafkaError.NON_EMPTY_GROUP))


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    topic = STAGE.inputs[0].topic
    made = Broker({(topic, 0): 5, (topic, 1): 9, (STAGE.retry_topic, 0): 3}, {(topic, 0): 8, (topic, 1): 9})
    made.starts[STAGE.retry_topic, 0] = 4
    monkeypatch.setattr(retention, "AdminClient", lambda _: made)
    monkeypatch.setattr(retention, "find_places", lambda *_: [])
    monkeypatch.setattr(retention, "_commit_starts", lambda *_: None)
    monkeypatch.setattr(retention, "committed_offsets", made.committed_offsets)
    monkeypatch.setattr(retention, "list_offsets", made.first_offsets)
    return made


def test_a_loss_is_named_by_topic_and_stage(broker: Broker) -> None:
    with pytest.raises(UsageError, match=r"\(1 of answer.retry for stage answer, 3 of tests.asked for stage answer\)"):
        check_retention(Settings(), [STAGE])


def test_an_accepted_loss_moves_the_offsets_of_these_partitions_alone(broker: Broker) -> None:
    check_retention(Settings(), [STAGE], accept_loss=True)
    assert sorted(broker.moved) == [("answer.retry", 0, 4), ("tests.asked", 0, 8)]


def test_an_accepted_loss_waits_until_a_killed_worker_is_no_member_any_more(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a partition without new events would be refused again at the next start."""
    monkeypatch.setattr(retention, "AGAIN_SECONDS", 0)
    broker.refusals = 3
    check_retention(Settings(), [STAGE], accept_loss=True)
    assert sorted(broker.moved) == [("answer.retry", 0, 4), ("tests.asked", 0, 8)]


def test_an_accepted_loss_does_not_wait_for_workers_that_run(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "AGAIN_SECONDS", 0)
    monkeypatch.setattr(retention, "SESSION_ENDS", 0)
    broker.refusals = 1_000_000
    check_retention(Settings(), [STAGE], accept_loss=True)
    assert broker.refusals == 1_000_000 - 1


@pytest.mark.parametrize("accept_loss", [True, False])
def test_committed_offsets_are_asked_for_once(broker: Broker, accept_loss: bool) -> None:
    broker.starts = dict.fromkeys(broker.committed, 0)
    check_retention(Settings(), [STAGE], accept_loss=accept_loss)
    assert (broker.asked, broker.moved) == (1, [])
