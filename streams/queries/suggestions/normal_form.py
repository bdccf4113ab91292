"""The normal form of a query, and the key by which a prefix finds it. Pure.

Two spellings of one query have one normal form: `Wal  Mode` and `wal mode`. It has no soft hyphens and other invisible
characters, but for those that join letters and emoji. The normal form is shown. The key has, on top of that, no accents
on Latin and Greek letters, so `ecole` finds `école`.
"""

import unicodedata

from streams.pages.text.normal_forms import nfkc
from streams.plain_text import is_unsafe
from streams.queries.accents import without_accents

MAX_CHARS = 100
"""Maximum length of a suggested query, and of a prefix that is read (characters)."""
_JOINERS = "\u200c\u200d"
_READ_CHARS = 4 * MAX_CHARS
"""Maximum length of a text that is normalized: what is longer is no query (characters)."""


def normalize_query(text: str) -> str:
    """Return the normal form of a query: NFKC, lower case, single spaces, at most MAX_CHARS characters."""
    return _normalize(text).strip()[:MAX_CHARS].rstrip()


def normalize_prefix(text: str) -> str:
    """Return the normal form of what was typed so far. A space at the end stays: it ends a word."""
    return _normalize(text).lstrip()[:MAX_CHARS]


def key_of(normal: str) -> str:
    """Return the key of a normal form: without accents on Latin and Greek letters."""
    return without_accents(normal)


def _normalize(text: str) -> str:
    read = text[:_READ_CHARS]
    folded = read.lower() if read.isascii() else _without_invisible(nfkc(nfkc(read).lower()))
    spaced = "".join(" " if char.isspace() or is_unsafe(char) else char for char in folded)
    words = spaced.split()
    return " ".join(words) + (" " if words and spaced[-1] == " " else "")


def _without_invisible(text: str) -> str:
    return "".join(char for char in text if char in _JOINERS or is_unsafe(char) or unicodedata.category(char) != "Cf")
