"""Identifiers that are computed from their input, so that a replay gets the same ones.

All except a query's id are UUIDv5 (RFC 9562, section 5.5) in Riffle's own namespaces. The same input has the same id on
each machine, so a second delivery overwrites the first one and adds nothing.
"""

from hashlib import blake2b
from uuid import NAMESPACE_URL, UUID, uuid5

_EVENTS = uuid5(NAMESPACE_URL, "riffle:events")
_STATEMENTS = uuid5(NAMESPACE_URL, "riffle:statements")


def page_id(canonical_url: str) -> UUID:
    """Return the id of a page. The URL must be canonical (`streams.crawl.urls.canonicalize`)."""
    return uuid5(NAMESPACE_URL, canonical_url)


def statement_id(page: UUID, ordinal: int, content_hash: str) -> UUID:
    """Return the id of a page's statement. `ordinal` is its place from 0, `content_hash` the hash of its text."""
    return uuid5(_STATEMENTS, f"{page}/{ordinal}/{content_hash}")


def event_id(event_type: str, cause: UUID | str, key: str, ordinal: int = 0) -> UUID:
    """Return the id of an event. `cause` is the id of the event that led to it, or a stable name.

    A stage that handles the same event twice emits the same ids, so that consumers recognise the copy.
    """
    return uuid5(_EVENTS, f"{event_type}/{cause}/{key}/{ordinal}")


def query_hash(text: str, key: bytes) -> str:
    """Return the key of a query's events: the same for the same words in any case. 32 hexadecimal digits.

    `key`: a secret (at most 64 bytes). Without it, a list of likely queries would tell which of them a hash belongs to.
    """
    return blake2b(text.casefold().encode(), key=key, digest_size=16).hexdigest()
