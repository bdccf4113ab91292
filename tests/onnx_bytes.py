"""Parts of ONNX files as bytes: messages of Protocol Buffers, whose fields have the numbers of onnx.proto."""

import numpy as np
from numpy.typing import NDArray

FLOAT, INT8, INT64 = 1, 3, 7
TYPES = {"float32": FLOAT, "int8": INT8}
"""The code of each type of a tensor with values."""


def node(kind: str, inputs: list[str], output: str | list[str], *attributes: bytes) -> bytes:
    outputs = [output] if isinstance(output, str) else output
    names = b"".join(text(1, name) for name in inputs) + b"".join(text(2, name) for name in outputs)
    return names + text(4, kind) + b"".join(field(5, attribute) for attribute in attributes)


def attribute(name: str, content: int | list[int]) -> bytes:
    if isinstance(content, int):
        return text(1, name) + number(3, content) + number(20, 2)
    return text(1, name) + b"".join(number(8, each) for each in content) + number(20, 7)


def tensor(name: str, values: NDArray[np.float32] | NDArray[np.int8]) -> bytes:
    dims = b"".join(number(1, size) for size in values.shape)
    return dims + number(2, TYPES[values.dtype.name]) + text(8, name) + field(9, values.tobytes())


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
    parts = bytearray()
    while content > 127:
        parts.append(content & 127 | 128)
        content >>= 7
    return bytes([*parts, content])
