"""The page of figures, and the tables of figures in other pages, from `benchmarks/results`.

A page of docs/reference shows the main figures of a subject between two comments:

    <!-- figures: crawler -->
    <!-- end of figures -->

Several subjects are separated by commas. A figure is shown there if its `headline` is true.
"""

import re
from collections.abc import Iterable, Mapping

from benchmarks.figures import MAX_AGE_DAYS, MAX_CHANGES, SUBJECTS, Figure, Results, of_subject

INTRODUCTION = f"""# Figures

This page is generated from `benchmarks/results` by `make schemas`. [How they are measured](../../benchmarks/README.md).

Below each command are the figures that it measures: the value of the newest run, its target, day and commit. A target
that is not met is marked **missed**. A figure is **stale** if more than {MAX_CHANGES} commits have changed the code
that the command measures, or if it is older than {MAX_AGE_DAYS} days. The machine and its load are in the files."""

_MARKED = re.compile(r"<!-- figures: ([a-z, ]+) -->\n.*?<!-- end of figures -->", re.S)


def figures_page(found: Mapping[str, Results]) -> str:
    """docs/reference/figures.md: a row for each figure, by subject and command."""
    parts = [INTRODUCTION]
    for subject in SUBJECTS:
        by_command: dict[str, list[tuple[str, ...]]] = {}
        for results, figure in of_subject(found, subject):
            by_command.setdefault(results.command, []).append((*_row(figure), f"`{figure.commit}`"))
        if by_command:
            lines = [line for command, rows in by_command.items() for line in ((f"`{command}`",), *rows)]
            parts += [f"## {subject.capitalize()}", _table(("figure", "value", "target", "date", "commit"), lines)]
    return "\n\n".join(parts) + "\n"


def with_figures(page: str, found: Mapping[str, Results]) -> str:
    """Return a page with the main figures of each subject that it asks for. Raises ValueError if there are none."""
    return _MARKED.sub(lambda match: _headlines(match[1], found), page)


def _headlines(subjects: str, found: Mapping[str, Results]) -> str:
    rows = [
        _row(figure)
        for subject in subjects.split(",")
        for _, figure in of_subject(found, subject.strip())
        if figure.headline
    ]
    if not rows:
        raise ValueError(f"no main figures of {subjects!r}; subjects are {', '.join(SUBJECTS)}")
    table = _table(("figure", "value", "target", "date"), rows)
    return f"<!-- figures: {subjects} -->\n{table}\n<!-- end of figures -->"


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(columns)
    rule = "|".join("---:" if name in {"value", "target"} else "---" for name in names)
    return "\n".join([f"| {' | '.join(names)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)])


def _row(figure: Figure) -> tuple[str, str, str, str]:
    value = _number(figure.value)
    shown = f"**{value}**" if figure.headline else value
    day = f"{figure.date}, **stale**" if figure.stale else f"{figure.date}"
    return figure.name, f"{shown} {figure.unit}".strip(), _target(figure), day


def _target(figure: Figure) -> str:
    bounds = [("at least", figure.at_least), ("at most", figure.at_most)]
    words = " and ".join(f"{word} {_number(bound)}" for word, bound in bounds if bound is not None)
    return f"{words}: **missed**" if figure.is_met is False else words


def _number(value: float | str) -> str:
    """A number with its thousands separated, and without an exponent. A text stays as it is."""
    if isinstance(value, str):
        return value
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,}" if abs(value) >= 1 else f"{value:.9f}".rstrip("0")
