"""`riffle export`: write pages as other programs read them, or an index that other installations take."""

import functools
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from streams.commands.console import EXIT_NO, AsJson, command, err, load_settings, out, print_result
from streams.commands.pages.index_folder import export_index_folder
from streams.commands.watching import Bars
from streams.crawl.archives.exporter import ExportReport, ExportSource, export_warc
from streams.crawl.archives.writer import warcinfo
from streams.errors import UsageError
from streams.maintenance.page_copies import reason_against_archive
from streams.stores.opener import open_stores

_PARTS = 1_000
INDEX = "index"


@command
async def export_pages(
    target: Annotated[
        list[str],
        typer.Argument(metavar="FILE | index DIR", help="The file to write, such as pages.warc.gz, or a new folder."),
    ],
    host: Annotated[list[str] | None, typer.Option("--host", help="Only pages of this host. May be repeated.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Also pages of private sites.")] = False,
    as_json: AsJson = False,
) -> int:
    """Write the pages as a WARC file: each request with its response, what the crawler knows of it, and revisits.

    With `index`, write a folder that another installation takes with `riffle import`: documents, statements with their
    vectors, licences, wishes of publishers and removals as Parquet, with a card for people.

    A page whose text did not change since is a revisit. Pages that were imported have no exchange: they are resources.

    Pages that ask for no copies (`noarchive`, `nosnippet`, `noindex`) or that left the index are left out, and counted;
    so are pages of private sites without --private.

    Examples:

        riffle export pages.warc.gz
        riffle export sqlite.warc.gz --host www.sqlite.org
        riffle export index sqlite-index --host www.sqlite.org
    """
    if target[0] == INDEX and len(target) == 2:
        return await export_index_folder(Path(target[1]), host or (), private, as_json)
    if len(target) != 1 or target[0] == INDEX:
        raise UsageError("give one file, or `index` and a folder: `riffle export index DIR`")
    file = new_file(target[0])
    partial = file.with_name(f"{file.name}.partial")
    settings = load_settings()
    async with open_stores(settings, ["records"], use="read") as stores:
        against = functools.partial(
            reason_against_archive,
            robot=settings.crawl.robot_name,
            sites=await stores.api_keys.sites(),
            with_private=private,
        )
        with Bars(err) as bars, _open(partial) as opened:
            bar = bars.add_task("Pages looked at", total=_PARTS)

            def show(report: ExportReport) -> None:
                bars.update(bar, completed=round(_PARTS * report.share), description=f"{report.pages:,} pages written")

            opened.write(warcinfo(file.name, f"riffle/{version('riffle-search')}", datetime.now(UTC)))
            source = ExportSource(stores.pages, stores.ledger, stores.blobs)
            report = await export_warc(source, opened, show, against, hosts=frozenset(host or ()))
    partial.rename(file)
    print_result(
        f"{report.pages:,} pages in {report.records:,} records, {report.written_bytes:,} bytes: {file}",
        {"file": str(file), "pages": report.pages, "records": report.records, "bytes": report.written_bytes,
         "versions_not_kept": report.missing, "left_out": report.left_out},
        as_json,
    )  # fmt: skip
    if report.missing and not as_json:
        out.print(f"  {report.missing:,} older versions of pages are no longer kept.")
    if report.left_out and not as_json:
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(report.left_out.items()))
        text = f"  Left out, since these pages ask for no copies, are private or left the index: {reasons}."
        out.print(text)
    return 0 if report.pages else EXIT_NO


def new_file(name: str) -> Path:
    """Return a path at which nothing is yet. Raises UsageError."""
    file = Path(name)
    if file.is_dir():
        raise UsageError(f"{file} is a folder: give a file, or `riffle export index DIR`")
    if file.exists():
        raise UsageError(f"{file} exists already: choose another name, or remove it")
    return file


def _open(file: Path) -> BinaryIO:
    try:
        return file.open("wb")
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror or error}") from error
