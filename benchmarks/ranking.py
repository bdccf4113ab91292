"""The quality of ranking: nDCG@10 of BM25, of the embedding model, and of both fused, by Riffle's own code.

    python benchmarks/ranking.py FOLDER [--embed inprocess:|ADDRESS] [--cache FILE] [--documents N]

FOLDER holds a test collection in BEIR's format (corpus.jsonl, queries.jsonl, qrels.tsv). Each document becomes
statements as a page would, a document's score is that of its best statement, and ranks are fused by RRF with k = 60.
"""

import argparse
import asyncio
import json
import math
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from streams.pages.document.model import Block, Document
from streams.settings import Settings
from streams.statements.chaining import chain_input, statements
from streams.statements.drafting import drafts
from streams.statements.sentences import SentenceSplitter
from streams.statements.statement import Statement
from streams.stores.inference.antecedents import antecedents
from streams.stores.protocols import SparseVector
from streams.stores.triton import open_models
from streams.vectors.bm25 import document_vector, query_vector

Ranking = list[int]
Numbers = NDArray[np.int64]
Weights = NDArray[np.float64]
DEPTH = 100
"""Maximum documents of a ranking."""
RRF_K = 60
"""The constant of the fusion, as in its paper."""


def main() -> None:
    arguments = _arguments()
    documents, queries, relevant = read_collection(arguments.folder)
    owners, found = all_statements(documents[: arguments.documents])
    rankings = {"bm25": bm25_rankings(owners, found, queries)}
    if arguments.embed:
        dense = asyncio.run(dense_rankings(arguments, owners, found, queries))
        rankings |= {"dense": dense, "rrf": [fused(pair) for pair in zip(rankings["bm25"], dense, strict=True)]}
    for name, ranking in rankings.items():
        print(f"{arguments.folder.name:12} {name:6} nDCG@10 {mean_ndcg(ranking, relevant):.3f}")


def read_collection(folder: Path) -> tuple[list[Document], list[str], list[dict[int, int]]]:
    """Documents, query texts, and for each query the grades by document's index."""
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").open()]
    index = {str(row["_id"]): number for number, row in enumerate(rows)}
    grades: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")[:3]
        grades[query][index[document]] = int(grade)
    queries = [json.loads(line) for line in (folder / "queries.jsonl").open()]
    judged = [query for query in queries if grades.get(str(query["_id"]))]
    documents = [
        Document(
            url=f"https://{folder.name}.test/{row['_id']}",
            title=row.get("title", ""),
            language="en",
            blocks=tuple(Block("p", part) for part in row["text"].split("\n\n") if part.strip())
            or (Block("p", row.get("title") or "-"),),
        )
        for row in rows
    ]
    return documents, [query["text"] for query in judged], [grades[str(query["_id"])] for query in judged]


def all_statements(documents: list[Document]) -> tuple[list[int], list[Statement]]:
    """All statements, and the document that each belongs to."""
    splitter = SentenceSplitter()
    owners: list[int] = []
    found: list[Statement] = []
    begin = time.process_time()
    for number, document in enumerate(documents):
        drafted, _ = drafts(document, splitter)
        sentences, places = chain_input(drafted)
        made = statements(UUID(int=number), drafted, places, antecedents(sentences))
        owners += [number] * len(made)
        found += made
    seconds = time.process_time() - begin
    print(
        f"{len(found)} statements of {len(documents)} documents, {1000 * seconds / len(found):.2f} ms each",
        file=sys.stderr,
    )
    return owners, found


def bm25_rankings(owners: list[int], found: list[Statement], queries: list[str]) -> list[Ranking]:
    postings = _postings([document_vector(statement.text, statement.context) for statement in found])
    return [_best(owners, _sparse_scores(query_vector(query, "en"), postings, len(found))) for query in queries]


def _postings(vectors: list[SparseVector]) -> dict[int, tuple[Numbers, Weights]]:
    """By term: the statements that have it, and its weights there."""
    listed: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for number, vector in enumerate(vectors):
        for term, weight in zip(vector.indices, vector.values, strict=True):
            listed[term].append((number, weight))
    return {
        term: (np.array([number for number, _ in pairs]), np.array([weight for _, weight in pairs]))
        for term, pairs in listed.items()
    }


def _sparse_scores(query: SparseVector, postings: dict[int, tuple[Numbers, Weights]], total: int) -> Weights:
    scores = np.zeros(total)
    for term, asked in zip(query.indices, query.values, strict=True):
        if term in postings:
            numbers, weights = postings[term]
            # Qdrant's `idf` modifier: ln(1 + (N - n + 0.5) / (n + 0.5))
            scores[numbers] += asked * weights * math.log(1 + (total - len(numbers) + 0.5) / (len(numbers) + 0.5))
    return scores


async def dense_rankings(
    arguments: argparse.Namespace, owners: list[int], found: list[Statement], queries: list[str]
) -> list[Ranking]:
    models = await open_models(Settings.load(triton={"url": arguments.embed}))
    if arguments.cache and arguments.cache.exists():
        vectors = np.load(arguments.cache)
    else:
        begin = time.perf_counter()
        vectors = await models.embedder.embed([statement.in_context for statement in found])
        print(f"{len(found) / (time.perf_counter() - begin):.0f} embeddings/s", file=sys.stderr)
        if arguments.cache:
            np.save(arguments.cache, vectors)
    asked = await models.embedder.embed(queries)
    await models.close()
    return [_best(owners, row) for row in asked @ vectors.T]


def _best(owners: list[int], scores: Weights) -> Ranking:
    """Documents by their best statement."""
    best = np.full(max(owners) + 1, -np.inf)
    np.maximum.at(best, owners, scores)
    return [int(document) for document in np.argsort(-best, kind="stable")[:DEPTH] if best[document] > 0]


def fused(rankings: tuple[Ranking, ...]) -> Ranking:
    """Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009)."""
    scores: Counter[int] = Counter()
    for ranking in rankings:
        for rank, document in enumerate(ranking, start=1):
            scores[document] += 1 / (RRF_K + rank)
    return sorted(scores, key=lambda document: (-scores[document], document))


def mean_ndcg(rankings: list[Ranking], relevant: list[dict[int, int]], at: int = 10) -> float:
    return float(np.mean([_ndcg(ranking, grades, at) for ranking, grades in zip(rankings, relevant, strict=True)]))


def _ndcg(ranking: Ranking, grades: dict[int, int], at: int) -> float:
    gain = sum(grades.get(document, 0) / math.log2(rank + 1) for rank, document in enumerate(ranking[:at], start=1))
    ideal = sum(
        grade / math.log2(rank + 1) for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:at], start=1)
    )
    return gain / ideal if ideal else 0.0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embed", help="also rank by meaning: inprocess: or Triton's gRPC address")
    parser.add_argument("--cache", type=Path, help="a .npy file to keep the statements' vectors in")
    parser.add_argument("--documents", type=int, help="only the first so many")
    return parser.parse_args()


if __name__ == "__main__":
    main()
