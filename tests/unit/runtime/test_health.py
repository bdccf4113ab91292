"""Health is progress: tables of what a worker looks like over time, with the time given."""

import pytest

from streams.runtime.health import Progress

LOOKS = list[tuple[int, int, int, float]]
"""(committed offset, events finished, lag, at second)"""


@pytest.mark.parametrize(
    ("looks", "now", "healthy"),
    [
        pytest.param([], 1000, True, id="just started"),
        pytest.param([(5, 0, 0, 0)], 1000, True, id="nothing waits"),
        pytest.param([(5, 0, 9, 0), (6, 1, 8, 50)], 100, True, id="offsets move"),
        pytest.param([(5, 0, 9, 0), (5, 1, 9, 50)], 100, True, id="events finish behind a slow one"),
        pytest.param([(5, 0, 9, 0), (5, 0, 9, 50)], 59, True, id="a pause"),
        pytest.param([(5, 0, 9, 0), (5, 0, 9, 50)], 60, False, id="a stall"),
        pytest.param([(5, 0, 9, 0), (5, 0, 9, 80), (9, 4, 5, 90)], 100, True, id="recovered"),
    ],
)
def test_a_worker_is_healthy_while_it_gets_on(looks: LOOKS, now: float, healthy: bool) -> None:
    progress = Progress(stall_seconds=60)
    for committed, finished, lag, at in looks:
        progress.look({"partition": committed}, finished, lag, at)
    assert progress.healthy(now) == healthy, f"stalled for {progress.stalled_seconds(now)} s"


@pytest.mark.parametrize(
    ("looks", "now", "healthy"),
    [
        pytest.param([(0, False)], 59, True, id="joining"),
        pytest.param([(0, False), (50, False)], 60, False, id="never joined"),
        pytest.param([(0, True), (49, True), (50, False)], 70, True, id="a rebalance"),
        pytest.param([(0, True), (50, False), (100, False)], 110, False, id="a rebalance without an end"),
        pytest.param(
            [(0, True), (50, False), (100, False), (105, True)], 110, True, id="joined again, and nothing waits"
        ),
    ],
)
def test_a_worker_without_partitions_is_healthy_for_a_while(
    looks: list[tuple[float, bool]], now: float, healthy: bool
) -> None:
    progress = Progress(stall_seconds=60)
    for at, assigned in looks:
        progress.look({"partition": 5} if assigned else {}, 0, 0, at, assigned=assigned)
    assert progress.healthy(now) == healthy, f"stalled for {progress.stalled_seconds(now)} s"


def test_finished_but_not_committed_shows_in_its_own_age() -> None:
    progress = Progress(stall_seconds=60)
    progress.look({"p": 5}, 0, 9, 0.0)
    progress.look({"p": 5}, 7, 9, 50.0)
    assert progress.stalled_seconds(70.0) == 20.0
    assert progress.uncommitted_seconds(70.0) == 70.0
