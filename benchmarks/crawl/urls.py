"""Measures how many URLs a core makes canonical in a second, beside other libraries in the same run.

    python -m benchmarks urls FOLDER

The URLs are the links of the HTML files below FOLDER, resolved against their page's address, at most 50,000, each once.
Riffle's figure includes all rules: canonical URL, reasons not to crawl, public suffix. The libraries take turns.
"""

import itertools
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urljoin

import typer
from courlan import normalize_url
from url_normalize import url_normalize
from w3lib.url import canonicalize_url

from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.crawl.domains import has_public_suffix
from streams.crawl.urls import InvalidUrl, canonicalize, host_of, reason_not_to_crawl

MAX_URLS = 50_000
BATCH = 2_000
_HREF = re.compile(r'href="([^"]{1,2000})"')


def _riffle(url: str) -> None:
    try:
        canonical = canonicalize(url)
    except InvalidUrl:
        return
    reason_not_to_crawl(canonical)
    has_public_suffix(host_of(canonical))


LIBRARIES: dict[str, Callable[[str], Any]] = {
    "riffle": _riffle,
    "w3lib": canonicalize_url,
    "courlan": normalize_url,
    "url-normalize": url_normalize,
}


@command
def run(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR", help="DIR/HOST/path.html")],
    as_json: AsJson = False,
) -> int:
    """Measure making URLs canonical, with all rules, beside other libraries.

    Example:  python -m benchmarks urls mirror/
    """
    print_figures("URLs", measure(folder), as_json)
    return 0


def measure(folder: Path) -> dict[str, Any]:
    """All figures, on one core."""
    urls = list(itertools.islice(dict.fromkeys(_links(folder)), MAX_URLS))
    rates: dict[str, list[float]] = {name: [] for name in LIBRARIES}
    for start in range(0, len(urls) - BATCH + 1, BATCH):
        for name, function in LIBRARIES.items():
            rates[name].append(BATCH / _seconds(function, urls[start : start + BATCH]))
    medians = {name: round(statistics.median(of_batches)) for name, of_batches in rates.items()}
    ratios = {name: round(medians["riffle"] / rate, 1) for name, rate in medians.items()}
    return {"machine": machine(), "urls": len(urls), "urls_per_cpu_second": medians, "riffle_is_faster_by": ratios}


def _seconds(function: Callable[[str], Any], urls: Iterable[str]) -> float:
    begin = time.process_time()
    for url in urls:
        try:
            function(url)
        except ValueError:  # a library's own way to refuse
            continue
    return time.process_time() - begin


def _links(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.html")):
        base = f"https://{path.relative_to(folder)}"
        for found in _HREF.finditer(path.read_text("utf-8", "replace")):
            try:
                yield urljoin(base, found[1])
            except ValueError:
                continue
