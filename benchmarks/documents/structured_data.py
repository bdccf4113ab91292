"""Structured data as Riffle and extruct read it, on the same pages in the same run: time and agreement.

    python -m benchmarks.documents.structured_data DIR [--limit 200] [--every 2]

DIR is an extraction set (`html/ID.html[.gz]`, `truth/ID.json`, as for `python -m benchmarks eval extract`). Of its
truths only the
pages' addresses are read. Each page gives two measurements:

- Time: of extruct for each syntax by its own function, which parses the page for it, and of Riffle, which reads the
  tree that the page has anyway. Both in CPU time, one after the other on each page.
- Agreement, in the same normal form. Types are counted once for each page that has them, at any depth of an item.
  Riffle reads the page without its menus and footers, and extruct reads all of it. Types that extruct finds in menus
  and footers are counted apart. Pages on which extruct fails are left out of the comparison, and counted.

Only pages that have a syntax count for its agreement. All pages count for the means of time.
"""

import argparse
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import extruct

from benchmarks.evaluation.documents import Page, load_pages
from benchmarks.machine import machine
from streams.errors import Refused
from streams.pages.metadata.items import Item, kinds
from streams.pages.metadata.structured_data import Structured, read_structured_data
from streams.pages.normalize import normalize
from streams.pages.parse.head import Head
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.page import Parsed, parse_page
from streams.resources import exempt_loaded_objects
from tests.unit.pages.extruct_oracle import read_with_extruct

SYNTAXES = ("json-ld", "microdata", "rdfa")
WARM_PAGES = 10
MAX_NAMED = 10


def run(directory: Path, limit: int | None = None, every: int = 1) -> dict[str, Any]:
    """All figures. A page of the development set takes a tenth of a second."""
    pages = list(load_pages(directory))[::every][:limit]
    exempt_loaded_objects()
    for page in pages[:WARM_PAGES]:
        with contextlib.suppress(Refused):
            _times(page)
    times: Counter[str] = Counter()
    slowest: Counter[str] = Counter()
    agreement = {syntax: _Agreement() for syntax in SYNTAXES}
    read = 0
    for page in pages:
        try:
            spent = _times(page)
        except Refused:
            continue
        read += 1
        times.update(spent)
        slowest.update({name: spent[name] - slowest[name] for name in spent if spent[name] > slowest[name]})
        for syntax, known in agreement.items():
            try:
                if found := _items_of(page, syntax):
                    known.add(page.id, *found)
            except _FailedError:
                known.counts["extruct fails"] += 1
    return {
        "machine": machine(),
        "pages": read,
        "ms_per_page": {name: round(seconds / read * 1_000, 3) for name, seconds in times.items()},
        "slowest_page_ms": {name: round(seconds * 1_000, 1) for name, seconds in slowest.items()},
        "agreement": {syntax: known.figures() for syntax, known in agreement.items()},
    }


def _times(page: Page) -> dict[str, float]:
    """CPU seconds for each reader. What ours reads from is not counted: the normalizer has made it anyway, and how long
    all of it takes stands beside it."""
    parsed = parse_page(page.html, url=page.url)
    resolver = Resolver(page.url, parsed.head.base)
    html = parsed.html.encode("utf-8", "replace")
    spent = {"ours, all three": _seconds(lambda: _read(parsed, resolver))}
    spent["the whole normalizer, with ours"] = _seconds(lambda: normalize(page.html, url=page.url))
    for syntax in SYNTAXES:
        spent[f"extruct, {syntax}"] = _seconds(partial(_extract, html, page.url, [syntax]))
    spent["extruct, all three, one parse"] = _seconds(lambda: _extract(html, page.url, list(SYNTAXES)))
    spent["extruct, each syntax only where the page has it"] = _seconds(lambda: read_with_extruct(parsed, resolver))
    return spent


def _read(parsed: Parsed, resolver: Resolver) -> Structured:
    return read_structured_data(parsed.tree, parsed.head, resolver.absolute)


def _extract(html: bytes, url: str, syntaxes: list[str], errors: str = "ignore") -> Any:
    return extruct.extract(html, base_url=url, syntaxes=syntaxes, errors=errors)


def _items_of(page: Page, syntax: str) -> tuple[list[Item], list[Item], list[Item]] | None:
    """Items in one syntax of the page: by Riffle, by extruct, and by extruct without menus and footers; None where
    the page has nothing of it."""
    parsed = parse_page(page.html, url=page.url)
    if not _keep_only(parsed.head, syntax):
        return None
    resolver = Resolver(page.url, parsed.head.base)
    try:
        _extract(parsed.html.encode("utf-8", "replace"), resolver.base, [syntax], errors="strict")
    except Exception as error:
        raise _FailedError from error
    ours, whole = _read(parsed, resolver).items, read_with_extruct(parsed, resolver).items
    parsed.html = parsed.tree.html or ""
    return ours, whole, read_with_extruct(parsed, resolver).items


def _keep_only(head: Head, syntax: str) -> bool:
    """Make the head say that the page has only this syntax; whether it has it."""
    has = {
        "json-ld": head.has_json_ld,
        "microdata": head.has_microdata,
        "rdfa": head.has_rdfa,
    }
    head.scripts = head.scripts if syntax == "json-ld" else []
    head.has_microdata, head.has_rdfa = has["microdata"] and syntax == "microdata", has["rdfa"] and syntax == "rdfa"
    return has[syntax]


class _FailedError(Exception):
    """A failure of extruct on a page."""


class _Agreement:
    """The agreement of two readers, page by page."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.alone: dict[str, Counter[str]] = {who: Counter() for who in ("ours", "extruct", "extruct, in menus")}
        self.missed: list[str] = []

    def add(self, page: str, ours: list[Item], whole: list[Item], without_menus: list[Item]) -> None:
        own, found, outside = (set(_types(items)) for items in (ours, whole, without_menus))
        self.counts["pages that have it"] += 1
        self.counts["both find items"] += bool(ours and whole)
        self.counts["only ours finds items"] += bool(ours and not whole)
        self.counts["only extruct finds items"] += bool(without_menus and not ours)
        self.counts["only extruct finds items, in menus"] += bool(whole and not without_menus and not ours)
        self.counts["both find the same to the letter"] += _unordered(ours) == _unordered(without_menus)
        self.counts["types found by both"] += len(own & found)
        self.alone["ours"].update(own - found)
        self.alone["extruct"].update((found & outside) - own)
        self.alone["extruct, in menus"].update(found - outside - own)
        if without_menus and not ours:
            self.missed.append(page)

    def figures(self) -> dict[str, Any]:
        return {
            **self.counts,
            **{
                f"types found by {who}, alone": [n.total(), dict(n.most_common(MAX_NAMED))]
                for who, n in self.alone.items()
            },
            "pages with items for extruct alone": self.missed[:MAX_NAMED],
        }


def _unordered(value: Any) -> Any:
    """Without what RDF has no order of."""
    if isinstance(value, dict):
        return {key: _unordered(inner) for key, inner in sorted(value.items())}
    return sorted((_unordered(inner) for inner in value), key=str) if isinstance(value, list) else value


def _types(value: Any) -> Iterator[str]:
    """Types of all items in a value, nested items included."""
    if isinstance(value, dict):
        yield from kinds(value)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _types(inner)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    print(json.dumps(run(options.directory, options.limit, options.every), indent=2))
