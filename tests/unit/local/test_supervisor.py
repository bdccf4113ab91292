"""The supervisor's judgement of a worker's health, without processes."""

from types import SimpleNamespace
from typing import Any

import pytest

from streams.local.supervisor import UNHEALTHY_CHECKS, Watched

SERVER: Any = SimpleNamespace(ready_timeout_seconds=180.0)
CHILD: Any = SimpleNamespace()


def watched(*, answered: bool) -> Watched:
    return Watched(SERVER, CHILD, started_at=1_000.0, answered=answered)


@pytest.mark.parametrize(
    ("answered", "checks", "restart_at"),
    [
        pytest.param(False, [False] * 17, [], id="a start on a busy machine takes minutes"),
        pytest.param(False, [False] * 25, [19], id="it never answers"),
        pytest.param(False, [False] * 5 + [True] + [False] * 3, [8], id="it answered, and stalls then"),
        pytest.param(True, [False] * 3, [2], id="it stalls"),
        pytest.param(True, [False, False, True, False, False], [], id="it answers now and then"),
    ],
)
def test_a_worker_is_restarted_if_it_stalls_and_not_while_it_starts(
    answered: bool, checks: list[bool], restart_at: list[int]
) -> None:
    worker = watched(answered=answered)
    restarts = []
    for number, healthy in enumerate(checks):
        if worker.checked(healthy, now=1_000.0 + 10 * (number + 1)):
            restarts.append(number)
            worker.unhealthy = 0
    assert restarts[:1] == restart_at


def test_a_restart_needs_several_failed_checks() -> None:
    worker = watched(answered=True)
    assert [worker.checked(False, 1_010.0) for _ in range(UNHEALTHY_CHECKS)] == [False] * (UNHEALTHY_CHECKS - 1) + [
        True
    ]
