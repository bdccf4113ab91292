"""The letters of a word without their accents: `ecole` for `école`, `oeuvre` for `œuvre`. Pure.

One rule for all that compares what people type with what is written: suggestions and spelling.
"""

import unicodedata
from functools import lru_cache

from streams.pages.text.scripts import script_of

LIGATURES = {"œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ı": "i"}
"""Letters that Unicode does not decompose, as people type them without the key."""
_ACCENTED = frozenset({"Latn", "Grek"})
"""Scripts whose letters lose their accents. In others a mark makes another letter, as in Cyrillic й."""
_CACHED_CHARS = 4_096


def without_accents(text: str) -> str:
    """Return a text of small letters without accents on its Latin and Greek letters, and without ligatures."""
    return text if text.isascii() else "".join(map(_base, text))


@lru_cache(_CACHED_CHARS)
def _base(char: str) -> str:
    """Return the letter without its accents, if it is Latin or Greek."""
    if char.isascii() or script_of(char) not in _ACCENTED:
        return char
    if char in LIGATURES:
        return LIGATURES[char]
    return "".join(part for part in unicodedata.normalize("NFD", char) if not unicodedata.combining(part)) or char
