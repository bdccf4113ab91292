"""The entries of sitemaps and feeds: what each says of a page. Pure, linear, and bounded.

    sitemap, sitemap index      `url` and `sitemap` with `loc` (sitemaps.org)
    RSS 2.0, 1.0 (RDF), 0.9x    `item` with `link`, or a `guid` that is a permalink, or `rdf:about`
    Atom 1.0, 0.3               `entry` with a `link` of the relation `alternate`
    JSON Feed                   `items` with `url`

An element counts by its name, its namespace and the entry in which it is, in whatever element it is nested there: a
description with HTML that is not escaped harms no link behind it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urljoin

from streams.crawl.web_dates import EPOCH, parse_date
from streams.crawl.xml_elements import Element, find_elements, tag_pattern

MAX_URL_CHARS = 2_048
DAY_SECONDS = 86_400
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

Kind = Literal["page", "sitemap"]
_ROOTS = ("sitemapindex", "urlset", "rss", "rdf", "feed")
_ENTRIES = ("url", "sitemap", "entry", "item")
_KINDS: Mapping[str, Kind] = {"url": "page", "sitemap": "sitemap"}
_DATES = ("lastmod", "updated", "published", "modified", "issued", "pubdate", "date")
_MAX_HEAD_CHARS = 65_536
"""Number of characters in which the root element begins: a comment with a licence may stand before it."""
_TAGS = tag_pattern(*_ROOTS, *_ENTRIES, *_DATES, "loc", "changefreq", "priority", "link", "guid", "source")
_ATOM = ("http://www.w3.org/2005/atom", "http://purl.org/atom/ns#", "atom", "a10")
"""The namespaces of Atom, and the prefixes that documents use without a declaration (`a10` is the one of .NET)."""
_ADDRESS = re.compile(r"(?:https?:/)?/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A page or a sitemap that a file names, and what the file says of it."""

    url: str
    kind: Kind = "page"
    modified: int = 0
    """When it changed last (seconds since 1970 UTC); 0 where the file doesn't say."""
    change_seconds: int = 0
    priority: int = MIDDLE_PRIORITY


def is_address(text: str) -> bool:
    """Return whether a text is an absolute address of the web, or a path from the root of its host."""
    return _ADDRESS.match(text) is not None


def read_xml(document: str) -> "XmlEntries | None":
    """Return the entries of a sitemap or a feed in XML; None for other documents."""
    elements = find_elements(document, _TAGS)
    for element in elements:
        if element.name in _ROOTS and not element.is_end and element.end <= _MAX_HEAD_CHARS:
            return XmlEntries(element, elements)
        if element.end > _MAX_HEAD_CHARS:
            break
    return None


@dataclass(frozen=True, slots=True)
class XmlEntries:
    """The entries of a document in XML."""

    root: Element
    elements: Iterator[Element]
    """The elements behind the root's start tag."""

    @property
    def are_of_feed(self) -> bool:
        return self.root.name not in ("sitemapindex", "urlset")

    def __iter__(self) -> Iterator[Entry]:
        return self._of_feed() if self.are_of_feed else self._of_sitemap()

    def _of_feed(self) -> Iterator[Entry]:
        draft = _Draft(self.root)
        for element in self.elements:
            if element.name in _ENTRIES:
                yield from draft.entries()
                draft = _Draft(element, is_open=not element.is_end)
            elif draft.is_open:
                draft.add_of_feed(element, self.root)
        yield from draft.entries()

    def _of_sitemap(self) -> Iterator[Entry]:
        default: Kind = "sitemap" if self.root.name == "sitemapindex" else "page"
        draft = _Draft(self.root, default)
        for element in self.elements:
            if element.name in _ENTRIES:
                yield from draft.entries()
                draft = _Draft(element, _KINDS.get(element.name, default), is_open=not element.is_end)
            elif not element.is_end and draft.has(element, self.root):
                if element.name == "loc" and draft.urls and not draft.is_open:  # a file without `url` elements
                    yield from draft.entries()
                    draft = _Draft(self.root, default)
                draft.add_of_sitemap(element)
        yield from draft.entries()


def read_json_feed(text: str) -> Iterator[Entry]:
    """Yield the items of a JSON Feed, with their dates."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return
    items = found.get("items") if isinstance(found, dict) else None
    for each in items if isinstance(items, list) else ():
        if isinstance(each, dict) and isinstance(url := each.get("url"), str) and _fits_feed(url.strip()):
            dates = (each.get("date_modified"), each.get("date_published"))
            yield Entry(
                url.strip(), modified=max((_seconds(date) for date in dates if isinstance(date, str)), default=0)
            )


@dataclass(slots=True)
class _Draft:
    """An entry that is read. It is about its first address; further ones are pages of which nothing is said."""

    element: Element
    kind: Kind = "page"
    is_open: bool = False
    urls: list[str] = field(default_factory=list)
    permalink: str = ""
    """The address of an item without a link: its `guid`, or its `rdf:about`."""
    modified: int = 0
    change_seconds: int = 0
    priority: int = MIDDLE_PRIORITY
    in_source: bool = False
    """True within `source`: it has the links of the feed from which an entry was taken over."""

    def entries(self) -> Iterator[Entry]:
        about = self.permalink or self.element.attributes.get("rdf:about", "") if self.is_open else ""
        urls = self.urls or ([about] if is_address(about) else [])
        for n, url in enumerate(urls):
            yield (
                Entry(url, self.kind, self.modified, self.change_seconds, self.priority)
                if n == 0
                else Entry(url, self.kind)
            )

    def has(self, element: Element, root: Element) -> bool:
        """Return whether an element belongs to sitemaps, and not to an extension for images, videos or news.

        A name without a namespace counts where it is the entry's only one: some writers drop the namespace of the root.
        """
        is_of_root = element.prefix == root.prefix or element.namespace == root.namespace
        return is_of_root or (not element.prefix and not self.urls)

    def add_of_sitemap(self, element: Element) -> None:
        text = element.text
        match element.name:
            case "loc" if is_address(text) and len(text) <= MAX_URL_CHARS:
                self.urls.append(text)
            case "lastmod":
                self.modified = max(self.modified, _seconds(text))
            case "changefreq":
                self.change_seconds = self.change_seconds or CHANGE_SECONDS.get(text.lower(), 0)
            case "priority":
                self.priority = _percent(text)

    def add_of_feed(self, element: Element, root: Element) -> None:
        match element.name:
            case "source":
                self.in_source = not element.is_end and not element.tag.endswith("/")
            case _ if self.in_source or element.is_end:
                return
            case "link" if self._is_own(element) or element.namespace.lower() in _ATOM:
                url = _resolve(_address(element), element, self.element, root)
                if _fits_feed(url):
                    self.urls.append(url)
            case "guid" if element.attributes.get("ispermalink", "true").strip().lower() != "false":
                self.permalink = self.permalink or element.text
            case name if name in _DATES:
                self.modified = max(self.modified, _seconds(element.text))

    def _is_own(self, element: Element) -> bool:
        return element.prefix == self.element.prefix or element.namespace == self.element.namespace


def _address(link: Element) -> str:
    """Return the address of a `link`: its text in RSS, the attribute `href` in Atom. Empty for another relation."""
    href = link.attributes.get("href")
    if href is None:
        return link.text
    relations = link.attributes.get("rel", "").lower().rpartition("/")[2].split()  # it may be an address of IANA
    return href.strip() if not relations or "alternate" in relations else ""


def _resolve(url: str, *elements: Element) -> str:
    """Resolve an address by the `xml:base` of its element and of the elements around it, the innermost first."""
    for element in elements:
        if url and (base := element.attributes.get("xml:base", "").strip()):
            try:
                url = urljoin(base, url)
            except ValueError:
                return ""
    return url


def _fits_feed(url: str) -> bool:
    """Return whether this may be the address of an entry: feeds have relative ones, too, but no words."""
    return 0 < len(url) <= MAX_URL_CHARS and (is_address(url) or not any(map(str.isspace, url)))


def _percent(priority: str) -> int:
    """Return a priority from 0.0 to 1.0 in percent. What is none is the middle."""
    try:
        share = float(priority[:8])
    except ValueError:
        return MIDDLE_PRIORITY
    return round(100 * share) if 0 <= share <= 1 else MIDDLE_PRIORITY


def _seconds(date: str) -> int:
    """Return a date in seconds since 1970 UTC; 0 for what is no date."""
    moment = parse_date(date)
    return max(int((moment - EPOCH).total_seconds()), 0) if moment else 0
