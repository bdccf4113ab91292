"""Anchor texts as a field of retrieval: what they gain on queries that editors judged.

    python -m benchmarks anchors DIR

DIR has a folder for each host of the miniweb. Five of them have an index that people wrote: a term, and the pages
that explain it. Its terms are the queries, and its pages are what should be found. The index itself is no document, and
its links are no anchors. A page's anchors are the texts of links in the main content of the other pages. An editor's
term is often a link's text, too: so all is measured again without the texts equal to the query.

A page's score is the score of its best statement in the list by words, as in a search; with anchors, a weight times the
BM25 score of its anchors is added. The weight of a host is the one with the best mean over the other hosts.
"""

import html
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urljoin

import numpy as np
import typer

from benchmarks.evaluation.metrics import ndcg
from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.pages.document.codec import decode_document, encode_document
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.statements.sandbox_tasks import decode_drafts, draft
from streams.vectors.bm25 import document_vector, query_vector

WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
MAX_QUERIES = 150
"""Maximum number of queries of a host: each nth term of its index."""
MAX_ANCHORS = 32
"""Maximum number of different anchor texts of a page, the most frequent ones."""
_LINK = re.compile(r'<a [^>]{0,200}?href=["\']([^"\'#]{1,200})[^"\']{0,200}["\'][^>]{0,200}>', re.I)
_TAG = re.compile(r"<[^>]{0,500}>")


def _terms_of_manual(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the terms of an index by DocBook, each with the addresses of its pages."""
    for entry in re.finditer(r"<dt[^>]{0,60}>([^<]{1,200}), (<a .{1,4000}?)</dt>", text):
        yield entry[1], _LINK.findall(entry[2])


def _terms_of_modules(text: str) -> Iterator[tuple[str, list[str]]]:
    for row in re.finditer(r"<tr>(.{1,1500}?)</tr>", text, re.S):
        if synopsis := re.search(r"<em>(.{1,400}?)</em>", row[1], re.S):
            yield synopsis[1], _LINK.findall(row[1])


def _terms_of_keywords(text: str) -> Iterator[tuple[str, list[str]]]:
    for entry in re.finditer(r"<li>([^<]{1,200}) - (<a .{1,600}?)</li>", text):
        yield entry[1], _LINK.findall(entry[2])


def _terms_of_commands(text: str) -> Iterator[tuple[str, list[str]]]:
    for entry in re.finditer(r"(<a [^>]{1,100}>)git-[a-z-]{1,40}\(1\)</a>\s*</dt>\s*<dd>\s*<p>([^<]{1,300})<", text):
        yield entry[2], _LINK.findall(entry[1])


@dataclass(frozen=True, slots=True)
class Index:
    """The index of a host: its file, how it is read, and other files of its kind."""

    path: str
    read: Callable[[str], Iterator[tuple[str, list[str]]]]
    others: str = r"^$"


INDEXES = {
    "postgresql.test": Index("bookindex.html", _terms_of_manual),
    "gimp-help.test": Index("gimp-help-index.html", _terms_of_manual),
    "docs.python.test": Index("py-modindex.html", _terms_of_modules),
    "sqlite.test": Index("doc_keyword_crossref.html", _terms_of_keywords, r"crossref|doclist|keyword_index"),
    "git-scm.test": Index("html/git.html", _terms_of_commands),
}


@dataclass(slots=True)
class Site:
    """The pages of a host, with their statements and anchors, and the queries with the pages that should be found."""

    urls: list[str] = field(default_factory=list)
    page_of: list[int] = field(default_factory=list)
    """The page of each statement."""
    postings: dict[int, tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]] = field(default_factory=dict)
    anchors: list[list[str]] = field(default_factory=list)
    """The anchor texts of each page."""
    from_elsewhere: int = 0
    """Number of pages that another host links to."""
    queries: list[tuple[str, frozenset[int]]] = field(default_factory=list)


@command
def run(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR")],
    as_json: AsJson = False,
) -> None:
    """Measure anchor texts as a field of retrieval, on five hosts whose editors wrote an index.

    Example:  python -m benchmarks anchors miniweb/
    """
    print_figures("anchor texts", measure(folder), as_json)


def measure(folder: Path) -> dict[str, Any]:
    """Measure, on one core."""
    links: dict[str, list[tuple[str, str]]] = defaultdict(list)
    sites = {host: _read(folder, host, index, links) for host, index in INDEXES.items()}
    for host, site in sites.items():
        _add_anchors(site, host, links)
    gains: dict[str, dict[str, dict[float, float]]] = {}
    for without in (False, True):
        name = "without texts equal to the query" if without else "all"
        gains[name] = {host: _curve(site, without_equal=without) for host, site in sites.items()}
    return {
        "machine": machine(),
        "sites": {host: _describe(site) for host, site in sites.items()},
        "ndcg_by_weight": gains,
        "leave_one_host_out": {name: _leave_one_out(curves) for name, curves in gains.items()},
    }


def _describe(site: Site) -> dict[str, int]:
    with_anchors = sum(bool(texts) for texts in site.anchors)
    return {
        "pages": len(site.urls),
        "with_anchors": with_anchors,
        "with_anchors_from_other_hosts": site.from_elsewhere,
        "statements": len(site.page_of),
        "queries": len(site.queries),
    }


def _leave_one_out(curves: Mapping[str, Mapping[float, float]]) -> dict[str, dict[str, float]]:
    """Return for each host the weight with the best mean over the other hosts, and what it gains here."""
    found = {}
    for host, curve in curves.items():
        others = [other for name, other in curves.items() if name != host]
        weight = max(WEIGHTS, key=lambda w: sum(other[w] for other in others))
        gain = round(curve[weight] - curve[0.0], 4)
        found[host] = {"weight": weight, "without": curve[0.0], "with": curve[weight], "gain": gain}
    return found


def _read(folder: Path, host: str, index: Index, links: dict[str, list[tuple[str, str]]]) -> Site:
    """Read the pages of a host, and collect their links as (source, text) by target."""
    site = Site()
    vectors: dict[int, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for path in sorted((folder / host).rglob("*.html")):
        url = f"https://{path.relative_to(folder)}"
        name = str(path.relative_to(folder / host))
        if name == index.path or re.search(index.others, name):
            continue
        outcome = normalize_to_outcome(path.read_bytes(), url=url, headers={"content-type": "text/html"})
        document = decode_document(outcome.document)
        for link in outcome.links:
            if link.in_content and not link.nofollow:
                links[link.url].append((url, " ".join(link.text.split())))
        for drafted in decode_drafts(draft(encode_document(document))).drafts:
            vector = document_vector(drafted.text, drafted.context, "en", document.title)
            for term, value in zip(vector.indices, vector.values, strict=True):
                vectors[term][0].append(len(site.page_of))
                vectors[term][1].append(value)
            site.page_of.append(len(site.urls))
        site.urls.append(url)
    site.postings = {term: (np.array(rows), np.array(values)) for term, (rows, values) in vectors.items()}
    text = (folder / host / index.path).read_text("utf-8", "replace")
    site.queries = _queries(site, f"https://{host}/{index.path}", index.read(text))
    return site


def _queries(site: Site, base: str, terms: Iterator[tuple[str, list[str]]]) -> list[tuple[str, frozenset[int]]]:
    numbers = {url: number for number, url in enumerate(site.urls)}
    found: dict[str, set[int]] = {}
    for term, targets in terms:
        query = " ".join(html.unescape(_TAG.sub("", term)).split())
        pages = {numbers[url] for target in targets if (url := urljoin(base, html.unescape(target))) in numbers}
        if pages and len(query) >= 3 and query_vector(query, "en").indices:
            found.setdefault(query, set()).update(pages)
    step = max(1, -(-len(found) // MAX_QUERIES))
    return [(query, frozenset(pages)) for query, pages in sorted(found.items())[::step]]


def _add_anchors(site: Site, host: str, links: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    for url in site.urls:
        counts: dict[str, int] = defaultdict(int)
        for _, text in links.get(url, ()):
            counts[text.lower()] += 1
        counts.pop("", None)
        site.anchors.append(sorted(counts, key=lambda text: (-counts[text], text))[:MAX_ANCHORS])
        site.from_elsewhere += any(not source.startswith(f"https://{host}/") for source, _ in links.get(url, ()))


def _curve(site: Site, *, without_equal: bool) -> dict[float, float]:
    """Return nDCG at 10 by the weight of the anchors."""
    sums = dict.fromkeys(WEIGHTS, 0.0)
    page_of = np.array(site.page_of)
    for query, relevant in site.queries:
        vector = query_vector(query, "en")
        asked = dict(zip(vector.indices, vector.values, strict=True))
        statements = np.zeros(len(page_of))
        for term, count in asked.items():
            rows, values = site.postings.get(term, (np.array([], int), np.array([])))
            statements[rows] += count * values * _idf(len(rows), len(page_of))
        text_scores = np.zeros(len(site.urls))
        np.maximum.at(text_scores, page_of, statements)
        anchor_scores = _anchor_scores(site, asked, query.lower() if without_equal else "")
        for weight in WEIGHTS:
            scores = text_scores + weight * anchor_scores
            first = [str(page) for page in np.argsort(-scores, kind="stable")[:10] if scores[page] > 0]
            sums[weight] += ndcg(first, {str(page): 1 for page in relevant})
    return {weight: round(value / len(site.queries), 4) for weight, value in sums.items()}


def _anchor_scores(site: Site, asked: Mapping[int, float], left_out: str) -> "np.ndarray[Any, Any]":
    """Return the BM25 score of each page's anchors."""
    scores = np.zeros(len(site.urls))
    vectors = [_vector(tuple(text for text in texts if text != left_out)) for texts in site.anchors]
    having = sum(bool(vector) for vector in vectors)
    for term, count in asked.items():
        weights = np.array([vector.get(term, 0.0) for vector in vectors])
        scores += count * weights * _idf(int((weights > 0).sum()), having)
    return scores


_VECTORS: dict[tuple[str, ...], dict[int, float]] = {}


def _vector(texts: tuple[str, ...]) -> dict[int, float]:
    if texts not in _VECTORS:
        vector = document_vector(" ".join(texts), (), "en")
        _VECTORS[texts] = dict(zip(vector.indices, vector.values, strict=True))
    return _VECTORS[texts]


def _idf(having: int, total: int) -> float:
    """Return the inverse document frequency, as Qdrant's modifier `idf` has it."""
    return float(np.log1p((total - having + 0.5) / (having + 0.5)))
