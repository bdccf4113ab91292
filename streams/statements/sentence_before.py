"""The sentence before a short one, for readers of results. Pure.

A short sentence often says little by itself: "There are too many ships." Three of ten short sentences did not read
alone, and one of thirty others. The sentence before is no part of what is embedded: a chain has what a search needs.
"""

import re
from collections.abc import Sequence

from streams.language.marks import is_closed
from streams.statements.sentences.reading_alone import is_sentence, is_short, reads_alone
from streams.statements.statement import Statement

MAX_BEFORE_CHARS = 300
"""Maximum length of a sentence that is shown before it (characters)."""
_GOES_ON = re.compile(
    r"\(|(?:and|as before|but|here|however|instead|of course|of the|second(?:ly)?|so|some of|third(?:ly)?|though|thus|"
    r"therefore|the (?:first|last|other|same|second|third)|this|these|those|it|they)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that goes on with the one before it."""
_BEGINS_WITH_PRONOUN = re.compile(r"(?:it|this|these|those|they|he|she)\b", re.IGNORECASE)


def sentence_before(statements: Sequence[Statement], at: int) -> str:
    """Return the sentence before `statements[at]`, if that one needs it and has no other; else "".

    It is of the same section; before an item of a list, of the same item.
    """
    if at == 0:
        return ""
    statement, before = statements[at], statements[at - 1]
    if not _needs_one(statement) or not _is_before(before, statement):
        return ""
    return before.text if _is_shown(before) else ""


def _needs_one(statement: Statement) -> bool:
    text = statement.text.strip()
    if statement.kind not in {"sentence", "item"} or statement.chain or not is_sentence(text):
        return False
    return is_short(text) or _GOES_ON.match(text) is not None


def _is_before(before: Statement, statement: Statement) -> bool:
    if before.block == statement.block:
        return True
    if statement.kind != "sentence" or _has_sentence(statement.context):  # a lead-in is the sentence before
        return False
    return before.kind == "sentence" and _headings(before.context) == _headings(statement.context)


def _is_shown(before: Statement) -> bool:
    text = before.text.strip()
    if len(text) > MAX_BEFORE_CHARS or not is_sentence(text) or _BEGINS_WITH_PRONOUN.match(text) is not None:
        return False
    return reads_alone(text, before.kind, before.context)


def _has_sentence(context: Sequence[str]) -> bool:
    return bool(context) and is_closed(context[-1].strip())


def _headings(context: Sequence[str]) -> list[str]:
    return [line for line in context if not is_closed(line.strip())]
