"""Answers of suggestions as they are sent, in a bounded cache: most people type the same few beginnings."""

from collections.abc import Callable
from datetime import datetime, timedelta

MAX_READY = 20_000
"""Maximum answers in the cache: about 20 MB of full ones."""
MAX_KEY_BYTES = 200
"""Maximum length of the parameters of a request whose answer is kept (bytes)."""
MAX_AGE = timedelta(seconds=10)
"""Age at which an answer is made again, since workers change the lists all the time."""


class ReadyAnswers:
    """The cache: answers by the parameters of a request, as they came. Any thread may clear it."""

    def __init__(self, clock: Callable[[], datetime], max_ready: int = MAX_READY) -> None:
        self._clock, self._max = clock, max_ready
        self._answers: dict[bytes, tuple[datetime, bytes]] = {}

    def find(self, parameters: bytes) -> bytes | None:
        """Return the answer to a request with these parameters, or None."""
        kept = self._answers.get(parameters)
        return kept[1] if kept is not None and self._clock() < kept[0] else None

    def keep(self, parameters: bytes, answer: bytes) -> None:
        """Keep an answer. All others are forgotten if there are too many: this is rare, and takes no order."""
        if len(parameters) > MAX_KEY_BYTES:
            return
        if len(self._answers) >= self._max:
            self._answers = {}
        self._answers[parameters] = (self._clock() + MAX_AGE, answer)

    def clear(self) -> None:
        """Forget all answers."""
        self._answers = {}
