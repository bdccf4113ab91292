"""HTML -> document: the whole of a page's understanding as one pure function.

Parse and walk once (`parsing`); then label the text (main content or chrome), attach footnotes, build the document,
and read the facts. Hostile input can still make the parser slow: callers that take pages from strangers run this in a
process that can be killed (`streams.pages.sandbox.pool`).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from streams.pages.assemble.block_languages import with_languages, without_page_language
from streams.pages.assemble.builder import Builder
from streams.pages.assemble.footnotes import attach
from streams.pages.content.main_content import label
from streams.pages.content.removal_reasons import reasons
from streams.pages.document.from_html import as_written
from streams.pages.document.model import Block, Document, Link
from streams.pages.metadata import facts
from streams.pages.metadata.structured_data import read_structured_data
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.page import Parsed, parse_page
from streams.pages.parse.robots_directives import directives
from streams.pages.parse.segments import Walk
from streams.pages.text.language import identify, language_tag

MAX_LINKS = 5_000
LANGUAGE_CHARS = 600


@dataclass(frozen=True, slots=True)
class Normalized:
    """What the stage knows of a page."""

    document: Document
    directives: tuple[str, ...] = ()
    canonical: str | None = None
    """What the page says is its canonical URL, absolute, as written."""
    content_hash: str = ""
    """blake2b-256 of the text, case and spaces aside: equal for exact duplicates."""


def normalize(
    html: bytes | str,
    *,
    url: str,
    headers: Mapping[str, str] | None = None,
) -> Normalized:
    """Normalize a page. `headers` have lower-case names.

    Raises Refused for nesting that no parser should be given.
    """
    headers = headers or {}
    parsed = parse_page(html, headers, url=url)
    resolver = Resolver(url, parsed.head.base)
    kept = label(parsed).kept
    own = frozenset(kept)
    kept = attach(parsed.walk, kept, parsed.tree, url)
    segments = (parsed.walk.segments[index] for index in kept)
    containers, blocks = Builder(parsed.walk, resolver.absolute, segments, clean=parsed.head.clean).result()
    document = Document(url=url, containers=containers, blocks=blocks)
    text = document.text
    written = parsed.written
    said = as_written(written, blocks) if written else _said(parsed, blocks, text, kept, own, resolver)
    document = replace(document, **said)
    document = replace(document, blocks=without_page_language(document.blocks, document.language))
    return Normalized(
        document=document,
        directives=directives(parsed.head.metas, headers),
        canonical=document.facts.get("canonical") or None,
        content_hash=content_hash(text),
    )


def explain(html: bytes | str, url: str, headers: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """What was removed from a page, and why (`reasons`): for people who wonder where a text went. Raises Refused."""
    parsed = parse_page(html, headers, url=url, explaining=True)
    return reasons(parsed, label(parsed, explaining=True))


def _said(
    parsed: Parsed,
    blocks: tuple[Block, ...],
    text: str,
    kept: list[int],
    own: frozenset[int],
    resolver: Resolver,
) -> dict[str, Any]:
    """What the page says of itself, as fields of the document."""
    data = read_structured_data(parsed.tree, parsed.head, resolver.absolute)
    found = facts.gather(parsed.tree, parsed.head, parsed.walk, kept, resolver, data)
    declared = language_tag(parsed.head.language)
    language = identify(text[:LANGUAGE_CHARS], declared)
    title = found.title
    for ending in parsed.quirk.title_endings if parsed.quirk else ():
        title = title.removesuffix(ending)
    return {
        "title": title,
        "description": found.description,
        "language": language.language or declared,
        "language_confidence": round(language.confidence, 4),
        "script": language.script,
        "blocks": with_languages(blocks, language),
        "links": _links(parsed.walk, own, resolver),
        "facts": found.facts,
    }


def content_hash(text: str) -> str:
    """Of the text in lower case, a block behind the other: which elements hold it makes no difference."""
    return hashlib.blake2b(text.lower().replace("\n", " ").encode("utf-8", "replace"), digest_size=32).hexdigest()


def _links(page: Walk, kept: frozenset[int], resolver: Resolver) -> tuple[Link, ...]:
    found: dict[str, Link] = {}
    for href, text, rel, segment, form in page.links[:MAX_LINKS]:
        target = resolver.formed(href, form)
        if not target:
            continue
        known = found.get(target)
        if known is None:
            found[target] = Link(target, text, _is_nofollow(rel), segment in kept)
        elif segment in kept and not known.in_content:
            found[target] = Link(target, text, known.nofollow and _is_nofollow(rel), True)
        elif not known.text and text:
            found[target] = known._replace(text=text)
    return tuple(found.values())


def _is_nofollow(rel: str) -> bool:
    return bool(rel) and "nofollow" in rel.lower()
