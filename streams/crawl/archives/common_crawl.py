"""Common Crawl's files on this machine: the index (CDX) with the places of pages in WARC files, links (WAT), and lists
of paths (`cc-index.paths.gz`, `warc.paths.gz`). Pure.

A line of the index is `org,sqlite)/ 20260101000000 {"url": ..., "status": ..., "filename": ..., "offset": ...}`. The
WARC file is looked for by its whole name below the folder, then by its last part.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, Literal

import orjson

from schemas import LinkFound
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, generation_of, read_warc
from streams.crawl.archives.warc import NotWarc, read_records
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.lines.bounded import Line

MAX_LINE_BYTES = 20_000
"""Maximum length of a line of an index (bytes)."""
MAX_PATHS = 200_000
"""Maximum number of paths in a list. A crawl has some 90,000 WARC files."""
MAX_PATH_BYTES = 300
"""Maximum length of a path in a list (bytes). Common Crawl's have 140."""
MAX_PLACE = 1 << 42
"""Maximum place in a WARC file (bytes): 4 TB. Its usual size is 1 GB."""
MAX_RECORD_BYTES = 32 * 1024 * 1024
"""Maximum length of a compressed record (bytes)."""
MAX_WAT_BYTES = 16 * 1024 * 1024
MAX_LINKS = 1_000
"""Maximum number of links of one page."""
LINKS_PER_EVENT = 200
MAX_ANCHOR_CHARS = 300


@dataclass(frozen=True, slots=True)
class IndexLine:
    """The place of a page's record."""

    url: str
    file: str
    offset: int
    length: int


PathKind = Literal["index", "pages", "other"]


def is_list_of_paths(first_line: str) -> bool:
    """Return whether a file with this first line is a list of paths: one path a line, and no line of an index."""
    line = first_line.strip()
    return line.endswith((".gz", ".warc", ".idx", ".yaml")) and not any(character in line for character in " {}")


def read_paths(lines: Iterable[Line]) -> Iterator[tuple[str, PathKind]]:
    """Yield the paths of a list, each with what is imported from it. Indexes of the index, and links, are `other`.

    In place of a path that is too long stands the number of its line: there is no such file.
    """
    for number, line in lines:
        if number > MAX_PATHS:
            return
        if line is None:
            yield f"line {number}, which is too long", "pages"
            continue
        path = line.decode("utf-8", "replace").strip()
        name = path.rpartition("/")[2]
        if name.startswith("cdx-"):
            yield path, "index"
        elif name.endswith((".warc.gz", ".warc", ".warc.wet.gz")):
            yield path, "pages"
        elif name:
            yield path, "other"


OpenWarc = Callable[[str], BinaryIO | None]
"""Opens the WARC file with this name, or returns None if it is not on this machine."""


def read_index(lines: Iterable[Line], file: str, hosts: frozenset[str]) -> Iterator[IndexLine | Skipped]:
    """Yield the lines of pages with status 200 of these hosts, or of all hosts, and those that can't be read.

    Lines of other pages are left out. `file` is the name of the index.
    """
    for number, line in lines:
        try:
            found = _parse_line(line)
        except (orjson.JSONDecodeError, KeyError, ValueError, TypeError):  # one bad line never ends an import
            yield Skipped("no readable line of an index", f"{file}, line {number}")
            continue
        if found is not None and (not hosts or _host(found.url) in hosts):
            yield found


def _host(url: str) -> str:
    try:
        return host_of(canonicalize(url))
    except InvalidUrl:
        return ""


def _parse_line(line: bytes | None) -> IndexLine | None:
    """Return the place of a page; None for a blank line and for pages without status 200. Raises ValueError etc."""
    if line is None:
        raise ValueError("too long")
    if not line.strip():
        return None
    fields = orjson.loads(line[line.index(b"{") :])
    if str(fields["status"]) != "200":
        return None
    return IndexLine(str(fields["url"]), str(fields["filename"]), int(fields["offset"]), int(fields["length"]))


def read_page(line: IndexLine, open_warc: OpenWarc, limits: Limits) -> ArchivedPage | Skipped:
    """Return the page at a place, or why there is none."""
    if not 0 < line.length <= MAX_RECORD_BYTES or not 0 <= line.offset <= MAX_PLACE:
        return Skipped("place in the WARC file is impossible", line.url)
    file = open_warc(line.file)
    if file is None:
        return Skipped("WARC file is not here", line.file)
    file.seek(line.offset)
    try:
        found = next(read_warc(BytesIO(file.read(line.length)), limits), None)
    except NotWarc:
        found = None
    return found or Skipped("no response at its place", f"{line.file} at {line.offset}")


def read_wat(file: BinaryIO, latest: int) -> Iterator[list[LinkFound] | Skipped]:
    """Yield the links of each page of a WAT file. Raises NotWarc."""
    for record in read_records(file, MAX_WAT_BYTES):
        if record.damage:
            yield Skipped("damaged record", record.damage)
        elif record.headers.get("warc-type") == "metadata" and record.block:
            try:
                yield _links(orjson.loads(record.block), latest)
            except Exception as error:  # one bad record never ends an import
                yield Skipped("damaged record", repr(error)[:200])


def _links(envelope: Any, latest: int) -> list[LinkFound] | Skipped:
    """Return the links of one record, as one event for each target host."""
    envelope = envelope["Envelope"]
    response = envelope["Payload-Metadata"].get("HTTP-Response-Metadata")
    if not response:
        return Skipped("no HTTP response", "")
    headers = envelope["WARC-Header-Metadata"]
    source = canonicalize(headers["WARC-Target-URI"])
    generation = min(generation_of(headers.get("WARC-Date", "")) or latest, latest)
    hosts: dict[str, list[MoreLink]] = {}
    for link in (response.get("HTML-Metadata") or {}).get("Links", [])[:MAX_LINKS]:
        if link.get("path") != "A@/href":
            continue
        try:
            target = canonicalize(str(link.get("url", "")))
        except InvalidUrl:
            continue  # relative links are links within the site
        if host_of(target) != host_of(source):
            nofollow = "nofollow" in str(link.get("rel", "")).lower()
            anchor = " ".join(str(link.get("text", "")).split())[:MAX_ANCHOR_CHARS]
            hosts.setdefault(host_of(target), []).append(MoreLink(target_url=target, anchor=anchor, nofollow=nofollow))
    return [_event(source, generation, host, links[:LINKS_PER_EVENT]) for host, links in hosts.items()]


def _event(source: str, generation: int, host: str, links: list[MoreLink]) -> LinkFound:
    first, *more = links
    return LinkFound(
        target_page_id=page_id(first.target_url),
        target_host=host,
        source_page_id=page_id(source),
        source_url=source,
        generation=generation,
        more=tuple(more),
        **first.model_dump(),
    )
