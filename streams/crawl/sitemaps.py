"""Reads sitemaps and feeds: which pages and which further sitemaps they name. Pure, linear, and bounded.

    sitemap, sitemap index   XML by sitemaps.org, also as gzip
    text                     one URL a line
    RSS, Atom, JSON Feed     a sitemap may be a feed

The XML is scanned for the few elements that matter and not parsed: entities are not declared, nesting costs nothing,
and a file that is cut or malformed still gives its first URLs.
"""

import html
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

ROBOTS_PATH, DEFAULT_PATH = "/robots.txt", "/sitemap.xml"
"""The file that names a host's sitemaps, and where a sitemap is if that file names none."""
MAX_URLS = 50_000
"""Maximum number of URLs in a file (sitemaps.org)."""
MAX_BYTES = 50 * 1024 * 1024
"""Maximum size of a file after decompression (bytes, sitemaps.org)."""
MAX_SITEMAPS = 500
"""Maximum number of sitemaps that an index may name."""
MAX_URL_CHARS = 2_048
MAX_DATE_CHARS = 40
DAY_SECONDS = 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_TAG_CHARS = 4_096
"""Maximum characters of a tag that are read."""
MAX_MEMBERS = 1_000
"""Maximum number of gzip members that are read."""
_PIECE_BYTES = 16 * 1024
"""Maximum size of a piece of a gzip file that is unpacked at once (bytes): what is left of it is copied."""
CHANGE_SECONDS = {
    "always": 3_600,
    "hourly": 3_600,
    "daily": DAY_SECONDS,
    "weekly": 7 * DAY_SECONDS,
    "monthly": 30 * DAY_SECONDS,
    "yearly": 365 * DAY_SECONDS,
    "never": 365 * DAY_SECONDS,
}
"""Time between two changes of a page by its `changefreq` (seconds)."""
MIDDLE_PRIORITY = 50
"""Priority of a page for which the sitemap states none (percent, sitemaps.org)."""
_ENTRIES = frozenset({"url", "entry", "item"})
_DATES = frozenset({"lastmod", "updated", "published", "pubdate", "date"})
_NAMES = frozenset({"loc", "link", "changefreq", "priority"}) | _ENTRIES | _DATES
_HEAD_CHARS = 4_096
"""Number of characters in which the root element stands."""

_ATOM_PREFIXES = frozenset({"", "atom", "a10"})
"""Prefixes of elements of Atom within RSS, of which `a10` is the one of .NET."""

_CDATA = "<![CDATA["
_ROOT = re.compile(r"<(?:([A-Za-z][\w.-]{0,20}):)?(sitemapindex|urlset|rss|rdf|feed)\b", re.IGNORECASE)
_HREF = re.compile(r"""\bhref ?= ?(?:"([^"]{0,2048})"|'([^']{0,2048})')""")
_OTHER_REL = re.compile(r"""\brel ?= ?["'](?!alternate["'])""")

Kind = Literal["sitemapindex", "urlset", "rss", "rdf", "feed"]


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


def read_sitemap(body: bytes) -> Sitemap:
    """Read a sitemap or a feed. What can't be read is left out. Raises nothing."""
    text = _unpack(body).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        return _read_json_feed(text)
    is_xml = text.startswith("<")
    text = _without_comments(text) if is_xml else text
    root = _ROOT.search(text, 0, _HEAD_CHARS)
    if root is None:
        return Sitemap() if is_xml else Sitemap(pages=_first(iter(text.splitlines()), MAX_URLS))
    prefix = (root[1] or "").lower()
    match root[2].lower():
        case "sitemapindex":
            return Sitemap(sitemaps=_first(_values(text, "loc", prefix), MAX_SITEMAPS))
        case "urlset":
            return _read_urlset(text, prefix)
    pages = _first(_feed(text), MAX_URLS)
    return Sitemap(pages=pages, modified=_dates(pages, _notes(text)), is_feed=True)


@dataclass(slots=True)
class _Note:
    """The properties of a page by its entry in the file."""

    modified: int = 0
    change_seconds: int = 0
    priority: int = MIDDLE_PRIORITY


def _read_urlset(text: str, prefix: str) -> Sitemap:
    pages, notes = _first(_values(text, "loc", prefix), MAX_URLS), _notes(text, prefix)
    known = [notes.get(page, _NO_NOTE) for page in pages]
    changes = tuple(note.change_seconds for note in known)
    priorities = tuple(note.priority for note in known)
    return Sitemap(
        pages=pages,
        modified=_dates(pages, notes),
        change_seconds=changes if any(changes) else (),
        priorities=priorities if len(set(priorities)) > 1 else (),
    )


def _dates(pages: Sequence[str], notes: Mapping[str, _Note]) -> tuple[int, ...]:
    dates = tuple(notes.get(page, _NO_NOTE).modified for page in pages)
    return dates if any(dates) else ()


_NO_NOTE = _Note()


def _notes(text: str, prefix: str | None = None) -> dict[str, _Note]:
    """Return the properties of pages: an entry is about its first address, and the first entry of a page counts.

    `prefix`: the only one of elements that count; None: the elements of feeds do. There are MAX_URLS entries at most:
    later ones have no properties.
    """
    notes: dict[str, _Note] = {}
    page, note = "", _Note()
    for tag in _tags(text):
        if prefix is not None and tag.prefix != prefix:
            continue
        if tag.name in _ENTRIES:  # it begins or ends
            if page and len(notes) < MAX_URLS:
                notes.setdefault(page, note)
            page, note = "", _Note()
        elif tag.name == "loc" or (tag.name == "link" and tag.prefix in _ATOM_PREFIXES):
            page = page or (_address(text, tag) or "").strip()
        elif tag.name in _DATES:
            note.modified = max(note.modified, _seconds(_content(text, tag.end).strip()))
        elif tag.name == "changefreq" and not note.change_seconds:
            note.change_seconds = CHANGE_SECONDS.get(_content(text, tag.end).strip().lower(), 0)
        elif tag.name == "priority" and (stated := _content(text, tag.end).strip()):  # else its end
            note.priority = _percent(stated)
    if page and len(notes) < MAX_URLS:  # a file that is cut
        notes.setdefault(page, note)
    return notes


def _percent(priority: str) -> int:
    """Return a priority from 0.0 to 1.0 in percent. What is none is the middle."""
    try:
        share = float(priority[:8])
    except ValueError:
        return MIDDLE_PRIORITY
    return round(100 * share) if 0 <= share <= 1 else MIDDLE_PRIORITY


def _seconds(date: str) -> int:
    """Return a date of ISO 8601 or RFC 822 in seconds since 1970 UTC: the end of a day without a time. 0: no date."""
    text = date[:MAX_DATE_CHARS]
    try:
        at = datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0
    known = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    seconds = int((known - _EPOCH).total_seconds()) + (DAY_SECONDS - 1 if len(date) == len("2026-01-01") else 0)
    return max(seconds, 0)


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


def _without_comments(text: str) -> str:
    """Return XML without its comments. One without an end takes all that follows it."""
    parts, kept, at = [], 0, 0
    while (start := text.find("<!", at)) >= 0:
        at = start + 2
        if text.startswith("<!--", start):
            parts.append(text[kept:start])
            kept = at = _behind(text, "-->", start + 4)
        elif text.startswith(_CDATA, start):
            at = _behind(text, "]]>", start)
    return "".join([*parts, text[kept:]])


def _behind(text: str, mark: str, start: int) -> int:
    """Return the place behind the mark, or the end of the text."""
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)


def _values(text: str, name: str, prefix: str) -> Iterator[str]:
    """Yield the text of each element with this name and prefix, up to the next tag."""
    for tag in _tags(text):
        if tag.name == name and tag.prefix == prefix and not tag.attributes.endswith("/"):
            yield _content(text, tag.end)


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str
    """In lower case, without its prefix."""
    prefix: str
    attributes: str
    end: int
    """Place behind the tag."""


def _tags(text: str) -> Iterator[_Tag]:
    """Yield the tags of elements that matter. What looks like a tag within a CDATA section is none."""
    end = 0
    while (start := text.find("<", end)) >= 0 and (end := text.find(">", start) + 1):
        if text.startswith(_CDATA, start):
            end = _behind(text, "]]>", start)
            continue
        name, _, attributes = text[start + 1 : min(end - 1, start + MAX_TAG_CHARS)].partition(" ")
        prefix, _, name = name.strip("/ \t\r\n").lower().rpartition(":")
        if name in _NAMES:
            yield _Tag(name, prefix, attributes, end)


def _content(text: str, start: int) -> str:
    """Return the text from `start` up to the next tag, without the frame of a CDATA section."""
    part = text[start : start + MAX_URL_CHARS + 64].lstrip()
    if part.startswith(_CDATA):
        return part[len(_CDATA) :].partition("]]>")[0]
    return html.unescape(part.partition("<")[0])


def _feed(text: str) -> Iterator[str]:
    """Yield the address of each entry."""
    in_entry = False
    for tag in _tags(text):
        if tag.name in ("entry", "item"):
            in_entry = True
        elif in_entry and tag.name == "link" and tag.prefix in _ATOM_PREFIXES and (address := _address(text, tag)):
            yield address


def _address(text: str, tag: _Tag) -> str | None:
    """Return the address of a page: the element `loc` or the `link` of RSS, or the attribute `href` of Atom."""
    href = _HREF.search(tag.attributes) if tag.name == "link" else None
    if href:
        return None if _OTHER_REL.search(tag.attributes) else html.unescape(href[1] or href[2] or "")
    return None if tag.attributes.endswith("/") else _content(text, tag.end)


def _read_json_feed(text: str) -> Sitemap:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return Sitemap()
    if not isinstance(found, dict):
        return Sitemap()
    pages = _first(_urls(found.get("items")), MAX_URLS)
    return Sitemap(pages=pages, modified=_dates(pages, _json_notes(found.get("items"))), is_feed=True)


def _json_notes(items: Any) -> dict[str, _Note]:
    """Return the dates of the items of JSON Feed, with time zones as in RFC 3339."""
    notes: dict[str, _Note] = {}
    for each in items[:MAX_URLS] if isinstance(items, list) else ():
        if isinstance(each, dict) and isinstance(each.get("url"), str):
            dates = (each.get("date_modified"), each.get("date_published"))
            at = max((_seconds(date) for date in dates if isinstance(date, str)), default=0)
            notes.setdefault(each["url"].strip(), _Note(at))
    return notes


def _urls(listed: Any) -> Iterator[str]:
    """Yield the addresses of a list of objects of JSON Feed."""
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get("url"), str):
            yield each["url"]


def _first(urls: Iterator[str], limit: int) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for url in urls:
        stripped = url.strip()
        if stripped and len(stripped) <= MAX_URL_CHARS:
            found[stripped] = None
        if len(found) >= limit:
            break
    return tuple(found)
