"""Fits the weights of `streams.statements.standing` to readers' labels, by way of a multilingual sentence encoder.

    python -m benchmarks.labelling.standing_model DIR [--write]

DIR gets the packages of `benchmarks.labelling.standing`. The encoder of the settings embeds each statement
without its context. A logistic regression of its vectors and of the statement's structure is fitted to the labels (the
teacher). It judges the statements of the same sites that have no label, and statements of the bundled web, and
a regression of hashed parts of texts is fitted to both (the student). Sites in HELD_OUT have no part in either: the
areas under the curve are theirs.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.documents.generators.packages import Packages
from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.search import open_run
from benchmarks.labelling.standing import HELD_OUT, Standing, drafts_of, read_labels, read_statements
from benchmarks.search.open_sets import read_web
from streams.commands.console import err, out
from streams.local.demo import unpack
from streams.statements.standing import SLOTS, WEIGHTS, parts, slot_of, structure

WEB_PAGES = 60
"""Number of pages of the bundled web."""
MAX_CHARS = 600
MAX_OF_LANGUAGE = 2_200
"""Maximum statements without a label of a language."""
TEACHER_PENALTY, STUDENT_PENALTY = 0.08, 3e-5
LABEL_WEIGHT = 5.0
"""Weight of a reader's label beside one of the teacher's."""
SURE, MAX_LOGIT = 2.0, 3.0
"""The logit of a reader's label, and the maximum of the teacher's."""
STEPS, RATE = 300, 0.03

Floats = NDArray[np.float64]


def area(labels: Sequence[bool], scores: Floats) -> float:
    """Return the area under the ROC curve: how often a statement that needs no other has the higher score."""
    yes, no = scores[np.array(labels)], scores[~np.array(labels)]
    if not len(yes) or not len(no):
        return float("nan")
    pairs = np.sign(yes[:, None] - no[None, :])
    return float((pairs.mean() + 1) / 2)


def areas(statements: Sequence[Standing], scores: Floats) -> dict[str, float]:
    """Return the area of the held-out sites, all and of each language."""
    held = np.array([each.site in HELD_OUT for each in statements])
    labels = np.array([bool(each.alone) for each in statements])
    found = {"all": area(labels[held].tolist(), scores[held])}
    for language in sorted({each.language for each in statements}):
        own = held & np.array([each.language == language for each in statements])
        found[language] = area(labels[own].tolist(), scores[own])
    return {name: round(value, 3) for name, value in found.items()}


def descend(start: Floats, gradient: Callable[[Floats], Floats]) -> Floats:
    """Return the weights at which a convex loss is least, by Adam with a falling rate."""
    weights, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for step in range(1, STEPS + 1):
        slope = gradient(weights)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        fitted = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
        weights = weights - RATE * (1 - step / (STEPS + 1)) * fitted
    return weights


def fit_logistic(features: Floats, labels: Floats, penalty: float) -> Floats:
    """Return weights, the bias last."""
    rows = np.hstack([features, np.ones((len(features), 1))])

    def gradient(weights: Floats) -> Floats:
        errors = 1 / (1 + np.exp(-(rows @ weights))) - labels
        slope: Floats = rows.T @ errors / len(rows) + penalty * np.append(weights[:-1], 0.0)
        return slope

    return descend(np.zeros(rows.shape[1]), gradient)


class Hashed:
    """The hashed parts of statements, and their structure."""

    def __init__(self, statements: Sequence[Standing]) -> None:
        slots = [sorted({slot_of(part) for part in parts(each.text)}) for each in statements]
        self.counts = np.array([max(1, len(each)) for each in slots])
        self.rows = np.repeat(np.arange(len(slots)), [len(each) for each in slots])
        self.slots = np.array([slot for each in slots for slot in each], dtype=np.int64)
        self.values = 1 / np.sqrt(self.counts[self.rows])
        self.structure = structures(statements)

    def scores(self, weights: Floats) -> Floats:
        table, others = weights[:SLOTS], weights[SLOTS:]
        hashed = np.bincount(self.rows, table[self.slots] * self.values, len(self.counts))
        scores: Floats = hashed + self.structure @ others[:-1] + others[-1]
        return scores

    def slope(self, errors: Floats) -> Floats:
        table = np.bincount(self.slots, errors[self.rows] * self.values, SLOTS)
        return np.concatenate([table, errors @ self.structure, [errors.sum()]])


def structures(statements: Sequence[Standing]) -> Floats:
    return np.array([structure(each.text, each.kind, each.context) for each in statements])


def fit_student(statements: Sequence[Standing], wanted: Floats, importance: Floats) -> Floats:
    """Return the weights of all slots, of the structure, and the bias."""
    hashed, total = Hashed(statements), importance.sum()

    def gradient(weights: Floats) -> Floats:
        errors = importance * (hashed.scores(weights) - wanted) / total
        return hashed.slope(errors) + STUDENT_PENALTY * np.append(weights[:-1], 0.0)

    return descend(np.zeros(SLOTS + hashed.structure.shape[1] + 1), gradient)


def write_weights(weights: Floats, file: Path) -> None:
    """Write the weights. The slots' weights have 8 bits."""
    table = weights[:SLOTS]
    unit = float(np.abs(table).max()) / 127
    levels = np.clip(np.round(table / unit) + 128, 0, 255).astype(np.uint8)
    others = np.array([unit, weights[-1], *weights[SLOTS:-1]], dtype=np.float32)
    np.savez_compressed(file, table=levels, others=others)


async def fit(folder: Path) -> tuple[Floats, Mapping[str, Any]]:
    """Return the student's weights, and the areas of both."""
    labels = read_labels()
    named = {one.name: one for _, page in read_statements(Packages(folder)) for one in page}
    labelled = [one.labelled(labels[name]) for name, one in named.items() if name in labels]
    others = _choose_others([one for name, one in named.items() if name not in labels and one.site not in HELD_OUT])
    settings, options = search_in_process()
    web = read_web(unpack(settings.home / "demo-web"), WEB_PAGES)
    others += _choose_others([one for page in web for one in drafts_of("web", "en", page.document)])
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, options, lambda step, done, of: err.print(f"{step}: {done} of {of}"))
        embedded = await run.embedder.embed([one.text for one in (*labelled, *others)], "passage")
    return teach(labelled, others, embedded)


def teach(labelled: Sequence[Standing], others: Sequence[Standing], embedded: Any) -> tuple[Floats, Mapping[str, Any]]:
    """Return the student's weights, and the areas of both. `embedded` has a vector of each statement, in order."""
    trained = np.array([one.site not in HELD_OUT for one in labelled])
    features = np.hstack([_standardize(each, trained) for each in (embedded, structures([*labelled, *others]))])
    answers = np.array([float(bool(one.alone)) for one in labelled])
    first = np.flatnonzero(trained)
    teacher = fit_logistic(features[first], answers[first], TEACHER_PENALTY)
    judged = np.clip(features @ teacher[:-1] + teacher[-1], -MAX_LOGIT, MAX_LOGIT)
    taught = [*(labelled[at] for at in first), *others]
    wanted = np.concatenate([SURE * (2 * answers[first] - 1), judged[len(labelled) :]])
    importance = np.concatenate([np.full(len(first), LABEL_WEIGHT), np.ones(len(others))])
    languages = Counter(one.language for one in taught)
    balance = np.array([len(taught) / len(languages) / languages[one.language] for one in taught])
    student = fit_student(taught, wanted, importance * balance)
    return student, {
        "labels": len(labelled),
        "held out": int((~trained).sum()),
        "taught": len(taught),
        "structure": areas(labelled, _by_structure(labelled, first, answers)),
        "teacher": areas(labelled, judged[: len(labelled)]),
        "student": areas(labelled, Hashed(labelled).scores(student)),
    }


def _by_structure(labelled: Sequence[Standing], first: NDArray[np.int64], answers: Floats) -> Floats:
    """Return scores without any word."""
    rows = structures(labelled)
    weights = fit_logistic(rows[first], answers[first], 1e-3)
    scores: Floats = rows @ weights[:-1] + weights[-1]
    return scores


def _standardize(values: Any, trained: NDArray[np.bool_]) -> Floats:
    own = np.asarray(values[: len(trained)], dtype=np.float64)[trained]
    scaled: Floats = (np.asarray(values, dtype=np.float64) - own.mean(0)) / (own.std(0) + 1e-6)
    return scaled


def _choose_others(statements: Sequence[Standing]) -> list[Standing]:
    """Return statements without a label: of each language, the ones with the first names."""
    found: dict[str, list[Standing]] = {}
    for one in sorted(statements, key=lambda each: each.name):
        if one.kind != "heading" and len(one.text) <= MAX_CHARS:
            found.setdefault(one.language, []).append(one)
    return [one for each in found.values() for one in each[:MAX_OF_LANGUAGE]]


def main(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Gets packages.")],
    write: Annotated[bool, typer.Option("--write", help="Write the weights into the package.")] = False,
) -> None:
    weights, figures = asyncio.run(fit(folder))
    for name, value in figures.items():
        out.print(f"{name}: {value}", highlight=False)
    if write:
        write_weights(weights, WEIGHTS)


if __name__ == "__main__":
    typer.run(main)
