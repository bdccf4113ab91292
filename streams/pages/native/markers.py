"""The markers of a page in one pass in C, where it was built; else by selectors (`head_elements`)."""

from selectolax.lexbor import LexborHTMLParser

from streams.pages.native.library import Columns, library, results
from streams.pages.parse import head_elements as law
from streams.pages.parse.head_elements import Label, Markers

_TAGS = ("title", "base", "meta", "link", "script", "time")
_COLUMNS: Columns = (7, 1, 1, 1, 1)
_LABELS: dict[Label, int] = {"dated": 0, "named": 1}
_MICRODATA, _RDFA, _DRAWN_MATH = 1, 2, 4


def markers(tree: LexborHTMLParser) -> Markers:
    """What the page says of itself, wherever it stands."""
    native, root = library(), tree.root
    if native is None or root is None:
        return law.markers(tree)
    found = results(native, native.riffle_markers(root.mem_id), _COLUMNS)
    text, flags = found.text, found.found
    return Markers(
        [
            (_TAGS[tag], text[one:one_end], text[two:two_end], text[three:three_end])
            for tag, one, one_end, two, two_end, three, three_end in found.elements.tolist()
        ],
        bool(flags & _MICRODATA),
        bool(flags & _RDFA),
        bool(flags & _DRAWN_MATH),
    )


def labelled(tree: LexborHTMLParser, label: Label, count: int, max_chars: int) -> list[str]:
    """The lines of the first `count` elements that are named for a date or an author; longer lines are left out."""
    native, root = library(), tree.root
    if native is None or root is None:
        return law.labelled(tree, label, count, max_chars)
    found = results(native, native.riffle_labelled(root.mem_id, _LABELS[label], count, max_chars), _COLUMNS)
    places = found.elements[:, 1:3].tolist()
    lines = (found.text[start:end] for start, end in places)
    return [line for line in lines if len(line) <= max_chars]
