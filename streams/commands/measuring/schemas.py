"""`riffle schemas`: the files that are generated from the code."""

from typing import Annotated

import typer

from streams.commands.console import EXIT_NO, command, out


@command
def schemas(
    write: Annotated[bool, typer.Option("--write", help="Write the files instead of comparing them.")] = False,
) -> int:
    """Generate the JSON Schemas, the AsyncAPI document and the reference pages, or list which are out of date.

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
