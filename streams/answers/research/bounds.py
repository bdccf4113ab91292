"""The bounds of one research: searches, calls of the model, seconds and tokens; and what it has spent of them. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streams.models.chat import Message

CHARS_PER_TOKEN = 3
"""Characters of a token: few, so that the number of tokens is not underestimated."""
CALLS_PER_ANSWER = 3
"""Calls of the model that count as one answer by a model in the budgets: an answer asks about three pages."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The maximum of what a research may spend."""

    searches: int = 10
    """Reads of the index: searches, similar pages, surroundings of a statement, and pages behind a link."""
    calls: int = 16
    """Calls of the model. 0: no model is asked."""
    seconds: float = 30.0
    tokens: int = 12_000
    """Tokens of all calls, with the tokens of the model's texts, estimated from their characters."""


MOST = Bounds(searches=30, calls=48, seconds=120.0, tokens=60_000)
"""The maximum of each bound that a request may name."""


@dataclass(slots=True)
class Spent:
    """The searches, calls and tokens that a research has spent."""

    searches: int = 0
    calls: int = 0
    tokens: int = 0

    @property
    def answers(self) -> int:
        """The answers by a model that the calls count as."""
        return math.ceil(self.calls / CALLS_PER_ANSWER)


def tokens_of(messages: Sequence[Message], max_tokens: int) -> int:
    """Return about how many tokens a call has at most."""
    return sum(len(each.content) for each in messages) // CHARS_PER_TOKEN + max_tokens
