"""Texts with more tokens than a model reads: lines of the context are left out, so that the last line is read.

The embedding text of a statement has its context in the lines above it: the title, then the widest heading first. A
tokenizer cuts a text at its end, which is the statement itself: all statements below long headings would have one and
the same vector.
"""

from bisect import bisect_left
from collections.abc import Sequence

from tokenizers import Encoding, Tokenizer


def encode_all(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Encoding]:
    """Return the encodings of the texts by a tokenizer that truncates. It only cuts a last line that is too long."""
    # An unpaired surrogate is no text that the tokenizer could take.
    valid = [text.encode("utf-8", "replace").decode() for text in texts]
    encodings: list[Encoding] = tokenizer.encode_batch(valid)
    too_long = [index for index, encoding in enumerate(encodings) if encoding.overflowing]
    if not too_long:
        return encodings
    for index in too_long:
        valid[index] = _drop_far_lines(tokenizer, valid[index])
    again: list[Encoding] = tokenizer.encode_batch(valid)  # together, since they may be padded to one length
    return again


def _drop_far_lines(tokenizer: Tokenizer, text: str) -> str:
    """Return the text without the lines that don't fit: first the lines after the title, at last the title, too.

    The last line is left even if this line by itself is too long.
    """
    lines = text.split("\n")

    def shortened(dropped: int) -> str:
        return "\n".join((lines[0], *lines[1 + dropped :]) if dropped < len(lines) - 1 else lines[-1:])

    def fits(dropped: int) -> bool:
        return not tokenizer.encode(shortened(dropped)).overflowing

    return shortened(bisect_left(range(len(lines) - 1), True, key=fits))
