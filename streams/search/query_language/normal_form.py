"""The normal form in which queries are counted. Pure."""

import unicodedata

MAX_CHARS = 200
"""Maximum length of a query that is counted. Longer ones are rarely asked twice, and often say much of a person."""


def normalize_query(text: str) -> str:
    """Return the query in lower case with single spaces (NFKC); empty if it is too long to be counted."""
    found = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return found if len(found) <= MAX_CHARS and found.isprintable() else ""
