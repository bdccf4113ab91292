"""Training of the weight of meaning (`streams/search/ranking/weights.py`), from judged queries.

    python -m benchmarks.search.meaning_weight features DIR... --out FILE   features and gains of the queries, by set
    python -m benchmarks.search.meaning_weight fit FILE                     the parameters, and each set left out

FILE of the parameters in use is meaning_weight.jsonl, beside this file.

For each query of a test collection, the two lists are the gateway's. A row has the features and nDCG@10 for weights
from 0 to 1, without any text. The parameters maximize the mean of the sets' mean nDCG@10, each set with the
same share. They are found by random steps from a fixed seed, with a penalty for large coefficients.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.collection import Query, read_collection
from benchmarks.evaluation.indexing import index_of, pages_of
from benchmarks.evaluation.metrics import ndcg
from benchmarks.evaluation.vector_cache import CachedEmbedder
from streams.models.opening import open_models
from streams.models.protocols import Embedder
from streams.search.paging import FIRST_STATEMENTS
from streams.search.ranking.fusion import merge_lists
from streams.search.ranking.weights import FEATURES, PARAMETERS, bonus, features_of
from streams.settings import Settings
from streams.stores.protocols import EVERYTHING, Candidates, VectorIndex
from streams.vectors.bm25 import query_vector

GRID = [round(0.05 * step, 2) for step in range(21)]
PENALTY = 0.002
PRIOR_WEIGHT = 0.7
"""The weight that the intercept is drawn to: the best fixed one for several collections of other kinds. Only with the
training sets, fitting would choose a lower weight."""
PRIOR_PENALTY = 0.01
STEPS = 4_000
SEED = 14

Row = Mapping[str, Any]
Numbers = NDArray[np.float64]


async def rows_of(folder: Path, settings: Settings, cache: Path) -> list[dict[str, Any]]:
    """The rows of a collection's queries."""
    collection = read_collection(folder)
    models = await open_models(settings)
    try:
        embedder = CachedEmbedder([models.embedder], cache)
        index = await index_of(await pages_of(collection.documents, models.chains), embedder)
        return await query_rows(index, collection.queries, embedder)
    finally:
        await models.close()


async def query_rows(index: VectorIndex, queries: Sequence[Query], embedder: Embedder) -> list[dict[str, Any]]:
    """The rows of these queries over an index."""
    vectors = await embedder.embed([query.text for query in queries], "query")
    return [await _row(index, query, vector.tolist()) for query, vector in zip(queries, vectors, strict=True)]


async def _row(index: VectorIndex, query: Query, vector: Sequence[float]) -> dict[str, Any]:
    """The features of a query, and nDCG@10 for each weight of the grid."""
    terms = query_vector(query.text)
    found = await index.candidates(dense=vector, sparse=terms, visible=EVERYTHING, limit=FIRST_STATEMENTS)
    features = features_of(query.text, terms, found)
    return {
        **{name: round(features[name], 4) for name in FEATURES},
        "gains": [round(_gain(found, query, weight), 4) for weight in GRID],
    }


def _gain(found: Candidates, query: Query, weight: float) -> float:
    return ndcg([page.hits[0].payload.url for page in merge_lists(found, weight)[:10]], query.grades)


def fit(sets: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """The parameters that are best for these sets."""
    values = {name: np.array([[row[f] for f in FEATURES] for row in rows]) for name, rows in sets.items()}
    together = np.concatenate(list(values.values()))
    means, deviations = together.mean(0), together.std(0) + 1e-9
    scaled = {name: (rows - means) / deviations for name, rows in values.items()}
    gains = {name: _smoothed(np.array([row["gains"] for row in rows])) for name, rows in sets.items()}
    bonuses = {name: _bonuses(rows) for name, rows in sets.items()}
    prior = float(np.log(PRIOR_WEIGHT / (1 - PRIOR_WEIGHT)))

    def quality(parameters: Numbers) -> float:
        reached = [_mean_gain(gains[name], _weights(parameters, scaled[name], bonuses[name])) for name in sets]
        far = float(parameters[0] - prior) ** 2
        return float(np.mean(reached)) - PENALTY * float(np.sum(parameters[1:] ** 2)) - PRIOR_PENALTY * far

    random = np.random.default_rng(SEED)
    best = np.array([0.5] + [0.0] * len(FEATURES))
    reached, size = quality(best), 0.5
    for step in range(1, STEPS + 1):
        changed = best + random.normal(size=len(best)) * size * (random.random(len(best)) < 0.5)
        if (other := quality(changed)) > reached:
            best, reached = changed, other
        size *= 0.6 if step % 500 == 0 else 1.0
    named = {"coefficients": best[1:], "means": means, "deviations": deviations}
    return {
        "intercept": round(float(best[0]), 4),
        **{
            key: {name: round(float(v), 4) for name, v in zip(FEATURES, found, strict=True)}
            for key, found in named.items()
        },
    }


def quality_of(parameters: Mapping[str, Any], rows: Sequence[Row]) -> float:
    """The mean nDCG@10 of a set with these parameters."""
    features = np.array([[row[name] for name in FEATURES] for row in rows])
    means, deviations, coefficients = (
        np.array([parameters[key][name] for name in FEATURES]) for key in ("means", "deviations", "coefficients")
    )
    scaled = (features - means) / deviations
    weights = _weights(np.array([parameters["intercept"], *coefficients]), scaled, _bonuses(rows))
    return _mean_gain(np.array([row["gains"] for row in rows]), weights)


def _weights(parameters: Numbers, features: Numbers, bonuses: Numbers) -> Numbers:
    weights: Numbers = 1 / (1 + np.exp(-(parameters[0] + features @ parameters[1:] + bonuses)))
    return weights


def _bonuses(rows: Sequence[Row]) -> Numbers:
    return np.array([bonus(row) for row in rows])


def _mean_gain(gains: Numbers, weights: Numbers) -> float:
    """The mean of the gains at these weights, linear between the points of the grid."""
    place = weights * (len(GRID) - 1)
    lower = np.clip(place.astype(int), 0, len(GRID) - 2)
    rows, share = np.arange(len(gains)), place - lower
    return float(np.mean(gains[rows, lower] * (1 - share) + gains[rows, lower + 1] * share))


def _smoothed(gains: Numbers) -> Numbers:
    """Gains without the steps of single queries."""
    for _ in range(2):
        padded = np.pad(gains, ((0, 0), (1, 1)), mode="edge")
        gains = 0.25 * padded[:, :-2] + 0.5 * padded[:, 1:-1] + 0.25 * padded[:, 2:]
    return gains


def show(sets: Mapping[str, Sequence[Row]]) -> None:
    """Print each set's quality with fixed weights, and with parameters of the other sets or of all sets."""
    everything = fit(sets)
    for name, rows in sets.items():
        others = {other: found for other, found in sets.items() if other != name}
        fixed = np.mean([row["gains"] for row in rows], axis=0)
        others_best = int(
            np.argmax(np.mean([np.mean([r["gains"] for r in f], axis=0) for f in others.values()], axis=0))
        )
        sys.stdout.write(
            f"{name:12} fixed .7 {fixed[14]:.3f}, fixed by the others ({GRID[others_best]}) {fixed[others_best]:.3f}, "
            f"trained on the others {quality_of(fit(others), rows):.3f}, on all {quality_of(everything, rows):.3f}, "
            f"best fixed {fixed.max():.3f} ({GRID[int(np.argmax(fixed))]})\n"
        )


def main() -> None:
    arguments = _arguments()
    if arguments.command == "features":
        settings = Settings.load(triton={"url": "inprocess:"})
        found = {
            folder.name: asyncio.run(rows_of(folder, settings, arguments.cache or settings.home / "eval"))
            for folder in arguments.folders
        }
        lines = (json.dumps({"set": name, **row}) + "\n" for name, rows in found.items() for row in rows)
        arguments.out.write_text("".join(lines), encoding="utf-8")
        return
    sets: dict[str, list[Row]] = {}
    for line in arguments.file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        sets.setdefault(row["set"], []).append(row)
    show(sets)
    PARAMETERS.write_text(json.dumps(fit(sets), indent=2) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    features = commands.add_parser("features", help="the features and gains of the queries of some collections")
    features.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    features.add_argument("--out", type=Path, required=True)
    features.add_argument("--cache", type=Path)
    fitting = commands.add_parser("fit", help="the parameters for these rows, written where the ranking reads them")
    fitting.add_argument("file", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
