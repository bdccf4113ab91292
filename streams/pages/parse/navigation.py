"""Removes menus and footers from the tree before the walk.

They are recognised by element name, by ARIA role, and by the classes that generators of documentation give to the links
to the chapters before, after and above a page.

Menus and footers have a third of a page's nodes and 2 % of its main content. Most of these 2 % are in wrongly named
elements, so an element with much text outside of links stays, and the content model judges it. The links of removed
elements are kept for the crawl.
"""

from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.elements import remove_all, state_above, unknown_ancestors
from streams.pages.parse.link_resolver import form_of
from streams.pages.parse.segments import NO_SEGMENT, RawLink
from streams.pages.quirks import Quirk

_GENERATED = "[class~=navheader i], [class~=navfooter i], .nav-panel, table.navigation"
"""Selectors for the links to neighbouring chapters of DocBook's stylesheets, Texinfo and GTK-Doc."""
SELECTOR = f"nav, footer, [role=navigation], [role=contentinfo], {_GENERATED}"
MAX_PLAIN_CHARS = 1_500
"""Maximum length of a menu's or footer's text outside of links (characters)."""
MAX_NESTED = 10
"""Maximum number of kept menus and footers around a menu that is judged. Deeper menus stay, so that the text of a page
is not read for each level."""
_CONTENT_TAGS = frozenset({"main", "article"})
_INSIDE = -1


@dataclass(slots=True)
class Pruned:
    """The links and texts of the removed elements."""

    links: list[RawLink] = field(default_factory=list)
    breadcrumbs: list[str] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    """Text and element name (or selector) of each removed element. Only with `with_texts`."""
    count: int = 0
    """Number of elements that were removed."""


def prune(tree: LexborHTMLParser, *, with_texts: bool = False) -> Pruned:
    """Remove menus and footers that are not inside of `main`, `article` or each other."""
    return _Pruner(with_texts).prune(tree)


class _Pruner:
    def __init__(self, with_texts: bool) -> None:
        self._with_texts = with_texts
        self._pruned = Pruned()
        self._menus: dict[int, LexborNode] = {}
        self._others: set[int] = set()
        """Elements that match the selector and stay."""
        self._around: dict[int, int] = {}
        """For each ancestor that was looked at: the others around its content, or _INSIDE for the page's own text.

        An element's descendants come after it, so it is a menu or one of the others before they ask for it.
        """

    def _around_parent(self, node: LexborNode) -> int:
        for element in unknown_ancestors(node, self._around):
            self._around[element.mem_id] = self._around_content(element)
        return state_above(node, self._around, 0)

    def _around_content(self, element: LexborNode) -> int:
        around = state_above(element, self._around, 0)
        if around == _INSIDE or element.tag in _CONTENT_TAGS or element.mem_id in self._menus:
            return _INSIDE
        return around + (element.mem_id in self._others)

    def prune(self, tree: LexborHTMLParser) -> Pruned:
        seen: set[int] = set()
        for node in tree.css(SELECTOR):  # a nav with such a role comes twice
            if node.mem_id not in seen:
                seen.add(node.mem_id)
                self._judge(node)
        for node in self._menus.values():
            node.decompose()
        self._pruned.count = len(self._menus)
        return self._pruned

    def _judge(self, node: LexborNode) -> None:
        around = self._around_parent(node)
        if around == _INSIDE or node.tag in ("body", "html"):
            return
        if around < MAX_NESTED and self._is_menu(node):
            self._menus[node.mem_id] = node
            if self._with_texts:
                self._pruned.texts.append((_text_of(node), _name_of(node)))
        else:
            self._others.add(node.mem_id)

    def _is_menu(self, node: LexborNode) -> bool:
        """Return whether an element has little text outside of its links. Then its links are kept."""
        links = [(link, " ".join((link.text() or "").split())) for link in node.css("a[href]")]
        text, link_chars = node.text(), sum(len(link_text) for _, link_text in links)
        if len(text) - link_chars > MAX_PLAIN_CHARS and len(" ".join(text.split())) - link_chars > MAX_PLAIN_CHARS:
            return False
        self._pruned.links += [raw_link(link, link_text) for link, link_text in links]
        if not self._pruned.breadcrumbs and _is_named_breadcrumb(node):
            self._pruned.breadcrumbs = [link_text for _, link_text in links if link_text]
        return True


def raw_link(link: LexborNode, text: str) -> RawLink:
    """Return a link outside of the texts that are walked."""
    attributes = link.attributes
    href = attributes.get("href") or attributes.get("xlink:href") or ""
    return href, text, attributes.get("rel") or "", NO_SEGMENT, form_of(href)


def _is_named_breadcrumb(node: LexborNode) -> bool:
    attributes = node.attributes
    return "breadcrumb" in f"{attributes.get('aria-label') or ''} {attributes.get('class') or ''}".lower()


def _name_of(node: LexborNode) -> str:
    """Return the element's name, with the class if that made it navigation."""
    classes = (node.attributes.get("class") or "").split()
    by_class = node.tag not in ("nav", "footer") and not node.attributes.get("role") and classes
    return f"{node.tag}.{classes[0]}" if by_class else node.tag or ""


def _text_of(node: LexborNode) -> str:
    return " ".join(node.text(separator=" ").split())


def apply_quirk(tree: LexborHTMLParser, quirk: Quirk, *, with_texts: bool = False) -> tuple[LexborNode | None, Pruned]:
    """Remove the elements that a quirk drops. Returns the element of the page's own text (or None), and the removed."""
    pruned = Pruned()
    dropped: dict[int, tuple[LexborNode, str]] = {}
    for selector in quirk.drop:
        for node in tree.css(selector):
            dropped.setdefault(node.mem_id, (node, selector))
    if with_texts:
        pruned.texts = [(text, selector) for node, selector in dropped.values() if (text := _text_of(node))]
    remove_all(node for node, _ in dropped.values())
    return (tree.css_first(quirk.content) if quirk.content else None), pruned
