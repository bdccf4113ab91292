"""Quality of searches: the order of results, snippets, panels, and what counts as not found."""

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.commands.steps import steps
from streams.commands.console import AsJson, command, load_settings, out, print_figures, print_json
from streams.commands.pages.search import ask_api


@command
async def eval_search(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="DIR", help="The folder of the collection.")
    ],
    others: Annotated[bool, typer.Option(help="Also rank by bm25s.")] = True,
    ablation: Annotated[
        bool, typer.Option(help="Also rank whole pages, windows, and statements without context.")
    ] = True,
    queries: Annotated[int | None, typer.Option(min=1, help="Maximum number of queries. Default: all.")] = None,
    cache: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the vectors. Default: eval in RIFFLE_HOME.")
    ] = None,
    all_sets: Annotated[
        bool, typer.Option("--all", help="DIR holds collections: measure what each part of the ranking gains on all.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure search on a test collection in BEIR's format: nDCG@10, recall@100, MRR@10, and the time of a query.

    DIR holds corpus.jsonl, queries.jsonl and qrels.tsv. Documents become statements and vectors by the code of the
    stages, and the gateway's search ranks them, in this process and without servers. In the same run: Riffle's two
    lists each and by reciprocal rank, bm25s with stemming, and the ablation. Vectors are kept on disk, so a second
    run takes seconds.

    Examples:

        python -m benchmarks eval search cranfield/
        python -m benchmarks eval search cranfield/ --json --no-ablation
        python -m benchmarks eval search --all collections/

    With --all, the figures are nDCG@10 of each collection and of Riffle without each part of the ranking, with the
    standard errors of the paired differences. Choose nothing by collections that it was trained or chosen on.
    """
    from benchmarks.evaluation.report import render_all, render_search
    from benchmarks.evaluation.search import evaluate_all, evaluate_search

    settings, options = search_in_process(cache, others=others, ablation=ablation, queries=queries)
    with steps() as progress:
        evaluate, render = (evaluate_all, render_all) if all_sets else (evaluate_search, render_search)
        result = await evaluate(folder, settings, options, progress)
    if as_json:
        print_json(result)
    else:
        render(result, out)


@command
async def eval_confidence(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="DIR", help="A folder of collections.")
    ],
    queries: Annotated[int | None, typer.Option(min=1, help="Maximum number of queries of a collection.")] = None,
    cache: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the vectors. Default: eval in RIFFLE_HOME.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure on which queries a search says that nothing was found: 200 made nonsense queries, and judged queries.

    `lost`: the share of the queries with a relevant page among the first ten results of which the search would say so.
    `confident nonsense`: the share of nonsense of which it would not. Both at the product's bound, and at the bound
    that the other collections choose. `confident senseless`: the same of 40 further queries, which choose no bound.
    DIR holds collections in BEIR's format.

    Example:  python -m benchmarks eval confidence collections/ --json
    """
    from benchmarks.evaluation.confidence import evaluate_confidence
    from benchmarks.evaluation.report import render_confidence

    settings, options = search_in_process(cache, queries=queries)
    with steps() as progress:
        result = await evaluate_confidence(folder, settings, options, progress)
    if as_json:
        print_json(result)
    else:
        render_confidence(result, out)


@command
def eval_panels(
    queries: Annotated[Path, typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="The queries, JSONL.")],
    url: Annotated[str, typer.Argument(metavar="[URL]", help="The gateway. Default: the one of the settings.")] = "",
    as_json: AsJson = False,
) -> None:
    """Measure the panels that a gateway shows: precision, share shown, and panels for queries without an entity.

    FILE has JSON objects with `query` and `entity`: an id, the title of an article, a label, or null.

    Example:  python -m benchmarks eval panels queries.jsonl --json
    """
    from benchmarks.evaluation.panels import evaluate_panels, read_queries

    settings, asked = load_settings(), read_queries(queries)
    counter = itertools.count(1)
    with steps() as progress:

        def ask(query: str) -> dict[str, Any] | None:
            progress("ask", next(counter), len(asked))
            panel: dict[str, Any] | None = ask_api(settings, "/api/v1/entities", {"q": query}, url).get("panel")
            return panel

        figures = evaluate_panels(asked, ask)
    if as_json:
        print_json(figures)
        return
    print_figures("Panels", {name: figure for name, figure in figures.items() if name != "wrong"}, as_json)
    for each in figures["wrong"]:
        wanted = each["wanted"] or "no panel"
        out.print(f"  {each['query']}: {each['shown']} is shown, right is {wanted}", highlight=False)
