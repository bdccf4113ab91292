"""What a page says of itself: title, author, dates and the like, the most trustworthy source first."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from streams.pages import structured
from streams.pages.authors import find_author
from streams.pages.dates import iso_date
from streams.pages.links import Resolver
from streams.pages.native.markers import labelled, markers
from streams.pages.structured import Item, items_of, texts
from streams.pages.titles import choose_title
from streams.pages.walk import Walk

_JSON_TYPE = re.compile(r'"@type"\s*:\s*\[?\s*"([A-Za-z]+)"')
_MICRODATA_TYPE = re.compile(r"""itemtype\s*=\s*["']?https?://schema\.org/([A-Za-z]+)""")
_ITEM_TYPE = "itemtype"
_FEED_TYPES = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/json+feed"}
)
_WRITTEN = ("Article", "Posting", "Report", "Recipe", "HowTo", "Question", "Review", "Course", "Book")
CLEAN_GENERATOR = "Riffle document 1"
DATA_TYPE = "application/vnd.riffle.document+json"
"""Of the script in which a document that was written out keeps what its text does not hold."""
MAX_TIMES = 20
MAX_META_CHARS = 5_000
MAX_LINE_CHARS = 110
"""Of a line with a date that a reader sees."""


@dataclass(slots=True)
class Head:
    """The raw findings in a page's head."""

    title: str = ""
    base: str = ""
    language: str = ""
    metas: list[tuple[str, str]] = field(default_factory=list)
    """(name, property or itemprop in lower case, content), in order."""
    links: list[tuple[str, str, str]] = field(default_factory=list)
    """(rel in lower case, href, type)."""
    scripts: list[tuple[str, str]] = field(default_factory=list)
    """(type in lower case, text) of scripts that hold data."""
    breadcrumbs: list[str] = field(default_factory=list)
    """As the page shows them."""
    kinds: tuple[str, ...] = ()
    """Types that structured data and OpenGraph name, as written."""
    times: list[str] = field(default_factory=list)
    """The datetime attributes of all time elements."""
    has_microdata: bool = False
    has_rdfa: bool = False
    has_drawn_math: bool = False
    """Somewhere KaTeX or MathJax drew a formula."""
    clean: bool = False
    """The page is a document of ours, written out by `streams.pages.html`."""

    def meta(self, *names: str) -> str:
        """The first that is not empty, in the order of `names`."""
        for name in names:
            for found, content in self.metas:
                if found == name and content:
                    return content
        return ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What `Document` wants to know."""

    title: str
    description: str
    canonical: str | None
    facts: dict[str, Any]


def read_head(tree: LexborHTMLParser) -> Head:
    """Title, base, language, meta and link elements, wherever they stand."""
    found = markers(tree)
    head = Head(has_microdata=found.has_microdata, has_rdfa=found.has_rdfa, has_drawn_math=found.has_drawn_math)
    root = tree.root
    if root is not None:
        head.language = (root.attributes.get("lang") or root.attributes.get("xml:lang") or "").strip()
    for tag, *values in found.rows:
        _note(head, tag, *values)
    head.clean = head.meta("generator") == CLEAN_GENERATOR
    return head


def _note(head: Head, tag: str, one: str, two: str, three: str) -> None:
    """One marker; what the three values are is said in `streams.pages.markers`."""
    if tag == "meta":
        if one and two:
            head.metas.append((one.strip().lower()[:100], " ".join(two[:MAX_META_CHARS].split())))
        elif two and three.lower() == "content-language":
            head.language = head.language or two.strip()
    elif tag == "link":
        if two:
            head.links.append((one.lower(), two, three))
    elif tag == "script":
        head.scripts.append((one.strip().lower(), two))
    elif tag == "time":
        head.times.append(one)
    elif tag == "base":
        head.base = head.base or one.strip()
    elif not head.title:
        head.title = " ".join(two[:MAX_META_CHARS].split())


def read_kinds(head: Head, html: str) -> tuple[str, ...]:
    """The types that JSON-LD, microdata and OpenGraph give the page, read without parsing them."""
    found = [head.meta("og:type")]
    for kind, text in head.scripts:
        if kind == "application/ld+json":
            found += _JSON_TYPE.findall(text)
    if head.has_microdata:
        found += _microdata_types(html)
    return tuple(dict.fromkeys(kind for kind in found if kind))


def _microdata_types(html: str) -> Iterator[str]:
    """What the pattern finds. A page is searched for its first word by str.find: ten times as fast."""
    at = html.find(_ITEM_TYPE)
    while at >= 0:
        found = _MICRODATA_TYPE.match(html, at)
        if found:
            yield found[1]
        at = html.find(_ITEM_TYPE, found.end() if found else at + len(_ITEM_TYPE))


def gather(tree: LexborHTMLParser, head: Head, page: Walk, kept: list[int], resolver: Resolver) -> Facts:
    """All facts of the page. `kept`: the segments that are its own text."""
    items = structured.json_ld(head.scripts)
    if head.has_microdata:
        items += structured.microdata(tree)
    if head.has_rdfa:
        items += structured.rdfa(tree)
    written = items_of(items, *_WRITTEN)
    canonical = next((resolver.absolute(href) for rel, href, _ in head.links if "canonical" in rel.split()), "")
    site_name = head.meta("og:site_name", "application-name") or _site_name(items)
    published, modified = _dates(tree, resolver.url, head, page, kept, written or items)
    facts: dict[str, Any] = {
        "author": find_author(tree, head.metas, page, kept, written or items_of(items, "WebPage", "Page")),
        "published": published,
        "modified": modified,
        "site_name": site_name,
        "image": _image(head, items, resolver),
        "canonical": canonical,
        "feeds": [resolver.absolute(href) for _, href, kind in head.links if kind in _FEED_TYPES],
        "breadcrumbs": _breadcrumbs(items) or head.breadcrumbs,
        "licence": _licence(head, page, items, resolver),
        "type": next((str(item["type"]) for item in written or items), head.meta("og:type")),
        "structured": items,
        "opengraph": structured.card(head.metas, "og:"),
        "twitter": structured.card(head.metas, "twitter:"),
    }
    return Facts(
        title=choose_title(head.title, head.meta("og:title", "twitter:title"), site_name, page, kept, written),
        description=head.meta("description", "og:description", "twitter:description") or _first(written, "description"),
        canonical=canonical or None,
        facts={key: value for key, value in facts.items() if value},
    )


def _first(items: list[Item], *names: str) -> str:
    for name in names:
        for item in items:
            if found := texts(item.get(name)):
                return found[0]
    return ""


def _site_name(items: list[Item]) -> str:
    return _first(items_of(items, "WebSite"), "name") or _first(items_of(items, "Article", "Posting"), "publisher")


def _dates(
    tree: LexborHTMLParser, url: str, head: Head, page: Walk, kept: list[int], items: list[Item]
) -> tuple[str, str]:
    published = (
        iso_date(_first(items, "datePublished"))
        or iso_date(
            head.meta(
                "article:published_time",
                "datepublished",
                "og:published_time",
                "date",
                "dc.date",
                "dc.date.issued",
                "dcterms.created",
                "dcterms.date",
                "pubdate",
                "publishdate",
                "publish-date",
                "parsely-pub-date",
                "sailthru.date",
                "article.published",
                "citation_publication_date",
                "citation_date",
                "rnews:datepublished",
            )
        )
        or iso_date(_first(items, "dateCreated", "uploadDate"))
    )
    modified = iso_date(_first(items, "dateModified")) or iso_date(
        head.meta("article:modified_time", "datemodified", "og:updated_time", "last-modified", "dcterms.modified")
    )
    if not published:
        published = _visible_date(tree, head, url, page, kept)
    return published, modified


_NOT_BYLINE = re.compile(r"copyright|©|expire|deadline|event|upcoming", re.IGNORECASE)
_URL_DATE = re.compile(r"/((?:19|20)\d\d)[/-](\d{1,2})[/-](\d{1,2})(?:/|-|$)")
NEAR_BEFORE = 8
NEAR_AFTER = 20


def _visible_date(tree: LexborHTMLParser, head: Head, url: str, page: Walk, kept: list[int]) -> str:
    """The first date that a reader sees near the top of the text; in a time element, a short line, the URL, by
    class."""
    for written in head.times[:MAX_TIMES]:
        if found := iso_date(written):
            return found
    if kept:
        elements = page.elements()
        start = next((index for index in kept if page.tags[elements[index]] == "h1"), kept[0])
        for segment in page.segments[max(start - NEAR_BEFORE, 0) : start + NEAR_AFTER]:
            text = segment.text
            if 6 <= len(text) <= MAX_LINE_CHARS and not _NOT_BYLINE.search(text) and (found := iso_date(text)):
                return found
    if (dated := _URL_DATE.search(url)) and (found := iso_date("-".join(dated.groups()))):
        return found
    for text in labelled(tree, "dated", MAX_TIMES, MAX_LINE_CHARS):
        if len(text) >= 6 and not _NOT_BYLINE.search(text) and (found := iso_date(text)):
            return found
    return ""


def _image(head: Head, items: list[Item], resolver: Resolver) -> str:
    found: Any = head.meta("og:image", "og:image:url", "twitter:image", "twitter:image:src")
    if not found:
        image: Any = next((item["image"] for item in items if item.get("image")), "")
        image = image[0] if isinstance(image, list) and image else image
        found = image.get("url", "") if isinstance(image, dict) else image
    return resolver.absolute(found) if isinstance(found, str) else ""


def _breadcrumbs(items: list[Item]) -> list[str]:
    for item in items_of(items, "BreadcrumbList"):
        elements = item.get("itemListElement")
        rows = [row for row in elements if isinstance(row, dict)] if isinstance(elements, list) else []
        names = [texts(row.get("name") or row.get("item")) for row in rows]
        if found := [name[0] for name in names if name]:
            return found
    return []


def _licence(head: Head, page: Walk, items: list[Item], resolver: Resolver) -> str:
    for rel, href, _ in head.links:
        if "license" in rel.split():
            return resolver.absolute(href)
    for href, _, rel, _, _ in page.links:
        if rel and "license" in rel.lower().split():
            return resolver.absolute(href)
    return _first(items, "license") or head.meta("dcterms.license", "dc.rights")
