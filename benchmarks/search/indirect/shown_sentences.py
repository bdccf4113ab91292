"""Shown sentences: is the answering sentence among what the first results show, in a search of other sites' pages.

    python -m benchmarks.search.indirect.shown_sentences DIR [MODEL] [--cache DIR]

DIR has the pages of `indirect/pages.json` as HOST/path: `indirect/README.md` says how to make it. All pages are indexed
by the functions of the stages, and each question is a search of the gateway, in this process and without servers. The
weights of the choice (`streams.search.sentences`) were fitted on `fitted.jsonl`, and on each second question of
`parts.jsonl`; `judged.jsonl`, and the other questions of parts, are about pages of other sites.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from benchmarks.evaluation.indexing import index_of, pages_of
from benchmarks.evaluation.search import Options, Run, open_run
from benchmarks.search.indirect_questions import FOLDER, answers_in, document_of
from streams.lines.jsonl import read_rows
from streams.search.deadline import Deadline
from streams.search.request import parse
from streams.search.searcher import Found, Searcher
from streams.settings import Settings
from streams.statements.statement import PageStatements
from streams.stores.protocols import FOR_EVERYBODY

SECONDS = 120.0
"""Maximum duration of a search (seconds). It is long: the machine may have other work as well."""
AMONG = (3, 10)
SETS = ("fitted", "judged")


async def measure(folder: Path, model: str, cache: Path) -> dict[str, Any]:
    """Return the numbers of pages and sentences found, by set, and the CPU time of a search (milliseconds)."""
    urls = json.loads((FOLDER / "pages.json").read_text())
    async with AsyncExitStack() as stack:
        settings = Settings(triton={"url": "inprocess:", "model": model, "threads": 1})
        run: Run = await open_run(stack, settings, Options(cache, embedders=1), lambda step, done, of: None)
        pages = await pages_of([document_of(url, (folder,)) for url in urls], run.models.chains)
        searcher, by_url = run.searcher(await index_of(pages, run.embedder)), {page.url: page for page in pages}
        found: dict[str, Any] = {}
        for name in SETS:
            rows = [row for _, row in read_rows(FOLDER / f"{name}.jsonl")]
            asked = [(row["question"], row["url"], [[row["answer"]]]) for row in rows]
            found[name] = await _ask(searcher, asked, by_url)
        rows = [row for _, row in read_rows(FOLDER / "parts.jsonl")]
        for name, some in (("parts, fitted", rows[::2]), ("parts, judged", rows[1::2])):
            found[name] = await _ask(searcher, [(row["question"], row["url"], row["parts"]) for row in some], by_url)
    return found


async def _ask(
    searcher: Searcher, asked: Sequence[tuple[str, str, list[list[str]]]], pages: dict[str, PageStatements]
) -> dict[str, Any]:
    counts: dict[str, Any] = {"parts": sum(len(parts) for _, _, parts in asked)}
    counts |= {f"{what} among {among}": 0 for what in ("page", "sentence") for among in AMONG}
    times, folded = [], 0
    for question, url, parts in asked:
        started = process_time()
        request = parse(question, options=searcher.options, visible=FOR_EVERYBODY)
        found = await searcher.find(request, Deadline(SECONDS))
        times.append(1_000 * (process_time() - started))
        folded += any(each.hits[0].payload.url == url and each.page_id in found.notes.far for each in found.pages)
        for part in parts:
            for among in AMONG:
                counts[f"page among {among}"] += any(each.hits[0].payload.url == url for each in found.pages[:among])
                counts[f"sentence among {among}"] += _shows(found, pages[url], part, among)
    return {**counts, "page folded": folded, "cpu_ms": round(median(times), 1)}


def _shows(found: Found, page: PageStatements, answers: Sequence[str], among: int) -> bool:
    wanted = {page.statements[at].text for answer in answers for at in answers_in(page, answer)}
    return any(hit.payload.text in wanted for each in found.pages[:among] for hit in each.hits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the pages")
    parser.add_argument("model", nargs="?", default="e5", metavar="MODEL", help="name of a model in the repository")
    parser.add_argument("--cache", type=Path, default=None, help="folder of the vectors (default: eval in RIFFLE_HOME)")
    arguments = parser.parse_args()
    cache = arguments.cache or Settings().home / "eval"
    print(json.dumps(asyncio.run(measure(arguments.folder, arguments.model, cache)), indent=2))


if __name__ == "__main__":
    main()
