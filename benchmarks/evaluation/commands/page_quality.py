"""Quality of what is made of pages: main content, duplicates, chains of statements."""

from pathlib import Path
from typing import Annotated

import typer

from streams.commands.console import AsJson, command, load_settings, out, print_figures, print_json, table


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

    Example:  python -m benchmarks eval extract wcxb-dev/ --limit 100
    """
    from benchmarks.evaluation.documents import evaluate_extraction, render

    results = evaluate_extraction(folder, others=others, limit=limit)
    if as_json:
        print_json(results)
    else:
        out.print(render(results), highlight=False, soft_wrap=True)


@command
async def eval_dedup(
    pairs: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL of {a, b, jaccard}.")],
    pages: Annotated[Path, typer.Argument(exists=True, help="A folder of ID.html or ID.txt, or JSONL.")],
    as_json: AsJson = False,
) -> None:
    """Measure precision and recall of near-duplicates, where a Jaccard similarity of 0.8 makes a duplicate.

    Example:  python -m benchmarks eval dedup pairs.jsonl pages/
    """
    from benchmarks.evaluation.dedup import evaluate, read_pairs, read_texts
    from streams.pages.normalize import content_hash, normalize
    from streams.stores.memory import MemoryFingerprints

    texts = read_texts(pages, lambda html: normalize(html, url="https://example.com/").document.text)
    quality = await evaluate(read_pairs(pairs), texts, MemoryFingerprints, content_hash)
    print_figures("Near duplicates", quality.to_dict(), as_json)


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

    Example:  python -m benchmarks eval chains dev.jsonl --json
    """
    from benchmarks.evaluation.chains import compare_baselines, read_documents
    from benchmarks.evaluation.threshold_choice import LOWEST, leave_genres_out, measure_at
    from streams.models.inprocess import need_threshold, open_chains

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
