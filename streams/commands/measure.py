"""`riffle bench`, `riffle eval` and `riffle schemas`."""

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from streams.commands.console import EXIT_NO, JSON_OPTION, command, command_group, load_settings, out, print_json
from streams.errors import UsageError

AsJson = Annotated[bool, JSON_OPTION]

bench_app = command_group("Speed and memory, measured on this machine.")
eval_app = command_group("Quality, against labelled data and beside other programs.")


@command
def schemas(
    write: Annotated[bool, typer.Option("--write", help="Write the files instead of comparing them.")] = False,
) -> int:
    """Generate the JSON Schemas, the AsyncAPI document and the journey's diagram, or say which are out of date.

    Example:  riffle schemas --write
    """
    from streams.docgen import ROOT, published_files

    stale = {p: c for p, c in published_files().items() if not p.exists() or p.read_text() != c}
    for path, content in stale.items():
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        out.print(f"{'wrote' if write else 'out of date:'} {path.relative_to(ROOT)}", highlight=False)
    if not stale:
        out.print("All published files are up to date.")
    return EXIT_NO if stale and not write else 0


@bench_app.command("pipeline")
@command
async def bench_pipeline(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR")],
    pages: Annotated[int | None, typer.Option(min=1, help="So many pages, spread evenly. All, if not said.")] = None,
    as_json: AsJson = False,
) -> int:
    """From fetched to searchable on the running stack: pages/s, statements/s, CPU and memory by process.

    Example:  riffle up && riffle bench pipeline mirror/ --pages 500
    """
    status: int = await benchmark("pipeline").run(load_settings(), folder, pages, as_json=as_json)
    return status


@bench_app.command("queries")
@command
async def bench_queries(
    questions: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A question a line.")],
    count: Annotated[int, typer.Option(min=10, help="How many questions to ask.")] = 200,
    as_json: AsJson = False,
) -> int:
    """How long a search takes on the running stack, part by part.

    Example:  riffle bench queries questions.tsv --count 200
    """
    status: int = await benchmark("queries").run(load_settings(), questions, count, as_json=as_json)
    return status


@bench_app.command("simhash")
@command
def bench_simhash(
    fingerprints: Annotated[int, typer.Option(min=1_000, help="How many the index holds.")] = 1_000_000,
    tables: Annotated[int, typer.Option(help="4, 10 or 20 tables.")] = 4,
    as_json: AsJson = False,
) -> None:
    """Look-ups per second and memory of the fingerprint index, beside brute force.

    Example:  riffle bench simhash --fingerprints 1000000
    """
    from streams.stores.simhash_tables import TABLE_COUNTS

    if tables not in TABLE_COUNTS:
        raise UsageError(f"{tables} tables: a SimHash index has {', '.join(map(str, TABLE_COUNTS))} tables")
    found: dict[str, Any] = benchmark("simhash").run(fingerprints=fingerprints, table_count=tables)
    _print_figures("SimHash index", found, as_json)


@eval_app.command("extract")
@command
def eval_extract(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR")],
    others: Annotated[bool, typer.Option(help="Also run the other extractors.")] = True,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many pages.")] = None,
    as_json: AsJson = False,
) -> None:
    """Main content, title and dates of labelled pages: ours and other extractors', in the same run.

    DIR holds html/ID.html[.gz] and truth/ID.json.

    Example:  riffle eval extract wcxb-dev/ --limit 100
    """
    from streams.pages.evaluation import evaluate_extraction, render

    results = evaluate_extraction(folder, others=others, limit=limit)
    if as_json:
        print_json(results)
    else:
        out.print(render(results), highlight=False, markup=False, soft_wrap=True)


@eval_app.command("dedup")
@command
async def eval_dedup(
    pairs: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL of {a, b, jaccard}.")],
    pages: Annotated[Path, typer.Argument(exists=True, help="A folder of ID.html or ID.txt, or JSONL.")],
    as_json: AsJson = False,
) -> None:
    """Precision and recall of the near-duplicate verdict, where a Jaccard similarity of 0.8 makes a duplicate.

    Example:  riffle eval dedup pairs.jsonl pages/
    """
    from streams.dedup.evaluation import evaluate, read_pairs, read_texts
    from streams.stores.memory import MemoryFingerprints

    found = await evaluate(read_pairs(pairs), read_texts(pages), MemoryFingerprints)
    _print_figures("Near duplicates", found.to_dict(), as_json)


def _print_figures(title: str, figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(figures)
        return
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False)
    for name, value in figures.items():
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        table.add_row(name.replace("_", " "), shown)
    out.print(table)


def benchmark(name: str) -> Any:
    """A module of `benchmarks/`, which stays in the checkout: an installed package doesn't carry it."""
    from streams.docgen import ROOT

    if not (ROOT / "benchmarks" / f"{name}.py").exists():
        raise UsageError(f"benchmarks/{name}.py isn't there: benchmarks run from a checkout of Riffle")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module(f"benchmarks.{name}")
