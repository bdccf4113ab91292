"""Questions to Kafka that are asked again, and answers that are late."""

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams.runtime import connection
from streams.runtime.connection import answer_of, retry_while_moving


class Broker:
    """Fails some times with this error, then answers."""

    def __init__(self, failures: int, code: int) -> None:
        self.failures, self.code, self.asked = failures, code, 0

    def ask(self) -> str:
        self.asked += 1
        if self.asked <= self.failures:
            raise KafkaException(KafkaError(self.code))
        return "answer"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "AGAIN_SECONDS", 0)


@pytest.mark.parametrize("code", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.COORDINATOR_LOAD_IN_PROGRESS])
def test_what_passes_by_itself_is_asked_again(code: int) -> None:
    assert retry_while_moving(Broker(3, code).ask) == "answer"


def test_other_errors_are_raised_at_once() -> None:
    broker = Broker(1, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        retry_while_moving(broker.ask)
    assert broker.asked == 1


def test_a_broker_that_never_settles_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOVING_SECONDS", -1)
    with pytest.raises(KafkaException):
        retry_while_moving(Broker(10, KafkaError.NOT_LEADER_FOR_PARTITION).ask)


def test_an_answer_that_is_late_is_an_error_of_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks knows what to do then: a worker waits before its start, and looks at lags are made again."""
    monkeypatch.setattr(connection, "TIMEOUT_SECONDS", 0.01)
    late = Future[str]()
    with pytest.raises(KafkaException, match="_TIMED_OUT"):
        answer_of(late)
    late.set_result("answer")
    assert answer_of(late) == "answer"
