"""Hints of sitemaps that pages changed: a host's hints count as far as they were right."""

import math
import random

import pytest

from streams.crawl.frontier.scheduling.change_hints import DAILY_HINTS, DAY_SECONDS, TRIAL_SHARE, ChangeHints
from streams.stores.rows import read_row, row_of


def visits(right_share: float, pages: int, days: int) -> list[int]:
    """Return how many of the hints of each day count, if a host gives one for each page each day."""
    hints, chance, counts = ChangeHints(), random.Random(1), []
    for day in range(1, days + 1):
        taken = sum(hints.take(page, day * DAY_SECONDS) for page in range(pages))
        for _ in range(taken):
            hints.judge(was_right=chance.random() < right_share)
        counts.append(taken)
    return counts


def test_a_site_that_says_now_for_all_pages_loses_its_credit() -> None:
    first, *later = visits(0.02, pages=50_000, days=60)
    assert first == DAILY_HINTS
    assert max(later) <= DAILY_HINTS, "whatever number of pages it names"


def test_hints_that_are_right_count_soon() -> None:
    assert visits(0.9, pages=2_000, days=5)[0] == DAILY_HINTS
    assert sum(visits(0.9, pages=2_000, days=5)[-2:]) > 3_900


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_less_than_half_right_is_not_believed(share: float) -> None:
    assert sum(visits(share, pages=500, days=40)) <= 40 * 500 / TRIAL_SHARE + 3 * DAILY_HINTS


def test_a_host_that_mends_its_ways_gets_its_credit_back() -> None:
    hints = ChangeHints()
    for _ in range(300):
        hints.judge(was_right=False)
    for day in range(1, 60):
        for page in range(0, 2_000):
            if hints.take(page, day * DAY_SECONDS):
                hints.judge(was_right=True)
    assert hints.are_proven


STATED = [
    (24, 24, True, "they are true"),
    (24, 10, False, "the pages change more often"),
    (24, 60, False, "the pages change less often"),
    (24, 0, False, "they never change"),
    (24 * 365, 24 * 365, False, "too few changes were to be expected"),
]


@pytest.mark.parametrize(("stated", "true", "counts"), [case[:3] for case in STATED], ids=[case[3] for case in STATED])
def test_stated_intervals_count_where_pages_change_as_often(stated: int, true: int, counts: bool) -> None:
    hints, chance = ChangeHints(), random.Random(1)
    for _ in range(400):
        changed = bool(true) and chance.random() < 1 - math.exp(-1 / true)
        hints.judge_interval(stated * 3_600, 3_600, changed=changed)
    assert hints.state_intervals == counts
    assert read_row(ChangeHints, row_of(hints)) == hints


def test_a_record_survives_its_row() -> None:
    hints = ChangeHints()
    assert (row_of(hints), read_row(ChangeHints, {})) == ({}, hints)
    hints.take(1, 5 * DAY_SECONDS)
    hints.judge(was_right=True)
    assert read_row(ChangeHints, row_of(hints)) == hints
