"""The block list of suggestions: a query with a blocked word or phrase is never suggested.

A list has a word or phrase a line; `#` begins a comment. Whole words are compared, in their normal form without
accents, so `ass` doesn't block `class`.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from streams.errors import UsageError
from streams.queries.suggestions.normal_form import key_of, normalize_query

_WORD = re.compile(r"\w+")


class BlockedWords:
    """Words and phrases that no suggestion may have."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        entries = (tuple(_words(line.partition("#")[0])) for line in lines)
        self._phrases = frozenset(entry for entry in entries if entry)
        self._lengths = sorted({len(phrase) for phrase in self._phrases})

    def __len__(self) -> int:
        return len(self._phrases)

    def blocks(self, text: str) -> bool:
        """Return True if the text has a blocked word or phrase."""
        if not self._phrases:
            return False
        words = _words(text)
        return any(
            tuple(words[start : start + length]) in self._phrases
            for length in self._lengths
            for start in range(len(words) - length + 1)
        )


def _words(text: str) -> list[str]:
    return _WORD.findall(key_of(normalize_query(text)))


def read_block_words(files: Iterable[Path]) -> tuple[str, ...]:
    """Return the lines of all files. Raises UsageError for a file that can't be read."""
    lines: list[str] = []
    for file in files:
        try:
            lines += file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the block list {file} can't be read: {error}") from error
    return tuple(lines)
