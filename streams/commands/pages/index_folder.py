"""An index as a folder: `riffle export index DIR`, and `riffle import DIR` for such a folder."""

import functools
import secrets
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from streams.clock import now_micros
from streams.commands.console import EXIT_NO, err, load_settings, out, print_result
from streams.commands.watching import Bars
from streams.crawl.archives.exporter import ExportSource
from streams.crawl.archives.sending import ImportReport, Sender
from streams.errors import UsageError
from streams.maintenance.page_copies import reason_against_export
from streams.maintenance.shared_index.importer import Receiver, import_index
from streams.maintenance.shared_index.layout import CARD, DESCRIPTION, MAX_NAME_CHARS, Description
from streams.maintenance.shared_index.parts import reading_pool
from streams.plain_text import clean_line
from streams.settings import Settings
from streams.stores.opener import open_stores

_PARTS = 1_000
NEEDS_PARQUET = "an index is Parquet, which needs PyArrow: pip install 'PATH_OF_THE_CLONE[parquet]'"


async def export_index_folder(folder: Path, hosts: Iterable[str], with_private: bool, as_json: bool) -> int:
    """Write an index into a new folder. Raises UsageError."""
    _require_parquet()
    from streams.maintenance.shared_index.card import card_of
    from streams.maintenance.shared_index.exporter import Chosen, IndexReport, export_index
    from streams.maintenance.shared_index.writing import IndexWriter

    partial = _place_of(folder)
    settings, wanted = load_settings(), frozenset(host.strip().lower() for host in hosts)
    against = functools.partial(reason_against_export, robot=settings.crawl.robot_name)
    async with open_stores(settings, ["records"], use="read") as stores:
        chosen = Chosen(wanted, await stores.api_keys.sites(), with_private)
        _make_empty(partial)
        with Bars(err) as bars:
            bar = bars.add_task("Pages looked at", total=_PARTS)

            def show(report: IndexReport) -> None:
                bars.update(bar, completed=round(_PARTS * report.share), description=f"{report.pages:,} pages written")

            source, writer = ExportSource(stores.pages, stores.ledger, stores.blobs), IndexWriter(partial)
            report = await export_index(source, writer, chosen, against, show)
    index = Description(
        name=clean_line(folder.name)[:MAX_NAME_CHARS] or "index",
        made=now_micros(),
        made_by=f"riffle/{version('riffle-search')}",
        hosts=tuple(sorted(wanted)),
        pages=report.pages,
        statements=report.statements,
        removals=report.removals,
        parts=writer.parts,
        removal_parts=writer.removal_parts,
        models=tuple(sorted(report.models, key=lambda made: -report.models[made])),
    )
    (partial / CARD).write_text(card_of(index, report.counts), encoding="utf-8")
    (partial / DESCRIPTION).write_bytes(index.encode())
    partial.rename(folder)
    left_out = dict(report.counts.left_out)
    print_result(
        f"{report.pages:,} pages with {report.statements:,} statements, and {report.removals:,} removals: {folder}",
        {"folder": str(folder), "pages": report.pages, "statements": report.statements, "removals": report.removals,
         "left_out": left_out},
        as_json,
    )  # fmt: skip
    if left_out and not as_json:
        out.print(f"  Left out: {', '.join(f'{reason}: {count:,}' for reason, count in sorted(left_out.items()))}.")
    return 0 if report.pages or report.removals else EXIT_NO


async def read_index(folder: Path, sender: Sender, settings: Settings) -> ImportReport:
    """Import the pages of an index. Raises UsageError."""
    _require_parquet()
    async with (
        open_stores(settings, ["records", "models"], use="read") as stores,
        reading_pool() as sandbox,
    ):
        receiver = Receiver(
            stores.pages, await stores.api_keys.sites(), stores.embedder, sandbox, lambda: secrets.randbits(64)
        )
        return await import_index(folder, sender, receiver)


def _require_parquet() -> None:
    if find_spec("pyarrow") is None:
        raise UsageError(NEEDS_PARQUET)


def _place_of(folder: Path) -> Path:
    """Return where a new folder is written until it is whole. Raises UsageError if there is one with its name."""
    if folder.exists():
        raise UsageError(f"{folder} exists already: choose another name, or remove it")
    return folder.with_name(f"{folder.name}.partial")


def _make_empty(folder: Path) -> None:
    """Make a folder. Raises UsageError, also if an interrupted export left one."""
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"{folder} can't be made: {error.strerror or error}. Remove what is left there") from error
