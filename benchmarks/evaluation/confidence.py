"""`python -m benchmarks eval confidence DIR`: the confidence in the results of nonsense, and of judged queries.

Over each collection of a folder 200 made nonsense queries and the collection's own queries are asked. An own query is
answered if a relevant page is among its first ten results; it is lost if its results are then called the nearest only.
The bound is also chosen on the other collections only, and judged on the one that had no part in the choice. The bound
of a collection's own index is measured as a gateway does (`measuring.py`). Further nonsense and forty queries of
senseless words have no part in any choice: a bound may suit only the words it saw.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.evaluation.collection import Collection, read_collection
from benchmarks.evaluation.metrics import mean
from benchmarks.evaluation.protocol import find_collections
from benchmarks.evaluation.search import DEADLINE_SECONDS, Options, Progress, Run, open_run
from streams.errors import InvalidQuery, UsageError
from streams.search.deadline import Deadline
from streams.search.options import SearchOptions
from streams.search.ranking.confidence import MAX_CONFIDENT, Confidence, model_bounds
from streams.search.request import parse
from streams.search.retrieval.measuring import IndexBound
from streams.search.retrieval.nonsense import make_nonsense, make_senseless
from streams.search.searcher import Found, Searcher
from streams.seen.stores import SeenStores
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import FOR_EVERYBODY

GRID = tuple(round(0.2 + 0.01 * step, 2) for step in range(100))
MAX_LOST = 0.005
"""Maximum share of answered queries that a bound may lose on the collections that choose: half of the target."""
SENSELESS, FRESH = "senseless", "fresh"
"""The names of the queries that have no part in the choice of a bound: senseless words, and further nonsense."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The confidence in the results of the queries of one collection."""

    name: str
    answered: tuple[float, ...]
    """The confidence in each query with a relevant page among its first results."""
    nonsense: Mapping[str, tuple[float, ...]]
    """The confidence in each made query, by its kind."""
    senseless: tuple[float, ...] = ()
    """The confidence in each further query of senseless words."""
    bound_of_index: float | None = None
    """The bound that a gateway over this collection measures."""
    fresh: tuple[float, ...] = ()
    """The confidence in 200 further queries of the same kinds as the nonsense."""

    def lost(self, bound: float) -> float:
        """Return the share of answered queries below the bound."""
        return mean([float(score < bound) for score in self.answered])

    def confident(self, bound: float) -> float:
        """Return the share of nonsense queries with confident results."""
        return mean([float(score >= bound) for scores in self.nonsense.values() for score in scores])

    def to_dict(self, bound: float | None, chosen: float) -> dict[str, Any]:
        figures: dict[str, Any] = {"answered": len(self.answered), "chosen_by_others": self._at(chosen)}
        if bound is not None:
            figures["of_index"] = self._at(bound if self.bound_of_index is None else self.bound_of_index)
            kinds = {
                kind: round(mean([float(score >= bound) for score in scores]), 4)
                for kind, scores in self.nonsense.items()
            }
            figures |= self._at(bound) | {"kinds": kinds}
        return figures

    def _at(self, bound: float) -> dict[str, float]:
        return {
            "bound": round(bound, 4),
            "lost": round(self.lost(bound), 4),
            "confident_nonsense": round(self.confident(bound), 4),
            "confident_fresh": round(mean([float(score >= bound) for score in self.fresh]), 4),
            "confident_senseless": round(mean([float(score >= bound) for score in self.senseless]), 4),
        }


async def evaluate_confidence(folder: Path, settings: Settings, options: Options, progress: Progress) -> dict[str, Any]:
    """Return the figures of each collection in the folder, and their means. Raises UsageError."""
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, options, progress)
        model = await run.embedder.info()
        judged = [
            await _judge(run, read_collection(each, options.queries), model.name) for each in find_collections(folder)
        ]
        fixed = settings.gateway.min_confidence
        bound = model_bounds().get(model.name) if fixed is None else fixed
        return {"model": f"{model.name}/{model.version}", **summarize(judged, bound)}


def summarize(judged: Sequence[Judged], bound: float | None) -> dict[str, Any]:
    """Return the figures at the product's bound, and at the bounds that the other collections choose."""
    if len(judged) < 2:
        raise UsageError("one collection can't be judged by a bound of the others: give a folder with two or more")
    sets = {}
    for place, each in enumerate(judged):
        sets[each.name] = each.to_dict(bound, choose_bound([*judged[:place], *judged[place + 1 :]]))
    means = {
        f"mean_{way}": _means(sets, way)
        for way in ("chosen_by_others", "of_index")
        if bound is not None or way != "of_index"
    }
    return {"bound": bound, "chosen_by_all": choose_bound(judged), "sets": sets, **means}


def _means(sets: Mapping[str, Mapping[str, Any]], way: str) -> dict[str, float]:
    names = ("lost", "confident_nonsense", "confident_fresh", "confident_senseless")
    return {name: round(mean([found[way][name] for found in sets.values()]), 4) for name in names}


def choose_bound(judged: Sequence[Judged]) -> float:
    """Return the middle between the lowest bound for nonsense and the highest one for answered queries.

    Each collection has the same share. Both sides get the same margin, since other collections have other distances.
    """
    for_queries = [bound for bound in GRID if mean([each.lost(bound) for each in judged]) <= MAX_LOST]
    for_nonsense = [bound for bound in GRID if mean([each.confident(bound) for each in judged]) <= MAX_CONFIDENT]
    return round((max(for_queries, default=GRID[0]) + min(for_nonsense, default=GRID[-1])) / 2, 2)


async def _judge(run: Run, collection: Collection, model: str) -> Judged:
    _, index = await run.index(collection.name, collection.documents)
    # With a bound of 0 all results are found: their confidence is noted, and none is left out.
    searcher, step = run.searcher(index, min_confidence=0.0), f"ask {collection.name}"
    fresh = tuple(chain.from_iterable(make_nonsense(FRESH).values()))
    kinds = {**make_nonsense(), SENSELESS: make_senseless(), FRESH: fresh}
    total, done = len(collection.queries) + sum(map(len, kinds.values())), 0
    answered: list[float] = []
    for query in collection.queries:
        found = await _find(searcher, query.text)
        if found and any(page.hits[0].payload.url in query.grades for page in found.pages):
            answered.append(_score_of(found))
        done += 1
        run.progress(step, done, total)
    scores: dict[str, tuple[float, ...]] = {}
    for kind, queries in kinds.items():
        asked = [await _find(searcher, query) for query in queries]
        scores[kind] = tuple(_score_of(found) for found in asked if found)
        done += len(queries)
        run.progress(step, done, total)
    senseless, further = scores.pop(SENSELESS), scores.pop(FRESH)
    bound = await bound_over(run.stores(index), run.settings, model)
    return Judged(collection.name, tuple(answered), scores, senseless, bound, further)


async def bound_over(stores: Stores, settings: Settings, model: str) -> float | None:
    """Return the bound that a gateway measures over this index. Each document of a collection is a site."""
    options = SearchOptions.of(settings).model_copy(
        update={"min_confidence": None, "deadline_seconds": DEADLINE_SECONDS}
    )
    measured = IndexBound(
        SeenStores(stores), options, on_failure=_ignore, clock=lambda: 0.0, pause=_go_on, site_of=lambda host: host
    )
    await measured.measure()
    return measured.of(model)


async def _go_on() -> None:
    """Make no pause: nobody else searches."""


def _ignore(_store: str, _error: BaseException) -> None:
    """Do nothing: a failure ends the measurement, which logs it."""


async def _find(searcher: Searcher, text: str) -> Found | None:
    """Return the first page of results; None for a query that the gateway refuses."""
    try:
        request = parse(text, options=searcher.options, visible=FOR_EVERYBODY)
    except InvalidQuery:
        return None
    return await searcher.find(request, Deadline(searcher.options.deadline_seconds))


def _score_of(found: Found) -> float:
    """Return the confidence. It is infinite for a query that is not judged, or whose words are all in one statement."""
    noted = found.notes.passes.get("confidence")
    return Confidence(noted["closeness"], noted["words"]).certain_score if noted else float("inf")
