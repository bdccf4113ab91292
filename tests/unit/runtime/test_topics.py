"""The configuration of new topics, and the check of those that exist."""

import pytest

from streams.errors import StoreUnavailable, UsageError
from streams.runtime import topics
from streams.runtime.topics import RECORD_TIMES, check_partitions, partitions_problem, topic_config
from streams.settings import Settings
from streams.topology import TOPICS, Topic
from tests.unit.runtime.stage_harness import STAGE


@pytest.mark.parametrize(
    ("topic", "replication", "config"),
    [
        pytest.param(Topic("a", "key", 2), 1, {"cleanup.policy": "delete", "retention.ms": "7200000"}, id="local"),
        pytest.param(Topic("a", "key", compacted=True), 1, {"cleanup.policy": "compact"}, id="compacted"),
        pytest.param(
            Topic("a", "key", compacted=True), 2, {"cleanup.policy": "compact"}, id="two replicas: one may be away"
        ),
        pytest.param(
            Topic("a", "key", compacted=True),
            3,
            {"cleanup.policy": "compact", "min.insync.replicas": "2"},
            id="three replicas",
        ),
    ],
)
def test_the_configuration_of_a_topic(topic: Topic, replication: int, config: dict[str, str]) -> None:
    assert topic_config(topic, replication) == {**config, **RECORD_TIMES}
    assert RECORD_TIMES == {"message.timestamp.type": "LogAppendTime"}


def test_no_query_is_in_kafka_for_more_than_a_day() -> None:
    """A record leaves with its file: after the retention, counted from the file's last record."""
    personal = [topic for topic in TOPICS if topic.name in ("queries.made", "results.clicked")]
    assert len(personal) == 2
    for topic in personal:
        config = topic_config(topic)
        check_interval_ms = delete_delay_ms = 5 * 60_000
        assert (
            int(config["retention.ms"]) + int(config["segment.ms"]) + check_interval_ms + delete_delay_ms <= 86_400_000
        )


def test_topics_of_a_stage_with_different_partitions_are_refused() -> None:
    own = dict.fromkeys(STAGE.own_topics, 8)
    assert partitions_problem(STAGE, {"tests.asked": 8, **own, "other": 4}) == ""
    problem = partitions_problem(STAGE, {"tests.asked": 16, **own})
    assert "tests.asked 16, answer.retry 8, answer.retry-long 8, answer.replay 8" in problem


ASKED, OWN = "tests.asked", STAGE.own_topics


@pytest.mark.parametrize(
    ("shown", "outcome"),
    [
        pytest.param({ASKED: 4, **dict.fromkeys(OWN, 4)}, 4, id="all of them"),
        pytest.param({}, StoreUnavailable, id="none yet: a number that is made up would be another one a moment later"),
        pytest.param({ASKED: 4}, StoreUnavailable, id="some of them yet"),
        pytest.param({ASKED: 8, **dict.fromkeys(OWN, 4)}, UsageError, id="different numbers: a person must act"),
    ],
)
def test_a_worker_waits_until_a_busy_broker_shows_its_topics(
    monkeypatch: pytest.MonkeyPatch, shown: dict[str, int], outcome: int | type[Exception]
) -> None:
    monkeypatch.setattr(topics, "_metadata", lambda *_: shown)
    if isinstance(outcome, int):
        assert check_partitions(Settings(), [STAGE]) == {STAGE.name: outcome}
    else:
        with pytest.raises(outcome, match=r"tests\.asked|answer\.retry"):
            check_partitions(Settings(), [STAGE])
