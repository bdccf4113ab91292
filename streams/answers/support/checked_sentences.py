"""The sentences of a model that a statement supports; all others are dropped. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from streams.answers.evidence import Evidence
from streams.answers.model_text import ModelSentence
from streams.answers.support.check import Source, check_support
from streams.answers.support.tokens import keys_of
from streams.language.marks import ends_sentence
from streams.vectors.bm25 import document_vector, query_vector

MIN_WORDS = 3


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence, and the statement that says it."""

    text: str
    evidence: Evidence


def check_sentence(sentence: ModelSentence, statements: Sequence[Evidence]) -> CheckedSentence | None:
    """Return the sentence with the first of its named statements that supports it, or None.

    A sentence that names no statement may stand on any of them. One that names a wrong statement is dropped.
    """
    if len(sentence.text.split()) < MIN_WORDS:
        return None
    places = [number - 1 for number in sentence.named if 0 < number <= len(statements)]
    if sentence.named and not places:
        return None
    for place in places or range(len(statements)):
        found = statements[place]
        if check_support(sentence.text, Source(found.text, (*found.context, found.title))).is_supported:
            return CheckedSentence(_ended(sentence.text), found)
    return None


def is_about(checked: CheckedSentence, question: str) -> bool:
    """Return True if the statement, its context or its title has a word that the question looks for."""
    terms = frozenset(query_vector(question).indices)
    found = checked.evidence
    terms_of = document_vector(found.text, (*found.context, found.title), found.language)
    return not terms or not terms.isdisjoint(terms_of.indices)


def repeats(checked: CheckedSentence, before: Sequence[CheckedSentence]) -> bool:
    """Return True if an earlier sentence has all the words of this one."""
    own = keys_of([checked.text])
    return any(own <= keys_of([other.text]) for other in before)


def _ended(text: str) -> str:
    return text if ends_sentence(text) else f"{text}."
