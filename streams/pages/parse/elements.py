"""What each HTML element means to the walk: text of its own, a boundary, a piece of text, or nothing at all.

The parser numbers elements; the numbers are read from it here, once, so that the walk compares small integers.
"""

from selectolax.lexbor import LexborHTMLParser

INLINE, BLOCK, SKIP, LINK, SPAN, BREAK, IMAGE, MATH, HEADING, PRE, TEXT, COMMENT, SMALL, RAISED, LOWERED = range(15)
"""INLINE: no meaning. BLOCK: text ends before and after it. SKIP: dropped with all it holds. SPAN: emphasis and code.
HEADING and PRE: blocks that nothing inside divides. RAISED and LOWERED: superscripts and subscripts."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

SPAN_KINDS = {
    "em": "em",
    "i": "em",
    "cite": "em",
    "dfn": "em",
    "var": "em",
    "strong": "strong",
    "b": "strong",
    "code": "code",
    "kbd": "code",
    "samp": "code",
    "tt": "code",
}

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
    "sup": RAISED,
    "sub": LOWERED,
}
"""What is not in here is INLINE."""


BLOCK_TAGS = tuple(name for name, kind in KINDS_BY_NAME.items() if kind in (BLOCK, HEADING, PRE))
"""The elements of a walk, by which rows name them."""


def _kinds() -> dict[int, int]:
    parser = LexborHTMLParser("<p>text<!-- comment -->")
    paragraph = parser.css_first("p")
    assert paragraph is not None
    assert paragraph.first_child is not None
    assert paragraph.last_child is not None
    numbers = {paragraph.first_child.tag_id: TEXT, paragraph.last_child.tag_id: COMMENT}
    return {parser.create_node(name).tag_id: kind for name, kind in KINDS_BY_NAME.items()} | numbers


KINDS = _kinds()
"""The parser's number of an element -> its kind. What is not in here is INLINE."""
