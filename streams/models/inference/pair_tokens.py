"""The texts of a pair of encoders as token ids: which texts the first one reads, and what a graph of both is given.

The first encoder reads only texts of its language. Two things show that: how many letters are in whole words of its
vocabulary (a word that it does not know is divided into pieces, but many French ones it knows as English), and function
words of English and of other languages. Neither is enough: an English sentence about *Eoandromeda* and *Ediacaran* has
few known words. A wrong choice is dear, since a statement that only one encoder has read has larger cosines to each
question in another language, 1.4 times. A graph has tensors for each encoder:

    input_ids, attention_mask               INT64 [n, tokens]: the second one's, which reads each text
    first_input_ids, first_attention_mask   INT64 [n, tokens of the first one]

A text that the first encoder does not read has the id 0 in all its places, and its first place counts as a token, so
that no text is without one.
"""

from collections.abc import Sequence

import numpy as np
from tokenizers import Encoding

from streams.language.function_words import count_function_words
from streams.models.inference.tokenizing import PaddedTokenizer, Tokens, prefix_in

MIN_EVIDENCE = 0.45
"""Minimum evidence of English in a text: the share of its letters in whole words of the first encoder's vocabulary, and
what its function words add and subtract. By the share alone nine tenths of English texts have .8 or more, and the half
of texts in any other language has less than .4 (docs/decisions/0133)."""
ENGLISH_WORTH, MAX_ENGLISH = 0.05, 4
"""The evidence that each function word of English adds, and the maximum number of words that count."""
OTHER_WORTH, MAX_OTHER = 0.12, 6
"""The evidence that each function word of one other language subtracts, and the maximum number of words that count."""


class PairTokens:
    """The tokenizers of both encoders. `prefixes` are the words of the second one's model before a text."""

    def __init__(self, first: PaddedTokenizer, second: PaddedTokenizer, prefixes: Sequence[str]) -> None:
        self._first, self._second, self._prefixes = first, second, prefixes

    def encode(self, texts: Sequence[str]) -> list[tuple[Tokens, Tokens]]:
        """Return ids and mask for the second encoder, and for the first one.

        All have one length, so that batches have few shapes. Where no text is for the first encoder, its are the
        shortest.
        """
        ids, mask = self._second.encode(texts)
        encodings = self._first.encodings([text.removeprefix(prefix_in(text, self._prefixes)) for text in texts])
        known = [row for row, encoding in enumerate(encodings) if is_for_first(texts[row], encoding)]
        lengths = {row: sum(encodings[row].attention_mask) for row in known}
        length = self._first.pad_to
        if known:
            length = max(-(-max(lengths.values()) // length) * length, ids.shape[1])
            wider = [(0, 0), (0, length - ids.shape[1])]
            ids, mask = np.pad(ids, wider), np.pad(mask, wider)
        first_ids, first_mask = np.zeros((2, len(texts), length), np.int64)
        first_mask[:, 0] = 1
        for row, tokens in lengths.items():
            first_ids[row, :tokens] = encodings[row].ids[:tokens]
            first_mask[row, :tokens] = 1
        return [(ids, mask), (first_ids, first_mask)]


def is_for_first(text: str, encoding: Encoding) -> bool:
    """Return whether the first encoder, which knows English, reads a text with these tokens of its own."""
    english, other = count_function_words(text)
    added, subtracted = ENGLISH_WORTH * min(english, MAX_ENGLISH), OTHER_WORTH * min(other, MAX_OTHER)
    return known_share(encoding) + added - subtracted >= MIN_EVIDENCE


def known_share(encoding: Encoding) -> float:
    """Return the share of a text's letters that are in whole words of an English vocabulary; 0 without letters."""
    pieces: dict[int, list[tuple[str, int]]] = {}
    for token, word, (start, end) in zip(encoding.tokens, encoding.word_ids, encoding.offsets, strict=True):
        if word is not None and (token.startswith("##") or token.isalpha() or token.startswith("[")):
            pieces.setdefault(word, []).append((token, end - start))
    letters = sum(length for parts in pieces.values() for _, length in parts)
    whole = sum(parts[0][1] for parts in pieces.values() if len(parts) == 1 and _is_word(parts[0][0]))
    return whole / letters if letters else 0.0


def _is_word(token: str) -> bool:
    return token.isascii() and token.isalpha()
