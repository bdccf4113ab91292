"""Rankings over the same documents in the same run: by Riffle, by its parts, and by another program.

`words` and `meaning` are its two lists, `rrf` fuses them by the rank of
documents (Cormack, Clarke and Buettcher 2009), and `bm25s` is another program's BM25 over whole documents, with
stemming.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.evaluation.metrics import Ranking
from streams.errors import InvalidQuery, UsageError
from streams.models.protocols import Vectors
from streams.pages.document.model import Document
from streams.search.deadline import Deadline
from streams.search.ranking.fusion import merge_lists
from streams.search.request import parse
from streams.search.searcher import Found, Searcher
from streams.stores.protocols import EVERYTHING, FOR_EVERYBODY, SparseVector, VectorIndex
from streams.vectors.bm25 import query_vector

DEPTH = 100
"""Maximum documents of a ranking."""
LIST_STATEMENTS = 1_000
"""Statements read from a list, so that the list has DEPTH documents."""
RRF_K = 60
"""The constant of reciprocal rank fusion, as in its paper."""
FIRST_PAGE = 10


async def riffle_rankings(searcher: Searcher, queries: Sequence[str]) -> tuple[list[Ranking], list[float]]:
    """Return the rankings as people get them, and the time of each search of the first page (milliseconds).

    A query that the gateway refuses, such as one that is too long, has no results and no time.
    """
    rankings: list[Ranking] = []
    times: list[float] = []
    for query in queries:
        try:
            first = await _search(searcher, query, FIRST_PAGE)
            rest = await _search(searcher, query, DEPTH)
        except InvalidQuery:  # the gateway refuses it, too
            rankings.append([])
            continue
        times.append(first.took_ms)
        # The first page is as people see it: a longer one may show more pages of one host.
        urls = [page.hits[0].payload.url for found in (first, rest) for page in found.pages]
        rankings.append(list(dict.fromkeys(urls))[:DEPTH])
    return rankings, times


async def first_pages(searcher: Searcher, queries: Sequence[str]) -> list[Ranking]:
    """Return the first page of results of each query, as people get it. A refused query has no results."""
    rankings: list[Ranking] = []
    for query in queries:
        try:
            found = await _search(searcher, query, FIRST_PAGE)
        except InvalidQuery:
            rankings.append([])
        else:
            rankings.append([page.hits[0].payload.url for page in found.pages])
    return rankings


async def _search(searcher: Searcher, query: str, per_page: int) -> Found:
    request = parse(query, options=searcher.options, visible=FOR_EVERYBODY)
    request = replace(request, per_page=per_page)  # more than a person may ask for
    return await searcher.find(request, Deadline(searcher.options.deadline_seconds))


async def list_rankings(index: VectorIndex, queries: Sequence[str], vectors: Vectors) -> dict[str, list[Ranking]]:
    """Return the rankings of the sparse list, of the dense list, and of both by reciprocal rank."""
    words, meaning, fused = [], [], []
    for query, vector in zip(queries, vectors, strict=True):
        words.append(await _documents(index, None, query_vector(query)))
        meaning.append(await _documents(index, vector.tolist(), None))
        fused.append(reciprocal_rank_fusion([words[-1], meaning[-1]])[:DEPTH])
    return {"words": words, "meaning": meaning, "rrf": fused}


async def _documents(index: VectorIndex, dense: Sequence[float] | None, sparse: SparseVector | None) -> Ranking:
    found = await index.candidates(dense=dense, sparse=sparse, visible=EVERYTHING, limit=LIST_STATEMENTS)
    return [page.hits[0].payload.url for page in merge_lists(found)[:DEPTH]]


def reciprocal_rank_fusion(rankings: Sequence[Ranking]) -> Ranking:
    """Return the documents of all rankings, by the sum of their reciprocal ranks."""
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, document in enumerate(ranking, start=1):
            scores[document] += 1 / (RRF_K + rank)
    return sorted(scores, key=lambda document: (-scores[document], document))


def bm25s_rankings(documents: Sequence[Document], queries: Sequence[str]) -> list[Ranking]:
    """Return the rankings of bm25s with English stop words and stems. Raises UsageError when it is not installed."""
    try:
        import bm25s
    except ImportError as error:
        raise UsageError("bm25s is not installed: pip install --group compare, or use --no-others") from error
    import Stemmer

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    stemmer: Any = Stemmer.Stemmer("english")
    texts = [f"{document.title} {document.text}" for document in documents]
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    asked = bm25s.tokenize(list(queries), stopwords="en", stemmer=stemmer, show_progress=False)
    found, scores = retriever.retrieve(asked, k=min(DEPTH, len(documents)), show_progress=False)
    return [
        [documents[int(number)].url for number, score in zip(row, of_row, strict=True) if score > 0]
        for row, of_row in zip(found, scores, strict=True)
    ]
