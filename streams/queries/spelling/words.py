"""The words of a query that may be misspelt. Words of pages are cut by the same rules. Pure.

Operators, quoted phrases, left-out words (`-word`), addresses, numbers, acronyms and identifiers are never touched: who
types them means them.
"""

from dataclasses import dataclass

MAX_QUERY_CHARS = 400
"""Maximum length of a query that is corrected. A longer one is a text, which finds something despite its mistakes."""
MAX_QUERY_WORDS = 24
"""Maximum words of a query that is corrected."""
MIN_CHARS = 3
"""Minimum letters of a word that is corrected: nearly all shorter ones are abbreviations."""
LANGUAGE = "en"
"""The language whose misspelt words are corrected: in others, more than 1 % of the corrections are false."""
MIN_INDEX_CHARS = 5
"""Minimum letters of a word that only the index knows: shorter ones have too many others near them."""
MAX_CHARS = 28
"""Maximum letters of a word that is corrected or compared. Longer words are identifiers, as a rule."""
APOSTROPHES = str.maketrans("’‘ʼ", "'''")
"""Translates each apostrophe to the straight one."""
EDGES = ".,;:!?()[]{}<>…«»“”„*'‘’"
"""Punctuation that is no part of a word at whose edges it stands."""
_ELIDED = frozenset(
    {"c", "d", "j", "l", "m", "n", "s", "t", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu"}  # French
    | {"all", "dall", "dell", "nell", "sull", "un", "quest"}  # Italian
)


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query, a part of a word with hyphens, or what stands before or behind an apostrophe: `l'` `hôtel`."""

    text: str
    """In lower case, with straight apostrophes."""
    start: int
    end: int
    """Its place in the query: [start, end)."""
    is_free: bool
    """It may be corrected: it is no operator, phrase, number or identifier."""


def split_query(query: str) -> list[QueryWord]:
    """Return the words of the query in their order; none if the query is too long to be corrected."""
    if len(query) > MAX_QUERY_CHARS:
        return []
    found: list[QueryWord] = []
    in_phrase, place = False, 0
    for token in query.split(" "):
        quotes = token.count('"')
        is_quoted = in_phrase or quotes > 0
        in_phrase ^= quotes % 2 == 1
        found += _parts(token, place, is_free=not is_quoted and not _is_code(token))
        place += len(token) + 1
    return found if len(found) <= MAX_QUERY_WORDS else []


def _parts(token: str, start: int, *, is_free: bool) -> list[QueryWord]:
    """Return the parts of a token between hyphens, without the punctuation at its edges."""
    core = token.strip(EDGES)
    start += token.find(core) if core else 0
    found: list[QueryWord] = []
    for part in core.split("-"):
        if part:
            elided = elided_chars(part)
            if elided:
                found.append(QueryWord(part[:elided].lower().translate(APOSTROPHES), start, start + elided, False))
            start, part = start + elided, part[elided:]
            text = part.lower().translate(APOSTROPHES)
            is_word = is_free and MIN_CHARS <= len(text) <= MAX_CHARS and _is_word(text) and len(text) == len(part)
            found.append(QueryWord(text, start, start + len(part), is_word))
        start += len(part) + 1
    return found


def elided_chars(part: str) -> int:
    """Return the length of an elided word before another one, with its apostrophe: 2 of `l'hôtel`, else 0."""
    head, apostrophe, rest = part.lower().translate(APOSTROPHES).partition("'")
    return len(head) + 1 if apostrophe and head in _ELIDED and len(rest) >= MIN_CHARS else 0


def _is_word(text: str) -> bool:
    return text.replace("'", "").isalpha()


def _is_code(token: str) -> bool:
    """Return True for what is no plain word: an operator, an address, an acronym, an identifier."""
    core = token.strip(EDGES)
    if token.startswith("-") or not core:
        return True
    has_inner_capital = any(char.isupper() for char in core[1:])
    return has_inner_capital or not all(char.isalpha() or char in "-'’‘ʼ" for char in core)
