"""The containers and blocks of a document in C, where it was built and reads the page; else in Python (`build`).

In C is done what goes from element to element; from the rows that come back, and those of the walk, the parts of the
document are made at once, without the segments between them.
"""

import ctypes
from functools import cache
from itertools import repeat

import numpy as np

from streams.pages.assemble.builder import (
    ALIASES,
    CHILDREN,
    FLOW,
    MISSING,
    OPENERS,
    Builder,
    Languages,
    columns_of,
    in_order,
    is_idle,
    layout_tables,
    rows_of,
)
from streams.pages.document.model import (
    BLOCK_TAGS,
    CONTAINER_TAGS,
    Block,
    Container,
    Span,
    new_block,
    new_container,
    new_span,
)
from streams.pages.native.library import Columns, Rows, library, results
from streams.pages.native.walk import SPAN_NAMES, Found
from streams.pages.parse.elements import BLOCK_TAGS as WALKED_TAGS
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.segments import Walk

_COLUMNS: Columns = (2, 1, 2, 1, 1)
_NONE = -1
_CONTROL = 1 << 21
"""A flag of texts that may hold control characters: they are cleaned in Python."""
_LEADING = (SPAN_NAMES.index("link"), SPAN_NAMES.index("image"))

Built = tuple[tuple[Container, ...], tuple[Block, ...]]


def build(page: Walk, kept: list[int], resolver: Resolver, *, clean: bool = False) -> Built:
    """The containers and blocks of the segments that are kept. `clean`: the page is a document of ours."""
    native = library()
    if native is not None and isinstance(page, Found) and page.is_as_found:
        segments = page.rows.segments[kept]
        if not (segments[:, 8] & _CONTROL).any():
            return _built(native, page, segments, resolver, clean=clean)
    return Builder(page, resolver.absolute, (page.segments[index] for index in kept), clean=clean).result()


_NUMBERS = ("openers", "flow", "figure", "figcaption", "row", "cell", "cells", "paragraph")


class _Grammar(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("blocks", "containers")),
        *((name, ctypes.c_int32 * len(CONTAINER_TAGS)) for name in ("children", "missing")),
        *((name, ctypes.c_int32) for name in _NUMBERS),
    )


class _Page(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("elements", "texts", "layout", "spans", "rows")),
        *((name, ctypes.c_int64) for name in ("element_count", "text_count")),
    )


@cache
def _grammar() -> _Grammar:
    """What `build` knows, as `blocks.c` reads it."""
    number = {tag: index for index, tag in enumerate(CONTAINER_TAGS)}

    def bits(tags: frozenset[str]) -> int:
        return sum(1 << number[tag] for tag in tags if tag)

    texts = [BLOCK_TAGS.index(tag) if tag in BLOCK_TAGS and tag != "p" else _NONE for tag in WALKED_TAGS]
    holders = [number.get(ALIASES.get(tag, tag), _NONE) for tag in WALKED_TAGS]
    grammar = _Grammar()
    grammar.kept = [np.array(texts, np.int32), np.array(holders, np.int32)]
    grammar.blocks, grammar.containers = (array.ctypes.data for array in grammar.kept)
    for index, tag in enumerate(CONTAINER_TAGS):
        grammar.children[index] = bits(CHILDREN.get(tag, frozenset()))
        grammar.missing[index] = number.get(MISSING.get(tag, ""), _NONE)
    grammar.openers, grammar.flow, grammar.cells = bits(OPENERS), bits(FLOW), bits(frozenset({"td", "th"}))
    grammar.figure, grammar.figcaption, grammar.row = number["figure"], number["figcaption"], number["tr"]
    grammar.cell = number["td"]
    grammar.paragraph = BLOCK_TAGS.index("p")
    return grammar


def _built(native: ctypes.CDLL, page: Found, segments: Rows, resolver: Resolver, *, clean: bool) -> Built:
    elements, texts = np.ascontiguousarray(page.rows.elements), np.ascontiguousarray(segments[:, 0])
    layout = np.zeros(len(elements), np.uint8)
    layout[[] if clean else [*layout_tables(page)]] = 1
    columns = np.ones(len(elements), np.int32)
    for element, written in page.named("colspan").items():
        columns[element] = columns_of(written)
    rows, hanging = np.ones(len(elements), np.int32), page.named("rowspan")
    for element, written in hanging.items():
        rows[element] = rows_of(written)
    told = _Page(
        *(array.ctypes.data for array in (elements, texts, layout, columns)), rows.ctypes.data if hanging else None,
        len(elements), len(texts),
    )  # fmt: skip
    found = results(native, native.riffle_blocks(ctypes.byref(_grammar()), ctypes.byref(told)), _COLUMNS)
    holders = found.elements.tolist()
    containers = map(new_container, [(CONTAINER_TAGS[tag], parent) for tag, parent in holders])
    tags = [BLOCK_TAGS[number] for number in found.segments[:, 0].tolist()]
    text, languages = page.rows.text, Languages(page)
    places = segments[:, [0, 1, 2, 6, 7]].tolist()
    spans = page.rows.spans.tolist()
    blocks = zip(
        tags,
        [text[start:end] for _, start, end, _, _ in places],
        found.segments[:, 1].tolist(),
        [
            _spans(text, spans[first:last], tag, end - start, resolver) if last > first else ()
            for (_, start, end, first, last), tag in zip(places, tags, strict=True)
        ],
        languages.of_all([place[0] for place in places], tags),
        repeat(0.0, len(tags)),
        repeat("", len(tags)),
        strict=True,
    )
    return tuple(containers), tuple(map(new_block, blocks))


def _spans(text: str, rows: list[list[int]], tag: str, length: int, resolver: Resolver) -> tuple[Span, ...]:
    """Those of a block; links that lead nowhere are none."""
    found = []
    for start, end, kind, target, target_end, label, label_end, form in rows:
        leads_to = text[target:target_end]
        if kind in _LEADING:
            leads_to = resolver.formed(leads_to, form)
            if not leads_to:
                continue
        elif is_idle(SPAN_NAMES[kind], tag, start == 0 and end == length):
            continue
        found.append(new_span((start, end, SPAN_NAMES[kind], leads_to, text[label:label_end])))
    return in_order(found)
