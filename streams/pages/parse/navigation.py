"""Takes menus and footers out of the tree before the walk: by element and ARIA role, the surest signs that there are.

They hold a third of a page's nodes and 2 % of the words that people call content, most of those in elements that only
bear the name: so what holds much text that is no link stays, and is judged like the rest. Their links are kept for
the crawl.
"""

from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.link_resolver import form_of
from streams.pages.parse.segments import NO_SEGMENT, RawLink
from streams.pages.quirks import Quirk

SELECTOR = "nav, footer, [role=navigation], [role=contentinfo]"
MAX_PLAIN_CHARS = 1_500
"""With more text outside of links, an element is no menu, whatever it is called."""
_OWN = frozenset({"main", "article"})


@dataclass(slots=True)
class Pruned:
    """What was taken out."""

    links: list[RawLink] = field(default_factory=list)
    breadcrumbs: list[str] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    """Text and the element's name; only when asked for."""
    count: int = 0
    """Of elements."""


def prune(tree: LexborHTMLParser, *, with_texts: bool = False) -> Pruned:
    """Remove menus and footers that don't stand in the page's own text."""
    pruned = Pruned()
    going: dict[int, LexborNode] = {}
    for node in tree.css(SELECTOR):  # which gives a nav with such a role twice
        if node.mem_id not in going and _is_outside(node, going) and _is_menu(node, pruned):
            going[node.mem_id] = node
            if with_texts:
                pruned.texts.append((" ".join(node.text(separator=" ").split()), node.tag or ""))
    for node in going.values():
        node.decompose()
    pruned.count = len(going)
    return pruned


def apply_quirk(tree: LexborHTMLParser, quirk: Quirk, *, with_texts: bool = False) -> tuple[LexborNode | None, Pruned]:
    """Drop what the quirk names; gives back the element that holds the page's own text, if it has one."""
    pruned = Pruned()
    going: dict[int, LexborNode] = {}
    for selector in quirk.drop:
        for node in tree.css(selector):
            going.setdefault(node.mem_id, node)
            if with_texts and (text := " ".join(node.text(separator=" ").split())):
                pruned.texts.append((text, selector))
    # What stands in another that goes must not be touched once that one is gone.
    for node in [node for node in going.values() if not _stands_in(node, going)]:
        node.decompose()
    return (tree.css_first(quirk.content) if quirk.content else None), pruned


def _stands_in(node: LexborNode, going: dict[int, LexborNode]) -> bool:
    above = node.parent
    while above is not None:
        if above.mem_id in going:
            return True
        above = above.parent
    return False


def _is_outside(node: LexborNode, going: dict[int, LexborNode]) -> bool:
    above = node.parent
    while above is not None:
        if above.tag in _OWN or above.mem_id in going:
            return False
        above = above.parent
    return node.tag not in ("body", "html")


def _is_menu(node: LexborNode, pruned: Pruned) -> bool:
    links = [(link, " ".join((link.text() or "").split())) for link in node.css("a[href]")]
    plain = len(node.text()) - sum(len(text) for _, text in links)
    if (
        plain > MAX_PLAIN_CHARS
        and len(" ".join(node.text().split())) - sum(len(text) for _, text in links) > MAX_PLAIN_CHARS
    ):
        return False
    for link, text in links:
        attributes = link.attributes
        href = attributes.get("href") or attributes.get("xlink:href") or ""
        pruned.links.append((href, text, attributes.get("rel") or "", NO_SEGMENT, form_of(href)))
    attributes = node.attributes
    named = f"{attributes.get('aria-label') or ''} {attributes.get('class') or ''}".lower()
    if "breadcrumb" in named and not pruned.breadcrumbs:
        pruned.breadcrumbs = [text for _, text in links if text]
    return True
