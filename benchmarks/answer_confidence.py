"""Training and reliability of the confidence of answers (`streams/answers/confidence.py`), on open question sets.

    python -m benchmarks.answer_confidence features DIR... --out FILE [--only SET...] [--cache DIR]
    python -m benchmarks.answer_confidence fit FILE --train SET... [--write]

A row of FILE is a question on one collection: the features of the statements that the gateway's search finds, and
whether the collection's judgements name their document. Each collection is also asked questions of the others, which it
can't answer. `fit` trains on one half of the questions of the sets of `--train` (by their hashes), and judges with the
other half, and with all questions of the other sets.
"""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streams.answers.confidence import (
    CALIBRATION,
    FEATURES,
    PARAMETERS,
    Logistic,
    calibration_features,
    features_of,
    is_about_it,
)
from streams.answers.evidence import evidence_of
from streams.evaluation.calibration import expected_calibration_error, reliability
from streams.evaluation.collection import Collection, Query, read_collection
from streams.evaluation.search import Options, open_run
from streams.models.protocols import ChainModel, Link
from streams.search.deadline import Deadline
from streams.search.errors import InvalidQuery
from streams.search.request import parse
from streams.search.searcher import Searcher
from streams.settings import Settings

SEED = 54
PENALTY = 1.0
"""Penalty of squared coefficients, for each set of the training."""
STEPS = 200
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)

Row = Mapping[str, Any]
Numbers = NDArray[np.float64]


class _QuickChains:
    """The chain model, which is not asked about a single sentence: it needs none before it."""

    def __init__(self, model: ChainModel) -> None:
        self._model = model

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        if len(sentences) < 2:
            return [Link() for _ in sentences]
        return await self._model.links(sentences, deadline_seconds=deadline_seconds)


async def write_rows(folders: Sequence[Path], only: Sequence[str], cache: Path, out: Path) -> None:
    """Append the rows of the collections. Each is asked its own questions, and as many of the others together."""
    settings = Settings.load(triton={"url": "inprocess:"})
    collections = [read_collection(folder) for folder in folders]
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, Options(cache, embedders=2), _show)
        run = replace(run, models=replace(run.models, chains=_QuickChains(run.models.chains)))
        for collection in collections:
            if only and collection.name not in only:
                continue
            _, index = await run.index(collection.name, collection.documents)
            searcher = run.searcher(index)
            with out.open("a", encoding="utf-8") as file:
                for query in [*collection.queries, *_foreign(collection, collections)]:
                    if row := await _row(searcher, query, collection.name):
                        file.write(json.dumps(row) + "\n")


def _foreign(own: Collection, collections: Sequence[Collection]) -> list[Query]:
    """Questions that this collection can't answer: as many as it has own ones, if the others have them."""
    others = [query for each in collections if each.name != own.name for query in each.queries]
    random.Random(SEED).shuffle(others)
    return [replace(query, grades={}) for query in others[: len(own.queries)]]


async def _row(searcher: Searcher, query: Query, name: str) -> dict[str, Any] | None:
    try:
        request = parse(query.text, options=searcher.options)
    except InvalidQuery:
        return None
    found = await searcher.find(request, Deadline(60.0))
    evidence = evidence_of(found)
    features = features_of(found.text, evidence)
    return {
        "set": name,
        "foreign": not query.grades,
        "asked": query.text,
        "statements": [
            {
                "page": str(each.page_id)[:8],
                "right": each.url in query.grades,
                **{key: round(value, 4) for key, value in of_one.items()},
            }
            for each, of_one in zip(evidence, features, strict=True)
        ],
    }


def fit(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """The parameters of both functions. Each set has the same weight."""
    statements = [(row, each) for row in rows for each in row["statements"]]
    ranking = _logistic(
        np.array([[each[name] for name in FEATURES] for _, each in statements]),
        np.array([each["right"] for _, each in statements], float),
        _equal_sets([row["set"] for row, _ in statements]),
        FEATURES,
    )
    found = [(row, *_best(row, Logistic(**ranking))) for row in rows if row["statements"]]
    calibration = _logistic(
        np.array([[values[name] for name in CALIBRATION] for _, _, values in found]),
        np.array([right for _, right, _ in found], float),
        _equal_sets([row["set"] for row, _, _ in found]),
        CALIBRATION,
    )
    return {"ranking": ranking, "calibration": calibration}


def _equal_sets(names: Sequence[str]) -> Numbers:
    sizes = {name: names.count(name) for name in dict.fromkeys(names)}
    return np.array([len(names) / len(sizes) / sizes[name] for name in names])


def _logistic(values: Numbers, right: Numbers, weights: Numbers, names: Sequence[str]) -> dict[str, Any]:
    """Logistic regression with a quadratic penalty, by Newton's method."""
    means, deviations = values.mean(0), np.maximum(values.std(0), 1e-3)
    scaled = np.concatenate([np.ones((len(values), 1)), (values - means) / deviations], axis=1)
    beta = np.zeros(scaled.shape[1])
    penalty = np.diag([0.0] + [PENALTY] * len(names))
    for _ in range(STEPS):
        probable = 1 / (1 + np.exp(-scaled @ beta))
        gradient = scaled.T @ (weights * (right - probable)) - penalty @ beta
        hessian = (scaled * (weights * probable * (1 - probable))[:, None]).T @ scaled + penalty
        step = np.linalg.solve(hessian, gradient)
        beta = beta + step
        if float(np.abs(step).max()) < 1e-8:
            break

    def named(found: Numbers) -> dict[str, float]:
        return {name: round(float(value), 5) for name, value in zip(names, found, strict=True)}

    return {
        "intercept": round(float(beta[0]), 5),
        "coefficients": named(beta[1:]),
        "means": named(means),
        "deviations": named(deviations),
    }


def _best(row: Row, ranking: Logistic) -> tuple[bool, dict[str, float]]:
    """Return whether the best statement is right, and the features of the calibration."""
    judged = sorted(((ranking.value(each), each["page"], each) for each in row["statements"]), key=lambda one: -one[0])
    return bool(judged[0][2]["right"]), calibration_features(row["asked"], judged)


def judge(rows: Sequence[Row], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The reliability on these rows, and the shares at each threshold."""
    ranking, calibration = Logistic(**parameters["ranking"]), Logistic(**parameters["calibration"])
    judged = []
    for row in rows:
        statements = [each for each in row["statements"] if is_about_it(each)]
        if statements:
            right, values = _best({**row, "statements": statements}, ranking)
            judged.append((1 / (1 + float(np.exp(-calibration.value(values)))), right, row["foreign"]))
        elif row["statements"]:
            judged.append((0.0, False, row["foreign"]))
    pairs = [(confidence, right) for confidence, right, _ in judged]
    own = [(confidence, right) for confidence, right, foreign in judged if not foreign]
    shares = {}
    for threshold in THRESHOLDS:
        answered = [right for confidence, right in own if confidence >= threshold]
        wrong = sum(1 for confidence, _, foreign in judged if foreign and confidence >= threshold)
        shares[threshold] = {
            "answered": round(len(answered) / max(len(own), 1), 3),
            "right": round(sum(answered) / max(len(answered), 1), 3),
            "answered_without_answer": round(wrong / max(len(judged) - len(own), 1), 3),
            "ece_of_answered": expected_calibration_error([pair for pair in pairs if pair[0] >= threshold]),
        }
    return {
        "questions": len(own),
        "without_answer": len(judged) - len(own),
        "best_right": round(sum(right for _, right in own) / max(len(own), 1), 3),
        "ece": expected_calibration_error(pairs),
        "thresholds": shares,
        "reliability": reliability(pairs),
    }


def _is_for_training(row: Row) -> bool:
    """Return True for the questions of one half, by their hash."""
    return blake2b(str(row["asked"]).encode(), digest_size=1).digest()[0] % 2 == 0


def _show(step: str, done: int, total: int) -> None:
    if done % 500 == 0 or done == total:
        sys.stderr.write(f"{step} {done}/{total}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    features = commands.add_parser("features", help="the features of the statements that are found")
    features.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    features.add_argument("--only", nargs="*", metavar="SET", help="write only the rows of these collections")
    features.add_argument("--out", type=Path, required=True)
    features.add_argument("--cache", type=Path, default=Path(".riffle/eval"))
    fitting = commands.add_parser("fit", help="the parameters, and the reliability on each set")
    fitting.add_argument("file", type=Path)
    fitting.add_argument("--train", nargs="+", required=True, metavar="SET")
    fitting.add_argument("--write", action="store_true", help="write the parameters where the search reads them")
    arguments = parser.parse_args()
    if arguments.command == "features":
        asyncio.run(write_rows(arguments.folders, arguments.only or (), arguments.cache, arguments.out))
        return
    rows = [json.loads(line) for line in arguments.file.read_text(encoding="utf-8").splitlines()]
    names = list(dict.fromkeys(row["set"] for row in rows))
    parameters = fit([row for row in rows if row["set"] in arguments.train and _is_for_training(row)])
    found = {
        name: {
            "training": "the other half of its questions" if name in arguments.train else "none of its questions",
            **judge(
                [row for row in rows if row["set"] == name and not (name in arguments.train and _is_for_training(row))],
                parameters,
            ),
        }
        for name in names
    }
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    if arguments.write:
        PARAMETERS.write_text(json.dumps(parameters, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
