"""Quality of corrections of spelling and of suggestions."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.evaluation.commands.steps import steps
from streams.commands.console import AsJson, command, out, print_json, table


@command
def eval_spell(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="Lines `wrong->right`.")],
    index: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            metavar="PATH",
            help="Also know the words of a folder HOST/path.html, or lines `word<tab>pages`.",
        ),
    ] = None,
    sites: Annotated[int, typer.Option(min=1, help="Minimum number of sites of a word of that folder.")] = 3,
    others: Annotated[bool, typer.Option(help="Also correct by SymSpell and hunspell.")] = True,
    as_json: AsJson = False,
) -> None:
    """Measure corrections of misspelt words, beside SymSpell and hunspell in the same run. Nothing has to run.

    `top1`, `top3`: the share of the misspellings with a right word first, and among the first three.
    `false_corrections`: the share of the right words that would be changed. Commas stand between several right words.

    Examples:

        python -m benchmarks eval spell misspellings.txt --json
        python -m benchmarks eval spell misspellings.txt --index web/ --sites 1
    """
    from benchmarks.evaluation.report import render_spelling
    from benchmarks.evaluation.spelling import evaluate_spelling, read_index_words, read_pairs
    from streams.pages.normalize import normalize
    from streams.queries.spelling.base import base_corrector

    pairs, corrector = read_pairs(file), base_corrector()
    if index is not None:
        words = read_index_words(index, "en", sites, lambda html, url: normalize(html, url=url).document)
        corrector = corrector.with_index(words)
    with steps() as progress:
        found = evaluate_spelling(pairs, corrector, progress, others=others)
    if as_json:
        print_json(found)
    else:
        render_spelling(found, out)


@command
def eval_suggest(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="A query a line, with its count behind a tab.")
    ],
    train: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, metavar="LOG", help="Queries to suggest, in the same form. Default: FILE."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure suggestions: MRR@10 of queries while their last 1, 3 and 5 characters are hidden. No server is needed.

    A query that was asked n times counts n times. A query with no more characters than are hidden is left out. Without
    --train the suggestions are the queries of FILE with their counts: this measures the order of known queries. With
    --train, queries that are only in FILE are missed, as new queries are in use.

    Examples:

        python -m benchmarks eval suggest queries.tsv --json
        python -m benchmarks eval suggest today.tsv --train last-month.tsv
    """
    from benchmarks.evaluation.suggest import measure, read_counts, suggester_of

    asked = _read_queries(file, read_counts)
    known = _read_queries(train, read_counts) if train else asked
    found = measure(suggester_of(known), asked)
    if as_json:
        print_json({**found, "suggested_from": str(train or file)})
        return
    rows = table("hidden characters", "MRR@10", "queries", title=f"{found['suggestions']:,} suggestions")
    for hidden, value in found["mrr"].items():
        rows.add_row(hidden, f"{value:.3f}", f"{found['asked'][hidden]:,}")
    out.print(rows)


def _read_queries(file: Path, read: Callable[[Iterable[str]], dict[str, float]]) -> dict[str, float]:
    with file.open(encoding="utf-8", errors="replace") as lines:
        return read(lines)
