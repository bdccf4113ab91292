"""The tokens of a sentence that its support is checked by: words by their role, quantities, names, boundaries. Pure.

name       a word with a capital letter that is not only the first word of its sentence
quantity   a number with its unit, compared exactly
negation   not, no, never, without, ...
limit      words that limit what is said: if, only, except, may, nearly, allegedly, ...
relation   prepositions and conjunctions that say who does what to whom, when, and how much: by, from, than, or, ...
tense      is, was, will, ...
content    all other words, by their stems
boundary   a comma, a colon, a bracket, a dash; `and` and `but`, which join clauses and parts of lists
plain      articles and other words that change nothing: they are left out, and kept as the `lead` of the next token
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from streams.answers.support.quantities import quantities_of
from streams.answers.support.word_lists import JOINTS, LIMITS, NEGATIONS, PLAIN, RELATIONS, TENSES
from streams.language.marks import MARKS
from streams.language.months import ENGLISH_MONTHS
from streams.vectors.stemming import stems

Role = Literal["name", "quantity", "negation", "limit", "relation", "tense", "content", "boundary"]

MAX_TOKENS = 240
"""Maximum tokens of a text that are read."""
MAX_CHARS = 1_500
MAX_LEAD = 4
"""Maximum plain words that are kept before a token."""

_PIECE = re.compile(
    r"(?P<word>(?:(?<![\w.])[.#@$])?[^\W\d_][\w]{0,60}+(?:[.'’\-][^\W_]{1,40}+){0,6}"
    r"(?:(?:\+{1,2}|#|\*)(?![\w+#*])|\+\+(?=\d))?)"
    rf"|(?P<boundary>[,;:()\[\]—–]|(?<=\s)-(?=\s))|(?P<end>[{MARKS}](?=\s|$))"
    r"|(?P<other>[\w][\w.+#\-/]{0,60}+)"
)
"""A word has the signs of its name: `C`, `C++` and `C#` are three languages, `.NET` is no net."""
_COMPARISONS = "<>≤≥≈~±≠"
_CAPITAL_NAMES = frozenset({"US", "IT", "WHO"})
"""Names that are plain words in small letters."""
_CLITICS = {"can't": ("can", "not"), "won't": ("will", "not"), "cannot": ("can", "not")}


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its role."""

    role: Role
    key: str
    """Equal for tokens that say the same: a stem, a folded name, a number with its unit."""
    text: str
    lead: tuple[str, ...] = ()
    """The plain words between the former token and this one, such as `of the`."""
    is_quoted: bool = False
    """True within quotation marks."""


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a sentence, in order, without the plain words."""
    text = text[:MAX_CHARS].replace("’", "'")
    quantities = {each.start: each for each in quantities_of(text)}
    found: list[Token] = []
    lead: list[str] = []
    place, is_first, is_quoted = 0, True, False
    while place < len(text) and len(found) < MAX_TOKENS:
        if quantity := quantities.get(place):
            value = f"{quantity.value:f} {quantity.unit}{_compared(text, place, quantity.end)}".strip()
            found.append(Token("quantity", value, text[place : quantity.end], tuple(lead), is_quoted))
            lead = []
            place, is_first = quantity.end, False
            continue
        match = _PIECE.match(text, place)
        if match is None or (end := _before_quantity(match, quantities)) == place:
            is_quoted = _is_quoted_behind(text, place, is_quoted=is_quoted)
            place += 1
            continue
        piece = text[place:end]
        if match["boundary"] or match["end"]:
            tokens = [Token("boundary", ",", piece)]
        else:
            tokens = _of_word(piece, is_first=is_first)
        if tokens:
            tokens[0] = replace(tokens[0], lead=tuple(lead))
            found += [replace(token, is_quoted=True) for token in tokens] if is_quoted else tokens
            lead = []
        elif len(lead) < MAX_LEAD:
            lead.append(piece.lower())
        is_first = bool(match["end"])
        place = end
    return found


def _is_quoted_behind(text: str, place: int, *, is_quoted: bool) -> bool:
    """Return whether the text behind a sign is quoted. A straight mark behind a digit is a unit: 5" pipes."""
    sign = text[place]
    if sign in "“«„":
        return True
    if sign in "”»":
        return False
    is_mark = sign == '"' and (is_quoted or not text[place - 1 : place].isalnum())
    return is_quoted != is_mark


def _compared(text: str, place: int, end: int) -> str:
    """Return the signs of comparison around a number, which belong to it: `≥ 5` and `5+` are no `5`."""
    found = text[max(0, place - 3) : place].split()
    signs = "".join(char for char in found[-1] if char in _COMPARISONS) if found else ""
    is_open = text[end : end + 1] == "+" and not text[end + 1 : end + 2].strip()
    return signs + "+" * is_open


def _before_quantity(match: re.Match[str], quantities: Mapping[int, object]) -> int:
    """Return the end of the piece, or the place of a quantity inside of it."""
    return next((at for at in range(match.start() + 1, match.end()) if at in quantities), match.end())


def _of_word(word: str, *, is_first: bool) -> list[Token]:
    lower = word.lower()
    if lower in _CLITICS:
        return [token for part in _CLITICS[lower] for token in _of_word(part, is_first=False)]
    if lower.endswith("n't"):
        return [*_of_word(lower[:-3], is_first=False), Token("negation", "not", word)]
    lower = lower.removesuffix("'s").removesuffix("'")
    if lower in JOINTS:
        return [Token("boundary", "and", word)]
    if lower in ENGLISH_MONTHS and word[0].isupper() and not is_first:
        return [Token("name", lower, word)]
    role = "content" if word in _CAPITAL_NAMES else _role_of(lower)
    if role == "plain":
        return []
    if role == "tense":
        return [Token("tense", TENSES[lower], word)]
    if role != "content":
        return [Token(role, "not" if lower in ("no", "none") else lower, word)]  # type: ignore[arg-type]  # "plain" is gone
    is_name = any(letter.isupper() for letter in (word[1:] if is_first else word))
    return [Token("name" if is_name else "content", stem_of(lower), word)]


def _role_of(lower: str) -> str:
    if lower in NEGATIONS:
        return "negation"
    if lower in LIMITS:
        return "limit"
    if lower in RELATIONS:
        return "relation"
    if lower in TENSES:
        return "tense"
    return "plain" if lower in PLAIN else "content"


def stem_of(word: str) -> str:
    """Return the stem of a lower-case word."""
    return stems([word])[0][0]


def keys_of(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(token.key for text in texts for token in tokens_of(text) if token.role != "boundary")
