"""Panels on entities and queries that are made from a collection of abstracts: fit the confidence, and judge it.

    python -m benchmarks panels SHARED/data/ir/dbpedia-mini-a --others SHARED/data/ir --entities 1200

The entities are half of the collection's pages: title, and the abstract as their summary. The other half is left out:
queries for them must show nothing, although they look the same. Queries are made of titles and abstracts: the title by
itself and in a question, with a word of the description, with a fact, with a typing mistake, and the description
without the title. Queries of other collections, which name none of the entities, must show nothing.

Weights and threshold are chosen on the queries of one half of the entities (and of the others), and judged on the rest.
"""

import asyncio
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.evaluation.panels import LabelledQuery, evaluate_panels
from benchmarks.machine import machine
from schemas import EntityChanged, Envelope
from streams.commands.console import AsJson, command, err, print_figures
from streams.knowledge.agent import KnowledgeAgent
from streams.knowledge.entity import Part
from streams.knowledge.lookup import confidence
from streams.knowledge.lookup.confidence import Features
from streams.knowledge.lookup.finding import Finder, Lookup
from streams.knowledge.names import name_key
from streams.knowledge.wikipedia.wikitext import cut_sentences
from streams.language.function_words import FUNCTION_WORDS
from streams.models.opening import open_models
from streams.pages.text.tokens import words
from streams.runtime.agent import Delivery
from streams.seen.stores import SeenStores
from streams.settings import Settings
from streams.settings.servers import IN_PROCESS
from streams.stores.opener import Stores, memory_stores

NAMES = Features.__slots__
STEPS, RATE, SHRINK = 6_000, 0.3, 1e-3
"""Settings of the gradient descent: steps, size of a step, weight of the squared weights."""
WANTED_PRECISION = 0.96
_TAIL = re.compile(r"\s*@en\s.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Made:
    """A query with its label, and the half that it belongs to."""

    labelled: LabelledQuery
    kind: str
    is_judged: bool


def read_pages(folder: Path, count: int) -> list[tuple[str, str]]:
    """Return titles and abstracts."""
    found: dict[str, str] = {}
    with (folder / "corpus.jsonl").open() as file:
        for line in file:
            row = json.loads(line)
            text = " ".join(_TAIL.sub("", row["text"]).split())
            if row["title"] and len(text) > 60 and not row["title"].startswith("List of"):
                found.setdefault(row["title"], cut_sentences(text, 600))
    titles = sorted(found)
    random.Random(5).shuffle(titles)
    return [(title, found[title]) for title in titles[: 2 * count]]


def queries_of(title: str, text: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield queries for an entity, each with its kind."""
    name = title.split(" (")[0]
    described = [word for word in words(text[:250]) if word not in FUNCTION_WORDS["en"] and word not in words(title)]
    yield "title", name.lower()
    yield "question", chance.choice(("what is {}", "who is {}?", "tell me about {}", "{} definition")).format(name)
    if described:
        yield "with a word", f"{name} {chance.choice(described[:6])}".lower()
    yield "with a fact", f"{name} {chance.choice(('history', 'wiki', 'born', 'location', 'age'))}".lower()
    if len(name) > 6 and chance.random() < 0.5:
        at = chance.randrange(1, len(name) - 2)
        yield "mistake", (name[:at] + name[at + 1] + name[at] + name[at + 2 :]).lower()
    if len(described) >= 5 and chance.random() < 0.3:
        yield "description", " ".join(described[:6])


def make_queries(
    inside: Sequence[tuple[str, str]], outside: Sequence[tuple[str, str]], others: Sequence[str]
) -> list[Made]:
    """Return the queries: for entities, for those left out, and of other collections."""
    chance, made = random.Random(7), []
    known = {name_key(title.split(" (")[0]) for title, _ in inside}
    for number, (title, text) in enumerate(inside):
        made += [
            Made(LabelledQuery(query, f"enwiki:{title}"), kind, number % 2 == 1)
            for kind, query in queries_of(title, text, chance)
        ]
    for number, (title, text) in enumerate(outside):
        if name_key(title.split(" (")[0]) not in known:
            made += [
                Made(LabelledQuery(query, None), "left out", number % 2 == 1)
                for kind, query in queries_of(title, text, chance)
                if kind in ("title", "question", "with a word")
            ]
    for number, query in enumerate(others):
        key = f" {name_key(query)} "
        if not any(f" {name} " in key for name in known):
            made.append(Made(LabelledQuery(query, None), "other collection", number % 2 == 1))
    return made


def read_others(folder: Path, without: Path, count: int) -> list[str]:
    """Return queries of other collections, the same number of each."""
    found = []
    for place in sorted(folder.glob("*/queries.jsonl")):
        if place.parent != without:
            rows = [json.loads(line)["text"] for line in place.read_text().splitlines()]
            random.Random(3).shuffle(rows)
            found += rows[:count]
    return found


async def prepare(stores: Stores, pages: Sequence[tuple[str, str]]) -> None:
    """Fill the stores with the entities."""
    agent = KnowledgeAgent(stores)

    async def put(title: str, text: str) -> None:
        base, _, rest = title.partition(" (")
        kind = rest.rstrip(")")
        part = Part(label=base, description=kind, type=kind, summary=text, aliases=(title,))
        ref = await stores.blobs.put(part.model_dump_json(exclude_defaults=True).encode())
        event = EntityChanged(entity_id=f"enwiki:{title}", source="wikipedia", record_ref=ref)
        envelope = Envelope(id=uuid4(), type=event.event_type(), source="/riffle/bench", time=datetime.now(UTC))
        await agent.handle(Delivery(event, envelope, event.topic, 0, 0))

    for first in range(0, len(pages), 64):
        await asyncio.gather(*(put(*page) for page in pages[first : first + 64]))
        err.print(f"{first + 64} entities ...", end="\r")


def fit(rows: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bias and the weights of a logistic regression, each query with the same weight."""
    inputs = np.hstack([np.ones((len(rows), 1)), rows])
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        probable = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (probable - right) / len(rows)
        slope[1:] += SHRINK * weights[1:]
        weights -= RATE * slope
    return weights


@command
async def run(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A collection of abstracts (BEIR).")],
    others: Annotated[Path, typer.Option(exists=True, file_okay=False, help="Folder of further collections.")],
    entities: Annotated[int, typer.Option(min=50, help="Number of entities.")] = 1_200,
    as_json: AsJson = False,
) -> int:
    """Fit the confidence of panels on one half of the entities, and judge it on the other half.

    Example:  python -m benchmarks panels ir/dbpedia-mini-a --others ir
    """
    pages = read_pages(folder, entities)
    inside, outside = pages[:entities], pages[entities : entities + entities // 2]
    made = make_queries(inside, outside, read_others(others, folder, 60))
    settings = Settings.load()
    local = settings.model_copy(update={"triton": settings.triton.model_copy(update={"url": IN_PROCESS})})
    models = await open_models(local)
    try:
        stores = memory_stores()
        stores.embedder = models.embedder
        await prepare(stores, inside)
        finder = Finder(SeenStores(stores))
        lookups = []
        for number, one in enumerate(made):
            lookups.append(await finder.look_up(one.labelled.query))
            if number % 100 == 0:
                err.print(f"{number} of {len(made)} queries ...", end="\r")
    finally:
        await models.close()
    figures = judge(made, lookups)
    print_figures("Panels", {"machine": machine(), "entities": len(inside), **figures}, as_json)
    return 0


def judge(made: Sequence[Made], lookups: Sequence[Lookup]) -> dict[str, Any]:
    """Return the fitted weights, and the figures of both halves with the weights in force and with the fitted ones."""
    rows, right, owner = [], [], []
    features: list[list[Features]] = []
    for number, (one, lookup) in enumerate(zip(made, lookups, strict=True)):
        found = [candidate.features for candidate in lookup.candidates]
        features.append(found)
        for candidate, values in zip(lookup.candidates, found, strict=True):
            rows.append([getattr(values, name) for name in NAMES])
            right.append(float(candidate.entity.entity_id == one.labelled.entity))
            owner.append(number)
    chosen = np.array([not made[number].is_judged for number in owner])
    table, truth = np.array(rows), np.array(right)
    weights = fit(table[chosen], truth[chosen])
    probable = 1 / (1 + np.exp(-(np.hstack([np.ones((len(table), 1)), table]) @ weights)))
    fitted: list[list[float]] = [[] for _ in made]
    for number, value in zip(owner, probable, strict=True):
        fitted[number].append(float(value))
    threshold = _threshold(made, lookups, fitted)
    in_force = [[confidence.confidence(values) for values in found] for found in features]
    result: dict[str, Any] = {
        "fitted": {
            "bias": round(float(weights[0]), 3),
            **{n: round(float(w), 3) for n, w in zip(NAMES, weights[1:], strict=True)},
        },
        "threshold": round(threshold, 3),
        "chosen_on": _figures(made, lookups, fitted, threshold, judged=False),
        "judged_on": _figures(made, lookups, fitted, threshold, judged=True),
        "judged_on_with_weights_in_force": _figures(made, lookups, in_force, 0.5, judged=True),
        "reliability_on_judged": _reliability(made, lookups, fitted),
    }
    for kind in dict.fromkeys(one.kind for one in made):
        result[f"judged: {kind}"] = _figures(made, lookups, fitted, threshold, judged=True, kind=kind)
    return result


def _shown(lookup: Lookup, scores: Sequence[float], threshold: float) -> dict[str, Any] | None:
    if lookup.title:
        return {"kind": "choice", "others": [{"id": one.entity_id, "label": one.label} for one in lookup.choice]}
    if not scores or max(scores) < threshold:
        return None
    best = lookup.candidates[int(np.argmax(scores))].entity
    return {"id": best.entity_id, "label": best.label}


def _figures(
    made: Sequence[Made],
    lookups: Sequence[Lookup],
    scores: Sequence[Sequence[float]],
    threshold: float,
    *,
    judged: bool,
    kind: str = "",
) -> dict[str, Any]:
    chosen = [n for n, one in enumerate(made) if one.is_judged is judged and kind in ("", one.kind)]
    answers = {n: _shown(lookups[n], scores[n], threshold) for n in chosen}
    turn = iter(chosen)
    figures = evaluate_panels([made[n].labelled for n in chosen], lambda _: answers[next(turn)])
    figures.pop("wrong")
    return figures


def _threshold(made: Sequence[Made], lookups: Sequence[Lookup], scores: Sequence[Sequence[float]]) -> float:
    """Return the lowest threshold with the wanted precision on the half of the choice."""
    for step in range(20, 100):
        if (_figures(made, lookups, scores, step / 100, judged=False)["precision"] or 0) >= WANTED_PRECISION:
            return step / 100
    return 0.99


def _reliability(made: Sequence[Made], lookups: Sequence[Lookup], scores: Sequence[Sequence[float]]) -> dict[str, str]:
    """Return the share of right entities for each tenth of the confidence, on the judged half."""
    tenths: dict[int, list[bool]] = {}
    for one, lookup, found in zip(made, lookups, scores, strict=True):
        if one.is_judged and found:
            best = int(np.argmax(found))
            tenths.setdefault(min(9, int(found[best] * 10)), []).append(
                lookup.candidates[best].entity.entity_id == one.labelled.entity
            )
    return {
        f"{tenth / 10:.1f}": f"{sum(hits) / len(hits):.2f} of {len(hits)}" for tenth, hits in sorted(tenths.items())
    }
