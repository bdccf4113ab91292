"""The share of a page's statements that a reader can read as sentences. Pure."""

from collections.abc import Iterable

from streams.statements.statement import Statement

MIN_WORDS, MAX_WORDS = 5, 80
"""Minimum and maximum length of a readable sentence (words)."""
MIN_LETTERS = 0.7
"""Minimum share of letters among the characters that are no spaces."""
MIN_CHARS = 12
"""Minimum length of a readable sentence in a script without spaces between words (characters)."""
_ENDS_WITHOUT_SPACES = ("。", "！", "？", "」", "…")
_ENDS = (".", "!", "?", ":", ";", "।", '."', ".”", ".)", *_ENDS_WITHOUT_SPACES)


def readable_share(statements: Iterable[Statement]) -> float | None:
    """Return the share of sentences and items that can be read, by their characters. None: there are too few."""
    lengths = [(len(one.text), is_readable(one.text)) for one in statements if one.kind in ("sentence", "item", "link")]
    total = sum(length for length, _ in lengths)
    return sum(length for length, readable in lengths if readable) / total if len(lengths) >= 5 else None


def is_readable(text: str) -> bool:
    """Return whether a text looks like one sentence."""
    words = text.split()
    if len(words) < MIN_WORDS:
        return len(text) >= MIN_CHARS and text.rstrip().endswith(_ENDS_WITHOUT_SPACES)
    dense = "".join(words)
    letters = sum(character.isalpha() for character in dense)
    return (
        len(words) <= MAX_WORDS
        and letters >= MIN_LETTERS * len(dense)
        and not text.isupper()
        and text.rstrip().endswith(_ENDS)
    )
