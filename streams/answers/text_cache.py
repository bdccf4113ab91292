"""A cache of a model's texts by the content of their requests. Pure: one request has one text, for all who ask.

The key is a hash of the messages, which have the question and the statements: changed statements are another request.
It is kept in memory only, and the texts that were used longest ago go first.
"""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

from streams.models.chat_protocol import Message

MAX_TEXTS = 512
MAX_CHARS = 4_000_000
"""Maximum characters of all texts."""


class TextCache:
    """The texts of one process."""

    def __init__(self, max_texts: int = MAX_TEXTS, max_chars: int = MAX_CHARS) -> None:
        self._texts: OrderedDict[bytes, str] = OrderedDict()
        self._max_texts, self._max_chars, self._chars = max_texts, max_chars, 0

    def get(self, key: bytes) -> str | None:
        """Return the text, or None."""
        if (text := self._texts.get(key)) is not None:
            self._texts.move_to_end(key)
        return text

    def put(self, key: bytes, text: str) -> None:
        """Keep a whole text."""
        self._chars += len(text) - len(self._texts.pop(key, ""))
        self._texts[key] = text
        while self._texts and (len(self._texts) > self._max_texts or self._chars > self._max_chars):
            _, oldest = self._texts.popitem(last=False)
            self._chars -= len(oldest)


def key_of(model: str, messages: Sequence[Message]) -> bytes:
    """Return the key of a request."""
    digest = blake2b(digest_size=32)
    for part in (model, *(part for each in messages for part in (each.role, each.content))):
        content = part.encode("utf-8", "replace")
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.digest()
