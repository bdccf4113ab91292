"""The parts of a question by its clauses, without a model. Pure.

"In Postfix, how do I flush the queue and how do I delete a message?" has two parts. Each is searched by itself, so a
part gets what it needs of the words before it: the short piece at the beginning ("In Postfix"), the names of earlier
parts, if it has none, and the first part, if it points back ("and how long does it last?").
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streams.answers.confidence import named_words
from streams.answers.follow_up import points_back, search_of_turns
from streams.language.function_words import is_function_word
from streams.language.questions import FIRST_WORDS
from streams.pages.text.tokens import words
from streams.search.sentences import MIN_CLAUSE_WORDS, pieces_of
from streams.statements.sentences.lengths import word_count

MAX_PARTS = 5
MAX_PART_CHARS = 200
_FIRST = 3
"""Number of first words of a clause among which one may ask."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a question."""

    text: str
    """The part as it is shown: the question's own words, or one that a model wrote."""
    query: str
    """The query that is searched for it."""


def parts_of(question: str) -> list[Part]:
    """Return the parts of a question; one part for a question without several."""
    whole = " ".join(question.split())
    lead, clauses = _clauses(whole)
    if len(clauses) < 2:
        return [Part(whole, whole)]
    return [Part(clause, _query(lead, clauses, place)) for place, clause in enumerate(clauses)]


def _clauses(question: str) -> tuple[str, list[str]]:
    """Return the short pieces before the first clause, and the clauses. What is no clause belongs to the one before.

    If the question has words that ask, a clause has one, too: "on Ubuntu, Debian or Fedora" are no three parts.
    """
    pieces = pieces_of(question)
    has_asking = any(map(_asks, pieces))
    lead, clauses = "", list[str]()
    for piece in pieces:
        is_long = word_count(piece) >= MIN_CLAUSE_WORDS
        if is_long and len(clauses) < MAX_PARTS and (_asks(piece) or not (has_asking and clauses)):
            clauses.append(piece)
        elif clauses:
            clauses[-1] = f"{clauses[-1]}, {piece}"
        else:
            lead = f"{lead} {piece}".strip()
    return lead, clauses


def _asks(piece: str) -> bool:
    """Return whether one of the first words asks (English): "and in which year"."""
    return not FIRST_WORDS.isdisjoint(words(piece)[:_FIRST])


def _query(lead: str, clauses: Sequence[str], place: int) -> str:
    """Return what is searched for a clause."""
    clause, before = clauses[place], clauses[:place]
    named = dict.fromkeys(name for each in before for name in named_words(each) if _is_name(name))
    if points_back(clause):
        own = f"{clauses[0]} {clause}"
    elif any(map(_is_name, named_words(clause))):
        own = clause
    else:
        own = " ".join([clause, *named]) if named or lead or not before else search_of_turns([clauses[0], clause])
    return f"{lead} {own}".strip()


def _is_name(name: str) -> bool:
    return name.isalpha() and not is_function_word(name.casefold(), "en")
