"""Bytes -> a walked page: decode, refuse what would hurt, parse once, take out what is surely chrome, walk once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from streams.crawl.urls import host_of
from streams.errors import Refused
from streams.pages.document.from_html import written_out
from streams.pages.parse.charset import decode_utf8
from streams.pages.parse.head import Head, last_day, read_head, read_kinds
from streams.pages.parse.link_resolver import form_of
from streams.pages.parse.math_tex import unify
from streams.pages.parse.navigation import Pruned, apply_quirk, prune
from streams.pages.parse.segments import NO_SEGMENT, Walk
from streams.pages.parse.walk import walk
from streams.pages.quirks import Quirk, quirk_of

MAX_DEPTH = 5_000
"""Open elements beyond which a page is refused unparsed: the parser's time grows with the square (50,000 take 12 s)."""
SAFE_TAGS = 10_000
"""Pages with fewer tags can't make the parser slow (0.5 s when all nest); only larger ones are scanned first."""

_TAGS = re.compile(rb"<(?:(/?)([a-zA-Z]+)|!--)")
_RAW = frozenset({b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed", b"noframes"})
"""Elements that hold text alone, whatever it looks like, up to their end tag; but not behind a FOREIGN one."""
_FOREIGN = frozenset({b"svg", b"math"})
_COMMENT_END = re.compile(rb"(?<=<!--)-?>|--!?>")
_UNCLOSED = frozenset(
    b"area base br circle col dd dt ellipse embed hr image img input li line link meta option p param path polygon "
    b"polyline rect source stop tbody td th thead tr track use wbr".split()
)


@dataclass(slots=True)
class Parsed:
    """A page after its one parse and walk."""

    tree: LexborHTMLParser
    walk: Walk
    head: Head
    html: str
    quirk: Quirk | None = None
    """Whose `content` was found: then the walk holds the page's own text alone."""
    written: dict[str, object] | None = None
    """The other fields of a document that was written out by `streams.pages.document.to_html`."""
    removed: list[tuple[str, str]] = field(default_factory=list)
    """Text that was taken out of the tree, and why; only when asked for."""


def parse_page(
    html: bytes | str, headers: Mapping[str, str] | None = None, *, url: str = "", explaining: bool = False
) -> Parsed:
    """Decode, refuse, parse, walk. Raises Refused."""
    if isinstance(html, bytes):
        text, encoded = decode_utf8(html, (headers or {}).get("content-type", ""))
    else:
        text, encoded = html, html.encode("utf-8", "replace")
    refuse_nesting(encoded, safe=SAFE_TAGS)
    tree = _tree(encoded)
    head = read_head(tree)
    head.until = last_day(headers or {})
    if head.has_drawn_math:
        unify(tree)
    head.kinds = read_kinds(head, text)
    parsed = Parsed(tree, Walk(), head, text)
    parsed.written = written_out(head.scripts) if head.clean else None
    head.clean = parsed.written is not None
    quirk = quirk_of(host_of(url)) if url and not head.clean else None
    content = _quirked(parsed, quirk, explaining) if quirk is not None else None
    if content is not None:
        parsed.quirk = quirk
        every = tree.css("a[href]")
        parsed.walk = walk(content)
        parsed.walk.links += [
            (href, "", link.attributes.get("rel") or "", NO_SEGMENT, form_of(href))
            for link in every
            for href in (link.attributes["href"] or "",)
        ]
    elif not head.clean:
        _pruned(parsed, encoded, explaining)
    elif tree.body is not None:
        parsed.walk = walk(tree.body)
    return parsed


def _quirked(parsed: Parsed, quirk: Quirk, explaining: bool) -> LexborNode | None:
    content, dropped = apply_quirk(parsed.tree, quirk, with_texts=explaining)
    parsed.removed += [(text, f"quirk of {quirk.hosts[0]}: {why}") for text, why in dropped.texts]
    return content


def _pruned(parsed: Parsed, encoded: bytes, explaining: bool) -> None:
    pruned = prune(parsed.tree, with_texts=explaining)
    page = walk(parsed.tree.body) if parsed.tree.body is not None else Walk()
    if not page.segments and pruned.count:  # nothing but menus: then they are what there is
        whole = _tree(encoded).body
        page = walk(whole) if whole is not None else page
        pruned = Pruned()
    page.links += pruned.links
    parsed.head.breadcrumbs = pruned.breadcrumbs
    parsed.removed += [(text, f"element: {why}") for text, why in pruned.texts]
    parsed.walk = page


def _tree(html: bytes) -> LexborHTMLParser:
    try:
        return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS)
    except SelectolaxError as error:  # it says so when it gets no more memory
        raise Refused("parser", str(error)) from None


def refuse_nesting(html: bytes, *, safe: int = 0) -> None:
    """Raise Refused when more elements are open at once than MAX_DEPTH. It counts tags, so it errs on the high side;
    pages with no more than `safe` of them pass."""
    if deepest(html, MAX_DEPTH, safe) > MAX_DEPTH:
        raise Refused("nesting", f"elements nest deeper than {MAX_DEPTH}")


def deepest(html: bytes, limit: int, safe: int = 0) -> int:
    """The most elements that are open at once, or `limit` + 1 as soon as there are more; 0 where there are no more than
    `safe` tags."""
    depth = most = 0
    if html.count(b"<") <= safe:
        return 0
    at, foreign = 0, False
    while found := _TAGS.search(html, at):
        closing, name = found.groups()
        at = found.end()
        foreign = foreign or (name or b"").lower() in _FOREIGN
        if name is None:
            end = _COMMENT_END.search(html, at)
            at = end.start() if end else len(html)
        elif closing:
            depth = max(depth - 1, 0)
        elif name.lower() in _RAW and not foreign:
            closed = re.compile(rb"</" + name + rb"(?![a-zA-Z])", re.IGNORECASE).search(html, at)
            at = closed.end() if closed else at
        elif name.lower() not in _UNCLOSED:
            depth += 1
            most = max(most, depth)
            if depth > limit:
                break
    return most
