"""A query with each text -> token ids, as a cross-encoder reads them. Pure."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from streams.models.inference.encoder import batches

SPECIAL_TOKENS = 3
"""Number of tokens that a BERT tokenizer puts around a pair."""
MAX_CHARACTERS_PER_TOKEN = 16
"""Maximum characters read for each token that there is room for, so that a long text costs no more than a short one."""

IDS, MASK, TYPES = "input_ids", "attention_mask", "token_type_ids"
"""Names of a cross-encoder's inputs, as sentence-transformers exports them."""
Feeds = dict[str, NDArray[np.int64]]


class PairTokenizer:
    """The tokenizer of a cross-encoder. A pair has at most `max_tokens` tokens."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._tokenizer, self._max_tokens = tokenizer, max_tokens
        tokenizer.no_padding()
        # The tokenizer's own truncation of pairs keeps every combination of their cut pieces: gigabytes for long texts.
        tokenizer.no_truncation()

    def batches(self, query: str, texts: Sequence[str]) -> Iterator[tuple[list[int], Feeds]]:
        """Yield the texts of each batch (their indices) with the inputs of the network, each of shape (n, tokens)."""
        pairs = fitting_pairs(
            self._tokenizer, _make_valid(query), [_make_valid(text) for text in texts], self._max_tokens
        )
        encodings = self._tokenizer.encode_batch(pairs)
        for length, batch in batches([min(len(encoding), self._max_tokens) for encoding in encodings]):
            yield batch, _pad([encodings[index] for index in batch], length)


def _pad(encodings: Sequence[Encoding], length: int) -> Feeds:
    ids = np.zeros((len(encodings), length), dtype=np.int64)
    mask, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        size = min(len(encoding), length)
        ids[row, :size] = encoding.ids[:size]
        mask[row, :size] = 1
        types[row, :size] = encoding.type_ids[:size]
    return {IDS: ids, MASK: mask, TYPES: types}


def fitting_pairs(tokenizer: Tokenizer, query: str, texts: Sequence[str], max_tokens: int) -> list[tuple[str, str]]:
    """Return the query with each text, cut to `max_tokens` together. The query takes at most half of the tokens."""
    room = max_tokens - SPECIAL_TOKENS
    query, used = _cut(tokenizer, query, room // 2)
    return [(query, _cut(tokenizer, text, room - used)[0]) for text in texts]


def _cut(tokenizer: Tokenizer, text: str, max_tokens: int) -> tuple[str, int]:
    """Return the beginning of a text that has at most this number of tokens, and their number."""
    text = text[: max_tokens * MAX_CHARACTERS_PER_TOKEN]
    encoding = tokenizer.encode(text, add_special_tokens=False)
    if len(encoding) <= max_tokens:
        return text, len(encoding)
    return text[: encoding.offsets[max_tokens - 1][1]], max_tokens


def _make_valid(text: str) -> str:
    """Return the text with unpaired surrogates replaced: the tokenizer takes none."""
    return text.encode("utf-8", "replace").decode()
