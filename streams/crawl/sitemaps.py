"""Reads sitemaps and feeds: which pages and which further sitemaps they name. Pure, linear, and bounded.

    XML     sitemaps, indexes of sitemaps, RSS and Atom (`sitemap_entries`)
    JSON    JSON Feed
    text    one URL a line

The bytes decide, not the media type: a file may be packed by gzip, in any encoding, and cut or malformed. What it names
before the fault counts.
"""

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from streams.charset import decode
from streams.crawl.sitemap_entries import (
    MAX_URL_CHARS,
    Entry,
    is_address,
    read_json_feed,
    read_xml,
)

ROBOTS_PATH, DEFAULT_PATH = "/robots.txt", "/sitemap.xml"
"""The file that names a host's sitemaps, and where a sitemap is if that file names none."""
MAX_URLS = 50_000
"""Maximum number of URLs in a file (sitemaps.org)."""
MAX_BYTES = 50 * 1024 * 1024
"""Maximum size of a file after decompression (bytes, sitemaps.org)."""
MAX_SITEMAPS = 500
"""Maximum number of sitemaps that an index may name."""
MAX_MEMBERS = 1_000
"""Maximum number of gzip members that are read."""
MIN_ADDRESSES = 0.5
"""Minimum share of a text's lines that are URLs: a text with fewer is an error page or a log, and no sitemap."""
_PIECE_BYTES = 16 * 1024
"""Maximum size of a piece of a gzip file that is unpacked at once (bytes): what is left of it is copied."""
_RARE_ENCODINGS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    b"<\0\0\0": "utf-32-le",
    b"\0\0\0<": "utf-32-be",
    b"\x4c\x6f\xa7\x94": "cp037",
}
"""First bytes of documents in encodings that XML has and HTML has not (XML 1.0, appendix F): UCS-4 and EBCDIC."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The URLs of one file, as they are written, each once, in their order."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    modified: tuple[int, ...] = ()
    """When each page changed last, as the file says (`lastmod`, or the dates of a feed's entry): seconds since 1970
    UTC, the end of a day that is given without a time; 0 where the file doesn't say. Empty: it says so of no page."""
    change_seconds: tuple[int, ...] = ()
    """Time between two changes of each page by its `changefreq` (seconds). 0, or empty: as with `modified`."""
    priorities: tuple[int, ...] = ()
    """Priority of each page among the pages of its site (percent). Empty: the file states none, or the same for all."""
    is_feed: bool = False


def read_sitemap(body: bytes, content_type: str = "") -> Sitemap:
    """Read a sitemap or a feed. What can't be read is left out. Raises nothing."""
    text = _decode(_unpack(body), content_type).lstrip("\ufeff \t\r\n\0")
    if (entries := read_xml(text)) is not None:
        return _collect(entries, is_feed=entries.are_of_feed)
    if text.startswith("{"):
        return _collect(read_json_feed(text), is_feed=True)
    return Sitemap() if text.startswith("<") else _collect(_read_text(text))


def _collect(entries: Iterable[Entry], *, is_feed: bool = False) -> Sitemap:
    """Collect the entries of a file, up to its bounds. The first entry of an address counts."""
    pages: dict[str, Entry] = {}
    sitemaps: dict[str, None] = {}
    for entry in entries:
        if entry.kind == "page":
            pages.setdefault(entry.url, entry)
        else:
            sitemaps[entry.url] = None
        if len(pages) >= MAX_URLS or len(sitemaps) >= MAX_SITEMAPS:
            break
    priorities = [each.priority for each in pages.values()]
    return Sitemap(
        pages=tuple(pages),
        sitemaps=tuple(sitemaps),
        modified=_unless_zero([each.modified for each in pages.values()]),
        change_seconds=_unless_zero([each.change_seconds for each in pages.values()]),
        priorities=tuple(priorities) if len(set(priorities)) > 1 else (),
        is_feed=is_feed,
    )


def _unless_zero(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(numbers) if any(numbers) else ()


def _read_text(text: str) -> Iterator[Entry]:
    """Yield the URLs of a text with one a line; none if most lines are something else. Comments begin with `#`."""
    lines = [stripped for line in text.splitlines() if (stripped := line.strip()) and not stripped.startswith("#")]
    urls = [line for line in lines if len(line) <= MAX_URL_CHARS and is_address(line) and not _SPACE.search(line)]
    if len(urls) >= MIN_ADDRESSES * len(lines):
        yield from map(Entry, urls)


_SPACE = re.compile(r"\s")


def _decode(body: bytes, content_type: str) -> str:
    """Decode a file as browsers decode pages, and in the further encodings of XML."""
    rare = next((name for mark, name in _RARE_ENCODINGS.items() if body.startswith(mark)), "")
    return body.decode(rare, "replace") if rare else decode(body, content_type)


def _unpack(body: bytes) -> bytes:
    """Return the file without gzip, cut at MAX_BYTES. A damaged archive gives what could be unpacked.

    A gzip file may have several members (RFC 1952, section 2.2). What follows the last one is ignored.
    """
    if not body.startswith(b"\x1f\x8b"):
        return body[:MAX_BYTES]
    unpacked, at = bytearray(), 0
    for _ in range(MAX_MEMBERS):
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not stream.eof and at < len(body) and len(unpacked) < MAX_BYTES:
            piece = body[at : at + _PIECE_BYTES]
            try:
                unpacked += stream.decompress(piece, MAX_BYTES - len(unpacked))
            except zlib.error:
                return bytes(unpacked)
            at += len(piece) - len(stream.unused_data)
        if not stream.eof or not body.startswith(b"\x1f\x8b", at):
            break
    return bytes(unpacked)
