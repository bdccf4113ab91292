"""The compiled library, where it was built, with the types of its functions."""

import ctypes
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).with_name("_native.so")
_POINTER, _SIZE, _COUNT, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_char_p
_FUNCTIONS = {
    "riffle_walk": (_POINTER, [_TEXT, _SIZE, _TEXT, _SIZE]),
    "riffle_results": (None, [_POINTER, _POINTER, _POINTER]),
    "riffle_free": (None, [_POINTER]),
    "riffle_deepest": (_COUNT, [_TEXT, _SIZE, _COUNT]),
    "riffle_gather": (None, [_POINTER, _COUNT, _POINTER]),
    "riffle_inherit": (None, [_POINTER, _COUNT, _POINTER, ctypes.c_float, *[_POINTER] * 4]),
    "riffle_sections": (None, [_POINTER, _COUNT, _POINTER, ctypes.c_double, _POINTER]),
    "riffle_features": (ctypes.c_int, [_POINTER, _POINTER, _POINTER]),
    "riffle_pool": (ctypes.c_int, [_POINTER, _POINTER, _COUNT, _COUNT, *[_POINTER] * 6]),
}


@cache
def library() -> ctypes.CDLL | None:
    """None where it was not built: then everything is done in Python."""
    if not LIBRARY.exists():
        return None
    loaded = ctypes.CDLL(str(LIBRARY))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded
