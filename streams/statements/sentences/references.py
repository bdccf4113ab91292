"""Lines that only name pages of a site by their addresses, such as rows of an index. Pure.

Such a line matches the words of many queries and says nothing about them.
"""

import re

MAX_TERM_WORDS = 8
"""Maximum words of the term before its addresses: "page size - pragma.html"."""
_ADDRESS = re.compile(
    r"[\w./~%+-]{1,200}\.(?:x?html?|php|aspx?|jsp)(?:[#?]\S{0,200})?|#[A-Za-z][\w.-]{0,100}", re.IGNORECASE
)
"""An address within a site. A whole URL may be what was asked for: "Source: https://example.org/"."""
_MAYBE_ADDRESS = re.compile(r"\.(?:x?html?|php|aspx?|jsp)|#", re.IGNORECASE)
"""A part of each address: most of some hundred texts of a search have none, and their words are not read."""
_BETWEEN = frozenset(["→", "←", "⇒", "->", "=>", "-", "–", "—"])
"""Marks between a term and its addresses."""
_AROUND = "()[]<>,;"


def has_only_addresses(text: str) -> bool:
    """Return whether a text has addresses within a site, and at most a term before them: "page size → pragma.html"."""
    if _MAYBE_ADDRESS.search(text) is None:
        return False
    words = [word for word in (part.strip(_AROUND) for part in text.split()) if word]
    addresses = [_ADDRESS.fullmatch(word) is not None for word in words]
    if True not in addresses:
        return False
    first, count = addresses.index(True), sum(addresses)
    if count > 1 and 2 * count > len(words):
        return True
    is_behind_a_mark = 1 < first <= MAX_TERM_WORDS + 1 and words[first - 1] in _BETWEEN
    return is_behind_a_mark and all(addresses[first:])
