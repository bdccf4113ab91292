"""Measures how alike real pages are to a page "not found" of their host, made from the host's own template.

    python -m benchmarks soft-404 FOLDER

FOLDER has a folder of HTML files for each host. The made page is one of the host's pages without the texts that another
page of the host lacks, with a text that says that there is no such page, and, in a second kind, with ten links to pages
of the host. It is made twice, for two missing names, so that the second one shows what would be found. Beside it each
page is compared with the host's first page, which some hosts send for all names.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import lxml.html
import typer

from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.errors import Refused
from streams.pages.normalize import normalize
from streams.pages.soft_404 import MIN_LIKENESS, likeness

TEMPLATES = 3
"""Number of made pages of each kind, of a host."""
BOUNDS = (0.2, 0.5, MIN_LIKENESS)
_SORRY = (
    "<h1>Page not found</h1><p>We are sorry. The page that you asked for, {name}, is not here any more, or it never "
    "was. Try the search box, or begin at the first page.</p>"
)
_NAMES = ("qwrtzpsdfghjklxvbnm", "prices/of-last-year.html")
_MIN_PAGES = 3
_BOX = ("div", "section", "article", "main", "td", "body")


@dataclass
class Kind:
    """Likenesses of one kind of page for no page, of one host."""

    real: list[tuple[float, str]] = field(default_factory=list)
    """Likeness and URL of each real page."""
    missing: list[float] = field(default_factory=list)
    """Likeness of the page for another missing name: it should be found."""


@command
def run(
    folder: Annotated[Path, typer.Argument(file_okay=False, exists=True, help="A folder of HTML files for each host.")],
    pages: Annotated[int, typer.Option(min=3, help="Maximum number of pages of a host.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Measure how alike real pages are to a page "not found" of their host: which pages would count as gone.

    Example:  python -m benchmarks soft-404 web/
    """
    print_figures("Soft 404s", measure(folder, pages), as_json)


def measure(folder: Path, max_pages: int) -> dict[str, Any]:
    """All figures. `max_pages`: maximum number of pages of a host, chosen by chance."""
    hosts = {
        host.name: figures
        for host in sorted(folder.iterdir())
        if host.is_dir() and (figures := _measure(host, max_pages, random.Random(1)))
    }
    every = [kind for kinds in hosts.values() for kind in kinds.values()]
    return {
        "machine": machine(),
        "hosts": {name: {kind: _summary([one]) for kind, one in kinds.items()} for name, kinds in hosts.items()},
        "all": _summary(every),
    }


def _summary(kinds: Sequence[Kind]) -> dict[str, Any]:
    real = sorted(pair for kind in kinds for pair in kind.real)
    values = [value for value, _ in real]
    missing = [value for kind in kinds for value in kind.missing]
    return {
        "comparisons": len(real),
        "median": round(values[len(values) // 2], 3),
        "percentile_99": round(values[int(len(values) * 0.99)], 3),
        "highest": round(values[-1], 3),
        "highest_url": real[-1][1],
        **{f"from_{bound:g}_on": sum(value >= bound for value in values) for bound in BOUNDS},
        "missing_lowest": round(min(missing, default=1.0), 3),
    }


def _measure(host: Path, max_pages: int, rng: random.Random) -> dict[str, Kind]:
    pages = dict(_pages(host, max_pages, rng))
    if len(pages) < _MIN_PAGES:
        return {}
    kinds: dict[str, Kind] = {}
    for _, with_links in product(range(TEMPLATES), (False, True)):
        page, other = rng.sample(sorted(pages), 2)
        links = rng.sample(sorted(pages), min(10, len(pages))) if with_links else []
        first, second = (
            _text(_page_for_no_page(pages[page][0], pages[other][0], name, links), f"https://{host.name}/{name}") or ""
            for name in _NAMES
        )
        kind = kinds.setdefault("with links" if with_links else "words only", Kind())
        kind.real += [(likeness(text, url, first), url) for url, (_, text) in pages.items()]
        kind.missing.append(likeness(second, f"https://{host.name}/{_NAMES[1]}", first))
    first_page = host / "index.html"
    start = _text(first_page.read_bytes(), f"https://{host.name}/") if first_page.exists() else None
    if start:
        own = f"https://{host.name}/index.html"
        listed = [(likeness(text, url, start), url) for url, (_, text) in pages.items() if url != own]
        kinds["the first page"] = Kind(listed)
    return kinds


def _pages(host: Path, max_pages: int, rng: random.Random) -> Iterator[tuple[str, tuple[bytes, str]]]:
    """Yield URL, HTML and main content of pages of a host."""
    files = sorted(path for path in host.rglob("*") if path.is_file() and path.suffix in (".html", ".htm"))
    rng.shuffle(files)
    for path in files[:max_pages]:
        url, body = f"https://{host.name}/{path.relative_to(host)}", path.read_bytes()
        if (text := _text(body, url)) is not None:
            yield url, (body, text)


def _text(body: bytes, url: str) -> str | None:
    try:
        return normalize(body, url=url).document.text
    except Refused:
        return None


def _page_for_no_page(body: bytes, other: bytes, name: str, links: Sequence[str]) -> bytes:
    """Return the page without the texts that the other page lacks, and with a text that says that it is not found."""
    shared = {text.strip() for text in lxml.html.fromstring(other).itertext()}
    tree = lxml.html.fromstring(body)
    place, longest = tree, 0
    for element in tree.iter():
        if not isinstance(element.tag, str) or element.tag in ("script", "style", "title"):
            continue
        if element.text and element.text.strip() not in shared:
            if len(element.text) > longest:
                place, longest = element, len(element.text)
            element.text = ""
        if element.tail and element.tail.strip() not in shared:
            element.tail = ""
    while place.tag not in _BOX and (above := place.getparent()) is not None:
        place = above
    listed = "".join(f'<li><a href="{url}">{Path(url).stem.replace("-", " ")}</a>' for url in links)
    place.append(lxml.html.fragment_fromstring(f"<div>{_SORRY.format(name=name)}<ul>{listed}</ul></div>"))
    made: bytes = lxml.html.tostring(tree)
    return made
