"""A map of the index: pages in the plane, close to each other if their statements mean the same. Pure.

A page's vector is the mean of the vectors of its first statements. UMAP (McInnes et al., 2018) brings the vectors to
two dimensions. A region of the map is a cell of a grid; its label are the words that its pages have more often than all
others, by their share in the cell against their share in the sample.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from streams.errors import UsageError
from streams.pages.text.tokens import words

MIN_PAGES = 30
"""Minimum number of pages of a map: fewer say nothing."""
NEIGHBOURS = 15
"""Number of neighbours by which UMAP describes the place of a page (its default)."""
QUERY_NEIGHBOURS = 5
"""Number of the nearest pages by which a query is placed."""
SEED = 42
CELLS = 6
"""Number of cells of the grid in each direction."""
MIN_CELL_SHARE = 0.01
"""Minimum share of the pages that a cell with a label has."""
LABEL_WORDS = 3
MIN_WORD_CHARS = 4
MIN_WORD_PAGES = 3
"""Minimum number of pages of a cell that have a word of its label."""
MAX_PAGE_WORDS = 60

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MappedPage:
    """A page on the map. `x` and `y` are from 0 to 1."""

    page_id: str
    url: str
    title: str
    host: str
    words: tuple[str, ...]
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class Label:
    """The words of a region, at the middle of its pages."""

    text: str
    x: float
    y: float
    pages: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A query without results, among the pages of the sample that are nearest to it in meaning."""

    query: str
    language: str
    times: float
    """Number of times it had no result, in the last days."""
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class IndexMap:
    """A map of a sample of pages."""

    made_at: str
    collection: str
    pages: tuple[MappedPage, ...]
    labels: tuple[Label, ...]
    gaps: tuple[Gap, ...] = ()
    """Only where queries are collected."""

    def pack(self) -> bytes:
        """Return the map as compressed JSON."""
        return zlib.compress(json.dumps(asdict(self), ensure_ascii=False).encode())

    @classmethod
    def unpack(cls, packed: bytes) -> "IndexMap":
        """Return the map that `pack` made. Raises ValueError for any other bytes."""
        try:
            found: dict[str, Any] = json.loads(zlib.decompress(packed))
            pages = tuple(MappedPage(**{**page, "words": tuple(page["words"])}) for page in found["pages"])
            labels, gaps = (tuple(kind(**one) for one in found[name]) for kind, name in _PARTS)
            return cls(found["made_at"], found["collection"], pages, labels, gaps)
        except (KeyError, TypeError, zlib.error) as error:
            raise ValueError(f"this is no map: {error}") from None


_PARTS: tuple[tuple[Any, str], ...] = ((Label, "labels"), (Gap, "gaps"))


def place_queries(queries: Floats, pages: Floats, places: Floats) -> Floats:
    """Return the place of each query: the mean of the places of its nearest pages, weighted by their cosines.

    `queries` and `pages` are vectors of length 1, `places` the pages' coordinates.
    """
    cosines = queries @ pages.T
    nearest = np.argsort(-cosines, axis=1)[:, :QUERY_NEIGHBOURS]
    weights = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 1e-3)
    result: Floats = (places[nearest] * weights[:, :, None]).sum(axis=1) / weights.sum(axis=1, keepdims=True)
    return result


def page_words(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the different words of a page that may be in labels and are searched on the map."""
    found = (word for text in texts for word in words(text) if len(word) >= MIN_WORD_CHARS and word.isalpha())
    return tuple(dict.fromkeys(found))[:MAX_PAGE_WORDS]


def mean_vectors(vectors: Sequence[Sequence[float]], owners: Sequence[UUID], pages: Sequence[UUID]) -> Floats:
    """Return the mean vector of each page, of length 1. `owners` are the pages of the vectors."""
    place = {page: row for row, page in enumerate(pages)}
    sums = np.zeros((len(pages), len(vectors[0])), np.float32)
    np.add.at(sums, [place[owner] for owner in owners], np.asarray(vectors, np.float32))
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    result: Floats = sums / np.maximum(lengths, 1e-9)
    return result


def lay_out(vectors: Floats) -> Floats:
    """Return the places of the vectors in the plane, each coordinate from 0 to 1. Raises UsageError without UMAP."""
    if len(vectors) < MIN_PAGES:
        raise UsageError(f"{len(vectors)} pages are in the sample, and a map needs {MIN_PAGES}")
    try:
        from umap import UMAP
    except ImportError:
        raise UsageError("the map needs UMAP: pip install 'PATH_OF_THE_CLONE[map]', or the image riffle-map") from None
    made = UMAP(n_components=2, n_neighbors=NEIGHBOURS, metric="cosine", random_state=SEED, n_jobs=1)
    places = np.asarray(made.fit_transform(vectors), np.float32)
    low, high = places.min(axis=0), places.max(axis=0)
    scaled: Floats = (places - low) / np.maximum(high - low, 1e-9)
    return scaled


def label_regions(pages: Sequence[MappedPage]) -> tuple[Label, ...]:
    """Return the labels of the cells with enough pages. Of cells with the same words, the largest has the label."""
    everywhere = Counter(word for page in pages for word in page.words)
    cells: dict[tuple[int, int], list[MappedPage]] = {}
    for page in pages:
        cells.setdefault((min(int(page.x * CELLS), CELLS - 1), min(int(page.y * CELLS), CELLS - 1)), []).append(page)
    least = max(MIN_CELL_SHARE * len(pages), MIN_WORD_PAGES)
    labelled = (_label(inside, everywhere, len(pages)) for inside in cells.values() if len(inside) >= least)
    largest = sorted(filter(None, labelled), key=lambda label: (-label.pages, label.x, label.y))
    return tuple({label.text: label for label in reversed(largest)}.values())


def _label(inside: Sequence[MappedPage], everywhere: Counter[str], total: int) -> Label | None:
    here = Counter(word for page in inside for word in page.words)
    size = len(inside)

    def score(word: str) -> float:
        """Return the share of the cell's pages with the word, times the logarithm of its excess over the sample."""
        return here[word] / size * log((here[word] / size) / (everywhere[word] / total))

    candidates = [word for word, count in here.items() if count >= MIN_WORD_PAGES]
    best = sorted(candidates, key=lambda word: (-score(word), word))[:LABEL_WORDS]
    if not best:
        return None
    x, y = (sum(getattr(page, axis) for page in inside) / size for axis in ("x", "y"))
    return Label(" ".join(best), x, y, size)
