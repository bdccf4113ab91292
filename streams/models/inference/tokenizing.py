"""Texts as token ids: the tokenizer of a graph in a server, padding, and texts with more tokens than a model reads.

A graph takes token ids, so its clients need its tokenizer: the same file that the model was trained with. The export
writes the file into the configuration (`tokenizer`: zlib, base64), which Triton hands to every client. So no client can
have the tokenizer of another model, and no file is delivered to workers and gateways.

The embedding text of a statement has its context in the lines above it: the title, then the widest heading first. A
tokenizer cuts a text at its end, which is the statement itself: all statements below long headings would have one and
the same vector. So lines of the context are left out, and the last line is read.
"""

import base64
import hashlib
import zlib
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from streams.errors import StoreUnavailable
from streams.models.inference.repository import Parameters

TOKENIZER, CHECKSUM = "tokenizer", "tokenizer_sha256"
"""Parameters of a model's configuration."""
Tokens = NDArray[np.int64]


def pack_tokenizer(content: bytes, prefix: str = "") -> dict[str, str]:
    """Return the parameters that hold a file tokenizer.json. Their names begin with `prefix`."""
    packed = base64.b64encode(zlib.compress(content, 9)).decode()
    return {prefix + TOKENIZER: packed, prefix + CHECKSUM: hashlib.sha256(content).hexdigest()}


def unpack_tokenizer(parameters: Parameters, where: str, prefix: str = "") -> Tokenizer:
    """Return the tokenizer of a model's configuration. Raises StoreUnavailable if it is missing or damaged."""
    try:
        content = zlib.decompress(base64.b64decode(parameters[prefix + TOKENIZER], validate=True))
    except (KeyError, ValueError, zlib.error) as error:
        raise StoreUnavailable(f"{where}: no tokenizer in its configuration. Write one by {_EXPORT}") from error
    if (checksum := hashlib.sha256(content).hexdigest()) != parameters.get(prefix + CHECKSUM):
        raise StoreUnavailable(f"{where}: its tokenizer has the checksum {checksum}. Write it again by {_EXPORT}")
    return Tokenizer.from_str(content.decode())


_EXPORT = "triton_models/export.py"


def plain_tokenizer(tokenizer: Tokenizer) -> tuple[Tokenizer, tuple[int, int]]:
    """Return the tokenizer without padding and truncation, and the ids of its marks before and behind a text."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    first, last = tokenizer.encode("").ids
    return tokenizer, (first, last)


def encode_all(tokenizer: Tokenizer, texts: Sequence[str], prefixes: Sequence[str]) -> list[Encoding]:
    """Return the encodings of the texts by a tokenizer that truncates. It only cuts a last line that is too long.

    `prefixes` are the model's: the one before a text is kept.
    """
    # An unpaired surrogate is no text that the tokenizer could take.
    valid = [text.encode("utf-8", "replace").decode() for text in texts]
    encodings: list[Encoding] = tokenizer.encode_batch(valid)
    too_long = [index for index, encoding in enumerate(encodings) if encoding.overflowing]
    if not too_long:
        return encodings
    for index in too_long:
        valid[index] = _drop_far_lines(tokenizer, valid[index], prefixes)
    again: list[Encoding] = tokenizer.encode_batch(valid)  # together, since they may be padded to one length
    return again


def prefix_in(text: str, prefixes: Sequence[str]) -> str:
    """Return the prefix of the model with which a text begins, or an empty string."""
    return next((each for each in prefixes if text.startswith(each)), "")


def _drop_far_lines(tokenizer: Tokenizer, text: str, prefixes: Sequence[str]) -> str:
    """Return the text without the lines that don't fit: first the lines after the title, at last the title, too.

    The last line is left even if this line by itself is too long.
    """
    prefix = prefix_in(text, prefixes)
    lines = text.removeprefix(prefix).split("\n")

    def shortened(dropped: int) -> str:
        return prefix + "\n".join((lines[0], *lines[1 + dropped :]) if dropped < len(lines) - 1 else lines[-1:])

    def fits(dropped: int) -> bool:
        return not tokenizer.encode(shortened(dropped)).overflowing

    return shortened(bisect_left(range(len(lines) - 1), True, key=fits))


class PaddedTokenizer:
    """A tokenizer that pads to a multiple of `pad_to`: batches have few shapes."""

    def __init__(self, tokenizer: Tokenizer, *, max_tokens: int, pad_to: int, prefixes: Sequence[str] = ()) -> None:
        self._tokenizer, self._prefixes = tokenizer, prefixes
        self.pad_to = pad_to
        padding = tokenizer.padding or {}
        tokenizer.enable_truncation(max_tokens)
        tokenizer.enable_padding(
            pad_to_multiple_of=pad_to,
            **{key: padding[key] for key in ("pad_id", "pad_token", "pad_type_id") if key in padding},
        )

    def encodings(self, texts: Sequence[str]) -> list[Encoding]:
        """Return the texts as tokens, padded to one length. Too long texts lose their first lines."""
        return encode_all(self._tokenizer, texts, self._prefixes)

    def encode(self, texts: Sequence[str]) -> tuple[Tokens, Tokens]:
        """Return ids and mask of shape (len(texts), length). Too long texts lose their first lines."""
        encodings = self.encodings(texts)
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        return ids, mask
