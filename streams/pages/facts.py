"""What a page says of itself: title, author, dates and the like, from its head and its structured data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from streams.pages.links import Resolver
from streams.pages.walk import Walk


@dataclass(slots=True)
class Head:
    """The raw findings in a page's head."""

    title: str = ""
    base: str = ""
    language: str = ""
    metas: list[tuple[str, str]] = field(default_factory=list)
    """(name, property or itemprop in lower case, content), in order."""
    links: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    """(rel in lower case, href, attributes)."""

    def meta(self, *names: str) -> str:
        """The first that is not empty, in the order of `names`."""
        for name in names:
            for found, content in self.metas:
                if found == name and content:
                    return content
        return ""


@dataclass(frozen=True, slots=True)
class Facts:
    title: str
    description: str
    canonical: str | None
    facts: dict[str, Any]


def read_head(tree: LexborHTMLParser, headers: Mapping[str, str]) -> Head:
    """Title, base, language, meta and link elements, wherever they stand."""
    head = Head()
    root = tree.root
    if root is not None:
        head.language = (root.attributes.get("lang") or "").strip()
    for node in tree.css("title, base, meta, link"):
        attributes = node.attributes
        if node.tag == "meta":
            name = attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or ""
            content = attributes.get("content")
            if name and content:
                head.metas.append((name.strip().lower(), " ".join(content.split())))
        elif node.tag == "link":
            if attributes.get("href"):
                head.links.append(((attributes.get("rel") or "").lower(), attributes["href"] or "", attributes))
        elif node.tag == "base":
            head.base = head.base or (attributes.get("href") or "").strip()
        elif not head.title:
            head.title = " ".join(node.text().split())
    return head


def gather(head: Head, page: Walk, resolver: Resolver) -> Facts:
    """All facts of the page."""
    canonical = next((resolver.absolute(href) for rel, href, _ in head.links if "canonical" in rel.split()), "")
    facts: dict[str, Any] = {
        "author": head.meta("author", "article:author", "dc.creator"),
        "published": head.meta("article:published_time", "datepublished", "date", "dc.date"),
        "modified": head.meta("article:modified_time", "datemodified", "og:updated_time"),
        "site_name": head.meta("og:site_name", "application-name"),
        "image": resolver.absolute(head.meta("og:image", "twitter:image")),
        "canonical": canonical,
    }
    return Facts(
        title=head.meta("og:title") or head.title,
        description=head.meta("description", "og:description"),
        canonical=canonical or None,
        facts={key: value for key, value in facts.items() if value},
    )
