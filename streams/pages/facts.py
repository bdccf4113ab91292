"""What a page says of itself: title, author, dates and the like, the most trustworthy source first."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages import structured
from streams.pages.authors import find_author
from streams.pages.dates import iso_date
from streams.pages.links import Resolver
from streams.pages.native.markers import labelled, markers
from streams.pages.structured import OTHER_DATES, Item, Structured, items_of, kinds, texts, with_main
from streams.pages.titles import choose_title
from streams.pages.walk import Walk

_JSON_TYPE = re.compile(r'"@type"\s*+:\s*+(?:\[\s*+)?"([A-Za-z]+)"')
_MICRODATA_TYPE = re.compile(r"""itemtype\s*=\s*["']?https?://schema\.org/([A-Za-z]+)""")
_ITEM_TYPE = "itemtype"
_FEED_TYPES = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/json+feed"}
)
_WRITTEN = ("Article", "Posting", "Report", "Recipe", "HowTo", "Question", "Course", "Book")
_ASKING = ("FAQPage", "QAPage")
_OPINIONS = ("Review", "Comment", "Comments", "Answer")
"""What others say of the page or its subject: who wrote that, and when, is not who wrote the page."""
_FRAME = (
    "WebSite", "WebPage", "Organization", "Corporation", "BreadcrumbList", "ListItem", "SiteNavigationElement",
    "WPHeader", "WPFooter", "WPSideBar", "ImageObject", "Person", "SearchAction", "SpeakableSpecification",
    "PostalAddress", "ContactPoint", "GeoCoordinates", "Rating", "Offer",
)  # fmt: skip
"""Stands on pages about anything."""
_OFFERED = ("Product", "Event")
"""What a page is about even where it answers questions, too."""
_FORUM = ("DiscussionForumPosting", "Question")
_MEDIA = ("ImageObject", "VideoObject", "AudioObject", "MediaObject")
CLEAN_GENERATOR = "Riffle document 1"
DATA_TYPE = "application/vnd.riffle.document+json"
"""Of the script in which a document that was written out keeps what its text does not hold."""
FIRST_DAY = "2024-01-01"
"""A server whose clock is before it is wrong: nothing was fetched so long ago."""
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
    until: str = ""
    """The last day on which the page can have been published (ISO 8601); empty where that is not known."""
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
    data = Structured(resolver.absolute)
    data.json_ld(head.scripts)
    if head.has_microdata:
        data.microdata(tree)
    if head.has_rdfa:
        data.rdfa(tree)
    items = with_main(data.items)
    written = items_of(items, *_WRITTEN) or _only_review(items)
    others = data.others | {date[:10] for text in data.others if (date := iso_date(text))}
    if written and not items_of(written, *_FORUM):  # else the first of those who reply is the one who began
        others |= data.replies
    speaking = written or [item for item in items if not any(kind.endswith("Review") for kind in kinds(item))]
    page_type = _type(items, written)
    site_name = head.meta("og:site_name", "application-name") or _site_name(items)
    published, modified = _dates(tree, resolver.url, head, page, kept, speaking, page_type, others)
    facts: dict[str, Any] = {
        "author": find_author(
            tree,
            head.metas,
            page,
            kept,
            written or items_of(items, "WebPage", "Page"),
            others,
            doubt_metas=head.has_microdata,
        ),
        "published": published,
        "modified": modified,
        "site_name": site_name,
        "image": _image(head, written + items, resolver),
        "canonical": next((resolver.absolute(href) for rel, href, _ in head.links if "canonical" in rel.split()), ""),
        "feeds": _feeds(head, resolver),
        "breadcrumbs": _breadcrumbs(items) or head.breadcrumbs,
        "licence": _licence(head, page, kept, items, resolver),
        "type": page_type or head.meta("og:type"),
        "structured": data.items,
        "opengraph": structured.card(head.metas, "og:"),
        "twitter": structured.card(head.metas, "twitter:"),
    }
    return Facts(
        title=choose_title(head.title, head.meta("og:title", "twitter:title"), site_name, page, kept, written),
        description=head.meta("description", "og:description", "twitter:description") or _first(written, "description"),
        canonical=facts["canonical"] or None,
        facts={key: value for key, value in facts.items() if value},
    )


def _is_opinion(item: Item) -> bool:
    return any(kind.endswith(_OPINIONS) for kind in kinds(item))


def _only_review(items: list[Item]) -> list[Item]:
    """The review that the page is: the one item of a page that is about nothing else."""
    subjects = [item for item in items if not all(map(_is_frame, kinds(item)))]
    return subjects if len(subjects) == 1 and items_of(subjects, "Review") else []


def _type(items: list[Item], written: list[Item]) -> str:
    """That of what is written here; else of what the page is about; else of the page."""
    about = [item for item in items if not _is_opinion(item) and not all(map(_is_frame, kinds(item)))]
    if len(media := items_of(about, *_MEDIA)) > 1:
        about = [item for item in about if item not in media]
    pages = items_of(items, "Page")
    asked = [item for item in written if "Question" in kinds(item)]
    for found, names in (
        ([item for item in written if item not in asked], (*_WRITTEN, "Review")),
        (about, _OFFERED),
        (pages, _ASKING),
        (asked, _WRITTEN),
        (about, ("",)),
        (pages or items, ("",)),
    ):
        for item in found:
            for kind in kinds(item):
                if kind.endswith(names):
                    return kind
    return ""


def _is_frame(kind: str) -> bool:
    return kind.endswith(_FRAME)


def _first(items: list[Item], *names: str) -> str:
    for name in names:
        for item in items:
            if found := texts(item.get(name)):
                return found[0]
    return ""


def _site_name(items: list[Item]) -> str:
    return _first(items_of(items, "WebSite"), "name") or _first(items_of(items, "Article", "Posting"), "publisher")


_PUBLISHED = (
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
_MODIFIED = ("article:modified_time", "datemodified", "og:updated_time", "last-modified", "dcterms.modified")


def _dates(
    tree: LexborHTMLParser,
    url: str,
    head: Head,
    page: Walk,
    kept: list[int],
    items: list[Item],
    page_type: str,
    others: set[str],
) -> tuple[str, str]:
    """When the page was published and modified. `others`: dates, as written, that are of something else."""
    itself = [item for item in items if page_type in kinds(item)]
    published = (
        _first_date(_all(items, "datePublished"), head.until)
        or _first_date(_metas(head, _PUBLISHED, others), head.until)
        or _first_date(_all(itself, "dateCreated", "uploadDate"), head.until)
    )
    modified = _first_date(_all(items, "dateModified"), head.until)
    modified = modified or _first_date(_metas(head, _MODIFIED, others), head.until)
    if not published:
        published, seen = _visible_dates(tree, head, url, page, kept, others)
        modified = modified or seen
    elif not modified:
        modified = _lines_near(page, kept, others, head.until)[1]
    return published, modified


def _first_date(values: Iterable[str], until: str) -> str:
    """The first that is a date, and not one behind `until`, if that is known: then something else will be."""
    return next((date for value in values if (date := iso_date(value)) and not (until and date[:10] > until)), "")


def last_day(headers: Mapping[str, str]) -> str:
    """The day behind that of the fetch, as the server said: somewhere it is that day already. Not by our clock: what
    becomes of a page must not depend on when it is read again."""
    try:
        day = (parsedate_to_datetime(headers.get("date", "")) + timedelta(days=1)).date().isoformat()
    except (ValueError, OverflowError):
        return ""
    return day if day >= FIRST_DAY else ""


def _all(items: list[Item], *names: str) -> Iterator[str]:
    return (text for name in names for item in items if name in item for text in texts(item[name]))


def _metas(head: Head, names: tuple[str, ...], others: set[str]) -> list[str]:
    """The contents of these, in the order of `names`, but what is said of others."""
    doubted = others if head.has_microdata else ()  # where a meta element may be a property of a review
    found = [
        (names.index(name), content)
        for name, content in head.metas
        if name in names and not (content in doubted and ":" not in name)
    ]
    return [content for _, content in sorted(found, key=lambda entry: entry[0])]


_NOT_BYLINE = re.compile(r"copyright|©|expire|deadline|event|upcoming", re.IGNORECASE)
_LABEL = re.compile(
    r"(?P<modified>\b(?:updated?|modified|revised|(?:last|medically|fact)[- ](?:reviewed|edited|checked|changed)|"
    r"aktualisiert|geändert|mis à jour|modifié|actualizad[oa]|modificad[oa]|aggiornat[oa]|atualizad[oa]|bijgewerkt|"
    r"gewijzigd|zaktualizowano|обновлено)\b|更新|修改)|"
    r"(?P<published>\b(?:published|posted|created|written|veröffentlicht|erschienen|publié|publicad[oa]|"
    r"pubblicat[oa]|gepubliceerd|geplaatst|opublikowano|опубликовано)\b|发布|發布|公開|投稿)",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
"""In every date, and soon looked for."""
_MODIFIED_CLASS = re.compile(r"updated|modified", re.IGNORECASE)
_OTHER_PLACE = re.compile(r"comment|related|upcoming|event|review|recent", re.IGNORECASE)
_OTHER_TAGS = frozenset({"nav", "footer"})
_IN_LINE = frozenset({"-text", "span", "b", "strong", "em", "i", "small", "label", "dt", "abbr"})
_URL_DATE = re.compile(r"/((?:19|20)\d\d)[/-](\d{1,2})[/-](\d{1,2})(?:/|-|$)")
NEAR_BEFORE = 8
NEAR_AFTER = 20
MAX_BESIDE = 3
"""Times or lines in which the date of an update stands beside that of the publication."""
MAX_LEVELS = 12
"""Elements above a time element that are asked what stands in them."""


def _visible_dates(
    tree: LexborHTMLParser, head: Head, url: str, page: Walk, kept: list[int], others: set[str]
) -> tuple[str, str]:
    """The first dates that a reader sees near the top of the text; in a time element, a short line, the URL, by
    class."""
    published, modified = _times(tree, others, head.until) if head.times else ("", "")
    if not published:
        published, seen = _lines_near(page, kept, others, head.until)
        modified = modified or seen
    if not published and (dated := _URL_DATE.search(url)):
        published = _first_date(["-".join(dated.groups())], head.until)
    if not published and not modified:
        for text in labelled(tree, "dated", MAX_TIMES, MAX_LINE_CHARS):
            if len(text) < 6 or _NOT_BYLINE.search(text):
                continue
            published, modified = _dates_in(text, head.until)
            if published[:10] in others or text in others:  # the first of the reviews: more of them follow
                return "", ""
            if published or modified:
                break
    return published, modified


def _times(tree: LexborHTMLParser, others: set[str], until: str) -> tuple[str, str]:
    """By the first time elements that are not of something else. What stands in menus is out of the tree by now."""
    published = modified = ""
    for number, node in enumerate(tree.css("time[datetime]")[:MAX_TIMES]):
        written = node.attributes.get("datetime") or ""
        date = _first_date([written], until)
        if not date or written in others or date[:10] in others or _elsewhere(node):
            continue
        if _says_modified(node):
            modified = modified or date
        elif not published:
            published = date
        if published and (modified or number + 1 >= MAX_BESIDE):
            break
    return published, modified


def _elsewhere(node: LexborNode) -> bool:
    """Whether the time is that of an event, or stands in a list, a comment or the like."""
    if (node.attributes.get("itemprop") or "") in OTHER_DATES:
        return True
    above = node.parent
    for _ in range(MAX_LEVELS):
        if above is None or above.tag in ("body", "main", "html"):
            return False
        if above.tag in _OTHER_TAGS or _OTHER_PLACE.search(above.attributes.get("class") or ""):
            return True
        above = above.parent
    return False


def _says_modified(node: LexborNode) -> bool:
    """By its class, or by the words before it on its line."""
    attributes = node.attributes
    named = f"{attributes.get('class') or ''} {attributes.get('itemprop') or ''}"
    if _MODIFIED_CLASS.search(named):
        return "publish" not in named
    for start in (node, node.parent):
        before = start.prev if start is not None else None
        while before is not None and before.tag in _IN_LINE:
            if labels := list(_LABEL.finditer(before.text()[-MAX_LINE_CHARS:])):
                return labels[-1].lastgroup == "modified"
            before = before.prev
    return False


def _lines_near(page: Walk, kept: list[int], others: set[str], until: str) -> tuple[str, str]:
    """The dates in the first short lines near the heading that have some."""
    published = modified = ""
    since = 0
    if not kept:
        return published, modified
    elements = page.elements()
    start = next((index for index in kept if page.tags[elements[index]] == "h1"), kept[0])
    for segment in page.segments[max(start - NEAR_BEFORE, 0) : start + NEAR_AFTER]:
        text = segment.text
        is_short = 6 <= len(text) <= MAX_LINE_CHARS
        if is_short and _DIGIT.search(text) and text not in others and not _NOT_BYLINE.search(text):
            first, second = _dates_in(text, until)
            if first[:10] not in others:
                published, modified = published or first, modified or second
        since += bool(published)
        if since and (modified or since > MAX_BESIDE):
            break
    return published, modified


def _dates_in(line: str, until: str) -> tuple[str, str]:
    """Published and modified in `Published March 1, 2024, updated May 2, 2024`; a date without a word is the first."""
    if not iso_date(line):
        return "", ""
    found = {"published": "", "modified": ""}
    kind, start = "published", 0
    for label in _LABEL.finditer(line):
        found[kind] = found[kind] or _first_date([line[start : label.start()]], until)
        kind, start = str(label.lastgroup), label.end()
    found[kind] = found[kind] or _first_date([line[start:]], until)
    return found["published"], found["modified"]


def _image(head: Head, items: list[Item], resolver: Resolver) -> str:
    said = head.meta("og:image", "og:image:url", "twitter:image", "twitter:image:src")
    linked = (href for rel, href, _ in head.links if "image_src" in rel.split())
    of_items = (url for item in items if "image" in item for url in _image_urls(item["image"]))
    for group in ([said], of_items, linked):
        for url in group:
            if url and (found := resolver.absolute(url)):
                return found
    return ""


def _image_urls(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _image_urls(inner)
    elif isinstance(value, dict):
        for name in ("url", "contentUrl", "thumbnailUrl"):
            yield from _image_urls(value.get(name))


def _feeds(head: Head, resolver: Resolver) -> list[str]:
    typed = [link for link in head.links if link[2] and "alternate" in link[0].split()]
    found = [
        resolver.absolute(href) for _, href, kind in typed if kind.partition(";")[0].strip().lower() in _FEED_TYPES
    ]
    return list(dict.fromkeys(url for url in found if url))


def _breadcrumbs(items: list[Item]) -> list[str]:
    lists = items_of(items, "BreadcrumbList")
    for item in items:
        trail = item.get("breadcrumb")
        lists += [inner for inner in (trail if isinstance(trail, list) else [trail]) if isinstance(inner, dict)]
    for item in lists:
        elements = item.get("itemListElement")
        rows = [row for row in (elements if isinstance(elements, list) else [elements]) if isinstance(row, dict)]
        names = [_crumb(row) for row in sorted(rows, key=_position)]
        if found := [name for name in names if name]:
            return found
    return []


def _crumb(row: Item) -> str:
    inner = row.get("item")
    return next(iter(texts(row.get("name")) or texts(inner.get("name") if isinstance(inner, dict) else None)), "")


def _position(row: Item) -> float:
    """What has none stays behind what has one, in its order."""
    position = row.get("position")
    try:
        return float(position) if isinstance(position, str | int | float) else float("inf")
    except (ValueError, OverflowError):
        return float("inf")


_COMMONS = re.compile(r"//(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[a-z]", re.IGNORECASE)


def _licence(head: Head, page: Walk, kept: list[int], items: list[Item], resolver: Resolver) -> str:
    """As a link or the structured data says; else the Creative Commons licence that is linked, from around the text
    rather than from in it, where it may be that of a picture; else what the metadata reserves."""
    for rel, href, _ in head.links:
        if "license" in rel.split():
            return resolver.absolute(href)
    commons: list[tuple[str, int]] = []
    for href, _, rel, segment, _ in [link for link in page.links if link[2] or "creativecommons.org/" in link[0]]:
        if "license" in rel.lower().split():
            return resolver.absolute(href)
        if _COMMONS.search(href):
            commons.append((href, segment))
    said = _first([item for item in items if not any(kind.endswith(_MEDIA) for kind in kinds(item))], "license")
    if said or (said := head.meta("dcterms.license")):
        return resolver.absolute(said) if said.startswith("/") else said
    if commons:
        own = frozenset(kept)
        return resolver.absolute(next((href for href, segment in commons if segment not in own), commons[0][0]))
    return head.meta("dcterms.rights", "dc.rights", "copyright")
