"""The trained weight of meaning on each collection, with the collection left out of the training.

    python -m benchmarks weight DIR

Features and gains of the training sets are made anew, by the lists as they are now, so no file of an older version
decides. For each collection of DIR the parameters are trained on the training sets without it, and its queries are
ranked by the whole ranking with the weights that follow. Beside it:

constant      the weight .7 for all queries
chosen        the constant weight that the same training sets choose
all others    parameters of all judged collections without this one, to see whether more sets would help
in use        the parameters that Riffle has, trained on all training sets

Each collection has the same share in a training and in a mean, however many queries it has.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.evaluation.collection import Collection, read_collection
from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.indexing import RememberedLists
from benchmarks.evaluation.metrics import mean, ndcg
from benchmarks.evaluation.protocol import MADE, compare, find_collections, mean_of
from benchmarks.evaluation.search import Run
from benchmarks.evaluation.systems import first_pages
from benchmarks.search.known_items import report
from benchmarks.search.meaning_weight import GRID, Row, fit, query_rows
from benchmarks.search.repeated_runs import open_repeated_run
from streams.commands.console import AsJson, command, out, print_json
from streams.errors import UsageError
from streams.search.ranking.fusion import MEANING_WEIGHT
from streams.search.ranking.weights import Parameters

TRAINING = frozenset({"cranfield", "cacm", "npl"})
"""The collections on which the weight in use is trained. The licences of the others allow no training."""
OURS = "left out"
OTHERS = ("constant", "chosen", "all others", "in use")

Gains = Mapping[str, Sequence[float]]
"""nDCG@10 of each query, by the way in which its weight is found."""


@dataclass(frozen=True, slots=True)
class Lists:
    """One collection with its lists, and the features and gains of its queries."""

    collection: Collection
    index: RememberedLists
    rows: Sequence[Row]


def rows_without(name: str, rows: Mapping[str, Sequence[Row]], of: frozenset[str]) -> dict[str, Sequence[Row]]:
    """Return the rows of the collections `of` without this one."""
    return {other: found for other, found in rows.items() if other in of and other != name}


def best_constant(rows: Mapping[str, Sequence[Row]]) -> float:
    """Return the constant weight with the best mean over the collections, each with the same share."""
    means = [np.mean([row["gains"] for row in found], axis=0) for found in rows.values()]
    return GRID[int(np.argmax(np.mean(means, axis=0)))]


def weights_of(parameters: Mapping[str, Any], rows: Sequence[Row]) -> list[float]:
    """Return the weight of each query by these parameters."""
    found = Parameters(**parameters)
    return [round(found.weight(row), 4) for row in rows]


def summarize(sets: Mapping[str, Gains]) -> dict[str, Any]:
    """Return each collection's figures, and the gains of the left-out weight over the other ways, in the means."""
    gains = {name: {way: compare(found[OURS], found[way]) for way in OTHERS} for name, found in sets.items()}
    judged = [name for name in sets if name not in MADE]

    def means(names: Sequence[str]) -> dict[str, Any]:
        return {way: mean_of([gains[name][way] for name in names]).to_dict() for way in OTHERS} if names else {}

    def least(way: str) -> float:
        return min(mean([gains[name][way].mean for name in sets if name != out_of]) for out_of in sets)

    return {
        "sets": {
            name: {
                "queries": len(found[OURS]),
                "ndcg@10": {way: round(mean(each), 4) for way, each in found.items()},
                "gain_over": {way: gain.to_dict() for way, gain in gains[name].items()},
            }
            for name, found in sets.items()
        },
        "mean": {
            "ndcg@10": {way: round(mean([mean(found[way]) for found in sets.values()]), 4) for way in (OURS, *OTHERS)},
            "gain_over": means(list(sets)),
        },
        "judged": {"gain_over": means(judged)},
        "least": {way: round(least(way), 4) for way in OTHERS} if len(sets) > 1 else {},
    }


def table(found: Mapping[str, Any]) -> list[str]:
    """Return a table in Markdown: nDCG@10 by each way, and what the left-out weight gains over two of them."""
    compared = ("constant", "chosen")
    heads = ["queries", *OTHERS[:2], f"**{OURS}**", *OTHERS[2:], *(f"gain over {way}" for way in compared)]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for name, row in {**found["sets"], "mean": found["mean"], "judged": found["judged"]}.items():
        quality = row.get("ndcg@10", {})
        cells = [f"{quality[way]:.3f}".lstrip("0") if quality else "" for way in (*OTHERS[:2], OURS, *OTHERS[2:])]
        signed = [_signed(row["gain_over"].get(way)) for way in compared]
        lines.append(f"| {name} | {' | '.join([str(row.get('queries', '')), *cells, *signed])} |")
    lines.append(f"least, one set left out: {', '.join(f'{way} {gain:+.4f}' for way, gain in found['least'].items())}")
    return lines


def _signed(difference: Mapping[str, float] | None) -> str:
    return f"{difference['mean']:+.4f} ±{difference['error']:.4f}" if difference else ""


async def read_lists(run: Run, collection: Collection) -> Lists:
    """Return the collection's lists, with the features and gains of its queries."""
    _, index = await run.index(collection.name, collection.documents)
    remembered = RememberedLists(index)
    return Lists(collection, remembered, await query_rows(index, collection.queries, run.embedder))


async def gains_of(run: Run, lists: Lists, weights: Sequence[float | None]) -> list[float]:
    """Return nDCG@10 of each query, ranked with its own weight of meaning; None is the weight of the parameters."""
    gains = []
    for query, weight in zip(lists.collection.queries, weights, strict=True):
        ranked = await first_pages(run.searcher(lists.index, meaning_weight=weight), [query.text])
        gains.append(ndcg(ranked[0], query.grades))
    return gains


async def measure(run: Run, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the figures of the collections in these folders. Raises UsageError without two training sets."""
    lists = {each.name: await read_lists(run, read_collection(each)) for each in folders}
    rows = {name: found.rows for name, found in lists.items()}
    if len(TRAINING & set(rows)) < 2:
        raise UsageError(f"the folder must hold two or more of the training sets: {', '.join(sorted(TRAINING))}")
    judged = frozenset(rows) - MADE
    sets: dict[str, Gains] = {}
    for name, found in lists.items():
        training = rows_without(name, rows, TRAINING)
        count = len(found.rows)
        weights: dict[str, Sequence[float | None]] = {
            OURS: weights_of(fit(training), found.rows),
            "constant": [MEANING_WEIGHT] * count,
            "chosen": [best_constant(training)] * count,
            "all others": weights_of(fit(rows_without(name, rows, judged)), found.rows),
            "in use": [None] * count,
        }
        sets[name] = {way: await gains_of(run, found, each) for way, each in weights.items()}
        report(f"search {name}", count, count)
    return summarize(sets)


@command
async def run(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Folder with test collections.")],
    cache: Annotated[Path | None, typer.Option(help="Folder of the vectors. Default: eval in RIFFLE_HOME.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the trained weight of meaning on each collection, with the collection left out of the training.

    Example:  python -m benchmarks weight collections/
    """
    settings, options = search_in_process(cache)
    async with AsyncExitStack() as stack:
        opened = await open_repeated_run(stack, settings, options)
        found = await measure(opened, find_collections(folder))
    if as_json:
        print_json(found)
    else:
        out.print("\n".join(table(found)), highlight=False, soft_wrap=True)
