"""The compiled library, where it was built, with the types of its functions and the parser's functions told to it."""

import ctypes
from functools import cache
from pathlib import Path

from selectolax import lexbor

LIBRARY = Path(__file__).with_name("_native.so")
_POINTER, _SIZE, _COUNT, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_char_p
_FUNCTIONS = {
    "riffle_lexbor": (None, [_POINTER]),
    "riffle_walk": (_POINTER, [_POINTER, _TEXT, _SIZE]),
    "riffle_results": (None, [_POINTER, _POINTER, _POINTER]),
    "riffle_free": (None, [_POINTER]),
    "riffle_deepest": (_COUNT, [_TEXT, _SIZE, _COUNT]),
    "riffle_gather": (None, [_POINTER, _COUNT, _POINTER]),
    "riffle_sections": (None, [_POINTER, _COUNT, _POINTER, ctypes.c_double, _POINTER]),
    "riffle_features": (ctypes.c_int, [_POINTER, _POINTER, _POINTER]),
    "riffle_pool": (ctypes.c_int, [_POINTER, _POINTER, _COUNT, _COUNT, *[_POINTER] * 6]),
}
LEXBOR = (
    "lxb_dom_node_first_child_noi", "lxb_dom_node_next_noi", "lxb_dom_node_parent_noi", "lxb_dom_node_type_noi",
    "lxb_dom_element_local_name", "lxb_dom_element_first_attribute_noi", "lxb_dom_element_next_attribute_noi",
    "lxb_dom_attr_local_name_noi", "lxb_dom_attr_value_noi", "lxb_dom_node_text_content",
    "lxb_dom_document_destroy_text_noi",
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
