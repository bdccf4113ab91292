"""HTML -> document: the whole of a page's understanding as one pure function.

Decode, refuse what would hurt, parse once, walk once; then label the text (main content or chrome), build the document,
and read the facts. Hostile input can still make the parser slow: callers that take pages from strangers run this in a
process that can be killed (`streams.pages.pool`).
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from streams.errors import Refused
from streams.pages import facts as page_facts
from streams.pages.build import Builder
from streams.pages.charset import decode
from streams.pages.content import label
from streams.pages.directives import directives
from streams.pages.document import Document, Link
from streams.pages.language import identify
from streams.pages.links import Resolver
from streams.pages.walk import Walk, walk

MAX_DEPTH = 512
"""Browsers stop nesting there (Chromium's and WebKit's maximum DOM depth); real pages stay below 60."""
SAFE_TAGS = 6_000
"""Pages with fewer tags can't nest deep enough to make the parser slow; only larger ones are scanned first."""
MAX_LINKS = 5_000
LANGUAGE_CHARS = 2_000

_TAGS = re.compile(rb"<(/?)([a-zA-Z][^\s/>]*)")
_VOID = frozenset(
    b"area base br col embed hr img input link meta param source track wbr p li dt dd option tr td th path".split()
)


@dataclass(frozen=True, slots=True)
class Normalized:
    """What the stage knows of a page."""

    document: Document
    directives: tuple[str, ...] = ()
    canonical: str | None = None
    """What the page says is its canonical URL, absolute, as written."""
    content_hash: str = ""
    """blake2b-256 of the text, case and spaces aside: equal for exact duplicates."""


def normalize(html: bytes | str, *, url: str, headers: Mapping[str, str] | None = None) -> Normalized:
    """Normalize a page. `headers` have lower-case names. Raises Refused for nesting that no parser should be given."""
    headers = headers or {}
    text = decode(html, headers.get("content-type", "")) if isinstance(html, bytes) else html
    refuse_nesting(text.encode("utf-8", "replace") if text.count("<") > SAFE_TAGS else b"")
    tree = _parsed(text)
    head = page_facts.read_head(tree, headers)
    resolver = Resolver(url, head.base)
    page = walk(tree.body) if tree.body is not None else Walk()
    kept = label(page)
    containers, blocks = Builder(page, resolver.absolute, (page.segments[index] for index in kept)).result()
    found = page_facts.gather(head, page, resolver)
    body = "\n".join(block.text for block in blocks)
    language = identify(body[:LANGUAGE_CHARS], head.language)
    document = Document(
        url=url,
        title=found.title,
        description=found.description,
        language=language.language or head.language,
        language_confidence=round(language.confidence, 4),
        containers=containers,
        blocks=blocks,
        links=_links(page, frozenset(kept), resolver),
        facts=found.facts,
    )
    return Normalized(
        document=document,
        directives=directives(head.metas, headers),
        canonical=found.canonical,
        content_hash=content_hash(body),
    )


def _parsed(text: str) -> LexborHTMLParser:
    try:
        return LexborHTMLParser(text.encode("utf-8", "replace"))
    except SelectolaxError as error:  # it says so when it gets no more memory
        raise Refused("parser", str(error)) from None


def content_hash(text: str) -> str:
    """Of the text in lower case with single spaces, so that markup alone makes no difference."""
    return hashlib.blake2b(" ".join(text.lower().split()).encode("utf-8", "replace"), digest_size=32).hexdigest()


def refuse_nesting(html: bytes) -> None:
    """Raise Refused when elements nest deeper than MAX_DEPTH: the parser's time grows with its square."""
    depth = 0
    for closing, name in _TAGS.findall(html):
        if closing:
            depth = max(depth - 1, 0)
        elif name.lower() not in _VOID:
            depth += 1
            if depth > MAX_DEPTH:
                raise Refused("nesting", f"elements nest deeper than {MAX_DEPTH}")


def _links(page: Walk, kept: frozenset[int], resolver: Resolver) -> tuple[Link, ...]:
    found: dict[str, Link] = {}
    for href, text, rel, segment in page.links[:MAX_LINKS]:
        target = resolver.absolute(href)
        if not target:
            continue
        link = Link(target, text, "nofollow" in rel.lower(), segment in kept)
        known = found.get(target)
        if known is None:
            found[target] = link
        elif link.in_content and not known.in_content:
            found[target] = replace(link, nofollow=link.nofollow and known.nofollow)
        elif not known.text and text:
            found[target] = replace(known, text=text)
    return tuple(found.values())
