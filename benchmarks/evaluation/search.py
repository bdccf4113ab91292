"""`python -m benchmarks eval search DIR`: quality and time of search on a test collection, by the product's own code.

Documents become statements, vectors and points by the functions of the stages, and each query is a call of the
gateway's Searcher. Only the index in memory differs from the running stack: it compares all vectors, while Qdrant's
graph finds nearly all of the nearest vectors.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evaluation.ablation import CHAINED, variants
from benchmarks.evaluation.collection import Collection, Query, read_collection
from benchmarks.evaluation.indexing import RememberedLists, index_of, pages_of, qualities_of
from benchmarks.evaluation.metrics import figures, ndcg, percentile
from benchmarks.evaluation.protocol import PARTS, RIFFLE, Measured, find_collections, summarize
from benchmarks.evaluation.systems import bm25s_rankings, first_pages, list_rankings, riffle_rankings
from benchmarks.evaluation.vector_cache import CachedEmbedder
from streams.models.opening import open_models
from streams.models.protocols import Embedder, Models
from streams.pages.document.model import Document
from streams.search.options import SearchOptions
from streams.search.ranker import PASSES
from streams.search.ranking.context import Pass
from streams.search.searcher import Searcher
from streams.seen.stores import SeenStores
from streams.settings import Settings
from streams.statements.statement import PageStatements
from streams.stores.memory import MemoryFingerprints, MemoryHostLinks, MemoryIndex, MemoryPages
from streams.stores.opener import Stores
from streams.stores.protocols import VectorIndex

DEADLINE_SECONDS = 60.0
"""Maximum duration of a search. Nobody waits for it, so a busy machine changes no figure."""

Progress = Callable[[str, int, int], None]
"""A function that gets a step's name, the number of its parts that are done, and the number of all parts."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a measurement."""

    cache: Path
    """Folder of the vectors."""
    others: bool = True
    ablation: bool = True
    queries: int | None = None
    """Maximum number of queries; None: all."""
    embedders: int = 1
    """Number of models that run side by side, each in a thread of its own."""


async def evaluate_search(folder: Path, settings: Settings, options: Options, progress: Progress) -> dict[str, Any]:
    """Return all figures. Raises UsageError for a folder that can't be read, or missing model files."""
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, options, progress)
        return await run.measure(read_collection(folder, options.queries), options)


async def evaluate_all(folder: Path, settings: Settings, options: Options, progress: Progress) -> dict[str, Any]:
    """Return what each part of the ranking gains on the collections in the folder (`protocol`). Raises UsageError."""
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, options, progress)
        model = await run.embedder.info()
        measured = [
            await run.compare_parts(read_collection(each, options.queries)) for each in find_collections(folder)
        ]
        return {"model": f"{model.name}/{model.version}", **summarize(measured)}


async def open_run(stack: AsyncExitStack, settings: Settings, options: Options, progress: Progress) -> "Run":
    """Return a run with models that the stack closes."""
    opened: list[Models] = []
    for _ in range(options.embedders):
        opened.append(await open_models(settings))
        stack.push_async_callback(opened[-1].close)
    embedder = CachedEmbedder(
        [models.embedder for models in opened], options.cache, lambda done, of: progress("embed", done, of)
    )
    return Run(settings, embedder, opened[0], progress)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a measurement: its settings, and the models that are open."""

    settings: Settings
    embedder: Embedder
    models: Models
    progress: Progress

    async def measure(self, collection: Collection, options: Options) -> dict[str, Any]:
        documents, model = collection.documents, await self.embedder.info()
        queries = [query.text for query in collection.queries]
        pages, index = await self.index(collection.name, collection.documents)
        rankings, times = await riffle_rankings(self.searcher(index), queries)
        vectors = await self.embedder.embed(queries, "query")
        systems = {RIFFLE: rankings, **await list_rankings(index, queries, vectors)}
        if options.others:
            systems["bm25s"] = bm25s_rankings(documents, queries)
        measured = {name: _figures(ranked, collection.queries) for name, ranked in systems.items()}
        result: dict[str, Any] = {
            "collection": collection.name,
            "documents": len(documents),
            "statements": sum(len(page.statements) for page in pages),
            "queries": len(queries),
            "refused": len(queries) - len(times),
            "model": f"{model.name}/{model.version}",
            **measured[RIFFLE],
            "p50_ms": round(percentile(times, 0.5), 1),
            "p95_ms": round(percentile(times, 0.95), 1),
            "systems": measured,
        }
        if options.ablation:
            result["ablation"] = {**await self._ablation(collection, pages), CHAINED: measured[RIFFLE]}
        return result

    async def compare_parts(self, collection: Collection) -> Measured:
        """Return the collection's figures, with and without each part of the ranking."""
        queries = [query.text for query in collection.queries]
        _, index = await self.index(collection.name, collection.documents)
        lists = await list_rankings(index, queries, await self.embedder.embed(queries, "query"))
        step, done, total = f"search {collection.name}", 0, 1 + sum(1 + len(part.strengths) for part in PARTS.values())
        remembered = RememberedLists(index)

        async def gains_with(changed: Mapping[str, Any]) -> list[float]:
            nonlocal done
            self.progress(step, done, total)
            done += 1
            ranked = await first_pages(self.searcher(remembered, **changed), queries)
            return _gains(ranked, collection.queries)

        gains = {RIFFLE: await gains_with({})}
        gains |= {name: _gains(ranked, collection.queries) for name, ranked in lists.items()}
        without = {name: await gains_with(part.without) for name, part in PARTS.items()}
        strengths = {name: [await gains_with(each) for each in part.strengths] for name, part in PARTS.items()}
        self.progress(step, total, total)
        return Measured(collection.name, gains, without, strengths)

    async def index(self, name: str, documents: Sequence[Document]) -> tuple[list[PageStatements], MemoryIndex]:
        """Return the statements of the documents, and an index with them."""
        step = f"statements of {name}"
        pages = await pages_of(documents, self.models.chains, lambda done, of: self.progress(step, done, of))
        return pages, await index_of(pages, self.embedder, qualities_of(documents))

    async def _ablation(self, collection: Collection, chained: Sequence[Any]) -> dict[str, dict[str, float]]:
        made = await variants(collection.documents, chained, self.settings, None)
        queries, found = [query.text for query in collection.queries], {}
        for name, pages in made.items():
            self.progress(f"ablation: {name}", 0, 0)
            rankings, _ = await riffle_rankings(self.searcher(await index_of(pages, self.embedder)), queries)
            found[name] = _figures(rankings, collection.queries)
        return found

    def searcher(self, index: VectorIndex, passes: Sequence[Pass] = PASSES, **changed: Any) -> Searcher:
        """Return the searcher of the gateway over this index, with some options changed, or other passes."""
        return searcher_over(self.stores(index), self.settings, passes, **changed)

    def stores(self, index: VectorIndex) -> Stores:
        """Return the stores of a search over this index."""
        # Queries are embedded by the model itself, so that their time is in the figures.
        return Stores(
            vectors=index,
            embedder=self.models.embedder,
            fingerprints=MemoryFingerprints(),
            host_links=MemoryHostLinks(),
            pages=MemoryPages(),
            reranker=self.models.reranker,
        )


def searcher_over(stores: Stores, settings: Settings, passes: Sequence[Pass] = PASSES, **changed: Any) -> Searcher:
    """Return a searcher with the options of the gateway's, but with time enough, and `changed` ones."""
    options = SearchOptions.of(settings).model_copy(update={"deadline_seconds": DEADLINE_SECONDS, **changed})
    return Searcher(SeenStores(stores), options, on_failure=_raise, passes=passes)


def _figures(rankings: Sequence[Sequence[str]], queries: Sequence[Query]) -> dict[str, float]:
    return figures(rankings, [query.grades for query in queries])


def _gains(rankings: Sequence[Sequence[str]], queries: Sequence[Query]) -> list[float]:
    return [ndcg(ranking, query.grades) for ranking, query in zip(rankings, queries, strict=True)]


def _raise(store: str, error: BaseException) -> None:
    raise error
