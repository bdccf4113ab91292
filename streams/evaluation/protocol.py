"""`riffle eval search --all DIR`: what each part of the ranking is worth, over every test collection of a folder.

A part was chosen or trained on some queries, and an error bar over the same queries says nothing about others. So each
figure is read across collections of different kinds: a part counts if it gains on collections that had no part in its
choice. Every collection counts the same in a mean, however many queries it has. Differences are paired by query, and
come with their standard errors.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams.errors import UsageError
from streams.evaluation.metrics import mean
from streams.search.ranking.fusion import MEANING_WEIGHT

LISTS = ("words", "meaning", "rrf")
"""The rankings that Riffle's ranking must not be worse than."""
RIFFLE = "riffle"
PARTS: Mapping[str, Mapping[str, Any]] = {
    "trained weight": {"meaning_weight": MEANING_WEIGHT},
    "form of the answer": {"answer_weight": 0.0},
    "coverage of the words": {"coverage_weight": 0.0},
    "quality of the page": {"quality_weight": 0.0},
    "name of the page": {"title_weight": 0.0, "site_weight": 0.0},
}
"""The options without each part of the ranking that was chosen by measurement."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of paired differences, with its standard error."""

    mean: float
    error: float

    def to_dict(self) -> dict[str, float]:
        return {"mean": round(self.mean, 4), "error": round(self.error, 4)}


@dataclass(frozen=True, slots=True)
class Measured:
    """One collection's nDCG@10 of each query: by the whole ranking, by its lists, and without each part."""

    name: str
    gains: Mapping[str, Sequence[float]]
    """By ranking (`riffle`, `words`, `meaning`, `rrf`), the nDCG@10 of each query."""
    without: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """By part, the nDCG@10 of each query without this part."""

    @property
    def best_list(self) -> str:
        return max(LISTS, key=lambda name: mean(self.gains[name]))

    def compare(self, other: Sequence[float]) -> Difference:
        """Return what Riffle's ranking gains over another ranking of the same queries."""
        return compare(self.gains[RIFFLE], other)

    def to_dict(self) -> dict[str, Any]:
        return {
            "queries": len(self.gains[RIFFLE]),
            "ndcg@10": {name: round(mean(gains), 4) for name, gains in self.gains.items()},
            "best_list": self.best_list,
            "over_best_list": self.compare(self.gains[self.best_list]).to_dict(),
            "parts": {part: self.compare(gains).to_dict() for part, gains in self.without.items()},
        }


def compare(ours: Sequence[float], others: Sequence[float]) -> Difference:
    """Return the mean of the paired differences, and its standard error. One pair has no error: it is infinite."""
    differences = [one - other for one, other in zip(ours, others, strict=True)]
    count, middle = len(differences), mean(differences)
    variance = math.fsum((each - middle) ** 2 for each in differences)
    return Difference(middle, math.sqrt(variance / (count - 1) / count) if count > 1 else math.inf)


def mean_of(differences: Sequence[Difference]) -> Difference:
    """Return the mean of the collections' differences, each with the same share."""
    count = len(differences)
    return Difference(
        mean([each.mean for each in differences]), math.sqrt(math.fsum(each.error**2 for each in differences)) / count
    )


def summarize(collections: Sequence[Measured]) -> dict[str, Any]:
    """Return all figures: of each collection, of all in the mean, and of the others when one is left out."""
    parts = list(collections[0].without)
    found = {part: [each.compare(each.without[part]) for each in collections] for part in parts}
    return {
        "sets": {each.name: each.to_dict() for each in collections},
        "mean": {
            "ndcg@10": {
                name: round(mean([mean(each.gains[name]) for each in collections]), 4) for name in collections[0].gains
            },
            "over_best_list": mean_of([each.compare(each.gains[each.best_list]) for each in collections]).to_dict(),
            "parts": {part: mean_of(differences).to_dict() for part, differences in found.items()},
        },
        "least": {part: _least(collections, differences) for part, differences in found.items()},
    }


def _least(collections: Sequence[Measured], differences: Sequence[Difference]) -> dict[str, Any]:
    """Return the lowest mean with one collection left out: a part must not owe its gain to one collection."""
    if len(collections) < 2:
        return {}
    means = {
        each.name: mean_of([*differences[:place], *differences[place + 1 :]]).mean
        for place, each in enumerate(collections)
    }
    name = min(means, key=lambda name: means[name])
    return {"left_out": name, "mean": round(means[name], 4)}


def find_collections(folder: Path) -> list[Path]:
    """Return the folders of the collections. Raises UsageError if there is none."""
    found = sorted(file.parent for file in folder.glob("*/corpus.jsonl"))
    if not found:
        raise UsageError(
            f"{folder} has no collection: it must hold folders with corpus.jsonl, queries.jsonl, qrels.tsv"
        )
    return found
