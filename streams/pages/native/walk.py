"""The walk in C, where it was built; else the one in Python (`streams.pages.parse.segments`).

Python's cost is per node, and a page has some two thousand: in C (`walk.c`, beside this) a walk costs an eighth.
"""

import ctypes
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np
from selectolax.lexbor import LexborNode

from streams.pages.content.lexicon import ELEMENT_BITS, FLAGS, HIDDEN_BIT, TERMS, WORD_BITS
from streams.pages.content.segment_stats import SHORT, TAG_FLAGS, is_no_small_letter, term_flags
from streams.pages.native.library import Columns, Results, library, results
from streams.pages.parse import segments as walking
from streams.pages.parse.elements import BLOCK_TAGS, KINDS_BY_NAME, SPAN_KINDS
from streams.pages.parse.math_tex import source_of
from streams.pages.parse.segments import Measured, RawSpan, Segment, Walk

_ATTRIBUTES = ("class", "id", "role", "lang", "colspan", "rowspan")
SPAN_NAMES = ("link", "strong", "em", "code", "math", "image", "footnote")
_COLUMNS: Columns = (4, 4, 16, 8, 8)
"""Of the rows in `walk.c`: elements, attributes, segments, spans, links."""
_CASED = 1 << 20
"""A flag of texts whose capitals only Python knows."""
_TAG_NAMES = np.array(BLOCK_TAGS, object)
_FORMULAS = "math:not(math math)"
_TAG_FLAGS = np.array([TAG_FLAGS.get(tag, 0) for tag in BLOCK_TAGS], np.int32)


def walk(body: LexborNode, title: str = "") -> Walk:
    """The page's elements and text; `title` is what the measures of its texts are compared to."""
    native = _ready()
    if native is None:
        return walking.walk(body)
    page, formulas = _walked(native, body, title.lower())
    if formulas:  # few pages have any: they are walked again, with each formula's source where `walk.c` looks for it
        for node in body.css(_FORMULAS):
            node.attrs["alttext"] = source_of(node)
        page, _ = _walked(native, body, title.lower())
    return page


@cache
def _ready() -> ctypes.CDLL | None:
    """The library, with its tables filled."""
    native = library()
    if native is None:
        return None
    names = list(dict.fromkeys([*KINDS_BY_NAME, *ELEMENT_BITS]))
    spans = {name: SPAN_NAMES.index(kind) for name, kind in SPAN_KINDS.items()}
    tags = {name: number for number, name in enumerate(BLOCK_TAGS)}
    values = [KINDS_BY_NAME.get(name, 0) | spans.get(name, 0) << 8 | tags.get(name, 0) << 16 for name in names]
    terms: dict[str, int] = {}
    for flag, words in TERMS.items():
        for word in words:
            terms[word] = terms.get(word, 0) | FLAGS[flag]
    masks = [ELEMENT_BITS.get(name, 0) for name in names]
    made = native.riffle_tables(
        _strings(names), _numbers(ctypes.c_int32, values), _numbers(ctypes.c_uint64, masks), len(names),
        _strings(list(WORD_BITS)), _numbers(ctypes.c_uint64, list(WORD_BITS.values())), len(WORD_BITS),
        _strings(list(terms)), _numbers(ctypes.c_int32, list(terms.values())), len(terms), HIDDEN_BIT,
    )  # fmt: skip
    if not made:
        raise MemoryError("no memory for the tables of the compiled walk")
    return native


def _strings(texts: Sequence[str]) -> Any:
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def _numbers(kind: Any, values: Sequence[int]) -> Any:
    return (kind * len(values))(*values)


def _walked(native: ctypes.CDLL, body: LexborNode, title: str) -> tuple[Walk, int]:
    """The walk, and how many formulas there were."""
    lowered = title.encode("utf-8", "replace")
    found = results(native, native.riffle_walk(body.mem_id, lowered, len(lowered)), _COLUMNS)
    return _Tables(found).page(title), found.found


_T = TypeVar("_T")


class _Lazy(MutableSequence[_T]):
    """A list whose entries are made when they are asked for: of most nobody asks."""

    def __init__(self, count: int, make: Callable[[int], _T]) -> None:
        self._made: list[_T | None] = [None] * count
        self._make = make
        self.changed = False

    def __getitem__(self, index: Any) -> Any:
        made = self._made[index]
        if made is None:
            made = self._made[index] = self._make(index if index >= 0 else len(self._made) + index)
        elif isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self._made)))]
        return made

    def __setitem__(self, index: Any, value: Any) -> None:
        self._made[index] = value
        self.changed = True

    def __len__(self) -> int:
        return len(self._made)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("a walk keeps all that it found")

    def insert(self, index: int, value: _T) -> None:
        raise TypeError("a walk keeps all that it found")


@dataclass(slots=True, kw_only=True)
class Found(Walk):
    """A walk that was read from rows."""

    rows: Results

    @property
    def is_as_found(self) -> bool:
        """Whether each segment still is what the rows say."""
        return not (isinstance(self.segments, _Lazy) and self.segments.changed)

    def attribute(self, element: int, name: str) -> str:
        first, end = self.rows.elements[element, 2:].tolist()
        number, found = _ATTRIBUTES.index(name), ""
        for _, kind, start, stop in self.rows.attributes[first:end].tolist() if end > first else ():
            if kind == number:
                found = self.rows.text[start:stop]
            elif kind >= len(_ATTRIBUTES) and name == "class":  # preformatted text has those of the code in it, too
                return self.attributes[element].get(name) or ""
        return found

    def named(self, attribute: str) -> dict[int, str]:
        rows, text = self.rows.attributes, self.rows.text
        if not len(rows):
            return {}
        chosen = rows[rows[:, 1] == _ATTRIBUTES.index(attribute)].tolist()
        found = {element: text[start:stop] for element, _, start, stop in chosen if stop > start}
        if attribute == "class":  # preformatted text has those of the code in it, too
            more: dict[int, list[str]] = {}
            for element, _, start, stop in rows[rows[:, 1] >= len(_ATTRIBUTES)].tolist():
                more.setdefault(element, [found.get(element, "")]).append(text[start:stop])
            found |= {element: " ".join(names) for element, names in more.items()}
        return found


@dataclass(slots=True)
class _Tables:
    """The rows that `walk.c` gives back, and the text that they refer to."""

    found: Results
    segment_rows: list[list[int]] = field(default_factory=list)

    def page(self, title: str) -> Walk:
        text = self.found.text
        self.segment_rows = self.found.segments[:, :8].tolist()
        page = Found(
            tags=_TAG_NAMES[self.found.elements[:, 0]].tolist(),
            parents=self.found.elements[:, 1].tolist(),
            attributes=_Lazy(len(self.found.elements), self._attributes),
            segments=_Lazy(len(self.found.segments), self._segment),
            rows=self.found,
        )
        page.links = [
            (text[href:href_end], text[start:end], text[rel:rel_end] if rel_end > rel else "", segment, form)
            for href, href_end, start, end, rel, rel_end, segment, form in self.found.links.tolist()
        ]
        page.measured = self._measured(title)
        return page

    def _segment(self, index: int) -> Segment:
        text = self.found.text
        element, start, end, link_chars, links, images, first, last = self.segment_rows[index]
        spans: list[RawSpan] = []
        if last > first:
            spans = [
                (begin, stop, SPAN_NAMES[kind], text[target:target_end], text[label:label_end])
                for begin, stop, kind, target, target_end, label, label_end, _ in self.found.spans[first:last].tolist()
            ]
        return Segment.read(element, text[start:end], spans, link_chars, links, images)

    def _attributes(self, index: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        more: list[str] = []
        first, end = self.found.elements[index, 2:].tolist()
        for _, name, start, stop in self.found.attributes[first:end].tolist():
            if name < len(_ATTRIBUTES):
                values[_ATTRIBUTES[name]] = self.found.text[start:stop]
            else:  # preformatted text takes the classes of the code in it
                more.append(self.found.text[start:stop])
        if more:
            values["class"] = " ".join([values.get("class") or "", *more])
        return values

    def _measured(self, title: str) -> Measured:
        segments = self.found.segments
        flags = segments[:, 8].copy()
        for index in np.flatnonzero(flags & _CASED).tolist():
            own = self.found.text[segments[index, 1] : segments[index, 2]]
            flags[index] |= FLAGS["upper"] * is_no_small_letter(own[0])
            if len(own) < SHORT:
                low = own.lower()
                flags[index] |= FLAGS["title"] * (len(own) > 3 and low in title) | term_flags(low.split())
        flags |= segments[:, 14] * FLAGS["repeated"] | _TAG_FLAGS[self.found.elements[segments[:, 0], 0]]
        counts = segments[:, [2, 3, 9, 10, 11, 4]]
        counts[:, 0] += segments[:, 15] - segments[:, 1]
        return Measured(
            tags=self.found.elements[:, 0],
            parents=self.found.elements[:, 1],
            elements=segments[:, 0],
            counts=counts.astype(np.float32),
            words=segments[:, 12].astype(np.float32),
            flags=flags.astype(np.uint16),
            groups=segments[:, 13].astype(np.int64),
            masks=self.found.masks,
        )
