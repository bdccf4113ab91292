"""Reads files of safetensors, without a library that comes with PyTorch's tools.

A file is the length of its description (u64, little-endian), the description (JSON: type, shape and place of each
tensor), and the numbers (https://github.com/huggingface/safetensors, Format).
"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streams.errors import UsageError

TYPES = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}
"""The types that are read, as NumPy names them."""
_LENGTH = 8


def read_safetensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return the tensors by their names. Raises UsageError for a file of another form, or another type of numbers."""
    content = path.read_bytes()
    start = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    try:
        described = json.loads(content[_LENGTH:start])
        return {
            name: _tensor(content[start:], one["dtype"], one["shape"], one["data_offsets"])
            for name, one in described.items()
            if name != "__metadata__"
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{path} is no file of safetensors with numbers of 32 or 16 bits: {error!r}. Get it again"
        ) from error


def _tensor(data: bytes, kind: str, shape: list[int], place: list[int]) -> NDArray[np.float32]:
    return np.frombuffer(data[slice(*place)], TYPES[kind]).reshape(shape).astype(np.float32)
