"""Figures that benchmarks measured, as data: `benchmarks/results/NAME.json`, a file for each command that measures.

A file names its command, the code that the command measures, and its figures. Each figure has the commit, the day, the
machine and the load that it was measured with. `python -m benchmarks record NAME` measures the figures of a file again
(`recording.py`), and `python -m docs.generate` writes them into docs/reference/figures.md (`docs/generate/figures.py`).
Reading and writing the files is all that this module does outside memory.
"""

import datetime
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import floor, log10
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

RESULTS = Path(__file__).parent / "results"
MAX_CHANGES = 20
"""Maximum commits that changed the measured code since a figure's commit. A figure with more is stale."""
MAX_AGE_DAYS = 180
"""Maximum age of a figure (days). An older one is stale."""
DIGITS = 4
"""Significant digits of a recorded number."""

Subject = Literal[
    "crawler",
    "retrieval",
    "spelling",
    "answers",
    "knowledge",
    "extraction",
    "documents",
    "duplicates",
    "statements",
    "models",
    "suggestions",
    "links",
    "pipeline",
    "operations",
]
"""The subject of a figure. The page of figures has a section for each, in this order."""
SUBJECTS: tuple[Subject, ...] = get_args(Subject)


class Figure(BaseModel):
    """A measured value with its target and the conditions that it was measured in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    """Name for programs, unique among all files."""
    name: str = Field(min_length=3, max_length=90)
    """Name in words, with the conditions that a reader must know."""
    subject: Subject
    headline: bool = False
    """It is shown in pages that ask for the figures of its subject, too."""
    value: int | float | str
    unit: str = ""
    at_least: float | None = None
    """Target: minimum value."""
    at_most: float | None = None
    """Target: maximum value."""
    path: tuple[str | int, ...] = ()
    """Keys of the value in the JSON that the command prints. Empty: a person enters the value."""
    scale: float = 1
    """Factor from the printed number to the value, such as 1e-9 from bytes to GB."""
    commit: str = Field(pattern=r"^[0-9a-f]{8}$")
    date: datetime.date
    machine: str = Field(min_length=3)
    """Number of cores, processor, GPU."""
    load: float | None = None
    """Mean load of the machine in the minute before the run, None if nobody noted it."""
    stale: bool = False
    """`python -m benchmarks figures --mark` found it stale."""

    @model_validator(mode="after")
    def _bound_is_of_a_number(self) -> "Figure":
        if isinstance(self.value, str) and not (self.at_least is None and self.at_most is None):
            raise ValueError(f"{self.id}: a target needs a number")
        return self

    @property
    def is_met(self) -> bool | None:
        """True if the value meets the target, None without a target."""
        if isinstance(self.value, str) or (self.at_least is None and self.at_most is None):
            return None
        low, high = self.at_least, self.at_most
        return (low is None or self.value >= low) and (high is None or self.value <= high)


class Results(BaseModel):
    """A file of figures: the command that measures them, and the code that they depend on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: str = Field(pattern=r"^(python -m benchmarks\S*|riffle|make)( [a-z0-9-]+)*$")
    """The command without its arguments."""
    arguments: str = ""
    """Arguments for people. A word in capitals is a file or a folder of the caller."""
    paths: tuple[str, ...] = Field(min_length=1)
    """Files and folders of the repository that the command measures."""
    figures: tuple[Figure, ...] = Field(min_length=1)

    @property
    def command(self) -> str:
        return f"{self.program} {self.arguments}".strip()


class Run(BaseModel):
    """The conditions of a run of a benchmark."""

    commit: str
    date: datetime.date
    machine: str
    load: float | None


def load_results(folder: Path = RESULTS) -> dict[str, Results]:
    """Return each file of figures by its name. Raises ValueError if one is invalid, or if an id stands twice."""
    found = {path.stem: Results.model_validate_json(path.read_bytes()) for path in sorted(folder.glob("*.json"))}
    counts = Counter(figure.id for results in found.values() for figure in results.figures)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"figures with one id: {', '.join(twice)}")
    return found


def as_text(results: Results) -> str:
    """Return the content of a file of figures."""
    return results.model_dump_json(indent=2, exclude_defaults=True) + "\n"


def write_results(name: str, results: Results, folder: Path = RESULTS) -> None:
    (folder / f"{name}.json").write_text(as_text(results), encoding="utf-8")


def record(results: Results, printed: Mapping[str, Any], run: Run) -> Results:
    """Return the results with the values that the command printed. Figures without a path stay as they are.

    Raises ValueError if the command did not print one of the values.
    """
    figures = [
        figure.model_copy(update={"value": _value(figure, printed), **run.model_dump(), "stale": False})
        if figure.path
        else figure
        for figure in results.figures
    ]
    return results.model_copy(update={"figures": tuple(figures)})


def _value(figure: Figure, printed: Any) -> int | float | str:
    found = printed
    for key in figure.path:
        try:
            found = found[key]
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"{figure.id}: the command printed no {key!r} of {list(figure.path)}") from None
    if not isinstance(found, int | float | str):
        raise ValueError(f"{figure.id}: {list(figure.path)} is neither a number nor a text")
    return found if isinstance(found, str) else significant(found * figure.scale)


def significant(number: float, digits: int = DIGITS) -> int | float:
    """Round a number to its first digits; a whole number of more digits keeps them as zeros."""
    places = digits - 1 - floor(log10(abs(number))) if number else 0
    rounded = round(number, places)
    return int(rounded) if rounded == int(rounded) else rounded


def stale_reason(figure: Figure, changes: int, today: datetime.date) -> str:
    """Return why a figure is stale, or an empty text.

    `changes`: how many commits since the figure's commit changed the code that it measures.
    """
    if changes > MAX_CHANGES:
        return f"{changes} commits changed the code that it measures"
    if today - figure.date > datetime.timedelta(days=MAX_AGE_DAYS):
        return f"it is {(today - figure.date).days} days old"
    return ""


def describe_machine(conditions: Mapping[str, Any]) -> str:
    """Return the conditions of `machine()` as the machine of a figure."""
    processor = re.sub(r"\s*(\d+-Core Processor|@ [\d.]+GHz|\(R\)|\(TM\))", "", str(conditions["processor"]))
    return ", ".join([f"{conditions['cores']} cores", processor.strip(), *conditions.get("gpus", ())])


def of_subject(found: Mapping[str, Results], subject: str) -> Sequence[tuple[Results, Figure]]:
    """Return the figures of a subject, each with its file, in the order of files."""
    return [(results, figure) for results in found.values() for figure in results.figures if figure.subject == subject]
