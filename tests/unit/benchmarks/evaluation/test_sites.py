"""A drawing of the pages of sites depends on their names only."""

from benchmarks.evaluation.sites import draw


def test_what_is_drawn_depends_on_names_only() -> None:
    names = [str(number) for number in range(50)]
    assert draw(names, 5, str) == draw(reversed(names), 5, str) != names[:5]
