"""The use of a correction: none, a question, or a search for it in place of the query. Pure.

The results decide. A word that a result has is known to the index, whatever the dictionaries say. A correction is used
only if no result has the typed words, and a result of the corrected query has the corrected ones. The corrected query
is searched for in place of the query if the correction is clear; otherwise it is a question.
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from streams.queries.spelling.corrector import Correction
from streams.queries.spelling.words import split_query


class Spelling(BaseModel):
    """A correction of the query, and whether the results are its results."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["instead", "suggestion"] = Field(
        description="`instead`: the results are those of the corrected query. `suggestion`: the query's own."
    )
    original: str = Field(description="The query as it was typed.")
    corrected: str = Field(description="The corrected query.")


def changed_words(original: str, corrected: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that only the original has, and the words that only the corrected query has."""
    typed = {word.text for word in split_query(original)}
    meant = {word.text for word in split_query(corrected)}
    return frozenset(typed - meant), frozenset(meant - typed)


def has_words(words: frozenset[str], texts: Iterable[str]) -> bool:
    """Return True if the texts of a page together have all of the words."""
    missing = set(words)
    for text in texts:
        lowered = text.lower()
        missing -= {word for word in missing if word in lowered and word in _words_of(lowered)}
    return not missing


def _words_of(text: str) -> set[str]:
    found = "".join(char if char.isalnum() or char in "'’" else " " for char in text).replace("’", "'").split()
    return {*found, *(word.partition("'")[2] for word in found)}  # `hôtel` of `l'hôtel`


def is_unknown_to(original: str, correction: Correction, pages: Iterable[Iterable[str]]) -> bool:
    """Return True if no page of the results has all words of the query that the correction changes."""
    typed, _ = changed_words(original, correction.text)
    return not any(has_words(typed, page) for page in pages)


def is_better(original: str, correction: Correction, pages: Iterable[Iterable[str]]) -> bool:
    """Return True if a page of the results of the corrected query has all corrected words."""
    _, meant = changed_words(original, correction.text)
    return any(has_words(meant, page) for page in pages)
