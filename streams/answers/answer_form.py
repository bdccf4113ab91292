"""The form of the answer that a short question asks for: a time, a number, a person, a place, or a definition. Pure.

"when did the marlins start" is answered by a statement with a year, "who designed the statue of liberty" by one with a
name that the question doesn't have. Meaning and words show neither. A direct answer needs the form; the order of pages
does not follow it (docs/decisions/0037).

The rules are for English questions. Other queries, and questions of more than MAX_WORDS words, have no form.
"""

import re
from collections.abc import Callable, Mapping

from streams.caches import cached_if_short
from streams.language.marks import asks
from streams.language.months import MONTHS_IN_ENGLISH
from streams.language.numbers import CARDINALS, SCALES
from streams.language.questions import FIRST_WORDS, form_of_words
from streams.pages.text.alphabets import PLAIN_WORDS
from streams.pages.text.tokens import words

MAX_CHARS = 1_000
"""Maximum characters of a statement that are read."""
MAX_WORDS = 12
"""Maximum words of a question. Longer questions describe more than one thing."""
_QUESTION_CHARS = 200
_KEPT_QUESTIONS = 256
"""Maximum questions whose form is kept: the parts of one answer ask for the same one."""
_PLAIN = PLAIN_WORDS["en"]

_TIME = re.compile(
    r"(?<![\w-])(?:1\d{3}|20\d{2})s?\b|\b\d{1,2}(?:st|nd|rd|th) century\b"
    rf"|\b(?:{'|'.join(MONTHS_IN_ENGLISH)}) \d{{1,2}}\b"
    r"|\b\d{1,3} years\b"
)
_NUMBER = re.compile(
    r"(?<![\w.])(?!\d{1,20}\.\d{1,20}\.\d)\d[\d.,]{0,20}+"
    rf"|\b(?:{'|'.join((*CARDINALS, *SCALES, 'half'))})\b(?! or (?:more|less|fewer)\b)",
    re.IGNORECASE,
)
"""A quantity: no part of a name (`sqlite3`), no version or number of a section (`25.1.3`), no "two or more"."""
_NAME = re.compile(r"\b[A-Z][\w'’-]{1,40}+ (?:[A-Z]\. |(?:de|van|von|the|of) )?[A-Z][\w'’-]{1,40}+")
_PLACE = re.compile(r"(?:\b(?:in|at|near|from|to|of|on|throughout) (?:the )?|, )([A-Z][\w'’-]{1,40}+)")
_DEFINED = re.compile(r"\b(?:is|are|was|were|refers?|means?|stands?|describes?)\b")
_SUBJECT_CHARS = 160
"""Maximum characters of a statement before the verb of its definition."""


def is_question(query: str) -> bool:
    """Return True if the query ends with a question mark, or begins with an English question word."""
    first = query.split(maxsplit=1)[:1]
    return asks(query) or bool(first and first[0].casefold() in FIRST_WORDS)


@cached_if_short(_KEPT_QUESTIONS, _QUESTION_CHARS)
def form_of(query: str) -> str:
    """Return the form of the answer that the query asks for, or an empty string."""
    asked = words(query[:_QUESTION_CHARS])
    if len(query) > _QUESTION_CHARS or len(asked) > MAX_WORDS:
        return ""
    return form_of_words(asked)


def has_form(text: str, form: str, asked: frozenset[str]) -> bool:
    """Return True if the statement has the form, in words that the question (`asked`, folded) doesn't have."""
    return _CHECKS[form](text[:MAX_CHARS], asked)


def _finds(pattern: re.Pattern[str]) -> Callable[[str, frozenset[str]], bool]:
    def check(text: str, asked: frozenset[str]) -> bool:
        answers = (found.group(found.lastindex or 0) for found in pattern.finditer(text))
        return any(not asked.issuperset(words(answer)) for answer in answers)

    return check


def _defines(text: str, asked: frozenset[str]) -> bool:
    """Return True if a word of the question is before the first verb of a definition: the word is defined."""
    verb = _DEFINED.search(text[:_SUBJECT_CHARS])
    return verb is not None and any(_names(word) and word in asked for word in words(text[: verb.start()]))


def _names(word: str) -> bool:
    return len(word) > 2 and word not in _PLAIN


_CHECKS: Mapping[str, Callable[[str, frozenset[str]], bool]] = {
    "time": _finds(_TIME),
    "number": _finds(_NUMBER),
    "person": _finds(_NAME),
    "place": _finds(_PLACE),
    "definition": _defines,
}
