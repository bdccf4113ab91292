"""The pages of a ZIM file, with the addresses that they have on the web. Pure: the caller opens the file.

    the file says                                   the address of a page
    `--as URL`                                      URL and the page's path
    path `docs.example/guide?page=2` (warc2zim)     https:// and the path
    a canonical link to the file's own site         that link
    Source `https://docs.example/`                  Source and the path
    the same of a MediaWiki (mwoffliner)            https://HOST/wiki/PATH

A page without an address is skipped. The licence and the author of the file become the licence and the author of each
page that states none itself.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import BinaryIO, Self
from urllib.parse import quote

from streams.crawl.archives.folder_pages import canonical_in
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, generation_of, make_page
from streams.crawl.archives.rights import with_rights
from streams.crawl.archives.zim import Damaged, Entry, ZimFile

MAX_PLACES = 2_000_000
"""Maximum number of pages that are sorted at once, by their clusters (100 MB). A larger file needs several runs."""
_CONTENT = frozenset("CA")
"""Namespaces of pages: C since 2021, A before."""
_HTML = ("text/html", "application/xhtml+xml")
_SAFE = "/:@!$&'()*+,;=~"
_HOST = re.compile(r"(?:[a-z0-9-]{1,63}\.){1,8}[a-z0-9-]{2,63}")
NO_ADDRESS = "a page whose address on the web the file does not say: name it with --as URL"


@dataclass(frozen=True, slots=True)
class _Site:
    """The site of a file, as the file describes it."""

    base: str
    """Address in front of the paths; empty if it is not known."""
    host: str
    has_hosts_in_paths: bool
    licence: str
    author: str
    day: int | None
    """The date of the file (microseconds since 1970 UTC)."""

    @classmethod
    def of(cls, file: ZimFile, address: str) -> Self:
        source, program = file.metadata("Source"), file.metadata("Scraper").lower()
        if source and "://" not in source:
            source = f"https://{source}"
        host = source.partition("://")[2].partition("/")[0].lower()
        is_wiki = "mwoffliner" in program and source.count("/") < 4
        base = address or (f"{source.rstrip('/')}/wiki/" if is_wiki else source)
        has_hosts = not address and ("warc2zim" in program or "zimit" in program)
        names = file.metadata("Creator")
        return cls(base, host, has_hosts, file.metadata("License"), names, generation_of(file.metadata("Date")))

    def address_of(self, entry: Entry, body: bytes, is_named: bool) -> str:
        """Return the address of a page. `is_named`: the operator has said it."""
        if self.has_hosts_in_paths:
            host, _, rest = entry.path.partition("/")
            return f"https://{host}/{_quoted(rest, _SAFE + '?%')}" if _HOST.fullmatch(host.lower()) else ""
        path = _quoted(entry.path, _SAFE)
        if is_named:
            return f"{self.base.rstrip('/')}/{path}"
        canonical = canonical_in(body)
        if self.host and canonical.partition("://")[2].partition("/")[0].lower() == self.host:
            return canonical
        return f"{self.base.rstrip('/')}/{path}" if self.base else ""


def _quoted(path: str, safe: str) -> str:
    """Quote a path. Its bytes that are no UTF-8 are quoted as they are in the file."""
    return quote(path, safe=safe, errors="surrogateescape")


def _shown(path: str) -> str:
    """Return a path that can be printed: one in a file may have bytes that are no UTF-8."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_zim(file: BinaryIO, limits: Limits, skip: int = 0) -> Iterator[ArchivedPage | Skipped]:
    """Yield each page, and each other entry with its reason. The first `skip` were read by an earlier run.

    Raises NotZim. The pages come in the order of their clusters, behind the other entries.
    """
    archive = ZimFile(file)
    site = _Site.of(archive, limits.place.address)
    seen = 0
    run = _Run()
    for number in range(archive.entries):
        entry = archive.entry(number)
        if isinstance(entry, Entry) and entry.cluster is not None and _is_page(entry):
            run.add(entry.cluster, number)
        else:
            seen += 1
            if seen > skip:
                yield _other(entry)
        if len(run) >= MAX_PLACES or number + 1 == archive.entries:
            for cluster, numbers in run.by_cluster():
                seen += len(numbers)
                if seen > skip:
                    wanted = numbers[max(0, skip - seen + len(numbers)) :]
                    yield from _pages_of(archive, site, cluster, wanted, limits)
            run = _Run()


class _Run:
    """Pages of a file, sorted by their clusters."""

    def __init__(self) -> None:
        self._places = array("Q")
        """Cluster and number of an entry, in one number."""

    def __len__(self) -> int:
        return len(self._places)

    def add(self, cluster: int, number: int) -> None:
        self._places.append(cluster << 32 | number)

    def by_cluster(self) -> Iterator[tuple[int, list[int]]]:
        for cluster, places in groupby(sorted(self._places), key=lambda place: place >> 32):
            yield cluster, [place & 0xFFFFFFFF for place in places]


def _is_page(entry: Entry) -> bool:
    return entry.namespace in _CONTENT and entry.kind.partition(";")[0].strip().lower() in _HTML


def _other(entry: Entry | Damaged) -> Skipped:
    if isinstance(entry, Damaged):
        return Skipped("damaged entry", entry.reason)
    if entry.namespace not in _CONTENT | {"I", "-", "J"}:
        return Skipped("no page, but data about the file", f"{entry.namespace}/{_shown(entry.path)}")
    if entry.cluster is None:
        return Skipped("another name of a page (redirect)", _shown(entry.path))
    return Skipped("no page, but a file of another type", f"{_shown(entry.path)}: {entry.kind[:100]}")


def _pages_of(
    archive: ZimFile, site: _Site, cluster: int, numbers: Sequence[int], limits: Limits
) -> Iterator[ArchivedPage | Skipped]:
    entries = [entry for number in numbers if isinstance(entry := archive.entry(number), Entry)]
    contents = archive.blobs(cluster, [entry.blob for entry in entries], limits.max_body_bytes)
    for entry, content in zip(entries, contents, strict=True):
        if isinstance(content, Damaged):
            reason = content.reason if content.reason == "too large" else "damaged entry"
            yield Skipped(reason, f"{_shown(entry.path)}: {content.reason}")
            continue
        try:
            yield _page_of(entry, content, site, limits)
        except ValueError as error:  # one bad page never ends an import
            yield Skipped("damaged entry", f"{_shown(entry.path)}: {error!r}")


def _page_of(entry: Entry, content: bytes, site: _Site, limits: Limits) -> ArchivedPage | Skipped:
    address = site.address_of(entry, content, bool(limits.place.address))
    if not address:
        return Skipped(NO_ADDRESS, _shown(entry.path))
    body = with_rights(content, site.licence, site.author)
    headers = {"content-type": "text/html; charset=utf-8"}
    return make_page(address, site.day or limits.latest, body, "html", limits, 200, headers)
