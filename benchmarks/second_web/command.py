"""`python -m benchmarks second-web DIR`: what a person gets of 100 queries over pages that nothing was tuned to.

The pages are from packages of Debian (SITES), got by apt-get into DIR/packages and unpacked, not installed: two
mail and web servers, a crawler, a package manager in three languages, and music notation in two. They become
documents, statements and points by the functions of the stages, and each query is a search of the gateway, in this
process and without servers.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from benchmarks.documents.generators.packages import Packages
from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.search import open_run
from benchmarks.search.open_sets import read_web
from benchmarks.second_web.judgements import (
    ABSENT,
    VERDICTS,
    Asked,
    Query,
    Shown,
    figures,
    read_judged,
    read_queries,
    to_judge,
    write_judged,
)
from streams.commands.console import AsJson, command, err, out, print_json
from streams.gateway.search.answers import to_search_answer
from streams.search.deadline import Deadline
from streams.search.request import parse
from streams.search.searcher import Searcher
from streams.stores.protocols import FOR_EVERYBODY

GUIDE = ("index.html", "pr01*.html", "ch01*.html", "ch02s0[236]*.html", "ch03.html")
POSTFIX = (
    *(f"{letter}*README.html" for letter in "BLQSVT"),
    *("POSTSCREEN*README.html", "MULTI*README.html", "qmgr.8.html"),
    *("postsuper.1.html", "postconf.1.html", "[hlrv]*[bsdl].5.html"),
)
NOTES = (
    *("index", "index_toc", "tutorial", "simple-notation", "pitches-and-key-signatures", "absolute-note-names"),
    *("ties-and-slurs", "articulations-and-dynamics", "adding-text", "adding-titles", "automatic-and-manual-beams"),
    *("advanced-rhythmic-commands", "multiple-staves", "staff-groups", "combining-notes-into-chords", "songs"),
    *("setting-simple-songs", "aligning-lyrics-to-a-melody", "lyrics-to-multiple-staves", "bar-lines-and-bar-checks"),
)
VARNISH = ("index.html", "users-guide/*.html", "reference/v[ams]*.html", "reference/[dv]*[sb].html")
SITES: Mapping[str, Sequence[tuple[str, str, tuple[str, ...]]]] = {
    # host: (package, folder below usr/share/doc, pages)
    "scrapy.test": [
        ("python-scrapy-doc", "python-scrapy-doc/html", ("index.html", "faq.html", "intro/*.html", "topics/*.html"))
    ],
    "postfix.test": [("postfix-doc", "postfix/html", POSTFIX)],
    "aptitude.test": [
        (f"aptitude-doc-{language}", "aptitude/html", tuple(f"{language}/{page}" for page in GUIDE))
        for language in ("en", "fr", "ja")
    ],
    "varnish.test": [("varnish-doc", "varnish/html", VARNISH)],
    "lilypond.test": [
        (name, "lilypond/html/Documentation", tuple(f"learning/{page}{language}.html" for page in NOTES))
        for name, language in (("lilypond-doc-html", ""), ("lilypond-doc-html-de", ".de"))
    ],
}
"""Parts of each set, so that the pages are embedded in some minutes."""
RESULTS = 10


@command
async def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Gets packages and pages.")],
    judge: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Gets the snippets to judge; verdicts that are in it are kept."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask 100 queries over five sets of documentation, and count what the first results and snippets are.

    Example:  python -m benchmarks second-web /tmp/second --judge /tmp/snippets.jsonl
    """
    judged = read_judged()
    if judge is not None:
        judged |= read_judged(judge)
        write_judged(judged)
    asked = await measure(make_web(folder))
    if judge is not None:
        rows_to_judge = to_judge(asked, judged)
        judge.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows_to_judge), encoding="utf-8")
    found = figures(asked, judged)
    if as_json:
        print_json(found)
    else:
        out.print("\n".join(rows(found)), highlight=False, markup=False, soft_wrap=True)


def make_web(folder: Path, hosts: Sequence[str] = tuple(SITES)) -> Path:
    """Return the folder of the web, HOST/path, or of a part of it."""
    packages = Packages(folder / "packages")
    web = folder / ("web" if len(hosts) == len(SITES) else f"web-{'-'.join(hosts)}")
    if web.exists():
        return web
    made = web.with_name(f"{web.name}.part")
    shutil.rmtree(made, ignore_errors=True)
    for host in hosts:
        for package, place, patterns in SITES[host]:
            source = packages.binary(package) / "usr/share/doc" / place
            for page in sorted({path for pattern in patterns for path in source.glob(pattern)}):
                target = made / host / page.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(page, target)
    return made.rename(web)


async def measure(web: Path) -> list[Asked]:
    """Return the first results of each query over the web."""
    pages = [page.document for page in read_web(web)]
    async with AsyncExitStack() as stack:
        opened = await open_run(stack, *search_in_process(), _report)
        _, index = await opened.index("second web", pages)
        searcher = opened.searcher(index)
        return [await _ask(searcher, query) for query in read_queries()]


def _report(step: str, done: int, of: int) -> None:
    if done == of or not done % 2_560:
        err.print(f"{step}: {done} of {of}", highlight=False)


async def _ask(searcher: Searcher, query: Query) -> Asked:
    request = parse(query.text, options=searcher.options, visible=FOR_EVERYBODY)
    found = await searcher.find(request, Deadline(searcher.options.deadline_seconds))
    answer = to_search_answer(found)
    results = tuple(
        Shown(
            page="".join(urlsplit(each.url)[1:3]),
            language=each.language,
            title=each.title,
            statements=tuple((*statement.context, statement.text) for statement in each.statements),
            is_folded=each.nearest or False,
        )
        for each in answer.results[:RESULTS]
    )
    says_so = not results or answer.nearest_only or bool(answer.missing)
    return Asked(query, results, says_so)


def rows(found: Mapping[str, Any]) -> list[str]:
    """Return a table in Markdown."""
    names = ("page first", "page of three", "sentence of three", *VERDICTS, "not judged")
    lines = [f"| kind | queries | {' | '.join(names)} |", f"|---|---:|{'---:|' * len(names)}"]
    for kind, each in found.items():
        if isinstance(each, dict) and kind not in {ABSENT, "folded"}:
            lines.append(f"| {kind} | {each['queries']} | {' | '.join(str(each[name]) for name in names)} |")
    absent, folded = found[ABSENT], found["folded"]
    return [
        *lines,
        "",
        f"{absent['said']} of {absent['queries']} absent subjects are said to be absent, and {found['wrongly said']} "
        f"others. A page in another language is first for {found['another language first']} English queries. "
        f"Folded as only near by meaning: {folded['right']} results that answer, {folded['others']} others.",
    ]
