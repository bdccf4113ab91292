"""`python -m benchmarks eval extract DIR`: the quality of the extraction, beside other libraries on the same pages.

DIR holds `html/ID.html` (or `.html.gz`) and `truth/ID.json` with `main_content`, `title`, `author` and `publish_date`,
at the top or below `ground_truth`. Word F1 is of the multisets of lower-cased `\\w+`, 4-gram F1 of their shingles; both
are means over the pages with a main content. Titles, authors and dates are compared word by word, on the pages with one
in their truth. Speed is pages per second of this process's CPU time, and milliseconds of a page by type: for Riffle the
whole normalizer, with facts and links; for the others only the text. Models are loaded before.

A truth with `names`, `values`, `code`, `language` and `source` says what is looked for on the page
(`benchmarks/documents/looked_for.py`): `python -m benchmarks.documents.generators` makes such pages. Those shares
are of all items of the pages together.
"""

import gzip
import json
import re
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.documents.looked_for import SHARES, LookedFor, Wanted, parse_html, text_of
from streams.errors import Refused, UsageError
from streams.pages.normalize import normalize
from streams.resources import exempt_loaded_objects
from streams.sandbox.worker import COLLECTED_OBJECTS

_WORD = re.compile(r"\w+")
_T = TypeVar("_T", bound=Hashable)
SHINGLE = 4


@dataclass(frozen=True, slots=True)
class Page:
    """One page and its truth."""

    id: str
    url: str
    type: str
    html: bytes
    main_content: str
    title: str = ""
    author: str = ""
    published: str = ""
    wanted: Wanted = field(default_factory=Wanted)


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of an extractor."""

    text: str = ""
    title: str = ""
    author: str = ""
    published: str = ""
    language: str = ""


@dataclass(slots=True)
class Scores:
    """The running figures of one extractor."""

    pages: int = 0
    words: dict[str, list[float]] = field(default_factory=dict)
    shingles: dict[str, list[float]] = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    given: set[str] = field(default_factory=set)
    """The names of the fields (title, author, published) that the extractor gives at all."""
    looked_for: LookedFor = field(default_factory=LookedFor)
    cpu_seconds: dict[str, list[float]] = field(default_factory=dict)
    """The CPU time of each page, by type."""
    worst: tuple[float, str] = (2.0, "")

    def add(self, page: Page, found: Extracted, cpu_seconds: float) -> None:
        self.cpu_seconds.setdefault(page.type, []).append(cpu_seconds)
        self.pages += 1
        if page.main_content or not page.wanted.source:
            self._add_words(page, words_of(found.text), words_of(page.main_content))
        if page.wanted.source:
            self.looked_for.add(page.type, page.wanted, found.text, found.language)
        for name in ("title", "author", "published"):
            if getattr(found, name):
                self.given.add(name)
            expected = getattr(page, name)[: 10 if name == "published" else None]
            if expected:
                self.asked[name] += 1
                self.hits[name] += words_of(expected) == words_of(getattr(found, name))

    def _add_words(self, page: Page, words: list[str], truth: list[str]) -> None:
        score = word_f1(Counter(words), Counter(truth))
        self.words.setdefault(page.type, []).append(score)
        self.shingles.setdefault(page.type, []).append(word_f1(Counter(shingles(words)), Counter(shingles(truth))))
        self.worst = min(self.worst, (score, page.id))

    def to_dict(self) -> dict[str, Any]:
        everything = [score for scores in self.words.values() for score in scores]
        taken = sum(map(sum, self.cpu_seconds.values()))
        return {
            "pages": self.pages,
            "word_f1": _mean(everything),
            "word_f1_by_type": {kind: _mean(scores) for kind, scores in sorted(self.words.items())},
            "ngram_f1": _mean(score for scores in self.shingles.values() for score in scores),
            "ngram_f1_by_type": {kind: _mean(scores) for kind, scores in sorted(self.shingles.items())},
            "title_accuracy": self._accuracy("title"),
            "author_accuracy": self._accuracy("author"),
            "date_accuracy": self._accuracy("published"),
            "looked_for": self.looked_for.to_dict(),
            "pages_per_cpu_second": round(self.pages / taken, 1) if taken else 0.0,
            "cpu_ms_by_type": {
                kind: round(1_000 * sum(each) / len(each), 1) for kind, each in sorted(self.cpu_seconds.items())
            },
            "worst_page": {"id": self.worst[1], "word_f1": round(self.worst[0], 4)},
        }

    def _accuracy(self, name: str) -> float | None:
        return round(self.hits[name] / self.asked[name], 4) if self.asked[name] and name in self.given else None


Extractor = Callable[[Page], Extracted]
PORTION = 50
"""Number of pages that one extractor reads before the next one: enough to warm up, few enough that changes of the
machine's load affect all extractors."""


def evaluate_extraction(directory: Path, *, others: bool = True, limit: int | None = None) -> dict[str, dict[str, Any]]:
    """Return the figures of each extractor by name, Riffle's first.

    Raises UsageError if DIR is not laid out as above.
    """
    extractors: dict[str, tuple[Extractor, Extractor | None]] = {"riffle": (_extract_with_riffle, None)}
    if others:
        extractors |= _other_extractors()
    scores = {name: Scores() for name in extractors}
    pages = load_pages(directory, limit)
    exempt_loaded_objects(COLLECTED_OBJECTS)  # as the worker that parses pages does, once all is loaded
    while portion := list(islice(pages, PORTION)):
        for name, (extract, more) in extractors.items():
            extract(portion[0])  # not counted: the first page loads models and warms the caches
            found = [_time_extraction(extract, page) for page in portion]
            for page, (extracted, taken) in zip(portion, found, strict=True):
                scores[name].add(page, more(page) if more is not None else extracted, taken)
    return {name: score.to_dict() for name, score in scores.items()}


def _time_extraction(extract: Extractor, page: Page) -> tuple[Extracted, float]:
    started = time.process_time()
    found = extract(page)
    return found, time.process_time() - started


def render(results: dict[str, dict[str, Any]]) -> str:
    """Return the figures as a table for people: one column per extractor."""
    kinds = sorted({kind for result in results.values() for kind in result["word_f1_by_type"]})
    rows: list[tuple[str, list[Any]]] = []
    for label, name in (("word F1", "word_f1"), ("4-gram F1", "ngram_f1")) if kinds else ():
        rows.append((label, [result[name] for result in results.values()]))
        rows += [(f"  {kind}", [result[f"{name}_by_type"].get(kind) for result in results.values()]) for kind in kinds]
    rows += _looked_for_rows([result["looked_for"] for result in results.values()])
    for label, name in (("title", "title_accuracy"), ("author", "author_accuracy"), ("date", "date_accuracy")):
        rows.append((f"{label} accuracy", [result[name] for result in results.values()]))
    rows.append(("pages per CPU second", [result["pages_per_cpu_second"] for result in results.values()]))
    for kind in next(iter(results.values()))["cpu_ms_by_type"]:
        rows.append((f"  ms of {kind}", [result["cpu_ms_by_type"][kind] for result in results.values()]))
    rows.append(("worst page", [result["worst_page"]["id"] for result in results.values()]))
    lines = [f"{'':22}" + "".join(f"{name:>18}" for name in results)]
    for label, values in rows:
        lines.append(f"{label:22}" + "".join(f"{_format_value(value):>18}" for value in values))
    pages = next(iter(results.values()))["pages"]
    return "\n".join([*lines, f"{pages} pages"])


def _looked_for_rows(found: list[dict[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the shares of names, values, listings and chrome, with the names and values of each type of page."""
    for name in SHARES if found[0] else ():
        yield name.replace("_", " "), [one[name] for one in found]
        for kind in found[0]["by_type"] if name in {"names_recall", "values_recall"} else ():
            yield f"  {kind}", [one["by_type"][kind][name] for one in found]


def _format_value(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) and value <= 1 else str(value)


def _extract_with_riffle(page: Page) -> Extracted:
    try:
        document = normalize(page.html, url=page.url).document
    except Refused:
        return Extracted()
    facts = document.facts
    published = str(facts.get("published") or facts.get("modified") or "")[:10]
    return Extracted(document.text, document.title, str(facts.get("author") or ""), published, document.language)


def _other_extractors() -> dict[str, tuple[Extractor, Extractor | None]]:
    """Return the other extractors.

    The second function of each is not timed, and adds what the first does not extract.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # trafilatura lacks a library of proxies, which nothing here needs
            import readability
            import trafilatura
            from resiliparse.extract.html2text import extract_plain_text
    except ImportError as error:
        raise UsageError(f"{error.name} is not installed: pip install --group compare, or use --no-others") from error

    def traf(page: Page, *, fast: bool) -> Extracted:
        return Extracted(trafilatura.extract(page.html, fast=fast) or "")

    def traf_facts(page: Page, *, fast: bool) -> Extracted:
        known = trafilatura.extract_metadata(page.html)
        text = traf(page, fast=fast).text
        return Extracted(text, known.title or "", known.author or "", (known.date or "")[:10])

    def resili(page: Page) -> Extracted:
        return Extracted(extract_plain_text(page.html.decode("utf-8", "replace"), main_content=True))

    def readable(page: Page) -> Extracted:
        try:
            document = readability.Document(page.html.decode("utf-8", "replace"))
            return Extracted(_text_of_html(document.summary()), document.short_title())
        except Exception:  # it raises its own error on pages without text, and lxml's error on broken pages
            return Extracted()

    return {
        "trafilatura": (lambda page: traf(page, fast=False), lambda page: traf_facts(page, fast=False)),
        "trafilatura_fast": (lambda page: traf(page, fast=True), lambda page: traf_facts(page, fast=True)),
        "resiliparse": (resili, None),
        "readability": (readable, None),
    }


def _text_of_html(html: str) -> str:
    return text_of(parse_html(html)) if html else ""


def load_pages(directory: Path, limit: int | None = None) -> Iterator[Page]:
    """Yield the pages by id. Raises UsageError if DIR has another layout."""
    truths = sorted((directory / "truth").glob("*.json"))
    if not truths:
        raise UsageError(f"{directory}/truth holds no .json file; expected DIR/html/ID.html and DIR/truth/ID.json")
    for path in truths[:limit]:
        yield _page(directory, path)


def _page(directory: Path, path: Path) -> Page:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} can't be read as JSON: {error}") from error
    truth = (stored.get("ground_truth") or stored) if isinstance(stored, dict) else None
    if not isinstance(truth, dict):
        raise UsageError(f"{path} is no JSON object with main_content, title, author and publish_date")
    plain = directory / "html" / f"{path.stem}.html"
    packed = plain.with_suffix(".html.gz")
    try:
        html = gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path.stem}: its HTML can't be read: {error}") from error
    return Page(
        id=path.stem,
        url=_text(stored, "url", path) or f"https://{path.stem}.example/",
        type=_type(stored, path) or "all",
        html=html,
        main_content=_text(truth, "main_content", path),
        title=_text(truth, "title", path),
        author=_text(truth, "author", path),
        published=_text(truth, "publish_date", path),
        wanted=Wanted.read(truth),
    )


def _type(stored: Mapping[str, Any], path: Path) -> str:
    internal = stored.get("_internal")
    holder = internal if isinstance(internal, dict) and internal.get("page_type") else stored
    kind = holder.get("page_type")
    return _text(kind, "primary", path) if isinstance(kind, dict) else _text(holder, "page_type", path)


def _text(truth: Mapping[str, Any], name: str, path: Path) -> str:
    """Return a text that may be missing. Raises UsageError for anything else."""
    value = truth.get(name) or ""
    if not isinstance(value, str):
        raise UsageError(f"{path}: {name!r} should be a text, or null")
    return value


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def word_f1(found: Counter[_T], truth: Counter[_T]) -> float:
    """Return the F1 of two multisets. Two empty multisets are equal."""
    size = found.total() + truth.total()
    return 2 * (found & truth).total() / size if size else 1.0


def shingles(words: list[str]) -> list[tuple[str, ...]]:
    """Return the runs of SHINGLE words. A shorter text is one shingle."""
    if 0 < len(words) < SHINGLE:
        return [tuple(words)]
    return list(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return round(sum(listed) / len(listed), 4) if listed else 0.0
