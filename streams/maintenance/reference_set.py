"""A set of references of blobs in bounded memory."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from streams.stores.blobs import REF_BYTES

_WORDS = REF_BYTES // 8


class ReferenceSet:
    """A Bloom filter: it contains each reference that was added, and a few others by mistake.

    An unreferenced blob that it contains by mistake stays until a later sweep, which has another salt.
    """

    def __init__(self, memory_bytes: int, salt: bytes, bits: NDArray[np.uint8] | None = None) -> None:
        """`memory_bytes` is rounded down to a power of two. `salt` has 32 bytes. `bits` continues a former set."""
        self._exponent = max(memory_bytes * 8, 64).bit_length() - 1
        self.salt = salt
        self.bits = np.zeros(1 << (self._exponent - 3), np.uint8) if bits is None else bits
        self._multipliers = np.frombuffer(salt, "<u8") | np.uint64(1)

    def add(self, references: Iterable[bytes]) -> None:
        """Add references of 32 bytes each."""
        places = self._places(references)
        np.bitwise_or.at(self.bits, places >> np.uint64(3), self._masks(places))

    def contains(self, references: Iterable[bytes]) -> list[bool]:
        """Return True for each reference that was added, and for a few others."""
        places = self._places(references)
        set_bits = (self.bits[places >> np.uint64(3)] & self._masks(places)) != 0
        return [bool(found) for found in set_bits.all(axis=1)]

    @property
    def fill(self) -> float:
        """The share of bits that are set. From 0.5 on, more than 6 % of the others are taken for references."""
        sampled = self.bits[:: max(self.bits.size >> 20, 1)]
        return float(np.unpackbits(sampled).mean())

    def _places(self, references: Iterable[bytes]) -> NDArray[np.uint64]:
        """Return four places for each reference. A reference is a hash already, so its words need only be mixed."""
        words = np.frombuffer(b"".join(references), "<u8").reshape(-1, _WORDS)
        places: NDArray[np.uint64] = (words * self._multipliers) >> np.uint64(64 - self._exponent)
        return places

    def _masks(self, places: NDArray[np.uint64]) -> NDArray[np.uint8]:
        return np.left_shift(np.uint8(1), (places & np.uint64(7)).astype(np.uint8))
