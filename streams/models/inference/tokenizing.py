"""Text -> padded token ids, for a graph that runs in a server."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from streams.models.inference.long_texts import encode_all

Tokens = NDArray[np.int64]


class PaddedTokenizer:
    """A tokenizer that pads to a multiple of `pad_to`: batches have few shapes."""

    def __init__(self, tokenizer: Tokenizer, *, max_tokens: int, pad_to: int) -> None:
        self._tokenizer = tokenizer
        padding = tokenizer.padding or {}
        tokenizer.enable_truncation(max_tokens)
        tokenizer.enable_padding(
            pad_to_multiple_of=pad_to,
            **{key: padding[key] for key in ("pad_id", "pad_token", "pad_type_id") if key in padding},
        )

    def encode(self, texts: Sequence[str]) -> tuple[Tokens, Tokens]:
        """Return ids and mask of shape (len(texts), length). Too long texts lose their first lines."""
        encodings = encode_all(self._tokenizer, texts)
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        return ids, mask
