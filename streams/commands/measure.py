"""`riffle bench`, `riffle eval` and `riffle schemas`."""

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.commands.console import EXIT_NO, JSON_OPTION, command, command_group, load_settings, out
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
    from streams.publishing import ROOT, published_files

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


def benchmark(name: str) -> Any:
    """A module of `benchmarks/`, which stays in the checkout: an installed package doesn't carry it."""
    from streams.publishing import ROOT

    if not (ROOT / "benchmarks" / f"{name}.py").exists():
        raise UsageError(f"benchmarks/{name}.py isn't there: benchmarks run from a checkout of Riffle")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module(f"benchmarks.{name}")
