"""The measurement of dedup on labelled pairs: `python -m benchmarks eval dedup PAIRS PAGES`.

PAIRS is a JSONL file of `{"a": ID, "b": ID, "jaccard": 0..1}`. PAGES is a folder with `ID.html` or `ID.txt`, or a
JSONL file of `{"id": ID, "text": ...}` or `{"id": ID, "html": ...}`. A pair with a Jaccard similarity of 0.8 or more is
a near-duplicate.

Each pair goes through the stage's own code: both fingerprints are stored, and the second page's group is planned. For
comparison, the result of only SimHash (within three bits) is measured, too.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from schemas.ids import page_id
from streams.dedup.fingerprinting import Prints, fingerprint, text_shingles
from streams.dedup.grouping import SIMILARITY, Grouping, keys_of, no_links
from streams.errors import Refused, UsageError
from streams.lines.jsonl import read_rows
from streams.sketches import hamming, jaccard
from streams.stores.protocols import Fingerprint, Fingerprints

MAX_DISTANCE = 3
"""Maximum number of different bits of two SimHashes that are near."""
RANGES = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.75), (0.75, 0.8), (0.8, 0.85), (0.85, 0.9), (0.9, 0.95), (0.95, 1.01))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pages, and the Jaccard similarity of their shingles."""

    a: str
    b: str
    jaccard: float


@dataclass(frozen=True, slots=True)
class Quality:
    """Shares, 0..1. Precision is 1 if nothing was found, recall is 1 if there was nothing to find."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, verdicts: Iterable[tuple[bool, bool]]) -> "Quality":
        """Return the quality of verdicts. Each is a pair (is a duplicate, was called one)."""
        pairs = list(verdicts)
        both = sum(truth and called for truth, called in pairs)
        called, true = sum(called for _, called in pairs), sum(truth for truth, _ in pairs)
        precision, recall = both / called if called else 1.0, both / true if true else 1.0
        f1 = 2 * precision * recall / (precision + recall) if both else 0.0
        return cls(round(precision, 4), round(recall, 4), round(f1, 4))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of one run."""

    pairs: int
    duplicates: int
    verdict: Quality
    simhash_alone: Quality
    merged_by_similarity: dict[str, float]
    """Range of the labelled similarity -> share of its pairs that were called duplicates."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


async def evaluate(
    pairs: Iterable[Pair],
    texts: Mapping[str, str],
    open_store: Callable[[], Fingerprints],
    content_hash: Callable[[str], str],
) -> Evaluation:
    """Evaluate all pairs, each in an empty store. `content_hash` is the normalizer's.

    Raises UsageError if a pair's page is missing.
    """
    pages: dict[str, Fingerprint] = {}
    judged: list[tuple[Pair, bool, bool]] = []
    for pair in pairs:
        for name in (pair.a, pair.b):
            if name not in texts:
                raise UsageError(f"the pair {pair.a!r}, {pair.b!r} needs the page {name!r}, which is missing")
            if name not in pages:
                pages[name] = _make_fingerprint(name, content_hash(texts[name]), fingerprint(texts[name]))
        one, other = pages[pair.a], pages[pair.b]
        merged = await _are_merged(one, other, texts, open_store())
        near = hamming(one.simhash, other.simhash) <= MAX_DISTANCE
        judged.append((pair, merged, near))
    return Evaluation(
        pairs=len(judged),
        duplicates=sum(pair.jaccard >= SIMILARITY for pair, _, _ in judged),
        verdict=Quality.of((pair.jaccard >= SIMILARITY, merged) for pair, merged, _ in judged),
        simhash_alone=Quality.of((pair.jaccard >= SIMILARITY, near) for pair, _, near in judged),
        merged_by_similarity=_group_by_range([(pair.jaccard, merged) for pair, merged, _ in judged]),
    )


async def _are_merged(one: Fingerprint, other: Fingerprint, texts: Mapping[str, str], store: Fingerprints) -> bool:
    for page in (one, other):
        await store.put(page, page.generation)
    plan = await Grouping(store, _make_comparer(texts), no_links).plan([other])
    return any(not decision.elects_page for decision in plan.decisions.values())


def _make_fingerprint(name: str, content_hash: str, prints: Prints) -> Fingerprint:
    return Fingerprint(
        page_id=_page_id(name),
        content_hash=content_hash,
        simhash=prints.simhash,
        simhash_version=prints.simhash_version,
        url=f"https://example.com/{name}",
        generation=1,
        first_seen=1,
        document_ref=name,
        words=prints.words,
        sketch=prints.sketch,
        keys=keys_of(prints, content_hash),
    )


def _page_id(name: str) -> UUID:
    return page_id(f"https://example.com/{name}")


def _make_comparer(texts: Mapping[str, str]) -> Callable[[Fingerprint, Fingerprint], Awaitable[float]]:
    async def compare(one: Fingerprint, other: Fingerprint) -> float:
        return jaccard(text_shingles(texts[one.document_ref]), text_shingles(texts[other.document_ref]))

    return compare


def _group_by_range(judged: list[tuple[float, bool]]) -> dict[str, float]:
    shares = {}
    for low, high in RANGES:
        called = [merged for similarity, merged in judged if low <= similarity < high]
        if called:
            shares[f"{low:.2f}-{min(high, 1):.2f}"] = round(sum(called) / len(called), 4)
    return shares


def read_pairs(path: Path) -> list[Pair]:
    """Read labelled pairs. Raises UsageError that names the first invalid line."""
    pairs = []
    for number, row in read_rows(path):
        try:
            similarity = float(row["jaccard"])
            if not 0 <= similarity <= 1:  # nor NaN, which would count as no duplicate
                raise ValueError(f"a Jaccard similarity of {similarity}")
            pairs.append(Pair(str(row["a"]), str(row["b"]), similarity))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            wanted = '{"a": ID, "b": ID, "jaccard": NUMBER}'
            raise UsageError(f"{path}, line {number}: not a pair ({error!r}); a line is {wanted}") from error
    return pairs


def read_texts(path: Path, text_of_html: Callable[[bytes], str]) -> dict[str, str]:
    """Read the pages' texts, by id. If `text_of_html` raises Refused, the text is empty. Raises UsageError."""

    def text(content: bytes, is_html: bool) -> str:
        try:
            return text_of_html(content) if is_html else content.decode("utf-8", "replace")
        except Refused:
            return ""

    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in (".html", ".htm", ".txt"))
        if not files:
            raise UsageError(f"{path} contains no .html and no .txt file")
        return {_name_of(file, path): text(file.read_bytes(), file.suffix != ".txt") for file in files}
    texts = {}
    for number, row in read_rows(path):
        content = row.get("text", row.get("html"))
        if "id" not in row or not isinstance(content, str):
            raise UsageError(f'{path}, line {number}: a page has "id", and a text as "text" or "html"')
        texts[str(row["id"])] = content if "text" in row else text(content.encode(), True)
    return texts


def _name_of(file: Path, folder: Path) -> str:
    return str(file.relative_to(folder).with_suffix(""))
