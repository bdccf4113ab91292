"""Related questions of a model, as far as the statements have their words. Pure."""

from collections.abc import Iterable, Sequence

from streams.answers.evidence import Evidence
from streams.answers.support.tokens import tokens_of
from streams.answers.support.word_lists import AGENTS, RELATIONS
from streams.language.questions import QUESTION_WORDS

MAX_QUESTIONS = 4
MAX_CHARS = 120
MIN_WORDS = 3
MIN_TOKENS = 2
"""Minimum tokens of a question: "What is the?" asks nothing."""
_ASKING = QUESTION_WORDS | {"many", "much", "long", "far", "old", "mean"}


def related_questions(written: Iterable[str], statements: Sequence[Evidence], question: str) -> list[str]:
    """Return the questions whose words, names and numbers are in the statements or in the question."""
    texts = [question, *(part for each in statements for part in (each.text, each.title, *each.context))]
    known = {token.key for text in texts for token in tokens_of(text)}
    known |= _ASKING | RELATIONS | AGENTS
    found: dict[str, str] = {}
    for text in written:
        is_question = text.endswith("?") and len(text) <= MAX_CHARS and len(text.split()) >= MIN_WORDS
        if is_question and text.casefold() != question.casefold() and _has_only(text, known):
            found.setdefault(text.casefold(), text)
    return list(found.values())[:MAX_QUESTIONS]


def _has_only(text: str, known: set[str]) -> bool:
    tokens = [token for token in tokens_of(text) if token.role not in ("boundary", "tense")]
    return len(tokens) >= MIN_TOKENS and all(token.key in known or token.text.lower() in known for token in tokens)
