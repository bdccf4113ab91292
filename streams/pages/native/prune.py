"""Menus and footers taken out of the tree in C, where it was built; else in Python (`navigation`)."""

from selectolax.lexbor import LexborHTMLParser

from streams.pages.native.library import Columns, library, results
from streams.pages.parse import navigation as law
from streams.pages.parse.navigation import MAX_PLAIN_CHARS, Pruned
from streams.pages.parse.segments import NO_SEGMENT

_COLUMNS: Columns = (3, 1, 1, 1, 8)


def prune(tree: LexborHTMLParser, *, with_texts: bool = False) -> Pruned:
    """Remove menus and footers that don't stand in the page's own text."""
    native, root = library(), tree.root
    if native is None or root is None or with_texts:
        return law.prune(tree, with_texts=with_texts)
    found = results(native, native.riffle_prune(root.mem_id, MAX_PLAIN_CHARS), _COLUMNS)
    text = found.text
    links = [
        (text[href:href_end], text[start:end], text[rel:rel_end] if rel_end > rel else "", NO_SEGMENT, form)
        for href, href_end, start, end, rel, rel_end, _, form in found.links.tolist()
    ]
    menus = found.elements.tolist()
    trails = ([name for _, name, *_ in links[first:end] if name] for is_trail, first, end in menus if is_trail)
    return Pruned(links, next((trail for trail in trails if trail), []), count=len(menus))
