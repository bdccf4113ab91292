"""`riffle eval search DIR`: the quality and the time of search on a test collection, by the product's own code.

Documents become statements, vectors and points by the functions of the stages, and each query is a call of the
gateway's Searcher. Only the index in memory differs from the running stack: it compares all vectors, while Qdrant's
graph finds nearly all of the nearest vectors.
"""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.evaluation.ablation import CHAINED, variants
from streams.evaluation.collection import Collection, Query, read_collection
from streams.evaluation.indexing import index_of, pages_of
from streams.evaluation.metrics import figures, percentile
from streams.evaluation.systems import bm25s_rankings, list_rankings, riffle_rankings
from streams.evaluation.vector_cache import CachedEmbedder
from streams.models.protocols import Embedder
from streams.models.triton import Models, open_models
from streams.search.options import SearchOptions
from streams.search.searcher import Searcher
from streams.settings import Settings
from streams.stores.memory import MemoryFingerprints, MemoryHostLinks, MemoryIndex
from streams.stores.opener import Stores

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
    collection = read_collection(folder, options.queries)
    async with AsyncExitStack() as stack:
        opened: list[Models] = []
        for _ in range(options.embedders):
            opened.append(await open_models(settings))
            stack.push_async_callback(opened[-1].close)
        embedder = CachedEmbedder(
            [models.embedder for models in opened], options.cache, lambda done, of: progress("embed", done, of)
        )
        run = _Run(collection, settings, embedder, opened[0], progress)
        return await run.measure(options)


@dataclass(frozen=True, slots=True)
class _Run:
    collection: Collection
    settings: Settings
    embedder: Embedder
    models: Models
    progress: Progress

    @property
    def queries(self) -> list[str]:
        return [query.text for query in self.collection.queries]

    async def measure(self, options: Options) -> dict[str, Any]:
        documents, model = self.collection.documents, await self.embedder.info()
        pages = await pages_of(documents, self.models.chains, lambda done, of: self.progress("statements", done, of))
        index = await index_of(pages, self.embedder)
        rankings, times = await riffle_rankings(self._searcher(index), self.queries)
        once, _ = await riffle_rankings(self._searcher(index, feedback_pages=0), self.queries)
        systems = {"riffle": rankings, "once": once}
        vectors = await self.embedder.embed(self.queries)
        systems |= await list_rankings(index, self.queries, vectors)
        if options.others:
            systems["bm25s"] = bm25s_rankings(documents, self.queries)
        measured = {name: _figures(ranked, self.collection.queries) for name, ranked in systems.items()}
        result: dict[str, Any] = {
            "collection": self.collection.name,
            "documents": len(documents),
            "statements": sum(len(page.statements) for page in pages),
            "queries": len(self.queries),
            "refused": len(self.queries) - len(times),
            "model": f"{model.name}/{model.version}",
            **measured["riffle"],
            "p50_ms": round(percentile(times, 0.5), 1),
            "p95_ms": round(percentile(times, 0.95), 1),
            "systems": measured,
        }
        if options.ablation:
            result["ablation"] = {**await self._ablation(pages), CHAINED: measured["riffle"]}
        return result

    async def _ablation(self, chained: Sequence[Any]) -> dict[str, dict[str, float]]:
        made = await variants(self.collection.documents, chained, self.settings, None)
        found = {}
        for name, pages in made.items():
            self.progress(f"ablation: {name}", 0, 0)
            rankings, _ = await riffle_rankings(self._searcher(await index_of(pages, self.embedder)), self.queries)
            found[name] = _figures(rankings, self.collection.queries)
        return found

    def _searcher(self, index: MemoryIndex, **changed: Any) -> Searcher:
        """Return the searcher of the gateway over this index, with some options changed."""
        # Queries are embedded by the model itself, so that their time is in the figures.
        stores = Stores(
            vectors=index,
            embedder=self.models.embedder,
            fingerprints=MemoryFingerprints(),
            host_links=MemoryHostLinks(),
            reranker=self.models.reranker,
        )
        return searcher_over(stores, self.settings, **changed)


def searcher_over(stores: Stores, settings: Settings, **changed: Any) -> Searcher:
    """Return a searcher with the options of the gateway's, but with time enough, and `changed` ones."""
    options = SearchOptions.of(settings).model_copy(update={"deadline_seconds": DEADLINE_SECONDS, **changed})
    return Searcher(stores, options, on_failure=_raise)


def _figures(rankings: Sequence[Sequence[str]], queries: Sequence[Query]) -> dict[str, float]:
    return figures(rankings, [query.grades for query in queries])


def _raise(store: str, error: BaseException) -> None:
    raise error
