"""From the bytes of a page to its segments: decode, refuse deep nesting, parse, remove menus and footers, walk.

The time of the parser grows with the square of the depth: 50,000 open elements take it 12 seconds. So pages with
elements that nest too deep are refused before. The count only looks at tags, so it is never lower than the real depth.
It takes linear time.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from streams.charset import decode_utf8
from streams.crawl.file_kinds import is_read_as_xml
from streams.crawl.urls import host_of
from streams.errors import Refused
from streams.pages.document.from_html import read_written_fields
from streams.pages.parse.head import Head, last_day, read_head, read_kinds
from streams.pages.parse.hiding.doubts import MARK, doubtful_elements, is_judged, keep_marks, mark_doubts
from streams.pages.parse.hiding.hidden import Hidden, find_hidden, hidden_links
from streams.pages.parse.listings import clean_listings, join_rows
from streams.pages.parse.math_tex import unify_formulas
from streams.pages.parse.navigation import Pruned, apply_quirk, prune, raw_link
from streams.pages.parse.robots_directives import IS_STYLED
from streams.pages.parse.segments import RawLink, Removal, RemovedTexts, Walk
from streams.pages.parse.walk import walk
from streams.pages.parse.xhtml import to_html
from streams.pages.quality import PageCounts
from streams.pages.quirks import Quirk, quirk_of
from streams.pages.text.undeclared_encodings import choose_encoding

MAX_DEPTH = 5_000
"""Maximum number of elements that are open at once."""
SAFE_TAGS = 10_000
"""Maximum number of tags of a page that needs no count: the parser takes 0.5 seconds if all of them nest."""

_TAGS = re.compile(rb"<(?:(/?)([a-zA-Z]++)|!--)")
_RAW_TEXT = frozenset({b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed", b"noframes"})
"""Elements with only text up to their end tag. Behind a FOREIGN element they are counted like all others."""
_FOREIGN = frozenset({b"svg", b"math"})
_COMMENT_END = re.compile(rb"(?<=<!--)-?>|--!?>")
_RAW_TEXT_ENDS = {name: re.compile(rb"</" + name + rb"(?![a-zA-Z])", re.IGNORECASE) for name in _RAW_TEXT}
_RAW_TEXT_TAG = re.compile(rb"<(/?)(" + b"|".join(sorted(_RAW_TEXT - {b"script"})) + rb")(?![a-zA-Z])", re.IGNORECASE)
"""Tags of raw texts of a `noscript`, which has no scripts: an end in a script's own text would cut the script."""
_NOSCRIPT_TAG = re.compile(rb"<(/?)noscript(?![a-zA-Z])", re.IGNORECASE)
_UNCLOSED = frozenset(
    b"area base br circle col dd dt ellipse embed hr image img input li line link meta option p param path polygon "
    b"polyline rect source stop tbody td th thead tr track use wbr".split()
)
"""Elements without content, or that the next element of the same kind ends."""
_ADS = b"adsbygoogle googlesyndication doubleclick.net amazon-adsystem taboola outbrain criteo adnxs".split()
"""Names of networks of advertisers in the markup. Each is counted by itself: one pattern of all takes 40 times as long
as that, a third of a page's time."""
MAX_ADS_BYTES = 1_000_000
"""Size of the markup that is searched for advertisements (bytes)."""
MIN_SHOWN_WORDS = 60
"""Minimum words of a page without its hidden texts, if these are most of the page. A page with fewer is shown by a
script, and its hidden texts count. The script's reader sees them."""


def refuse_nesting(html: bytes, *, safe_tags: int = 0) -> None:
    """Raise Refused for a page that nests deeper than MAX_DEPTH. Pages of at most `safe_tags` tags pass."""
    if html.count(b"<") > safe_tags and deepest(html, MAX_DEPTH) > MAX_DEPTH:
        raise Refused("nesting", f"elements nest deeper than {MAX_DEPTH}")


def deepest(html: bytes, limit: int) -> int:
    """Return the largest number of elements that are open at once; `limit` + 1 if there are more than `limit`."""
    depth = most = at = 0
    is_foreign = False
    skipper = _TextSkipper(html)
    while found := _TAGS.search(html, at):
        closing, name = found.groups()
        name = name.lower() if name else None
        at = found.end()
        is_foreign = is_foreign or name in _FOREIGN
        if name is None:
            at = skipper.behind_comment(at)
        elif closing:
            depth = max(depth - 1, 0)
        elif name in _RAW_TEXT and not is_foreign:
            at = skipper.behind_raw_text(name, at)
        elif name not in _UNCLOSED:
            depth += 1
            most = max(most, depth)
            if depth > limit:
                break
    return most


class _TextSkipper:
    """Finds the ends of comments and raw texts. A missing end is only searched once."""

    def __init__(self, html: bytes) -> None:
        self._html = html
        self._without_end: set[bytes] = set()

    def behind_comment(self, at: int) -> int:
        end = _COMMENT_END.search(self._html, at)
        return end.start() if end else len(self._html)

    def behind_raw_text(self, name: bytes, at: int) -> int:
        """Return the end of the text that begins at `at`; `at` itself if there is no end tag."""
        if name in self._without_end:
            return at
        end = _RAW_TEXT_ENDS[name].search(self._html, at)
        if end is None:
            self._without_end.add(name)
            return at
        return end.end()


def close_raw_texts(html: bytes) -> bytes:
    """Return a page in which each `noscript` ends the raw texts that begin in it.

    A browser with scripts reads a `noscript` as one text up to its end, so that an `iframe` without an end tag harms
    nothing there: counters of visits are often written so. The parser reads it as elements, and would take the rest of
    the page for the text of the `iframe`.
    """
    parts, done, start = list[bytes](), 0, -1
    for tag in _NOSCRIPT_TAG.finditer(html):
        if not tag[1]:
            start = tag.end()
        elif start >= 0:
            if name := _open_raw_text(html, start, tag.start()):
                parts += html[done : tag.start()], b"</" + name + b">"
                done = tag.start()
            start = -1
    return b"".join([*parts, html[done:]]) if parts else html


def _open_raw_text(html: bytes, start: int, end: int) -> bytes:
    """Return the name of the element whose raw text begins in a part of the page and has no end there; else nothing."""
    name = b""
    for tag in _RAW_TEXT_TAG.finditer(html, start, end):
        closing, found = tag[1], tag[2].lower()
        if closing and found == name:
            name = b""
        elif not closing and not name:
            name = found
    return name


_LISTING = re.compile(rb"<(?:[pP][rR][eE]|[cC][oO][dD][eE])")
_NUMBERED = b"data-line-number"
"""The starts of listings. The pattern begins with one character, for which the search skips all others: one pattern of
both that ignores case takes eight times as long, a tenth of a page's time."""


@dataclass(slots=True)
class Parsed:
    """A page after its one parse and walk."""

    tree: LexborHTMLParser
    walk: Walk
    head: Head
    html: str
    lowered: bytes
    """The same in UTF-8 and lower case, with the ends of raw texts (`close_raw_texts`)."""
    quirk: Quirk | None = None
    """The site's quirk, if its `content` matched. The walk then has only the page's own text."""
    written: dict[str, object] | None = None
    """The fields that `document.to_html` wrote beside the text; None for all other pages."""
    is_styled: bool = False
    """True for a rendered page: our own browser made its marks of unseen texts (`IS_STYLED`)."""
    has_code: bool = False
    """True for a page that may have listings."""
    doubtful: frozenset[int] = frozenset()
    """The elements of the walk whose text may be hidden (`hiding.doubts`)."""
    hidden_words: int = 0
    """Number of words that no reader sees."""
    removed: RemovedTexts = field(default_factory=list)
    """Texts that were removed from the tree, each with the reason. Only with `explaining`."""


def parse_page(
    html: bytes | str,
    headers: Mapping[str, str] | None = None,
    *,
    url: str = "",
    explaining: bool = False,
    whole: bool = False,
) -> Parsed:
    """Decode, parse and walk a page. Raises Refused.

    `explaining` collects the texts that are removed. `whole`: the page is a converted file, which has no boilerplate.
    """
    headers = headers or {}
    text, encoded = _decode(html, headers)
    encoded = close_raw_texts(encoded)
    refuse_nesting(encoded, safe_tags=SAFE_TAGS)
    tree = _tree(encoded)
    parsed = Parsed(tree, Walk(), _read_head(tree, text, headers), text, encoded.lower())
    parsed.is_styled = IS_STYLED in headers and is_judged(tree)
    parsed.written = read_written_fields(parsed.head.scripts) if parsed.head.clean and not whole else None
    parsed.head.clean = whole or parsed.written is not None
    if parsed.head.clean:
        _walk_shown(parsed, tree.body, explaining)
        return parsed
    parsed.has_code = bool(_NUMBERED in parsed.lowered or _LISTING.search(encoded))
    if parsed.has_code:
        clean_listings(tree)
    quirk = quirk_of(host_of(url)) if url else None
    if quirk is None or not _use_quirk(parsed, quirk, explaining):
        _remove_navigation(parsed, encoded, explaining)
    return parsed


def _decode(html: bytes | str, headers: Mapping[str, str]) -> tuple[str, bytes]:
    if isinstance(html, bytes):
        decoded = decode_utf8(html, headers.get("content-type", ""), choose_encoding)
        if is_read_as_xml(html, headers) and (text := to_html(decoded[0])) is not None:
            return text, text.encode("utf-8", "replace")
        return decoded
    return html, html.encode("utf-8", "replace")


def _read_head(tree: LexborHTMLParser, html: str, headers: Mapping[str, str]) -> Head:
    head = read_head(tree)
    head.until = last_day(headers)
    if head.has_drawn_math:
        unify_formulas(tree)
    head.kinds = read_kinds(head, html)
    return head


def _use_quirk(parsed: Parsed, quirk: Quirk, explaining: bool) -> bool:
    """Walk the quirk's element with the page's own text. Returns False if the page doesn't have it."""
    content, dropped = apply_quirk(parsed.tree, quirk, with_texts=explaining)
    parsed.removed += [(text, Removal("quirk", selector, site=quirk.hosts[0])) for text, selector in dropped.texts]
    if content is None:
        return False
    parsed.quirk = quirk
    links = [raw_link(link, "") for link in parsed.tree.css("a[href]")]
    _walk_shown(parsed, content, explaining)
    parsed.walk.links += links
    return True


def _remove_navigation(parsed: Parsed, encoded: bytes, explaining: bool) -> None:
    """Walk the page without its menus and footers, or the whole page if nothing else has text."""
    pruned = prune(parsed.tree, with_texts=explaining)
    _walk_shown(parsed, parsed.tree.body, explaining)
    if not parsed.walk.segments and pruned.count:
        body = _tree(encoded).body
        parsed.walk = walk(body) if body is not None else Walk()
        pruned = Pruned()
    parsed.walk.links += pruned.links
    parsed.head.breadcrumbs = pruned.breadcrumbs
    parsed.removed += [(text, Removal("element", tag)) for text, tag in pruned.texts]


def _walk_shown(parsed: Parsed, body: LexborNode | None, explaining: bool) -> None:
    """Walk the page without its hidden texts, or all of a page that a script shows."""
    if body is None:
        return
    hidden = find_hidden(parsed.tree)
    if parsed.is_styled:
        has_doubts = keep_marks(parsed.tree, hidden)
    else:
        has_doubts = parsed.written is None and mark_doubts(parsed.tree, hidden)
    links = list[RawLink]()
    if parsed.has_code:
        marked = parsed.tree.css(f"[{MARK}]") if has_doubts else ()
        links = join_rows(parsed.tree, (body, *hidden.nodes, *marked))
    parsed.walk = walk(body, hidden.ways, written=parsed.written is not None)
    if has_doubts:
        # What a browser has judged needs no guess of whether a script shows it.
        parsed.doubtful = (doubtful_elements if parsed.is_styled else _doubts_of)(parsed.walk)
    if hidden.nodes:
        _leave_out(parsed, body, hidden, explaining)
    parsed.walk.links += links


def _leave_out(parsed: Parsed, body: LexborNode, hidden: Hidden, explaining: bool) -> None:
    """Note what was hidden, or walk all of a page that has little else: a script shows it."""
    words = _count_words(parsed.walk)
    if words < MIN_SHOWN_WORDS and 2 * words <= _count_words(everything := walk(body)):
        parsed.walk = everything
        return
    parsed.hidden_words = sum(len(node.text(separator=" ").split()) for node in hidden.nodes)
    parsed.walk.links += hidden_links(hidden)
    if explaining:
        parsed.removed += _hidden_texts(hidden)


def _doubts_of(page: Walk) -> frozenset[int]:
    """Return the doubtful elements, or none of a page that has little else: a script shows it."""
    found = doubtful_elements(page)
    sure = sum(segment.words for segment in page.segments if segment.element not in found)
    return found if sure >= MIN_SHOWN_WORDS or 2 * sure > _count_words(page) else frozenset()


def _hidden_texts(hidden: Hidden) -> RemovedTexts:
    texts = ((" ".join(node.text(separator=" ").split()), hidden.ways[node.mem_id]) for node in hidden.nodes)
    return [(text, Removal("hidden", way)) for text, way in texts if text]


def count_page(parsed: Parsed) -> PageCounts:
    """Return what is on the page beside its main content."""
    markup = parsed.lowered[:MAX_ADS_BYTES]
    ads = sum(map(markup.count, _ADS))
    return PageCounts(page_words=_count_words(parsed.walk), hidden_words=parsed.hidden_words, ads=ads)


def _count_words(page: Walk) -> int:
    return sum(segment.words for segment in page.segments)


def _tree(html: bytes) -> LexborHTMLParser:
    try:
        return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS)
    except SelectolaxError as error:  # raised if the parser gets no more memory
        raise Refused("parser", str(error)) from None
