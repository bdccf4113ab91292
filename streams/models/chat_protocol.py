"""The language model as the rest of Riffle sees it: messages in, pieces of a text out."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from streams.errors import StoreUnavailable


class ModelUnavailable(StoreUnavailable):
    """The language model's server did not answer, or its answer is not one."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to the model."""

    role: str
    """`system` or `user`."""
    content: str


@dataclass(slots=True)
class Ending:
    """The end of an answer: its own, or a limit."""

    is_cut: bool = False
    """True: the text ends at a limit of tokens or characters, or the stream had no end."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """The limits of one answer."""

    max_tokens: int
    deadline_seconds: float


class ChatModel(Protocol):
    """A language model that answers messages with a text, in pieces."""

    def stream(self, messages: Sequence[Message], options: ChatOptions, ending: Ending) -> AsyncIterator[str]:
        """Yield the pieces of the answer's text, and fill `ending` by its end.

        Raises ModelUnavailable, and DeadlineExceeded at the deadline. Pieces before a failure have been yielded.
        """

    async def close(self) -> None:
        """Close the connections."""
