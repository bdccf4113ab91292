"""Questions to Kafka that are asked again."""

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams.errors import StoreUnavailable
from streams.runtime.connection import patiently

MOVES = KafkaError.NOT_LEADER_FOR_PARTITION


def failing(times: int, raised: Callable[[], None]) -> Callable[[], str]:
    left = [times]

    def ask() -> str:
        if left[0]:
            left[0] -= 1
            raised()
        return "answer"

    return ask


def moving() -> None:
    raise KafkaException(KafkaError(MOVES))


def unavailable() -> None:
    try:
        moving()
    except KafkaException as error:
        raise StoreUnavailable("Kafka doesn't answer") from error


@pytest.mark.parametrize("raised", [moving, unavailable])
def test_an_error_that_passes_is_asked_again(raised: Callable[[], None]) -> None:
    assert patiently(failing(3, raised), {MOVES}, pause_seconds=0) == "answer"


@pytest.mark.parametrize(
    ("codes", "seconds"),
    [
        pytest.param({KafkaError.COORDINATOR_NOT_AVAILABLE}, 20.0, id="an error that stays"),
        pytest.param({MOVES}, -1.0, id="for too long"),
    ],
)
def test_other_errors_are_raised_at_once(codes: set[int], seconds: float) -> None:
    with pytest.raises(KafkaException):
        patiently(failing(1, moving), codes, seconds=seconds, pause_seconds=0)
