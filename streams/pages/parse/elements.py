"""Kinds of HTML elements, by the treatment of the walk; and questions about the ancestors of many elements.

The parser gives each element name a number. The numbers are read from it once, so that the walk looks up integers. The
questions about ancestors take linear time: each ancestor is visited once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from selectolax.lexbor import LexborHTMLParser, LexborNode

INLINE, BLOCK, SKIP, LINK, SPAN, BREAK, IMAGE, MATH, HEADING, PRE, TEXT, COMMENT, SMALL = range(13)
SUPERSCRIPT, SUBSCRIPT = 13, 14
"""INLINE: no effect on the text. BLOCK: a text ends before and after it. SKIP: removed with its content. SPAN: emphasis
and code. HEADING and PRE: blocks with one text as content. COMMENT: ignored, but its content (if any) is read."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
NAMED = frozenset((*HEADINGS, "dt"))
"""The elements that name the text below them."""

SPAN_KINDS = {
    "em": "em", "i": "em", "cite": "em", "dfn": "em", "var": "em", "strong": "strong", "b": "strong", "code": "code",
    "kbd": "code", "samp": "code", "tt": "code",
}  # fmt: skip

_BLOCKS = (
    "address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form frameset header hgroup hr html legend li listing main menu nav noscript ol p "
    "search section summary "
    "table tbody td tfoot th thead tr ul"
)
_SKIPPED = (
    "applet area audio base canvas datalist embed frame head iframe input link map meta meter noembed noframes "
    "object optgroup option param progress rp rt script select source style svg template textarea title track video"
)


KINDS_BY_NAME = {
    **dict.fromkeys(_BLOCKS.split(), BLOCK),
    **dict.fromkeys(_SKIPPED.split(), SKIP),
    **dict.fromkeys(SPAN_KINDS, SPAN),
    **dict.fromkeys(HEADINGS, HEADING),
    "a": LINK,
    "br": BREAK,
    "wbr": COMMENT,
    "img": IMAGE,
    "math": MATH,
    "pre": PRE,
    "small": SMALL,
    "sup": SUPERSCRIPT,
    "sub": SUBSCRIPT,
}
"""The kind of each element by its name. All others are INLINE."""


DIVIDING_TAGS = tuple(name for name, kind in KINDS_BY_NAME.items() if kind in (BLOCK, HEADING, PRE))
"""Names of the elements that a walk lists: elements that divide the text of a page."""
_ROWS_OF = frozenset({"table", "thead", "tbody", "tfoot"})
PARTS_OF_TABLES: Mapping[str, tuple[str, Collection[str]]] = {
    "table": ("table", frozenset(DIVIDING_TAGS)),
    "rowgroup": ("tbody", frozenset({"table"})),
    "row": ("tr", _ROWS_OF),
    "cell": ("td", frozenset({"tr"})),
    "columnheader": ("th", frozenset({"tr"})),
    "rowheader": ("th", frozenset({"tr"})),
}
"""The tag that a block has by its role in a table (WAI-ARIA 1.2, 5.4), and the tags of its parent there. Grids are no
tables: they are menus, calendars and forms, too."""
State = TypeVar("State")


def _numbers() -> tuple[dict[str, int], int, int]:
    """Return the numbers of the elements by name, of a text, and of a comment."""
    parser = LexborHTMLParser("<p>text<!-- comment -->")
    paragraph = parser.css_first("p")
    assert paragraph is not None
    assert paragraph.first_child is not None
    assert paragraph.last_child is not None
    named = {name: parser.create_node(name).tag_id for name in KINDS_BY_NAME}
    return named, paragraph.first_child.tag_id, paragraph.last_child.tag_id


_NUMBERS, _TEXT_NUMBER, _COMMENT_NUMBER = _numbers()
KINDS = {_NUMBERS[name]: kind for name, kind in KINDS_BY_NAME.items()} | {_TEXT_NUMBER: TEXT, _COMMENT_NUMBER: COMMENT}
"""The kind of each element by its number in the parser. All others are INLINE."""
BLOCK_NAMES = {_NUMBERS[name]: name for name in DIVIDING_TAGS}
"""The name of each dividing element by its number."""


def unknown_ancestors(node: LexborNode, known: Collection[int]) -> Iterator[LexborNode]:
    """Yield the node's ancestors below the nearest known ancestor, the outermost first."""
    path: list[LexborNode] = []
    above = node.parent
    while above is not None and above.mem_id not in known:
        path.append(above)
        above = above.parent
    return reversed(path)


def state_above(node: LexborNode, states: Mapping[int, State], outermost: State) -> State:
    """Return the state of the node's parent; `outermost` for a node without a parent."""
    return outermost if node.parent is None else states[node.parent.mem_id]


def outermost(nodes: Iterable[LexborNode]) -> Iterator[LexborNode]:
    """Leave out each node with another node of `nodes` as ancestor, and repeated nodes."""
    by_id = {node.mem_id: node for node in nodes}
    is_inside: dict[int, bool] = {}
    for node in list(by_id.values()):
        for element in unknown_ancestors(node, is_inside):
            is_inside[element.mem_id] = state_above(element, is_inside, False) or element.mem_id in by_id
        if not state_above(node, is_inside, False):
            yield node


def with_ancestors(nodes: Iterable[LexborNode]) -> set[int]:
    known: set[int] = set()
    for node in nodes:
        element: LexborNode | None = node
        while element is not None and element.mem_id not in known:
            known.add(element.mem_id)
            element = element.parent
    return known


def remove_all(nodes: Iterable[LexborNode]) -> None:
    """Remove elements from their tree. Elements inside a removed element must not be touched, since they are freed."""
    for node in list(outermost(nodes)):
        node.decompose()
