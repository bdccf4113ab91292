"""Training and reliability of the confidence of answers (`streams/answers/confidence.py`), on open question sets.

    python -m benchmarks.answers.confidence find [DIR...] --out FILE [--handbooks] [--manuals WEB] [--cache DIR]
    python -m benchmarks.answers.confidence judge FILE
    python -m benchmarks.answers.confidence fit FILE --train SET... [--write]

A row of FILE is a question on one collection, with the statements that the gateway's search finds. In a collection DIR
a statement is right if the judgements name its document, and each collection is also asked questions of the others,
which it can't answer. With `--handbooks` the bundled web is asked the questions of `handbook_questions.jsonl`: a
statement is right if it has one of the question's texts itself or in its context. Half of these questions no page
answers, though pages have their words. `--manuals` does the same with `manual_questions.jsonl` and a second web, with
its pages at WEB/HOST/path.html: a handbook of Debian and the manual of GIMP, whose texts are not part of the project.

`judge` measures the parameters in use. `fit` trains on one half of the questions of the sets of `--train` (by their
hashes; a question without an answer is in the half of the question that it is like), and judges with the other half,
and with all questions of the other sets. Both choose by the functions of the product.
"""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.collection import Collection, Query, read_collection
from benchmarks.evaluation.search import Options, Run, open_run
from benchmarks.search.open_sets import read_web
from streams.answers.choosing import can_answer, judge_answers, prefer_antecedent
from streams.answers.confidence import (
    CALIBRATION,
    FEATURES,
    PARAMETERS,
    Judged,
    Logistic,
    Parameters,
    calibration_features,
    features_of,
    judge_statements,
    parameters,
)
from streams.answers.evidence import Evidence, evidence_of
from streams.commands.measure.answers import expected_calibration_error, reliability
from streams.errors import InvalidQuery
from streams.lines.jsonl import read_objects
from streams.local.demo import unpack
from streams.models.protocols import ChainModel, Link
from streams.pages.document.consent import Consent
from streams.search.deadline import Deadline
from streams.search.query_language.matching import fold
from streams.search.request import parse
from streams.search.searcher import Searcher
from streams.settings import Settings
from streams.stores.protocols import FOR_EVERYBODY

SEED = 54
PENALTY = 1.0
"""Penalty of squared coefficients, for each set of the training."""
STEPS = 200
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
HANDBOOKS, MANUALS = "handbooks", "manuals"
OF_STATEMENTS = (HANDBOOKS, "wikiqa-a")
"""Sets that judge single statements. Others judge whole pages, which says nothing about the order within a page."""
QUESTIONS = {
    HANDBOOKS: Path(__file__).with_name("handbook_questions.jsonl"),
    MANUALS: Path(__file__).with_name("manual_questions.jsonl"),
}
"""Questions to each web. `answer`: texts of the statements that answer it; null: no statement does, and `like` is the
question with an answer that has nearly the same words."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A question on one collection, with the statements found and whether each of them is right."""

    set: str
    asked: str
    key: str
    """The text whose hash decides the half."""
    foreign: bool
    """The collection can't answer the question."""
    evidence: tuple[Evidence, ...]
    right: frozenset[UUID]
    """The ids of the statements that are right."""

    @cached_property
    def answering(self) -> tuple[Evidence, ...]:
        """The statements that may be shown as answers."""
        return tuple(each for each in self.evidence if can_answer(each))

    @property
    def is_for_training(self) -> bool:
        """True for the questions of one half."""
        return blake2b(self.key.encode(), digest_size=1).digest()[0] % 2 == 0

    def as_json(self) -> str:
        statements = [
            {
                **asdict(each),
                "id": str(each.id),
                "page_id": str(each.page_id),
                "consent": None,
                "right": each.id in self.right,
            }
            for each in self.evidence
        ]
        return json.dumps(
            {"set": self.set, "asked": self.asked, "key": self.key, "foreign": self.foreign, "statements": statements}
        )


def read_rows(file: Path) -> list[Row]:
    return [_row_of(row) for _, row in read_objects(file)]


def _row_of(row: Mapping[str, Any]) -> Row:
    right, evidence = set[UUID](), []
    for each in row["statements"]:
        fields = {**each, "id": UUID(each["id"]), "page_id": UUID(each["page_id"]), "consent": Consent()}
        if fields.pop("right"):
            right.add(fields["id"])
        evidence.append(Evidence(**{**fields, "context": tuple(fields["context"])}))
    return Row(row["set"], row["asked"], row["key"], row["foreign"], tuple(evidence), frozenset(right))


class _QuickChains:
    """The chain model, which is not asked about a single sentence: it needs none before it."""

    def __init__(self, model: ChainModel) -> None:
        self._model = model

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        if len(sentences) < 2:
            return [Link() for _ in sentences]
        return await self._model.links(sentences, deadline_seconds=deadline_seconds)


async def write_rows(folders: Sequence[Path], out: Path, cache: Path, webs: Mapping[str, Path]) -> None:
    """Append the rows of the collections. Each is asked its own questions, and as many of the others together.

    `webs`: folders of pages that are asked the questions of this name.
    """
    settings = Settings.load(triton={"url": "inprocess:"})
    collections = [read_collection(folder) for folder in folders]
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, Options(cache, embedders=2), _show)
        run = replace(run, models=replace(run.models, chains=_QuickChains(run.models.chains)))
        with out.open("a", encoding="utf-8") as file:
            for collection in collections:
                _, index = await run.index(collection.name, collection.documents)
                searcher = run.searcher(index)
                for query in [*collection.queries, *_foreign(collection, collections)]:
                    evidence = await _find(searcher, query.text)
                    right = frozenset(each.id for each in evidence if each.url in query.grades)
                    row = Row(collection.name, query.text, query.text, not query.grades, evidence, right)
                    file.write(row.as_json() + "\n")
            for name, web in webs.items():
                async for row in _web_rows(run, name, web):
                    file.write(row.as_json() + "\n")


def _foreign(own: Collection, collections: Sequence[Collection]) -> list[Query]:
    """Questions that this collection can't answer: as many as it has own ones, if the others have them."""
    others = [query for each in collections if each.name != own.name for query in each.queries]
    random.Random(SEED).shuffle(others)
    return [replace(query, grades={}) for query in others[: len(own.queries)]]


async def _web_rows(run: Run, name: str, web: Path) -> AsyncIterator[Row]:
    """Yield the questions to a web, with the pages as they are: with headings, lists and tables."""
    pages = [page.document for page in read_web(web)]
    _, index = await run.index(name, pages)
    searcher = run.searcher(index)
    for _, row in read_objects(QUESTIONS[name]):
        evidence = await _find(searcher, row["question"])
        right = frozenset(each.id for each in evidence if _has_one(each, row["answer"] or ()))
        key = row.get("like") or row["question"]
        yield Row(name, row["question"], key, row["answer"] is None, evidence, right)


def _has_one(evidence: Evidence, texts: Iterable[str]) -> bool:
    shown = fold(" ".join((*evidence.context, evidence.text)))
    return any(fold(text) in shown for text in texts)


async def _find(searcher: Searcher, question: str) -> tuple[Evidence, ...]:
    try:
        request = parse(question, options=searcher.options, visible=FOR_EVERYBODY)
    except InvalidQuery:
        return ()
    return tuple(evidence_of(await searcher.find(request, Deadline(60.0))))


def fit(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """The parameters of both functions. Each set has the same weight; the first one is trained on OF_STATEMENTS, unless
    none of them is among the sets."""
    values, right, sets = [], [], []
    judged = [row for row in rows if row.set in OF_STATEMENTS] or rows
    for row in judged:
        for each, features in zip(row.answering, features_of(row.asked, row.answering), strict=True):
            values.append([features[name] for name in FEATURES])
            right.append(float(each.id in row.right))
            sets.append(row.set)
    ranking = _logistic(np.array(values), np.array(right), _equal_sets(sets), FEATURES)
    # Only the order counts here: the second function is not asked.
    ordering = Parameters(Logistic(**ranking), parameters().calibration)
    values, right, sets = [], [], []
    for row in rows:
        found = judge_statements(row.asked, row.answering, ordering)
        if found:
            valued = [(each.value, str(each.evidence.page_id), each.features) for each in found]
            features = calibration_features(row.asked, valued)
            values.append([features[name] for name in CALIBRATION])
            right.append(float(_shown_first(found).evidence.id in row.right))
            sets.append(row.set)
    calibration = _logistic(np.array(values), np.array(right), _equal_sets(sets), CALIBRATION)
    return {"ranking": ranking, "calibration": calibration}


def _shown_first(found: Sequence[Judged]) -> Judged:
    return prefer_antecedent(found)[0]


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


def judge(rows: Sequence[Row], used: Parameters) -> dict[str, Any]:
    """The reliability on these rows, and the shares at each threshold."""
    judged = []
    for row in rows:
        confidence, found = judge_answers(row.asked, row.evidence, used)
        judged.append((confidence, bool(found) and found[0].evidence.id in row.right, row.foreign))
    pairs = [(confidence, right) for confidence, right, _ in judged]
    own = [(confidence, right) for confidence, right, foreign in judged if not foreign]
    shares = {}
    for threshold in THRESHOLDS:
        answered = [right for confidence, right in own if confidence >= threshold]
        wrong = sum(1 for confidence, _, foreign in judged if foreign and confidence >= threshold)
        shares[threshold] = {
            "answered": _share(len(answered), len(own)),
            "right": _share(sum(answered), len(answered)),
            "answered_without_answer": _share(wrong, len(judged) - len(own)),
            "right_of_all_answers": _share(sum(answered), len(answered) + wrong),
            "ece_of_answered": expected_calibration_error([pair for pair in pairs if pair[0] >= threshold]),
        }
    return {
        "questions": len(own),
        "without_answer": len(judged) - len(own),
        "best_right": _share(sum(right for _, right in own), len(own)),
        "ece": expected_calibration_error(pairs),
        "thresholds": shares,
        "reliability": reliability(pairs),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _show(step: str, done: int, total: int) -> None:
    if done % 500 == 0 or done == total:
        sys.stderr.write(f"{step} {done}/{total}\n")


def judge_sets(rows: Sequence[Row], used: Parameters, trained: Sequence[str]) -> dict[str, Any]:
    """The figures of each set: of the half that trains no parameters, where the set trains some."""
    found = {}
    for name in dict.fromkeys(row.set for row in rows):
        own = [row for row in rows if row.set == name and not (name in trained and row.is_for_training)]
        found[name] = {"judged_on": "the other half" if name in trained else "all questions", **judge(own, used)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    finding = commands.add_parser("find", help="the statements that a search finds for each question")
    finding.add_argument("folders", type=Path, nargs="*", metavar="DIR")
    finding.add_argument("--out", type=Path, required=True)
    finding.add_argument("--handbooks", action="store_true", help="also the questions to the bundled web")
    finding.add_argument("--manuals", type=Path, metavar="WEB", help="also the questions to a second web")
    finding.add_argument("--cache", type=Path, default=Path(".riffle/eval"))
    judging = commands.add_parser("judge", help="the reliability of the parameters in use on each set")
    judging.add_argument("file", type=Path)
    judging.add_argument("--trained", nargs="*", default=[], metavar="SET", help="judge only the half that trains none")
    fitting = commands.add_parser("fit", help="new parameters, and their reliability on each set")
    fitting.add_argument("file", type=Path)
    fitting.add_argument("--train", nargs="+", required=True, metavar="SET")
    fitting.add_argument("--write", action="store_true", help="write the parameters where the search reads them")
    arguments = parser.parse_args()
    if arguments.command == "find":
        webs = {HANDBOOKS: unpack(arguments.cache / "web")} if arguments.handbooks else {}
        webs |= {MANUALS: arguments.manuals} if arguments.manuals else {}
        asyncio.run(write_rows(arguments.folders, arguments.out, arguments.cache, webs))
        return
    rows = read_rows(arguments.file)
    if arguments.command == "judge":
        found = judge_sets(rows, parameters(), arguments.trained)
    else:
        made = fit([row for row in rows if row.set in arguments.train and row.is_for_training])
        used = Parameters(Logistic(**made["ranking"]), Logistic(**made["calibration"]))
        found = judge_sets(rows, used, arguments.train)
        if arguments.write:
            PARAMETERS.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
