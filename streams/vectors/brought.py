"""The vectors that an index hands on with a page, by the hashes of their texts. Pure.

The stages of the receiving installation make the page's statements anew. A statement whose text, in its context, is one
that was handed on has its vector, and only the others are embedded. So a text never has the vector of another one,
whatever the order in which statements came, and a later release may divide a page in another way.

    bytes    magic, then MessagePack: [model's name, its version, dimensions, version of the embed stage, keys, vectors]
    keys     16 bytes a text
    vectors  dimensions half-precision numbers a text (little endian), in the order of the keys
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import msgpack
import numpy as np
from numpy.typing import NDArray

from streams.errors import PoisonError
from streams.statements.statement import KEY_BYTES, Key

Half = NDArray[np.float16]
_MAGIC = b"RFB1"


class InvalidVectorsBrought(PoisonError):
    """Bytes that are not vectors of this layout."""


@dataclass(frozen=True, slots=True)
class Made:
    """The way in which vectors were made. Vectors of two ways can't be compared."""

    model: str
    model_version: str
    dimensions: int
    stage_version: int
    """Version of the embed stage (`topology`)."""


@dataclass(frozen=True, slots=True)
class BroughtVectors:
    """The vectors of a page's texts."""

    made: Made
    keys: Sequence[Key]
    vectors: Half
    """Shape (len(keys), dimensions)."""

    def encode(self) -> bytes:
        """Return the bytes. Equal vectors have equal bytes."""
        made = self.made
        numbers = self.vectors.astype("<f2", copy=False).tobytes()
        layout = [made.model, made.model_version, made.dimensions, made.stage_version, b"".join(self.keys), numbers]
        packed: bytes = msgpack.packb(layout, use_bin_type=True)
        return _MAGIC + packed

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Return the vectors of these bytes. Raises InvalidVectorsBrought."""
        if not content.startswith(_MAGIC):
            raise InvalidVectorsBrought(f"{len(content)} bytes are no vectors that an index handed on")
        try:
            model, version, dimensions, stage_version, keys, numbers = msgpack.unpackb(content[len(_MAGIC) :])
            count = len(keys) // KEY_BYTES
            vectors = np.frombuffer(numbers, "<f2").reshape(count, dimensions)
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise InvalidVectorsBrought(
                f"{len(content)} bytes are no vectors that an index handed on: {error}"
            ) from error
        split = [keys[at : at + KEY_BYTES] for at in range(0, count * KEY_BYTES, KEY_BYTES)]
        return cls(Made(model, version, dimensions, stage_version), split, vectors)

    def of_texts(self, made: Made) -> Mapping[Key, Half]:
        """Return the vector of each text by its key; none if the vectors were made in another way."""
        return dict(zip(self.keys, self.vectors, strict=True)) if made == self.made else {}
