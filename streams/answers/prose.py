"""Sentences in a model's own words, where the operator allows them: compared with the statements that they name. Pure.

A sentence is shown if it names statements, and all of its numbers and names are in them or around them. So much is
exact; what it says about them is the model's, and the page says so. It is off by default
(`RIFFLE_ANSWERS__PROSE_TOKENS`).
"""

import re
from collections.abc import Iterable, Sequence

from streams.answers.choices import Chosen
from streams.answers.evidence import Evidence
from streams.answers.model_text import ModelSentence
from streams.answers.quantities import quantities_of

MIN_WORDS = 3
_NAME = re.compile(r"[^\W_][\w'’.+#-]{0,60}")


def compare_prose(sentence: ModelSentence, statements: Sequence[Evidence]) -> Chosen | None:
    """Return the sentence with the first statement that it names; None if it has a number or a name of its own."""
    named = [statements[number - 1] for number in sentence.named if 0 < number <= len(statements)]
    if not named or len(sentence.text.split()) < MIN_WORDS:
        return None
    texts = [part for each in named for part in (each.text, *each.context, each.title)]
    numbers = {each.key for each in quantities_of(sentence.text)}
    if not numbers <= {each.key for text in texts for each in quantities_of(text)}:
        return None
    if not _names_of(sentence.text) <= {_folded(word) for text in texts for word in _NAME.findall(text)}:
        return None
    return Chosen(sentence.text, named[0], "prose")


def _names_of(text: str) -> set[str]:
    """Return the words with a capital letter, except a first word that has only this one."""
    words = _NAME.findall(text)
    return set(_capitalized(words[:1], 1)) | set(_capitalized(words[1:], 0))


def _capitalized(words: Iterable[str], first: int) -> list[str]:
    return [_folded(word) for word in words if any(letter.isupper() for letter in word[first:])]


def _folded(word: str) -> str:
    return word.casefold().rstrip(".-").removesuffix("'s").removesuffix("’s")
