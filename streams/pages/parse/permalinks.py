"""Permalinks: links from a heading to itself, which readers copy. They are no text of the page, whatever they say.

Nor is a link behind a heading or term whose whole text is in square brackets, such as `[source]` or `[edit]`.

Generators of documentation write them behind or before the heading's text, or beside the heading: as a mark, an icon,
or words such as "Link to this section". A heading whose own name is the link, such as a method's, keeps it.
"""

from functools import cached_property
from urllib.parse import unquote

from selectolax.lexbor import LexborNode

from streams.pages.parse.elements import HEADINGS, NAMED
from streams.pages.text.normal_forms import remove_invisible

MARKS = frozenset("¶#§🔗⚓")
"""Texts that are permalinks in any element."""
MAX_TOOL_CHARS = 30
"""Maximum length of the text of a link for the people who work on the page."""
MAX_LEVELS = 4
"""Maximum number of elements between a link and its heading, and between a heading and the element with its name."""
MAX_LINKS = 5_000
"""Maximum number of links that are compared with each other."""


class Permalinks:
    """The permalinks of one page."""

    def __init__(self, body: LexborNode) -> None:
        self._body = body

    def has(self, link: LexborNode, href: str) -> bool:
        """Return whether a link is a permalink. Its address `href` begins with `#`."""
        text = _shown(link)
        if text in MARKS:
            return True
        heading, is_inside = _heading_of(link) if text else (None, False)
        fragment = unquote(href[1:])
        if heading is None or fragment not in _names(link, heading):
            return False
        whole = _shown(heading)
        rest, at_end = whole, True
        if is_inside:
            at_end = whole.endswith(text)
            rest = whole.removesuffix(text) if at_end else whole.removeprefix(text)
        if rest == whole and is_inside:
            return False  # a name within a signature
        if not any(map(str.isalpha, rest)) or _slug(text) == _slug(fragment):
            return False  # the link is the heading, without its number or kind
        return at_end or not _slug(text) or text in self._repeated or _slug(rest) in _slug(text)

    @cached_property
    def _repeated(self) -> frozenset[str]:
        """The texts of links to several places of the page."""
        places: dict[str, str] = {}
        repeated = set()
        for link in self._body.css('a[href^="#"]')[:MAX_LINKS]:
            text, place = _shown(link), link.attributes.get("href") or ""
            if places.setdefault(text, place) != place:
                repeated.add(text)
        return frozenset(repeated)


def is_tool(link: LexborNode) -> bool:
    """Return whether a link behind a name leads to its source, or to a form for changing it: `[src]`, `[edit]`."""
    text = _shown(link)
    if not (text[:1] == "[" and text[-1:] == "]" and len(text) <= MAX_TOOL_CHARS):
        return False
    above = link.parent
    for _ in range(MAX_LEVELS):
        if above is None or above.tag in NAMED:
            break
        above = above.parent
    if above is None or above.tag not in NAMED:
        return False
    name, _, behind = _shown(above).rpartition(text)
    return any(map(str.isalpha, name)) and MARKS.issuperset(behind.replace(" ", ""))


def _shown(node: LexborNode) -> str:
    return " ".join(remove_invisible(node.text()).split())


def _slug(text: str) -> str:
    """Return the letters and digits of a text in lower case, as a fragment of a URL may have them."""
    return "".join(filter(str.isalnum, text.lower()))


def _heading_of(link: LexborNode) -> tuple[LexborNode | None, bool]:
    """Return the heading around a link and True, or the heading directly before the link and False."""
    above = link.parent
    for _ in range(MAX_LEVELS):
        if above is None or above.tag in HEADINGS:
            break
        above = above.parent
    if above is not None and above.tag in HEADINGS:
        return above, True
    before = link.prev
    while before is not None and before.tag == "-text" and not (before.text_content or "").strip():
        before = before.prev
    return (before, False) if before is not None and before.tag in HEADINGS else (None, False)


def _names(link: LexborNode, heading: LexborNode) -> set[str]:
    """Return the names of the place of a heading: its own, of elements in it, and of the elements around it."""
    named = [link, *heading.css("[id], a[name]")]
    around: LexborNode | None = heading
    for _ in range(MAX_LEVELS):
        if around is None:
            break
        named.append(around)
        around = around.parent
    return {name for node in named for key in ("id", "name") if (name := node.attributes.get(key))}
