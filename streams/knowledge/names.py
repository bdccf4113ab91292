"""The keys under which names of entities are stored and looked up. Pure.

Two spellings have one key if they differ only in case, punctuation, spaces or accents: `Noël` and `noel`.
"""

import unicodedata
from collections.abc import Iterable

from streams.pages.text.tokens import stored_words

MAX_KEY_CHARS = 200
_ACCENTS = dict.fromkeys(range(0x300, 0x370))


def name_key(name: str) -> str:
    """Return the key of a name; an empty text for a name without words and signs."""
    found = " ".join(stored_words(name)) or " ".join(name.casefold().split())
    if not found.isascii():
        found = unicodedata.normalize("NFC", unicodedata.normalize("NFD", found).translate(_ACCENTS))
    return found[:MAX_KEY_CHARS]


def name_keys(names: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of these names, each once, in their order."""
    return tuple(dict.fromkeys(filter(None, map(name_key, names))))
