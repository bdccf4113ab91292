"""The requests of one process to the language model: their cache, how many are made at once, and their deadlines."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing

from streams.answers.prompts import key_of, text_cache
from streams.errors import DeadlineExceeded
from streams.models.chat import ChatModel, ChatOptions, Ending, Message

MAX_AT_ONCE = 4
"""Maximum requests to the model at the same time: an answer asks about three pages."""


class ModelRequests:
    """The requests of one process."""

    def __init__(self, chat: ChatModel, model: str, max_at_once: int = MAX_AT_ONCE) -> None:
        """`model`: the name of the model in the keys of the cache."""
        self._chat, self._model = chat, model
        self._cache = text_cache()
        self._slots = asyncio.Semaphore(max_at_once)

    def known(self, messages: Sequence[Message], audiences: Sequence[str]) -> str | None:
        """Return the text of a former request with these messages; None if there was none."""
        return self._cache.get(key_of(self._model, messages, audiences))

    async def text(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        ends_at: float,
        ending: Ending,
        audiences: Sequence[str] = (),
        is_read: Callable[[], bool] = lambda: False,
    ) -> AsyncIterator[str]:
        """Yield the pieces of the model's text, and keep the whole text for the same request. A cut text is not kept.

        `ends_at`: the end time by the clock of the event loop. `is_read`: whether the pieces so far are enough. Then
        the model is stopped. Raises ModelUnavailable, and DeadlineExceeded.
        """
        pieces, is_enough = [], False
        await self._take_slot(ends_at)
        try:
            options = ChatOptions(max_tokens, _seconds_until(ends_at))
            async with aclosing(self._chat.stream(messages, options, ending)) as stream:  # type: ignore[type-var]  # a generator
                async for piece in stream:
                    pieces.append(piece)
                    yield piece
                    if is_enough := is_read():
                        break
        finally:
            self._slots.release()
        if is_enough or not ending.is_cut:
            self._cache.put(key_of(self._model, messages, audiences), "".join(pieces))

    async def _take_slot(self, ends_at: float) -> None:
        """Wait until fewer than the maximum of requests are made. Raises DeadlineExceeded."""
        try:
            async with asyncio.timeout_at(ends_at):
                await self._slots.acquire()
        except TimeoutError as error:
            raise DeadlineExceeded("too many answers are being written") from error


def _seconds_until(ends_at: float) -> float:
    """Return the time that is left. Raises DeadlineExceeded if there is none."""
    if (seconds := ends_at - asyncio.get_running_loop().time()) <= 0:
        raise DeadlineExceeded("the time of the answer is over")
    return seconds
