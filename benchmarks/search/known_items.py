"""Known items: how often a page that the query names is the first result, with and without the pass `names`.

    python -m benchmarks known-items [--web DIR] [--pages N]

titles      the title of a page, without the number of its chapter -> the page
reordered   the words of a title in a drawn order -> the page
with site   a title and the name of the page's site -> the page
sites       the name of a site, its host, and its name with "website" -> the first page of the site

The pages of a web (HOST/path.html; the bundled one by default) become statements, vectors and points by the functions
of the stages, and each query is a search of the gateway, in this process and without servers. Titles that several pages
have are no queries. Nobody has judged these pairs, so they compare rankings.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.metrics import mean
from benchmarks.evaluation.protocol import PARTS
from benchmarks.evaluation.search import open_run
from benchmarks.evaluation.sites import draw
from benchmarks.evaluation.systems import first_pages
from benchmarks.search.open_sets import SEED, Page, read_web
from streams.commands.console import AsJson, command, err, out, print_json
from streams.crawl.domains import registrable_domain
from streams.local.demo import unpack
from streams.pages.text.tokens import words
from streams.search.ranking.named_pages import folders_above, without_number

TITLE_WORDS = range(1, 11)
REORDERED_WORDS = range(3, 9)
MAX_QUERIES = 200
"""Maximum number of queries of a kind."""
RANKINGS: Mapping[str, Mapping[str, Any]] = {"with names": {}, "without": PARTS["name of the page"].without}

Queries = Mapping[str, str]
"""The URL of the page that each query names."""


@command
async def run(
    web: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="HOST/path.html. Default: the bundled web.")
    ] = None,
    pages: Annotated[int, typer.Option(min=1, help="Maximum number of pages.")] = 400,
    as_json: AsJson = False,
) -> None:
    """Measure how often a page is the first result for its title, in any order of words, for the name of its file, and
    for its site's name.

    Example:  python -m benchmarks known-items --web mirror/ --pages 300
    """
    settings, options = search_in_process()
    read = choose_pages(read_web(web or unpack(settings.home / "demo-web")), pages)
    async with AsyncExitStack() as stack:
        opened = await open_run(stack, settings, options, report)
        _, index = await opened.index(web.name if web else "demo", [page.document for page in read])
        found: dict[str, dict[str, Any]] = {}
        for kind, queries in known_items(read).items():
            asked = list(queries)
            found[kind] = {"queries": len(asked)}
            for name, changed in RANKINGS.items():
                ranked = await first_pages(opened.searcher(index, **changed), asked)
                found[kind][name] = figures([queries[query] for query in asked], ranked)
    if as_json:
        print_json(found)
    else:
        out.print("\n".join(rows(found)), highlight=False, soft_wrap=True)


def report(step: str, done: int, of: int) -> None:
    if done == of or not done % 1_000:
        err.print(f"{step}: {done} of {of}", highlight=False)


def choose_pages(pages: Sequence[Page], count: int) -> list[Page]:
    """Return drawn pages, and the first page of each site."""
    kept = {page.url for page in draw(pages, count, lambda page: page.url)} | set(first_pages_of_sites(pages).values())
    return [page for page in pages if page.url in kept]


def first_pages_of_sites(pages: Sequence[Page]) -> dict[str, str]:
    """Return the index page with the fewest folders above it, by host. A host without any is left out."""
    best: dict[str, tuple[int, str]] = {}
    for page in pages:
        host, folders = urlsplit(page.url).netloc, folders_above(page.url)
        if folders is not None:
            best[host] = min(best.get(host, (folders, page.url)), (folders, page.url))
    return {host: url for host, (_, url) in best.items()}


def known_items(pages: Sequence[Page]) -> dict[str, Queries]:
    """Return the queries of each kind."""
    titles = {page.url: without_number(page.title) for page in pages}
    counts = Counter(" ".join(words(title)) for title in titles.values())
    drawn = random.Random(SEED)
    named = {
        title: url
        for url, title in titles.items()
        if len(words(title)) in TITLE_WORDS and counts[" ".join(words(title))] == 1
    }
    asked = {title: named[title] for title in draw(named, MAX_QUERIES, str)}
    reordered, with_site = {}, {}
    for title, url in asked.items():
        parts = title.split()
        with_site[f"{title} {site_name(urlsplit(url).netloc)}"] = url
        if len(words(title)) in REORDERED_WORDS and len(parts) > 1:
            others = [other for _ in range(8) if (other := drawn.sample(parts, len(parts))) != parts]
            reordered.update({" ".join(other): url for other in others[:1]})
    sites = {
        query: url
        for host, url in first_pages_of_sites(pages).items()
        for query in (site_name(host), host, f"{site_name(host)} website")
    }
    places = Counter(file_query(page.url) for page in pages)
    files = {query: page.url for page in pages if places[query := file_query(page.url)] == 1 and query}
    files = {query: files[query] for query in draw(files, MAX_QUERIES, str)}
    return {"titles": asked, "reordered": reordered, "with site": with_site, "files": files, "sites": sites}


def file_query(url: str) -> str:
    """Return the names of the site and of the page's file: `sqlite faq`. Nothing for the first page of a site."""
    parts = urlsplit(url)
    name = parts.path.rpartition("/")[2].partition(".")[0].replace("-", " ").replace("_", " ")
    return f"{site_name(parts.netloc)} {name}" if name and folders_above(url) is None else ""


def site_name(host: str) -> str:
    return registrable_domain(host).partition(".")[0]


def figures(wanted: Sequence[str], rankings: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the share of queries whose page is the first result, or among three, and the mean reciprocal rank."""
    places = [ranking.index(url) + 1 if url in ranking else 0 for url, ranking in zip(wanted, rankings, strict=True)]
    return {
        "first": round(mean([place == 1 for place in places]), 3),
        "of three": round(mean([1 <= place <= 3 for place in places]), 3),
        "mrr@10": round(mean([1 / place if place else 0.0 for place in places]), 3),
    }


def rows(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a table in Markdown: first result / among the first three / mean reciprocal rank."""
    lines = [f"| kind | queries | {' | '.join(RANKINGS)} |", f"|---|---:|{'---:|' * len(RANKINGS)}"]
    for kind, each in found.items():
        shown = (" / ".join(f"{figure:.3f}".lstrip("0") for figure in each[name].values()) for name in RANKINGS)
        lines.append(f"| {kind} | {each['queries']} | {' | '.join(shown)} |")
    return lines
