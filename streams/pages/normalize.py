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
from streams.pages.charset import decode_utf8
from streams.pages.content import label
from streams.pages.directives import directives
from streams.pages.document import Block, Document, Link
from streams.pages.language import identify
from streams.pages.links import Resolver
from streams.pages.prune import Pruned, prune
from streams.pages.walk import Walk, walk
from streams.pages.written import written_out

MAX_DEPTH = 5_000
"""Open elements beyond which a page is refused unparsed: the parser's time grows with the square (50,000 take 12 s)."""
SAFE_TAGS = 10_000
"""Pages with fewer tags can't make the parser slow (0.5 s when all nest); only larger ones are scanned first."""
MAX_LINKS = 5_000
LANGUAGE_CHARS = 800

_TAGS = re.compile(rb"<(/?)([a-zA-Z]+)")
_UNCLOSED = frozenset(
    b"area base br circle col dd dt ellipse embed hr image img input li line link meta option p param path polygon polyline "
    b"rect source stop tbody td th thead tr track use wbr".split()
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


@dataclass(slots=True)
class Parsed:
    """A page after its one parse and walk."""

    tree: LexborHTMLParser
    walk: Walk
    head: page_facts.Head
    html: str


def parse_page(html: bytes | str, headers: Mapping[str, str] | None = None) -> Parsed:
    """Decode, refuse, parse, walk. Raises Refused."""
    if isinstance(html, bytes):
        text, encoded = decode_utf8(html, (headers or {}).get("content-type", ""))
    else:
        text, encoded = html, html.encode("utf-8", "replace")
    if encoded.count(b"<") > SAFE_TAGS:
        refuse_nesting(encoded)
    tree = _parsed(encoded)
    head = page_facts.read_head(tree)
    head.kinds = page_facts.read_kinds(head, text)
    pruned = prune(tree)
    page = walk(tree.body) if tree.body is not None else Walk()
    if not page.segments and pruned.links:  # nothing but menus: then they are what there is
        whole = _parsed(encoded).body
        page = walk(whole) if whole is not None else page
        pruned = Pruned()
    page.links += [(href, name, rel, -1) for href, name, rel in pruned.links]
    head.breadcrumbs = pruned.breadcrumbs
    return Parsed(tree, page, head, text)


def normalize(html: bytes | str, *, url: str, headers: Mapping[str, str] | None = None) -> Normalized:
    """Normalize a page. `headers` have lower-case names. Raises Refused for nesting that no parser should be given."""
    headers = headers or {}
    parsed = parse_page(html, headers)
    page, head = parsed.walk, parsed.head
    resolver = Resolver(url, head.base)
    written = written_out(head.scripts) if head.clean else None
    head.clean = written is not None
    kept = label(page, head)
    segments = (page.segments[index] for index in kept)
    containers, blocks = Builder(page, resolver.absolute, segments, clean=head.clean).result()
    document = Document(url=url, containers=containers, blocks=blocks)
    if written is not None:
        document = replace(document, **written)
        canonical = str(document.facts.get("canonical") or "")
    else:
        found = page_facts.gather(parsed.tree, parsed.html, head, page, kept, resolver)
        language = identify(document.text[:LANGUAGE_CHARS], head.language)
        canonical = found.canonical or ""
        document = replace(
            document,
            title=found.title,
            description=found.description,
            language=language.language or head.language,
            language_confidence=round(language.confidence, 4),
            links=_links(page, frozenset(kept), resolver),
            facts=found.facts,
        )
    return Normalized(
        document=replace(document, blocks=tuple(_without_page_language(block, document) for block in blocks)),
        directives=directives(head.metas, headers),
        canonical=canonical or None,
        content_hash=content_hash(document.text),
    )


def _without_page_language(block: Block, document: Document) -> Block:
    """A block says its language only where it is another than the page's."""
    if not block.language or block.tag == "pre":
        return block
    same = block.language.partition("-")[0] == document.language.partition("-")[0].lower()
    return replace(block, language="") if same else block


def _parsed(html: bytes) -> LexborHTMLParser:
    try:
        return LexborHTMLParser(html)
    except SelectolaxError as error:  # it says so when it gets no more memory
        raise Refused("parser", str(error)) from None


def content_hash(text: str) -> str:
    """Of the text in lower case, a block behind the other: which elements hold it makes no difference."""
    return hashlib.blake2b(text.lower().replace("\n", " ").encode("utf-8", "replace"), digest_size=32).hexdigest()


def refuse_nesting(html: bytes) -> None:
    """Raise Refused when more elements are open at once than MAX_DEPTH. Counts tags alone, so it errs on the high side."""
    depth = 0
    for closing, name in _TAGS.findall(html):
        if closing:
            depth = max(depth - 1, 0)
        elif name.lower() not in _UNCLOSED:
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
