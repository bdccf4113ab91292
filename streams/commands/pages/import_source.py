"""`riffle import`: bring in pages that were fetched elsewhere, links between hosts, and entities for panels.

What a source is, its content says: a folder, the first record of an archive, the first line of a file. An option that
does not apply to what was found is refused.
"""

import asyncio
import bz2
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.commands.console import AsJson, command, load_kafka_settings
from streams.commands.pages.entities import import_dump
from streams.commands.pages.importing import As, Exclude, Import, Include, TrustDates, import_archive, placing_options
from streams.commands.pages.index_folder import read_index
from streams.crawl.archives import wacz, zim
from streams.crawl.archives.common_crawl import is_list_of_paths
from streams.crawl.archives.common_crawl_importer import find_listed_files, import_common_crawl
from streams.crawl.archives.file_importer import import_html
from streams.crawl.archives.importer import import_html_dump, import_warc, import_wat, import_zim
from streams.crawl.archives.readers import Placing
from streams.crawl.archives.regular_files import open_regular
from streams.crawl.archives.sending import ImportReport, Sender, archive_name
from streams.crawl.archives.unpacking import DamagedArchive, Unpacked
from streams.crawl.archives.warc import FIRST_LINES, NotWarc, read_records
from streams.crawl.archives.wikipedia_html import is_html_dump
from streams.errors import UsageError
from streams.maintenance.shared_index.importer import is_index, read_description

HEAD_BYTES = 1 << 20
"""Bytes of a file that are looked at. A block of bzip2 has up to 900,000."""
LOOKED_RECORDS = 8
"""Maximum number of records of an archive that are looked at."""
_ITEMS = ('"item"', '"property"', '"lexeme"')
_PAGE = (b"<!doctype html", b"<html")
_OTHERS = (
    (b"filedesc://", 0, "It is an ARC file: make a WARC file of it, with `warcio recompress FILE.arc.gz FILE.warc.gz`"),
    (b"\x5d\x2a\x4d\x18", 0, "Its dictionary can't be read: unpack the file with `zstd -d`"),
    (b"ustar", 257, "It is a tar file: unpack it, and give the folder"),
    (b"MIME-Version:", 0, "It is a page with its pictures (MHTML): save it as HTML, and give its folder"),
    (b"From: <Saved by", 0, "It is a page with its pictures (MHTML): save it as HTML, and give its folder"),
)
"""First bytes of other files, where they are, and what to do."""


class Kind(StrEnum):
    """The kind of a source."""

    html = "html"
    warc = "warc"
    wacz = "wacz"
    wat = "wat"
    zim = "zim"
    commoncrawl = "commoncrawl"
    wikidata = "wikidata"
    wikipedia = "wikipedia"
    wikipedia_html = "wikipedia-html"
    entities = "entities"
    handed_on = "index"


TITLES: Mapping[Kind, str] = {
    Kind.html: "a folder of pages",
    Kind.warc: "a WARC or WET file",
    Kind.wacz: "a WACZ file",
    Kind.wat: "a WAT file",
    Kind.zim: "a ZIM file",
    Kind.commoncrawl: "Common Crawl's index",
    Kind.wikidata: "a dump of Wikidata",
    Kind.wikipedia: "a dump of a Wikipedia",
    Kind.wikipedia_html: "an HTML dump of a Wikipedia",
    Kind.entities: "a file of own entities",
    Kind.handed_on: "an index",
}
_PAGES = frozenset({"--wait", "--trust-dates"})
_PLACED = _PAGES | {"--as", "--include", "--exclude"}
_DUMP = frozenset({"--language", "--remove-missing"})
OPTIONS: Mapping[Kind, frozenset[str]] = {
    Kind.html: _PLACED,
    Kind.warc: _PLACED,
    Kind.wacz: _PLACED,
    Kind.wat: frozenset(),
    Kind.zim: _PLACED,
    Kind.commoncrawl: _PAGES | {"--host", "--warcs"},
    Kind.wikidata: _DUMP,
    Kind.wikipedia: _DUMP,
    Kind.wikipedia_html: _PLACED - {"--as"},
    Kind.entities: frozenset({"--remove-missing"}),
    Kind.handed_on: _PLACED - {"--as"},
}
"""The options of each kind."""
_FOLDERS = (Kind.html, Kind.handed_on)
READERS: Mapping[Kind, Import] = {
    Kind.html: import_html,
    Kind.warc: import_warc,
    Kind.wacz: import_warc,
    Kind.zim: import_zim,
    Kind.wikipedia_html: import_html_dump,
}
"""The functions that import the pages of each kind that has some."""


@command
async def import_source(
    sources: Annotated[
        list[Path], typer.Argument(exists=True, metavar="SOURCE", help="A folder, an archive, or a dump.")
    ],
    kind: Annotated[Kind | None, typer.Option("--kind", help="What SOURCE is, if its content does not say so.")] = None,
    address: As = "",
    include: Include = None,
    exclude: Exclude = None,
    wait: Annotated[
        bool | None, typer.Option("--wait/--no-wait", help="Pages: wait until all are searchable. Default: yes.")
    ] = None,
    trust_dates: TrustDates = False,
    host: Annotated[
        list[str] | None, typer.Option("--host", help="Common Crawl: pages of this host. May be repeated.")
    ] = None,
    warcs: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Common Crawl: the folder of the WARC files. Default: this."),
    ] = None,
    language: Annotated[str, typer.Option(help="Dumps: language of names and texts, as `de`. Default: `en`.")] = "",
    missing: Annotated[
        bool | None,
        typer.Option(
            "--remove-missing/--keep-missing",
            help="Remove entities that SOURCE no longer has. Default: for a dump, unless they are more than a tenth.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Bring in pages that were fetched elsewhere (WARC, HTML), links between hosts, and entities for panels.

    SOURCE is a folder of HTML, Markdown, text and PDF files (a built site with --as, or a copy: DIR/HOST/path), a WARC,
    WACZ, WET or WAT file, a ZIM file, an HTML dump of Wikipedia, Common Crawl's index or lists of paths, a dump for
    panels of Wikidata (JSON) or Wikipedia (XML), own entities (JSON Lines), or an index of another installation (the
    folder of `riffle export index`), whose pages are not embedded again. An import that was stopped goes on where
    it was. A page is as old as its import, since an archive may claim any date. A later dump updates what has changed.

    Examples:

        riffle import site/ --as https://docs.example/ --exclude '*/genindex.html'
        riffle import CC-MAIN-20260101.warc.gz
        riffle import wikipedia_en_all.zim
        riffle import cdx-00123.gz --host www.sqlite.org --warcs crawl-data/
        riffle import latest-all.json.bz2
        riffle import products.jsonl --remove-missing
        riffle import sqlite-index/
    """
    given = {
        "--as": address,
        "--include": include,
        "--exclude": exclude,
        "--wait": wait is not None,
        "--trust-dates": trust_dates,
        "--host": host,
        "--warcs": warcs,
        "--language": language,
        "--remove-missing": missing is not None,
    }
    source, found = sources[0], await asyncio.to_thread(_kind_of, sources, kind)
    _refuse_others(given, found)
    if found in (Kind.wikidata, Kind.wikipedia):
        return await import_dump(source, found, language, missing, as_json)
    if found is Kind.entities:
        return await import_dump(source, "own", "", bool(missing), as_json)
    if found is Kind.wat:
        return await import_archive(import_wat, source, wait=False, as_json=as_json)
    waits = wait is not False
    if found is Kind.commoncrawl:
        read, name = await _common_crawl(sources, host or (), warcs or Path(), trust_dates)
        return await import_archive(read, source, waits, as_json, name=name)
    options, name = placing_options(address, include, exclude), ""
    import_pages: Import
    if found is not Kind.handed_on:
        import_pages = READERS[found]
    else:
        settings, name = load_kafka_settings(), f"{source.resolve()} {read_description(source)}"
        options["place"] = Placing(allowed=settings.crawl.origins)
        import_pages = partial(read_index, settings=settings)

    async def read_placed(path: Path, sender: Sender) -> ImportReport:
        limits = replace(sender.limits, **options)
        return await import_pages(path, replace(sender, trust_dates=trust_dates, limits=limits))

    return await import_archive(read_placed, source, waits, as_json, name=name)


async def _common_crawl(
    indexes: Sequence[Path], names: Sequence[str], warcs: Path, trust_dates: bool
) -> tuple[Import, str]:
    """Return the import of these hosts' pages, and what is imported, for the place of an interrupted run."""
    hosts = frozenset(name.strip().lower() for name in names)
    if not hosts:
        raise UsageError("say whose pages are imported, such as --host www.sqlite.org")
    listed = await asyncio.to_thread(find_listed_files, indexes, warcs)
    name = f"{archive_name(*indexes, *(file.path for file in listed.files))} {sorted(hosts)}"

    async def read(_: Path, sender: Sender) -> ImportReport:
        dated = replace(sender, trust_dates=trust_dates)
        return await import_common_crawl(indexes, dated, hosts=hosts, warc_folder=warcs)

    return read, name


def _refuse_others(given: Mapping[str, Any], kind: Kind) -> None:
    """Raise UsageError if an option was given that does not apply to this kind of import."""
    if wrong := [name for name, value in given.items() if value and name not in OPTIONS[kind]]:
        others = " or ".join(TITLES[each] for each, names in OPTIONS.items() if wrong[0] in names)
        raise UsageError(f"{wrong[0]} is for {others}, and this is {TITLES[kind]}. --kind corrects a wrong guess")


def _kind_of(sources: Sequence[Path], kind: Kind | None) -> Kind:
    """Return what the sources are: `kind`, or else what their content says. Raises UsageError."""
    kinds = {source: _kind_of_one(source, kind) for source in sources}
    for source, found in kinds.items() if len(kinds) > 1 else ():
        if found is not Kind.commoncrawl:
            raise UsageError(f"{source} is {TITLES[found]}: only index files of Common Crawl are imported together")
    return kinds[sources[0]]


def _kind_of_one(source: Path, kind: Kind | None) -> Kind:
    if kind and source.is_dir() != (kind in _FOLDERS):
        raise UsageError(f"{source} is {'a folder' if source.is_dir() else 'a file'}, and not {TITLES[kind]}")
    if found := kind or guess_kind(source):
        return found
    raise UsageError(f"{source} is none of what can be imported, by its content. {_advice(source)}")


def _advice(source: Path) -> str:
    if source.stat().st_size == 0:
        return "It is empty"
    head = _read_head(source)
    if advice := next((advice for magic, at, advice in _OTHERS if head.startswith(magic, at)), ""):
        return advice
    if head.lstrip().lower().startswith(_PAGE):
        return f"It is a page: give its folder, as in `riffle import {source.parent}/ --as https://docs.example/`"
    return f"If you know better: --kind {'|'.join(each for each in Kind if each not in _FOLDERS)}"


def guess_kind(source: Path) -> Kind | None:
    """Return what a file or folder is, by its content; None if it is nothing that can be imported."""
    if source.is_dir():
        return Kind.handed_on if is_index(source) else Kind.html
    head = _read_head(source)
    if head.startswith(zim.MAGIC):
        return Kind.zim
    if head.startswith(wacz.MAGIC):
        return Kind.wacz
    if is_html_dump(head):
        return Kind.wikipedia_html
    if head.startswith(FIRST_LINES):
        return Kind.wat if _has_links(source) else Kind.warc
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    line = text.partition("\n")[0]
    if is_list_of_paths(line) or _is_of_index(line):
        return Kind.commoncrawl
    if text.startswith("<") and "<mediawiki" in text[:10_000]:
        return Kind.wikipedia
    if text.startswith("[") or _is_item(text):
        return Kind.wikidata
    return Kind.entities if text.startswith("{") else None


def _is_of_index(line: str) -> bool:
    """Return whether a line is one of Common Crawl's index: a key with a host, a time, and a JSON object."""
    key, _, rest = line.partition(" ")
    time, _, fields = rest.partition(" ")
    return ")" in key and len(time) == 14 and time.isdecimal() and fields.startswith("{")


def _is_item(text: str) -> bool:
    """Return whether a JSON object is an item of Wikidata, by its first fields."""
    fields = text.removeprefix("{").partition("{")[0].partition("[")[0]
    return text.startswith("{") and '"type"' in fields and any(name in fields for name in _ITEMS)


def _read_head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked if they are gzip, bzip2 or zstd. Raises UsageError."""
    try:
        with open_regular(path) as file:
            with suppress(DamagedArchive):
                if (unpacked := Unpacked(file)).is_zstd:
                    return unpacked.read1(HEAD_BYTES)
            file.seek(0)
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}") from error
    with suppress(OSError, EOFError, zlib.error):  # what is damaged is looked at as it is
        if head.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
        if head.startswith(b"BZh"):
            return bz2.BZ2Decompressor().decompress(head, HEAD_BYTES)
    return head


def _has_links(path: Path) -> bool:
    """Return whether the first records of an archive are JSON about other records, as in a WAT file."""
    with open_regular(path) as file, suppress(NotWarc):
        for record in islice(read_records(file, HEAD_BYTES), LOOKED_RECORDS):
            if (record.block or b"").lstrip().startswith(b'{"Envelope"'):
                return True
    return False
