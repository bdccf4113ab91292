"""The share of a page's statements that a reader can read as sentences. Pure."""

from collections.abc import Iterable

from streams.language.marks import is_closed
from streams.statements.sentences.lengths import word_count
from streams.statements.statement import Statement

MIN_WORDS, MAX_WORDS = 5, 80
"""Minimum and maximum length of a readable sentence (words)."""
MIN_LETTERS = 0.7
"""Minimum share of letters among the characters that are no spaces."""


def readable_share(statements: Iterable[Statement]) -> float | None:
    """Return the share of sentences and items that can be read, by their characters. None: there are too few."""
    lengths = [(len(one.text), is_readable(one.text)) for one in statements if one.kind in ("sentence", "item", "link")]
    total = sum(length for length, _ in lengths)
    return sum(length for length, readable in lengths if readable) / total if len(lengths) >= 5 else None


def is_readable(text: str) -> bool:
    """Return whether a text looks like one sentence."""
    dense = "".join(text.split())
    letters = sum(character.isalpha() for character in dense)
    return (
        MIN_WORDS <= word_count(text) <= MAX_WORDS
        and letters >= MIN_LETTERS * len(dense)
        and not text.isupper()
        and is_closed(text)
    )
