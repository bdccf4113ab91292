"""The first results of twenty queries over the bundled web, with the statement that is shown first.

    python -m benchmarks first-results

The queries are the questions of the demo and queries of the guides. The pages become statements, vectors and points by
the functions of the stages, and each query is a search of the gateway, in this process and without servers. A query's
right pages were named before the first run, by what the pages are about.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from rich.markup import escape

from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.search import Options, open_run
from benchmarks.evaluation.sites import ask
from benchmarks.search.open_sets import read_web
from streams.commands.console import AsJson, command, out, print_json
from streams.gateway.search.answers import to_search_answer
from streams.local.demo import QUESTIONS, unpack
from streams.plain_text import shorten
from streams.search.searcher import Searcher
from streams.settings import Settings

RESULTS = 3
"""Number of first results that are shown."""
MAX_TEXT_CHARS = 48
GUIDES: Mapping[str, tuple[str, ...]] = {
    "could a crash lose my data?": (
        *("/transactional.html", "/howtocorrupt.html", "/non-durability.html", "/wal-reliability.html"),
        *("/wal-intro.html", "/appfileformat.html", "/faq.html"),
    ),
    '"write-ahead log"': ("/wal-intro.html", "/wal.html", "/wal-reliability.html", "/backup.html", "/checksums.html"),
    "python -snake": ("/index.html", "/faq/general.html", "/tutorial/appetite.html", "/tutorial/index.html"),
    "site:docs.python.test lists": ("/tutorial/datastructures.html", "/tutorial/introduction.html"),
    "release notes": ("/release-15-9.html", "/docs.html"),
    "transactions prefer:recent": ("/transactional.html", "/tutorial-transactions.html", "/mvcc-intro.html"),
    "how do I undo a commit?": ("/html/git-revert.html", "/html/gitfaq.html", "/html/gittutorial.html"),
    "vacuum": ("/maintenance.html", "/faq.html", "/routine-reindex.html", "/limits.html"),
    "sqlite": ("/index.html", "/about.html", "/docs.html"),
    "how do I log in?": (
        "/client-authentication.html",
        "/auth-password.html",
        "/auth-methods.html",
        "/tutorial-accessdb.html",
    ),
}
"""The queries of the guides, with the paths of the pages that are right."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A result with its first statement."""

    query: str
    place: int
    path: str
    text: str
    right: bool
    nearest_only: bool = False
    """True if the page of results says that nothing was found, and shows the nearest by meaning."""


@command
async def run(as_json: AsJson = False) -> None:
    """Show the first results of twenty queries over the bundled web.

    Example:  python -m benchmarks first-results
    """
    found = await measure(*search_in_process())
    if as_json:
        print_json([asdict(each) for each in found])
        return
    out.print("\n".join(map(escape, rows(found))), highlight=False, soft_wrap=True)


async def measure(settings: Settings, options: Options) -> list[Shown]:
    """Return the first results of all queries."""
    pages = [page.document for page in read_web(unpack(settings.home / "demo-web"))]
    async with AsyncExitStack() as stack:
        opened = await open_run(stack, settings, options, lambda step, done, of: None)
        _, index = await opened.index("demo", pages)
        searcher = opened.searcher(index)
        wanted = {
            question.question: (urlsplit(question.url).path,) for question in QUESTIONS if question.language == "en"
        } | dict(GUIDES)
        return [each for query, paths in wanted.items() for each in await first_results(searcher, query, paths)]


async def first_results(searcher: Searcher, query: str, paths: Sequence[str]) -> list[Shown]:
    """Return the first results of a query, each with its first statement."""
    found = await ask(searcher, query)
    first = [each for each in to_search_answer(found).results if each.statements][:RESULTS]
    return [
        Shown(query, place, path, each.statements[0].text, path in paths, found.notes.nearest_only)
        for place, (each, path) in enumerate(((each, urlsplit(each.url).path) for each in first), 1)
    ]


def rows(found: Sequence[Shown]) -> list[str]:
    """Return a table in Markdown: a row for each query, with the place of its first right page, and the sums."""
    lines = [
        "| query | first page | its first statement | right page | found |",
        "|---|---|---|---|---|",
    ]
    by_query: dict[str, list[Shown]] = {}
    for each in found:
        by_query.setdefault(each.query, []).append(each)
    for query, results in by_query.items():
        first, place = results[0], next((each.place for each in results if each.right), 0)
        text = shorten(" ".join(first.text.split()), MAX_TEXT_CHARS).replace("|", "\\|")
        cells = (query, f"`{first.path[1:]}`", text, f"place {place}" if place else "no")
        lines.append(f"| {' | '.join(cells)} | {'nearest only' if first.nearest_only else 'yes'} |")
    right = sum(any(result.right for result in results) for results in by_query.values())
    nearest = sum(results[0].nearest_only for results in by_query.values())
    lines += [
        "",
        f"{right} of {len(by_query)} queries have a right page",
        f'among the first three results, and {nearest} stand under "nothing found; nearest by meaning".',
    ]
    return lines
