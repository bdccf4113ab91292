"""`riffle eval`: quality, against labelled data and other programs."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, TaskID

from streams.commands.console import (
    AsJson,
    command,
    command_group,
    err,
    load_settings,
    out,
    print_figures,
    print_json,
    table,
)
from streams.commands.pages.search import ask as ask_gateway
from streams.commands.pages.search import ask_api
from streams.commands.watching import PROGRESS_COLUMNS

eval_app = command_group("Quality, against labelled data and beside other programs.")


@eval_app.command("extract")
@command
def eval_extract(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="DIR", help="The folder of labelled pages.")
    ],
    others: Annotated[bool, typer.Option(help="Also run the other extractors.")] = True,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of pages. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure main content, title and dates of labelled pages: Riffle and other extractors, in the same run.

    DIR holds html/ID.html[.gz] and truth/ID.json.

    Example:  riffle eval extract wcxb-dev/ --limit 100
    """
    from streams.pages.evaluation import evaluate_extraction, render

    results = evaluate_extraction(folder, others=others, limit=limit)
    if as_json:
        print_json(results)
    else:
        out.print(render(results), highlight=False, soft_wrap=True)


@eval_app.command("dedup")
@command
async def eval_dedup(
    pairs: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL of {a, b, jaccard}.")],
    pages: Annotated[Path, typer.Argument(exists=True, help="A folder of ID.html or ID.txt, or JSONL.")],
    as_json: AsJson = False,
) -> None:
    """Measure precision and recall of near-duplicates, where a Jaccard similarity of 0.8 makes a duplicate.

    Example:  riffle eval dedup pairs.jsonl pages/
    """
    from streams.dedup.evaluation import evaluate, read_pairs, read_texts
    from streams.pages.normalize import content_hash, normalize
    from streams.stores.memory import MemoryFingerprints

    texts = read_texts(pages, lambda html: normalize(html, url="https://example.com/").document.text)
    quality = await evaluate(read_pairs(pairs), texts, MemoryFingerprints, content_hash)
    print_figures("Near duplicates", quality.to_dict(), as_json)


@eval_app.command("answers")
@command
def eval_answers(
    questions: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="The questions, JSONL.")
    ],
    urls: Annotated[
        list[str] | None,
        typer.Argument(metavar="[URLS]...", help="Gateways to ask. Default: the gateway of the settings."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how many questions are answered only by the shown snippets, in the first result and in the first five.

    FILE has JSON objects with `question`, `answer` (a text or several; null if no page answers) and `url` (the page or
    pages, optional). `answered`, `answered_without_answer`, `right` and `calibration_error` are about the gateway's own
    answer and its confidence.

    Examples:

        riffle eval answers questions.json
        riffle eval answers questions.json http://127.0.0.1:8080 https://other.example --json
    """
    from streams.evaluation.answers import evaluate_answers, read_questions

    asked = read_questions(questions)
    settings = load_settings()
    addresses = urls or [settings.gateway.address]
    found: dict[str, Any] = {}
    with steps() as progress:
        for url in addresses:
            counter = itertools.count(1)

            def ask(question: str, url: str = url, counter: Iterator[int] = counter) -> dict[str, Any]:
                answer = ask_gateway(settings, question, address=url)
                progress(f"ask {url}", next(counter), len(asked))
                return answer

            found[url] = evaluate_answers(asked, ask)
    if as_json:
        print_json(found)
        return
    for url, figures in found.items():
        shares = {name: figure for name, figure in figures.items() if name not in ("missed", "reliability")}
        print_figures(url, shares, as_json)
        for question in figures["missed"]:
            out.print(f"  not answered: {question}", highlight=False)


@eval_app.command("panels")
@command
def eval_panels(
    queries: Annotated[Path, typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="The queries, JSONL.")],
    url: Annotated[str, typer.Argument(metavar="[URL]", help="The gateway. Default: the one of the settings.")] = "",
    as_json: AsJson = False,
) -> None:
    """Measure the panels that a gateway shows: precision, share shown, and panels for queries without an entity.

    FILE has JSON objects with `query` and `entity`: an id, the title of an article, a label, or null.

    Example:  riffle eval panels queries.jsonl --json
    """
    from streams.evaluation.panels import evaluate_panels, read_queries

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


@eval_app.command("search")
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

        riffle eval search cranfield/
        riffle eval search cranfield/ --json --no-ablation
        riffle eval search --all collections/

    With --all, the figures are nDCG@10 of each collection and of Riffle without each part of the ranking, with the
    standard errors of the paired differences. Choose nothing by collections that it was trained or chosen on.
    """
    from streams.evaluation.report import render_all, render_search
    from streams.evaluation.search import Options, evaluate_all, evaluate_search

    settings = load_settings(triton={"url": "inprocess:"})
    options = Options(
        cache=cache or settings.home / "eval",
        others=others,
        ablation=ablation,
        queries=queries,
        embedders=os.cpu_count() or 1,
    )
    with steps() as progress:
        evaluate, render = (evaluate_all, render_all) if all_sets else (evaluate_search, render_search)
        result = await evaluate(folder, settings, options, progress)
    if as_json:
        print_json(result)
    else:
        render(result, out)


@eval_app.command("snippets")
@command
async def eval_snippets(
    folders: Annotated[
        list[Path], typer.Argument(exists=True, file_okay=False, metavar="DIR...", help="Folders of HOST/path.html.")
    ],
    pages: Annotated[int, typer.Option(min=1, help="Maximum number of pages of a folder.")] = 300,
    label: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help="Labels of people, JSONL. New snippets are added."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the vectors. Default: eval in RIFFLE_HOME.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure which share of 300 shown snippets reads alone, by a rule, with examples of each class of failure.

    Titles and headings of the pages are the queries, drawn by hashes: each run draws the same. The share is a rule's
    share: with --label, FILE gets a line for each snippet. Set `alone` to true or false, and the next run prints the
    agreement.

    Examples:

        riffle eval snippets web/
        riffle eval snippets web/ --label snippets.jsonl --json
    """
    from streams.evaluation.report import render_snippets
    from streams.evaluation.search import Options
    from streams.evaluation.snippets import evaluate_snippets, read_site
    from streams.pages.normalize import normalize

    settings = load_settings(triton={"url": "inprocess:"})
    options = Options(cache=cache or settings.home / "eval", embedders=os.cpu_count() or 1)
    sites = {str(each): read_site(each, pages, lambda html, url: normalize(html, url=url).document) for each in folders}
    with steps() as progress:
        result = await evaluate_snippets(sites, settings, options, label, progress)
    if as_json:
        print_json(result)
    else:
        render_snippets(result, out)


@eval_app.command("confidence")
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

    Example:  riffle eval confidence collections/ --json
    """
    from streams.evaluation.confidence import evaluate_confidence
    from streams.evaluation.report import render_confidence
    from streams.evaluation.search import Options

    settings = load_settings(triton={"url": "inprocess:"})
    options = Options(cache=cache or settings.home / "eval", queries=queries, embedders=os.cpu_count() or 1)
    with steps() as progress:
        result = await evaluate_confidence(folder, settings, options, progress)
    if as_json:
        print_json(result)
    else:
        render_confidence(result, out)


@eval_app.command("spell")
@command
def eval_spell(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="Lines `wrong->right`.")],
    language: Annotated[str, typer.Option(help="Language of the words (BCP 47).")] = "en",
    index: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            metavar="PATH",
            help="Also know the words of a folder HOST/path.html, or lines `word<tab>pages`.",
        ),
    ] = None,
    sites: Annotated[int, typer.Option(min=1, help="Minimum number of sites of a word of that folder.")] = 3,
    others: Annotated[bool, typer.Option(help="Also correct by SymSpell and hunspell (English).")] = True,
    as_json: AsJson = False,
) -> None:
    """Measure corrections of misspelt words, beside SymSpell and hunspell in the same run. Nothing has to run.

    `top1`, `top3`: the share of the misspellings with a right word first, and among the first three.
    `false_corrections`: the share of the right words that would be changed. Commas stand between several right words.

    Examples:

        riffle eval spell misspellings.txt --json
        riffle eval spell misspellings.txt --index web/ --sites 1
    """
    from streams.evaluation.report import render_spelling
    from streams.evaluation.spelling import evaluate_spelling, read_index_words, read_pairs
    from streams.pages.normalize import normalize
    from streams.queries.spelling.base import base_corrector

    pairs, corrector = read_pairs(file), base_corrector(language)
    if index is not None:
        words = read_index_words(index, language, sites, lambda html, url: normalize(html, url=url).document)
        corrector = corrector.with_index(words)
    with steps() as progress:
        found = evaluate_spelling(pairs, corrector, progress, others=others and language == "en")
    if as_json:
        print_json(found)
    else:
        render_spelling(found, out)


@eval_app.command("suggest")
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

        riffle eval suggest queries.tsv --json
        riffle eval suggest today.tsv --train last-month.tsv
    """
    from streams.queries.suggestions.evaluation import measure, read_counts, suggester_of

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


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """Provide a function that shows progress on stderr: bars on a terminal, a line for each step elsewhere."""
    with Progress(*PROGRESS_COLUMNS, console=err, disable=not err.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total or None)
                if not err.is_terminal:
                    err.print(f"{step} ...", highlight=False)
            bars.update(tasks[step], completed=done, total=total or None)

        yield show


@eval_app.command("chains")
@command
async def eval_chains(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Labelled sentences, JSONL.")],
    as_json: AsJson = False,
) -> None:
    """Measure statement chains on labelled sentences, beside simple rules, in the same run.

    `contained`: of the sentences that need context, the share whose chain has the sentence that names what they refer
    to. `added`: of the others, the share with a chain. A line of FILE is one sentence: doc, i, sent_id, text,
    needs_context, and deps, a list of {via, form, to, nominal_to}. `/labs/label` exports this format. The last row has
    for each genre (the second part of a document's name) the threshold that the other genres choose.

    Example:  riffle eval chains dev.jsonl --json
    """
    from streams.models.inprocess import need_threshold, open_chains
    from streams.statements.evaluation import compare_baselines, read_documents
    from streams.statements.threshold_choice import LOWEST, leave_genres_out, measure_at

    documents = read_documents(file)
    settings = load_settings()
    name, chains = open_chains(settings, LOWEST)
    answered = {
        each: (document, await chains.links([sentence.text for sentence in document]))
        for each, document in documents.items()
    }
    ours = measure_at(list(answered.values()), need_threshold(settings))
    others = compare_baselines(list(documents.values()))
    choice = leave_genres_out(answered)
    if as_json:
        ways = {way: figures.to_dict() for way, figures in others.items()}
        left_out = {**choice.quality.to_dict(), "thresholds": dict(choice.thresholds)}
        print_json({**ours.to_dict(), "model": name, "genres_left_out": left_out, "compared": ways})
        return
    columns = ("chains", "contained", "added", "nearest F1", "antecedents each")
    rows = table(*columns, title=f"{sum(map(len, documents.values())):,} sentences of {len(documents)} documents")
    lowest, highest = min(choice.thresholds.values()), max(choice.thresholds.values())
    chosen = f"{name}, threshold chosen without the genre ({lowest:g} to {highest:g})"
    for way, figures in {**others, name: ours, chosen: choice.quality}.items():
        rows.add_row(way, *(f"{value:.3f}" for value in figures.to_dict().values()))
    out.print(rows)
