"""A cache of a model's texts by the content of their requests. Pure: one request has one text, for all who ask.

The key is a hash of the messages, which have the question and the statements: changed statements are another request.
It is kept in memory only, and the texts that were used longest ago go first.
"""

from collections.abc import Sequence
from hashlib import blake2b

from streams.caches import SizedCache
from streams.models.chat_protocol import Message

MAX_TEXTS = 512
MAX_CHARS = 4_000_000
"""Maximum characters of all texts."""


def text_cache() -> SizedCache[bytes, str]:
    """Return the cache of one process, without texts."""
    return SizedCache(MAX_CHARS, len, max_values=MAX_TEXTS)


def key_of(model: str, messages: Sequence[Message]) -> bytes:
    """Return the key of a request."""
    digest = blake2b(digest_size=32)
    for part in (model, *(part for each in messages for part in (each.role, each.content))):
        content = part.encode("utf-8", "replace")
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.digest()
