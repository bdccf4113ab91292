"""`riffle eval`: quality, against labelled data and other programs."""

from pathlib import Path
from typing import Annotated

import typer

from streams.commands.console import JSON_OPTION, command, command_group, out, print_figures, print_json

eval_app = command_group("Quality, against labelled data and beside other programs.")

AsJson = Annotated[bool, JSON_OPTION]


@eval_app.command("extract")
@command
def eval_extract(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR")],
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
