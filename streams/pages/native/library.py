"""The compiled library, where it was built, with the types of its functions and the parser's functions told to it."""

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from selectolax import lexbor

LIBRARY = Path(__file__).with_name("_native.so")
_POINTER, _SIZE, _COUNT, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_char_p
_FUNCTIONS = {
    "riffle_lexbor": (None, [_POINTER]),
    "riffle_walk": (_POINTER, [_POINTER, _TEXT, _SIZE]),
    "riffle_markers": (_POINTER, [_POINTER]),
    "riffle_labelled": (_POINTER, [_POINTER, ctypes.c_int, ctypes.c_int, ctypes.c_int32]),
    "riffle_blocks": (_POINTER, [_POINTER, _POINTER]),
    "riffle_prune": (_POINTER, [_POINTER, ctypes.c_int32]),
    "riffle_results": (None, [_POINTER, _POINTER, _POINTER]),
    "riffle_free": (None, [_POINTER]),
    "riffle_deepest": (_COUNT, [_TEXT, _SIZE, _COUNT, _COUNT]),
    "riffle_gather": (None, [_POINTER, _COUNT, _POINTER]),
    "riffle_sections": (None, [_POINTER, _COUNT, _POINTER, ctypes.c_double, _POINTER]),
    "riffle_features": (ctypes.c_int, [_POINTER, _POINTER, _POINTER]),
    "riffle_pool": (ctypes.c_int, [_POINTER, _POINTER, _COUNT, _COUNT, *[_POINTER] * 6]),
}
LEXBOR = (
    "lxb_dom_node_first_child_noi", "lxb_dom_node_next_noi", "lxb_dom_node_parent_noi", "lxb_dom_node_type_noi",
    "lxb_dom_element_local_name", "lxb_dom_element_first_attribute_noi", "lxb_dom_element_next_attribute_noi",
    "lxb_dom_attr_local_name_noi", "lxb_dom_attr_value_noi", "lxb_dom_node_text_content",
    "lxb_dom_document_destroy_text_noi", "lxb_dom_node_remove_wo_events",
)  # fmt: skip
"""The functions that `tree.c` walks with, in its order: part of lexbor's interface, and exported by selectolax."""


@cache
def library() -> ctypes.CDLL | None:
    """None where it was not built, or the parser does not export what it needs: then everything is done in Python."""
    parser = ctypes.CDLL(lexbor.__file__)
    if not LIBRARY.exists() or not all(hasattr(parser, name) for name in LEXBOR):
        return None
    loaded = ctypes.CDLL(str(LIBRARY))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    addresses = (ctypes.c_void_p * len(LEXBOR))(
        *(ctypes.cast(getattr(parser, name), ctypes.c_void_p) for name in LEXBOR)
    )
    loaded.riffle_lexbor(addresses)
    return loaded


def is_compiled() -> bool:
    """Whether the library is there."""
    return library() is not None


Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Results:
    """What a pass over a tree found: tables of numbers, and the one text that they refer to by code points."""

    elements: Rows
    attributes: Rows
    segments: Rows
    spans: Rows
    links: Rows
    masks: NDArray[np.uint64]
    text: str
    found: int
    """Of a walk the count of formulas, of markers their flags."""


_POINTERS, _COUNTS = ctypes.c_void_p * 7, ctypes.c_uint64 * 9
Columns = tuple[int, int, int, int, int]
"""Of the five tables; 1 where the pass makes none."""


def results(native: ctypes.CDLL, handle: int | None, columns: Columns) -> Results:
    """Copied, and what the pass held is freed. Raises MemoryError when it ran out of memory."""
    if not handle:
        raise MemoryError("no memory for a page")
    try:
        pointers, counts = _POINTERS(), _COUNTS()
        native.riffle_results(handle, pointers, counts)
        if counts[7]:
            raise MemoryError("no memory for a page")
        elements, attributes, segments, spans, links = (
            np.frombuffer(ctypes.string_at(pointers[table] or 0, counts[table] * 4), np.int32).reshape(-1, width)
            if counts[table]
            else _nothing(width)
            for table, width in enumerate(columns)
        )
        masks = np.frombuffer(ctypes.string_at(pointers[5] or 0, counts[5] * 8) if counts[5] else b"", np.uint64)
        text = ctypes.string_at(pointers[6] or 0, counts[6]).decode("utf-8", "replace")
    finally:
        native.riffle_free(handle)
    return Results(elements, attributes, segments, spans, links, masks, text, int(counts[8]))


@cache
def _nothing(width: int) -> Rows:
    """A table without rows. Nobody writes into tables."""
    return np.frombuffer(b"", np.int32).reshape(0, width)
