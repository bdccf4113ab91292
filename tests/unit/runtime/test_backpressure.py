"""Backpressure: which stage is too far behind, and that an unknown lag changes nothing."""

from collections.abc import Sequence

import pytest

from streams.errors import StoreUnavailable
from streams.runtime.lags.backpressure import LagWatch, stage_behind
from streams.runtime.lags.stage_lags import Lag


@pytest.mark.parametrize(
    ("lags", "behind"),
    [
        pytest.param([], "", id="no stage"),
        pytest.param([Lag("embed", "pages.chunked", 100)], "", id="at the bound"),
        pytest.param([Lag("embed", "pages.chunked", 101)], "embed", id="above the bound"),
        pytest.param([Lag("index", "pages.embedded", 60), Lag("index", "index.retry", 60)], "index", id="both topics"),
        pytest.param([Lag("index", "index.replay", 5_000)], "", id="a replay keeps nothing waiting"),
        pytest.param([Lag("fetch", "a", 200), Lag("embed", "b", 300)], "embed", id="the one furthest behind"),
    ],
)
def test_a_stage_is_behind_by_the_events_of_all_its_topics(lags: list[Lag], behind: str) -> None:
    assert stage_behind(lags, 100) == behind


async def test_if_kafka_does_not_answer_the_last_answer_stays() -> None:
    answers: list[list[Lag] | None] = [[Lag("embed", "b", 300)], None, []]

    def read() -> Sequence[Lag]:
        if (answer := answers.pop(0)) is None:
            raise StoreUnavailable("Kafka is away")
        return answer

    watch = LagWatch(read, 100)
    seen = []
    for _ in range(3):
        await watch.check()
        seen.append(watch())
    assert seen == ["embed", "embed", ""]
