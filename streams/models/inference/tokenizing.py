"""Text -> padded token ids, for a transformer that runs in another backend."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from streams.models.inference.long_texts import encode_all
from streams.models.inference.repository import Parameters, find_file

Tokens = NDArray[np.int64]


class PaddedTokenizer:
    """A tokenizer that pads to a multiple of `pad_to`: batches have few shapes. Raises UsageError without its file."""

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._tokenizer.enable_truncation(int(parameters["max_tokens"]))
        padding = self._tokenizer.padding or {}
        self._tokenizer.enable_padding(
            pad_to_multiple_of=int(parameters["pad_to"]),
            **{key: padding[key] for key in ("pad_id", "pad_token", "pad_type_id") if key in padding},
        )

    def encode(self, texts: Sequence[str]) -> tuple[Tokens, Tokens]:
        """Return ids and mask of shape (len(texts), length). Too long texts lose their first lines."""
        encodings = encode_all(self._tokenizer, texts)
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        return ids, mask
