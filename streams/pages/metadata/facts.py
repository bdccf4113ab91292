"""The facts of a page: title, authors, dates, licence and the like, from the most trustworthy source first."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from streams.pages.metadata import structured_data as structured
from streams.pages.metadata.authors import find_author
from streams.pages.metadata.items import Item, add_main_entities, items_of, kinds, texts
from streams.pages.metadata.publication_dates import find_dates
from streams.pages.metadata.structured_data import REPLIES, Structured
from streams.pages.metadata.titles import Declared, choose_title
from streams.pages.parse.head import Head
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.segments import Walk
from streams.pages.text.dates import iso_date
from streams.plain_text import clean_line

_FEED_TYPES = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/json+feed"}
)
_WRITTEN = ("Article", "Posting", "Report", "Recipe", "HowTo", "Question", "Course", "Book")
_ASKING = ("FAQPage", "QAPage")
_FRAME = (
    "WebSite", "WebPage", "Organization", "Corporation", "BreadcrumbList", "ListItem", "SiteNavigationElement",
    "WPHeader", "WPFooter", "WPSideBar", "ImageObject", "Person", "SearchAction", "SpeakableSpecification",
    "PostalAddress", "ContactPoint", "GeoCoordinates", "Rating", "Offer",
)  # fmt: skip
"""Types that occur on pages about any subject."""
_OFFERED = ("Product", "Event")
"""Types that are the page's subject even if it also answers questions."""
_FORUM = ("DiscussionForumPosting", "Question")
_MEDIA = ("ImageObject", "VideoObject", "AudioObject", "MediaObject")


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a `Document`."""

    title: str
    description: str
    facts: dict[str, Any]


def collect_facts(
    tree: LexborHTMLParser, head: Head, page: Walk, kept: list[int], resolver: Resolver, data: Structured
) -> Facts:
    """Collect all facts. `kept`: the segments of the main content. `data`: the page's structured data."""
    items = add_main_entities(data.items)
    written = items_of(items, *_WRITTEN) or _only_review(items)
    others = data.others | {date[:10] for text in data.others if (date := iso_date(text))}
    if written and not items_of(written, *_FORUM):  # in a forum the author of the first post may reply, too
        others |= data.replies
    speaking = written or [item for item in items if not any(kind.endswith("Review") for kind in kinds(item))]
    page_type = _type(items, written)
    site_name = head.meta("og:site_name", "application-name") or _site_name(items)
    published, modified = find_dates(tree, resolver.url, head, page, kept, speaking, page_type, others)
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
        "feeds": _feeds(head, resolver),
        "breadcrumbs": _breadcrumbs(items) or head.breadcrumbs,
        "licence": _licence(head, page, kept, items, resolver),
        "type": page_type or head.meta("og:type"),
        "structured": data.items,
        "opengraph": structured.card(head.metas, "og:"),
        "twitter": structured.card(head.metas, "twitter:"),
    }
    declared = Declared(head.title, head.meta("og:title", "twitter:title"), site_name, written)
    title = choose_title(declared, page, kept, resolver)
    description = head.meta("description", "og:description", "twitter:description") or _first(written, "description")
    return Facts(
        # Both are shown in one line, in terminals and logs too.
        title=clean_line(title),
        description=clean_line(description),
        facts={key: value for key, value in facts.items() if value},
    )


def _is_opinion(item: Item) -> bool:
    return any(kind.endswith(REPLIES) for kind in kinds(item))


def _only_review(items: list[Item]) -> list[Item]:
    """Return the review of a page with nothing else than one review."""
    subjects = [item for item in items if not all(map(_is_frame, kinds(item)))]
    return subjects if len(subjects) == 1 and items_of(subjects, "Review") else []


def _type(items: list[Item], written: list[Item]) -> str:
    """Return the type of the page's text; else of its subject; else of the page itself."""
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


def _image(head: Head, items: list[Item], resolver: Resolver) -> str:
    declared = head.meta("og:image", "og:image:url", "twitter:image", "twitter:image:src")
    linked = (href for rel, href, _ in head.links if "image_src" in rel.split())
    of_items = (url for item in items if "image" in item for url in _image_urls(item["image"]))
    for group in ([declared], of_items, linked):
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
    """Return the position of a crumb. Crumbs without a position come last, in their order."""
    position = row.get("position")
    try:
        return float(position) if isinstance(position, str | int | float) else float("inf")
    except (ValueError, OverflowError):
        return float("inf")


_COMMONS = re.compile(r"//(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[a-z]", re.IGNORECASE)


def _licence(head: Head, page: Walk, kept: list[int], items: list[Item], resolver: Resolver) -> str:
    """Return the licence by link or structured data, else a Creative Commons link, else the metadata's rights.

    A link outside of the text comes before a link inside the text, since that may be the licence of a picture.
    """
    for rel, href, _ in head.links:
        if "license" in rel.split():
            return resolver.absolute(href)
    commons: list[tuple[str, int]] = []
    for href, _, rel, segment, _ in [link for link in page.links if link[2] or "creativecommons.org/" in link[0]]:
        if "license" in rel.lower().split():
            return resolver.absolute(href)
        if _COMMONS.search(href):
            commons.append((href, segment))
    licence = _first([item for item in items if not any(kind.endswith(_MEDIA) for kind in kinds(item))], "license")
    if licence or (licence := head.meta("dcterms.license")):
        return resolver.absolute(licence) if licence.startswith("/") else licence
    if commons:
        own = frozenset(kept)
        return resolver.absolute(next((href for href, segment in commons if segment not in own), commons[0][0]))
    return head.meta("dcterms.rights", "dc.rights", "copyright")
