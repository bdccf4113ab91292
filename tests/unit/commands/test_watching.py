"""When a watched crawl counts as stuck, and what its progress says on a busy machine."""

import pytest

from streams.commands.watching import BUSY_IDLE_SECONDS, BUSY_LOAD, IDLE_SECONDS, SLOW_SECONDS, Seen, machine_load


@pytest.mark.parametrize(
    ("idle_seconds", "load", "stuck"),
    [
        (IDLE_SECONDS - 1, 0.1, False),
        (IDLE_SECONDS + 1, 0.1, True),
        (IDLE_SECONDS + 1, 15.0, False),  # slow, and nothing else
        (BUSY_IDLE_SECONDS + 1, 15.0, True),
    ],
)
def test_a_crawl_is_stuck_only_after_a_silence_that_load_does_not_explain(
    idle_seconds: float, load: float, stuck: bool
) -> None:
    assert Seen("crawl", last_event_at=100.0).is_stuck(100.0 + idle_seconds, load) == stuck


@pytest.mark.parametrize(
    ("idle_seconds", "load", "words"),
    [
        (SLOW_SECONDS - 1, 15.0, ""),
        (SLOW_SECONDS, BUSY_LOAD, ""),
        (SLOW_SECONDS, 15.0, " (the machine is busy: 15.0 processes for each processor)"),
    ],
)
def test_the_progress_says_why_it_is_slow(idle_seconds: float, load: float, words: str) -> None:
    assert Seen("crawl").why_slow(idle_seconds, load) == words


def test_the_load_of_this_machine_is_a_number() -> None:
    assert 0.0 <= machine_load() < 10_000
