"""The verdict of the memory benchmark: whether the last third of a run is flat."""

import random

import pytest

from benchmarks.crawl.memory import flatness

PAGES = 200
"""Pages between two looks."""


@pytest.mark.parametrize(
    ("kb_a_page", "noise_kb", "looks", "verdict"),
    [
        (0.0, 500, 180, "flat"),
        (0.5, 500, 180, "grows"),
        (2.0, 3_000, 180, "grows"),
        (0.0, 60_000, 180, "unknown: too unsure"),
        (0.0, 0, 9, "unknown: the run is too short"),
    ],
)
def test_growth_is_judged_by_its_error(kb_a_page: float, noise_kb: float, looks: int, verdict: str) -> None:
    rng = random.Random(5)
    begin = [(0.0, 100_000.0), (PAGES, 140_000.0)]  # what every run has at first
    samples = [(n * PAGES, 150_000 + kb_a_page * n * PAGES + rng.gauss(0, noise_kb)) for n in range(2, looks)]
    assert verdict in flatness([*begin, *samples])
