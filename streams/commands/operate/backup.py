"""`riffle backup` and `riffle restore`: all stores of a small installation, as files."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from streams.backup import whole
from streams.backup.manifest import Manifest
from streams.backup.manifest import Progress as Report
from streams.commands.console import AsJson, command, err, load_kafka_settings, out, print_json
from streams.commands.job_reports import reported_beside

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the backup.")]


@command
def backup(
    folder: Folder,
    vectors: Annotated[
        bool, typer.Option(help="Copy Qdrant, too. Without it, `riffle reindex` makes the index again.")
    ] = True,
    as_json: AsJson = False,
) -> int:
    """Copy all stores into a folder: events in flight, every table, the search index.

    The workers of the local stack are paused during the backup. Searches continue. For large installations see
    docs/operate/backup.md.

    Examples:

        riffle backup /backups/monday
        riffle backup /backups/monday --no-vectors
    """
    settings = load_kafka_settings()
    with _bars() as bars, reported_beside(settings, "backup") as say:
        manifest = whole.back_up(settings, folder, _reporter(bars, say), vectors=vectors)
    _print("Backed up", manifest, folder, as_json)
    return 0


@command
def restore(
    folder: Folder,
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove everything that this installation holds first.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Bring an empty installation to the state of a backup.

    Every file is verified before anything is changed.

    Examples:

        riffle restore /backups/monday
        riffle restore /backups/monday --replace
    """
    settings = load_kafka_settings()
    with _bars() as bars:
        manifest = whole.restore(settings, folder, _reporter(bars), replace=replace)
    _print("Restored", manifest, folder, as_json)
    if not manifest.collections and not as_json:
        out.advise("The backup has no vectors. Make the search index again: riffle reindex")
    return 0


def _bars() -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed:,.0f}"))
    return Progress(*columns, TimeElapsedColumn(), console=err)


def _reporter(bars: Progress, say: Callable[[str], None] = lambda _: None) -> Report:
    tasks = {}

    def report(name: str, done: int) -> None:
        if name not in tasks:
            tasks[name] = bars.add_task(name, total=None)
        bars.update(tasks[name], completed=done)
        say(f"{name}: {done:,}")

    return report


def _print(what: str, manifest: Manifest, folder: Path, as_json: bool) -> None:
    groups = {"tables": manifest.tables, "topics": manifest.topics, "collections": manifest.collections}
    items = {name: sum(part.items for part in parts.values()) for name, parts in groups.items()}
    size_bytes = sum(part.bytes for _, part in manifest.parts())
    if as_json:
        fields = {"rows": items["tables"], "events": items["topics"], "points": items["collections"]}
        print_json({"folder": str(folder), "started": manifest.started, **fields, "bytes": size_bytes})
        return
    out.print(
        f"{what} {items['tables']:,} rows, {items['topics']:,} events and {items['collections']:,} points "
        f"({size_bytes / 1e6:,.1f} MB, of {manifest.started[:19]} UTC)."
    )
