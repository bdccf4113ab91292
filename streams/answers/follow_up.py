"""The questions of a conversation, whose state is in the address: the questions of the person, and nothing else. Pure.

No text of a model or of a page is in the state, so nobody can forge a turn, and no server keeps it.
"""

from collections.abc import Sequence

from streams.language.function_words import is_function_word, shown_language
from streams.pages.text.language import identify
from streams.pages.text.tokens import index_words

MAX_TURNS = 8
MAX_TURN_CHARS = 300
MIN_OWN_WORDS = 3
"""Minimum words that a question needs beside function words to be understood without the question before it."""
_POINTING = frozenset(
    ["it", "its", "he", "she", "him", "her", "they", "them", "their", "this", "that", "these", "those", "there"]
)


def clean_turns(turns: Sequence[str]) -> list[str]:
    """Return the questions that are not empty, each on one line, the last ones if there are too many."""
    lines = [" ".join(turn.split())[:MAX_TURN_CHARS] for turn in turns]
    kept = [line for line in lines if line]
    return [*kept[:1], *kept[1:][-(MAX_TURNS - 1) :]]


def search_of_turns(turns: Sequence[str]) -> str:
    """Return what is searched for the last question: with the words of the first one, if it points back to it."""
    last = turns[-1]
    return last if len(turns) == 1 or _stands_alone(last) else f"{turns[0]} {last}"


def points_back(question: str) -> bool:
    """Return whether a question has a word that points to what was named before it, such as "it"."""
    return not _POINTING.isdisjoint(index_words(question))


def _stands_alone(question: str) -> bool:
    asked = index_words(question)
    language = shown_language(asked, identify(question).language)
    own = [word for word in asked if not is_function_word(word, language) and word not in _POINTING]
    return len(own) >= MIN_OWN_WORDS and not points_back(question)
