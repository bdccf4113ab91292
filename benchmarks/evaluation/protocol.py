"""`python -m benchmarks eval search --all DIR`: what each part of the ranking is worth over all collections.

A part was chosen or trained on some queries, and an error bar over the same queries says nothing about others. So the
strength of a part is also chosen on the other collections only, and measured on the one that is left out: that figure
decides whether the part stays. Every collection counts the same in a mean, however many queries it has. Differences are
paired by query, and come with their standard errors.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.evaluation.metrics import mean
from streams.errors import UsageError
from streams.search.ranking.fusion import MEANING_WEIGHT
from streams.search.ranking.signals import SIGNALS

LISTS = ("words", "meaning", "rrf")
"""The rankings that Riffle's ranking must not be worse than."""
RIFFLE = "riffle"
MADE = frozenset({"keywords", "links", "questions"})
"""Collections whose relevant pages nobody has judged: `python -m benchmarks open-sets` makes them of a web's pages."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the ranking that was chosen by measurement."""

    without: Mapping[str, Any]
    """The options without it."""
    strengths: Sequence[Mapping[str, Any]] = ()
    """The options with each strength that it may have. Empty: nobody chose its strength."""


def _off(*names: str) -> Mapping[str, Any]:
    """Return the options without these signals."""
    return {signal.coefficient: 0.0 for signal in SIGNALS if signal.name in names}


PARTS: Mapping[str, Part] = {
    "weight of meaning": Part(
        {"meaning_weight": MEANING_WEIGHT}, [{"meaning_weight": weight} for weight in (0.5, 0.6, 0.8, 0.85, 0.9, 1.0)]
    ),
    "quality of the page": Part(_off("quality")),
    "name of the page": Part(
        _off("title", "site"),
        [{"title_weight": title, "site_weight": site} for title, site in ((0.75, 2.0), (1.5, 4.0), (3.0, 8.0))],
    ),
}


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
    strengths: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    """By part, the nDCG@10 of each query with each of its strengths."""

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
    left_out = {part: gains_left_out(collections, part) for part in collections[0].strengths}
    judged = [place for place, each in enumerate(collections) if each.name not in MADE]
    return {
        "sets": {
            each.name: each.to_dict()
            | {"left_out": {part: gains[place].to_dict() for part, gains in left_out.items() if gains}}
            for place, each in enumerate(collections)
        },
        "mean": {
            "ndcg@10": {
                name: round(mean([mean(each.gains[name]) for each in collections]), 4) for name in collections[0].gains
            },
            "over_best_list": mean_of([each.compare(each.gains[each.best_list]) for each in collections]).to_dict(),
            "parts": {part: mean_of(differences).to_dict() for part, differences in found.items()},
            "left_out": {part: mean_of(gains).to_dict() for part, gains in left_out.items() if gains},
        },
        "judged": {
            "parts": {part: mean_of([gains[place] for place in judged]).to_dict() for part, gains in found.items()},
            "left_out": {
                part: mean_of([gains[place] for place in judged]).to_dict() for part, gains in left_out.items() if gains
            },
        }
        if judged
        else {},
        "least": {part: _least(collections, differences) for part, differences in found.items()},
    }


def gains_left_out(collections: Sequence[Measured], part: str) -> list[Difference]:
    """Return what a part gains on each collection with the strength that the other collections choose.

    They choose the best one in their mean, of equal ones the first; no part at all if none gains. Collections whose
    queries were made of the words of their pages reward each part that counts words, so they choose only where no
    judged one is left. Empty with fewer than two collections, or for a part without strengths.
    """
    count = len(collections[0].strengths.get(part, ()))
    if len(collections) < 2 or not count:
        return []
    options = [[each.without[part], *each.strengths[part]] for each in collections]
    means = [[mean(gains) for gains in of_collection] for of_collection in options]
    found = []
    for name, of_collection in zip([each.name for each in collections], options, strict=True):
        others = [(each.name, gains) for each, gains in zip(collections, means, strict=True) if each.name != name]
        choosing = [gains for other, gains in others if other not in MADE] or [gains for _, gains in others]
        chosen = max(range(count + 1), key=lambda option: round(mean([each[option] for each in choosing]), 9))
        found.append(compare(of_collection[chosen], of_collection[0]))
    return found


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
