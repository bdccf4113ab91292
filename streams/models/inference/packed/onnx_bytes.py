"""Parts of ONNX files as bytes: messages of Protocol Buffers, whose fields have the numbers of onnx.proto.

So ONNX files are written without the library for ONNX, which no other part of Riffle needs.
"""

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16 = 1, 2, 3, 6, 7, 9, 10
TYPES = {"float32": FLOAT, "uint8": UINT8, "int8": INT8, "int32": INT32, "int64": INT64, "float16": FLOAT16}
"""The code of each type of a tensor with values."""
_FLOAT_ATTRIBUTE, _INTEGER_ATTRIBUTE, _INTEGERS_ATTRIBUTE = 1, 2, 7


def node(kind: str, inputs: list[str], output: str | list[str], *attributes: bytes, name: str = "") -> bytes:
    outputs = [output] if isinstance(output, str) else output
    names = b"".join(text(1, each) for each in inputs) + b"".join(text(2, each) for each in outputs)
    named = text(3, name) if name else b""
    return names + named + text(4, kind) + b"".join(field(5, attribute) for attribute in attributes)


def attribute(name: str, content: int | float | list[int]) -> bytes:
    if isinstance(content, float):
        return text(1, name) + varint(2 << 3 | 5) + struct.pack("<f", content) + number(20, _FLOAT_ATTRIBUTE)
    if isinstance(content, list):
        return text(1, name) + b"".join(number(8, each) for each in content) + number(20, _INTEGERS_ATTRIBUTE)
    return text(1, name) + number(3, int(content)) + number(20, _INTEGER_ATTRIBUTE)


def tensor(name: str, values: NDArray[Any]) -> bytes:
    dims = b"".join(number(1, size) for size in values.shape)
    return dims + number(2, TYPES[values.dtype.name]) + text(8, name) + field(9, np.ascontiguousarray(values).tobytes())


def value(name: str, kind: int, dims: tuple[str | int, ...]) -> bytes:
    shape = b"".join(field(1, text(2, dim) if isinstance(dim, str) else number(1, dim)) for dim in dims)
    return text(1, name) + field(2, field(1, number(1, kind) + field(2, shape)))


def number(place: int, content: int) -> bytes:
    """The field with this number, with an integer."""
    return varint(place << 3) + varint(content)


def text(place: int, content: str) -> bytes:
    return field(place, content.encode())


def field(place: int, content: bytes) -> bytes:
    return varint(place << 3 | 2) + varint(len(content)) + content


def varint(content: int) -> bytes:
    """An integer of up to 64 bits, in groups of seven bits, the lowest first. A negative one is its complement."""
    content &= (1 << 64) - 1
    parts = bytearray()
    while content > 127:
        parts.append(content & 127 | 128)
        content >>= 7
    return bytes([*parts, content])
