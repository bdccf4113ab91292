"""Turns the HTML of a page, or a converted file, into a document, as pure functions.

Steps: parse and walk (`parse`), choose the main content (`content`), attach footnotes and build the document
(`assemble`), read the facts (`metadata`). Hostile pages can still be slow, so strangers' pages are normalized in a
process that can be killed (`sandbox.pool`).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from streams.pages.assemble.block_languages import name_languages, remove_page_language, sample_for_language
from streams.pages.assemble.builder import Builder
from streams.pages.assemble.footnotes import attach_notes
from streams.pages.content.main_content import label
from streams.pages.content.removal_reasons import list_removed_texts
from streams.pages.document.from_html import apply_written_fields
from streams.pages.document.model import Block, Document, Link, SignIn
from streams.pages.formats.converted import PAGE_ATTRIBUTE, Converted
from streams.pages.metadata import facts
from streams.pages.metadata.stated_body import stated_body
from streams.pages.metadata.structured_data import read_structured_data
from streams.pages.parse.link_resolver import Resolver, Ways, ways_on
from streams.pages.parse.page import Parsed, count_page, parse_page
from streams.pages.parse.robots_directives import directives
from streams.pages.parse.segments import RemovedTexts, Walk
from streams.pages.parse.sign_in import judge_page
from streams.pages.quality import NO_COUNTS, PageCounts
from streams.pages.text.language import identify, language_tag

MAX_PAGE = 5_000
"""Maximum number of a page."""
MAX_LINKS = 5_000
"""Maximum number of links that are read of a page."""
MAX_NOTICE_WORDS = 60
"""Maximum words of a page whose text may be a notice, such as "enable JavaScript"."""
_NOT_ENDORSED = frozenset({"nofollow", "ugc", "sponsored"})
LANGUAGE_CHARS = 600
"""Length of the text that identifies the page's language (characters)."""


def page_starts(walk: Walk, elements: Sequence[int]) -> dict[str, list[int]]:
    """Return the fact `pages`: the index of the first block of each page. Empty for a file without pages.

    `elements` are the elements of the blocks. A page without text begins where the next page begins.
    """
    numbers = {element: int(value) for element, value in walk.named(PAGE_ATTRIBUTE).items() if value.isdecimal()}
    if not numbers:
        return {}
    starts: list[int] = []
    for block, element in enumerate(elements):
        while element >= 0 and element not in numbers:
            element = walk.parents[element]
        page = min(numbers.get(element, 0), MAX_PAGE)
        starts += [block] * (page - len(starts))
    return {"pages": starts}


def anchors_of_blocks(walk: Walk, elements: Sequence[int]) -> dict[str, list[list[int | str]]]:
    """Return the fact `anchors`: the headings and terms that an address leads to, each as its block and its anchor.

    `elements` are the elements of the blocks. A term may have a paragraph in it.
    """
    left = dict(walk.anchors)
    found: list[list[int | str]] = []
    for block, element in enumerate(elements if left else ()):
        if anchor := left.pop(element, "") or left.pop(walk.parents[element], ""):
            found.append([block, anchor])
    return {"anchors": found} if found else {}


@dataclass(frozen=True, slots=True)
class Normalized:
    """A page's document, and its author's requests to robots and search engines."""

    document: Document
    directives: tuple[str, ...] = ()
    canonical: str | None = None
    """The canonical URL that the page declares: absolute, as written."""
    alternates: Mapping[str, str] = field(default_factory=dict)
    """The versions in other languages that the page names: absolute URLs by their language tags."""
    redirect: str | None = None
    """The page to which a refresh leads within a few seconds."""
    counts: PageCounts = NO_COUNTS
    """The numbers of the page that its quality needs."""
    content_hash: str = ""
    """blake2b-256 of the text in lower case. Exact duplicates have the same hash."""
    sign_in: SignIn = ""


def normalize(
    html: bytes | str,
    *,
    url: str,
    headers: Mapping[str, str] | None = None,
) -> Normalized:
    """Normalize a page. `headers` have lower-case names.

    Raises Refused for pages that nest too deep.
    """
    headers = headers or {}
    parsed = parse_page(html, headers, url=url)
    resolver = Resolver(url, parsed.head.base)
    kept = label(parsed).kept
    own = frozenset(kept)
    kept = attach_notes(parsed.walk, kept, parsed.tree, url)
    segments = (parsed.walk.segments[index] for index in kept)
    builder = Builder(parsed.walk, resolver.absolute, segments, clean=parsed.head.clean)
    containers, blocks = builder.result()
    of_blocks: dict[str, Any] = anchors_of_blocks(parsed.walk, builder.elements)
    if doubtful := [block for block, element in enumerate(builder.elements) if element in parsed.doubtful]:
        of_blocks["doubtful"] = doubtful
    if (words := _count_few_words(blocks)) <= MAX_NOTICE_WORDS:
        body = stated_body(parsed.head, words) if '"articleBody"' in parsed.html else []
        if body or _is_notice(parsed.walk, kept):
            containers, blocks, of_blocks = (), tuple(Block("p", part) for part in body), {}
    document = Document(url=url, containers=containers, blocks=blocks)
    text = document.text
    written = parsed.written
    on = ways_on(parsed.head.ways, headers, resolver)
    parsed.walk.links += on.links
    fields = (
        apply_written_fields(written, containers, blocks)
        if written
        else _fields(parsed, blocks, text, kept, own, resolver)
    )
    if not written:
        fields["facts"] |= of_blocks
    if on.canonical and not written:
        fields["facts"]["canonical"] = on.canonical
    document = replace(document, **fields)
    document = replace(document, blocks=remove_page_language(document.blocks, document.language))
    return Normalized(
        document=document,
        directives=directives(parsed.head.metas, headers),
        canonical=document.facts.get("canonical") or None,
        alternates=on.alternates,
        redirect=on.redirect or None,
        content_hash=content_hash(text),
        counts=count_page(parsed),
        sign_in=judge_page(len(text)) if parsed.head.sign_in == "form" else parsed.head.sign_in,
    )


def _count_few_words(blocks: Sequence[Block]) -> int:
    """Return the number of words, or a number above MAX_NOTICE_WORDS."""
    words = 0
    for block in blocks:
        words += len(block.text.split())
        if words > MAX_NOTICE_WORDS:
            break
    return words


def _is_notice(page: Walk, kept: Sequence[int]) -> bool:
    """Return whether a text is shown only to readers whose browser runs no scripts: it says so, and nothing else."""
    return all(_is_in_noscript(page, page.segments[index].element) for index in kept)


def _is_in_noscript(page: Walk, element: int) -> bool:
    while element > 0:
        if page.tags[element] == "noscript":
            return True
        element = page.parents[element]
    return False


def normalize_file(file: Converted, *, kind: str, url: str, headers: Mapping[str, str] | None = None) -> Normalized:
    """Normalize a file that is not HTML, after its conversion. All of it is content. Raises Refused."""
    parsed = parse_page(file.html, url=url, whole=True)
    resolver = Resolver(url, "")
    on = ways_on(Ways(), headers or {}, resolver)
    parsed.walk.links += on.links
    everything = label(parsed).kept
    kept = attach_notes(parsed.walk, everything, parsed.tree, url)
    builder = Builder(parsed.walk, resolver.absolute, (parsed.walk.segments[index] for index in kept), clean=True)
    containers, blocks = builder.result()
    declared = language_tag(file.language)
    language = identify(sample_for_language(blocks, LANGUAGE_CHARS), declared)
    stated = {"author": file.author, "published": file.published, "modified": file.modified, "canonical": on.canonical}
    document = Document(
        url=url,
        title=file.title,
        description=file.description,
        language=language.language or declared,
        language_confidence=round(language.confidence, 4),
        script=language.script,
        containers=containers,
        blocks=name_languages(blocks, language),
        links=_links(parsed.walk, frozenset(everything), resolver),
        facts={name: value for name, value in stated.items() if value}
        | {"format": kind}
        | ({"unread_chars": file.unread_chars} if file.unread_chars else {})
        | page_starts(parsed.walk, builder.elements),
    )
    document = replace(document, blocks=remove_page_language(document.blocks, document.language))
    return Normalized(
        document=document,
        directives=directives((), headers or {}),
        canonical=on.canonical or None,
        alternates=on.alternates,
        redirect=on.redirect or None,
        content_hash=content_hash(document.text),
    )


def explain(html: bytes | str, url: str, headers: Mapping[str, str] | None = None) -> RemovedTexts:
    """List the texts that were removed from a page, each with the reason. Raises Refused."""
    parsed = parse_page(html, headers, url=url, explaining=True)
    return list_removed_texts(parsed, label(parsed, explaining=True))


def _fields(
    parsed: Parsed,
    blocks: tuple[Block, ...],
    text: str,
    kept: list[int],
    own: frozenset[int],
    resolver: Resolver,
) -> dict[str, Any]:
    """Return the fields of the document beside its text: title, language, links, facts."""
    data = read_structured_data(parsed.tree, parsed.head, resolver.absolute)
    found = facts.collect_facts(parsed.tree, parsed.head, parsed.walk, kept, resolver, data)
    declared = language_tag(parsed.head.language)
    language = identify(sample_for_language(blocks, LANGUAGE_CHARS), declared)
    title = found.title
    for ending in parsed.quirk.title_endings if parsed.quirk else ():
        title = title.removesuffix(ending)
    return {
        "title": title,
        "description": found.description,
        "language": language.language or declared,
        "language_confidence": round(language.confidence, 4),
        "script": language.script,
        "blocks": name_languages(blocks, language),
        "links": _links(parsed.walk, own, resolver),
        "facts": found.facts,
    }


def content_hash(text: str) -> str:
    """Hash a text in lower case. Line breaks count as spaces, so the division into blocks makes no difference."""
    return hashlib.blake2b(text.lower().replace("\n", " ").encode("utf-8", "replace"), digest_size=32).hexdigest()


def _links(page: Walk, kept: frozenset[int], resolver: Resolver) -> tuple[Link, ...]:
    found: dict[str, Link] = {}
    for href, text, rel, segment, form in page.links[:MAX_LINKS]:
        target = resolver.resolve_form(href, form)
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
    """Return whether the author answers for no link: it is refused, paid for, or written by a reader."""
    return bool(rel) and not _NOT_ENDORSED.isdisjoint(rel.lower().replace(",", " ").split())
